//! What the calls of this session have made of paths, so that a proposal which lost a race against
//! one of them is told from one that lost against another process.

use std::collections::HashMap;
use std::sync::Mutex;

use protocol::{Base, Change, ContentHash};

use crate::locked::locked;

/// Paths that are remembered; all are forgotten beyond that, and a lost race is then a conflict.
const MAX_PATHS: usize = 4096;
/// States of one path that are remembered: those that parallel calls make one after the other.
const MAX_STATES: usize = 16;

/// The states that performed changes have left, newest last.
#[derive(Default)]
pub(crate) struct OwnChanges {
    states: Mutex<HashMap<String, Vec<Made>>>,
}

/// What a change leaves at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Made {
    Nothing,
    Directory,
    Link(Vec<u8>),
    File {
        hash: ContentHash,
        /// Whether the model knows the content.
        seen: bool,
    },
}

impl OwnChanges {
    /// These changes are about to be made. It is said before, so that no other call can meet the
    /// result of a change that is not known yet.
    pub(crate) fn note(&self, changes: &[Change], seen: bool) {
        let mut states = locked(&self.states);
        if states.len() > MAX_PATHS {
            states.clear();
        }
        let mut put = |path: &str, made: Made| {
            let known = states.entry(path.to_owned()).or_default();
            if known.len() == MAX_STATES {
                known.remove(0);
            }
            known.push(made);
        };
        for change in changes {
            match change {
                Change::Write { path, content, .. } => {
                    put(path, Made::File { hash: ContentHash::of(&content.0), seen });
                }
                Change::Delete { path, .. } | Change::RemoveDir { path, .. } => {
                    put(path, Made::Nothing);
                }
                Change::Move { from, to, base, .. } => {
                    put(from, Made::Nothing);
                    put(to, Made::of(base, seen));
                }
                Change::Link { path, target, .. } => put(path, Made::Link(target.0.clone())),
                Change::MakeDir { path, .. } => put(path, Made::Directory),
            }
        }
    }

    /// Whether what is at `path` now is what a call of this session has made of it.
    pub(crate) fn made(&self, path: &str, now: &Base) -> bool {
        let now = Made::of(now, true);
        locked(&self.states)
            .get(path)
            .is_some_and(|known| known.iter().any(|made| made.looks_like(&now)))
    }

    /// Whether a call of this session has written exactly this, and the model knows it.
    pub(crate) fn wrote(&self, path: &str, content: ContentHash) -> bool {
        let wanted = Made::File { hash: content, seen: true };
        locked(&self.states).get(path).is_some_and(|known| known.contains(&wanted))
    }
}

impl Made {
    fn of(base: &Base, seen: bool) -> Self {
        match base {
            Base::Absent => Made::Nothing,
            Base::File { hash, .. } => Made::File { hash: *hash, seen },
            Base::Link { target } => Made::Link(target.0.clone()),
            Base::Directory { .. } => Made::Directory,
        }
    }

    fn looks_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Made::File { hash, .. }, Made::File { hash: other, .. }) => hash == other,
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::FileBytes;

    use super::*;

    fn file(bytes: &[u8]) -> Base {
        Base::File { hash: ContentHash::of(bytes), size: bytes.len() as u64, mode: 0o644 }
    }

    #[test]
    fn only_what_was_made_here_counts_as_made_here() {
        let own = OwnChanges::default();
        let write = |bytes: &[u8]| Change::Write {
            path: "a".into(),
            base: Base::Absent,
            content: FileBytes(bytes.to_vec()),
            mode: None,
        };
        own.note(&[write(b"1"), Change::MakeDir { path: "d".into(), mode: None }], true);
        own.note(&[write(b"2")], false);
        let to = |from: &str, to: &str| Change::Move {
            from: from.into(),
            to: to.into(),
            base: file(b"3"),
            target: Base::Absent,
        };
        own.note(&[to("x", "y")], true);
        assert!(own.made("a", &file(b"1")) && own.made("a", &file(b"2")));
        assert!(own.made("d", &Base::Directory { mode: 0o700 }) && own.made("x", &Base::Absent));
        assert!(own.made("y", &file(b"3")));
        for (path, base) in [("a", file(b"3")), ("a", Base::Absent), ("b", file(b"1"))] {
            assert!(!own.made(path, &base), "{path} {base:?}");
        }
        assert!(own.wrote("a", ContentHash::of(b"1")) && !own.wrote("a", ContentHash::of(b"2")));
    }
}
