//! Changes of files as whole texts, which is how editors take them.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::Diff;
use protocol::{ApprovalRequest, Base, Change, ContentHash, FileDiff, LineKind, Proposal};
use tool_system::ProjectTools;
use workspace::UndoTarget;

/// Bytes of all texts of a call, before and after; a call with more is shown as hunks. They are sent as an update and once
/// more with the question, since some editors keep only the one or the other.
const MAX_TEXTS: usize = 8 * 1024 * 1024;

/// A file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WholeDiff {
    /// From the root of the project.
    path: String,
    old: Option<String>,
    new: String,
}

impl WholeDiff {
    pub(super) fn drawn(&self, tools: &ProjectTools) -> Diff {
        let workspace = tools.code.workspace();
        let resolved = workspace.resolve(&self.path);
        let path = match &resolved {
            Ok(path) => workspace.canonical_path().join(path.as_path()),
            Err(_) => PathBuf::from(&self.path),
        };
        Diff::new(path, self.new.clone()).old_text(self.old.clone())
    }
}

/// The changes that a question is about. Empty if any of them cannot be shown as whole texts, so that none is
/// overlooked.
pub(super) fn diffs(request: &ApprovalRequest, tools: &ProjectTools) -> Vec<WholeDiff> {
    let Proposal::Changes(set) = &request.proposal else { return Vec::new() };
    let (mut whole, mut room) = (Vec::new(), MAX_TEXTS);
    for change in &set.changes {
        let (path, base, new) = match change {
            Change::Write { path, base, content, .. } => (path, base, &content.0[..]),
            Change::Delete { path, base } => (path, base, &[][..]),
            // A directory comes with the files in it.
            Change::MakeDir { .. } => continue,
            Change::Move { .. } | Change::Link { .. } | Change::RemoveDir { .. } => {
                return Vec::new();
            }
        };
        let old = match base {
            Base::Absent => None,
            Base::File { hash, .. } => {
                let diff = request.diffs.iter().find(|diff| diff.path == *path);
                let from_hunks = diff.and_then(|diff| before(new, diff));
                let is_it = |bytes: &Vec<u8>| ContentHash::of(bytes) == *hash;
                let found = from_hunks.filter(is_it).or_else(|| present(tools, path, *hash));
                let Some(found) = found else { return Vec::new() };
                Some(found)
            }
            _ => return Vec::new(),
        };
        let old = old.map(String::from_utf8).transpose();
        let (Ok(old), Ok(new)) = (old, std::str::from_utf8(new)) else { return Vec::new() };
        let taken = new.len() + old.as_ref().map_or(0, String::len);
        let Some(left) = room.checked_sub(taken) else { return Vec::new() };
        room = left;
        whole.push(WholeDiff { path: path.clone(), old, new: new.to_owned() });
    }
    whole
}

/// A change that was just made without a question, from what the journal keeps of it. Empty if any file cannot be shown
/// as whole texts, or is not any more as the change has left it.
pub(super) fn made(change: &str, tools: &ProjectTools) -> Vec<WholeDiff> {
    let inverse = || {
        let entry = UndoTarget::Entry(change.parse().ok()?);
        tools.options.history.as_ref()?.inverse(&entry).ok()
    };
    let Some(inverse) = inverse() else { return Vec::new() };
    let (mut whole, mut room) = (Vec::new(), MAX_TEXTS);
    for change in &inverse.set.changes {
        let (path, base, old) = match change {
            Change::Write { path, base, content, .. } => (path, base, Some(content.0.clone())),
            Change::Delete { path, base } => (path, base, None),
            Change::RemoveDir { .. } => continue,
            _ => return Vec::new(),
        };
        let new = match base {
            Base::File { hash, .. } => present(tools, path, *hash),
            Base::Absent => Some(Vec::new()),
            _ => None,
        };
        let old = old.map(String::from_utf8).transpose();
        let (Ok(old), Some(Ok(new))) = (old, new.map(String::from_utf8)) else {
            return Vec::new();
        };
        let taken = new.len() + old.as_ref().map_or(0, String::len);
        let Some(left) = room.checked_sub(taken) else { return Vec::new() };
        room = left;
        whole.push(WholeDiff { path: path.clone(), old, new });
    }
    whole
}

/// The bytes before a change, from those after it and its hunks. Hunks are made to be read: where they do not
/// hold the literal bytes, the hash of the answer is another one.
fn before(after: &[u8], diff: &FileDiff) -> Option<Vec<u8>> {
    let lines: Vec<&[u8]> = after.split_inclusive(|byte| *byte == b'\n').collect();
    let ending: &[u8] = match lines.iter().any(|line| line.ends_with(b"\r\n")) {
        true => b"\r\n",
        false => b"\n",
    };
    let (mut old, mut at) = (Vec::new(), 0);
    for hunk in &diff.hunks {
        let start =
            if hunk.new_lines == 0 { hunk.new_start } else { hunk.new_start.checked_sub(1)? };
        old.extend(lines.get(at..start)?.concat());
        at = start;
        for line in &hunk.lines {
            match line.kind {
                LineKind::Context => {
                    old.extend_from_slice(lines.get(at)?);
                    at += 1;
                }
                LineKind::Add => at += 1,
                LineKind::Remove => {
                    old.extend_from_slice(line.text.as_bytes());
                    if !line.no_newline {
                        old.extend_from_slice(ending);
                    }
                }
            }
        }
    }
    old.extend(lines.get(at..)?.concat());
    Some(old)
}

/// The bytes of the file as it is, if they are those that the change was made from.
fn present(tools: &ProjectTools, path: &str, hash: ContentHash) -> Option<Vec<u8>> {
    let workspace = tools.code.workspace();
    let path = workspace.resolve(path).ok()?;
    let (_, bytes) = workspace.base_of(&path, MAX_TEXTS as u64).ok()?;
    bytes.filter(|bytes| ContentHash::of(bytes) == hash)
}

#[cfg(test)]
mod tests {
    use protocol::FileBytes;

    use super::*;

    #[test]
    fn the_text_before_follows_from_the_text_after_and_its_hunks() {
        let texts = ["", "a\n", "a\nb\nc\nd\ne\nf\ng\nh\n", "a\nX\nc\nd\ne\nf\ng\nY\nh", "b\nc\n"];
        for old in texts {
            for new in texts {
                let base =
                    Base::File { hash: ContentHash::of(old.as_bytes()), size: 0, mode: 0o644 };
                let content = FileBytes(new.as_bytes().to_vec());
                let change = Change::Write { path: "f".into(), base, content, mode: None };
                let diff = FileDiff::of(&change, Some(old.as_bytes()));
                let found = before(new.as_bytes(), &diff).map(String::from_utf8);
                assert_eq!(found, Some(Ok(old.to_owned())), "{old:?} to {new:?}");
            }
        }
    }
}
