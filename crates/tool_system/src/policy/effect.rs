//! What a proposal does, in the few kinds of effect that a policy judges.

use std::borrow::Cow;
use std::fmt;

use protocol::{Base, Change, ContentHash, ForeignCall, Proposal, visible};
use serde::{Deserialize, Serialize};

use net::WebUrl;

use super::command::{AnalysedCommand, effects_of_command};
use super::host::WebTarget;

/// The kinds of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// Makes a file where nothing is.
    Create,
    /// Changes or replaces a file that exists.
    Overwrite,
    /// Removes a file, link or directory.
    Delete,
    /// Takes something away from a path, or puts it where nothing is. A move has two effects.
    Move,
    /// Makes a directory.
    MakeDir,
    /// Makes a symbolic link, through which later changes may land elsewhere.
    Link,
    /// Runs a program.
    Run,
    /// Talks to a web server.
    Fetch,
    /// Calls a tool of a foreign server.
    Call,
}

/// One thing that happens to one path, or to the world outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// What happens.
    pub kind: EffectKind,
    /// The path it happens to, relative to the project root; none for programs and the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether everything beneath the path is affected as well.
    #[serde(default)]
    pub tree: bool,
    /// The command line or the address, for the explanation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What is known about the command, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<AnalysedCommand>>,
    /// What is known about the foreign tool, if one is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Box<ForeignEffect>>,
    /// The server, if it is a request to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<Box<WebTarget>>,
}

/// What a policy knows about a call of a foreign tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignEffect {
    /// The identity of the server and of all that it says about the tool.
    pub definition: ContentHash,
    /// Whether the user has not agreed to that definition yet.
    pub is_unapproved: bool,
    /// Whether the server says that the tool may destroy something.
    pub is_destructive: bool,
}

impl Effect {
    /// An effect on one path.
    pub fn on(kind: EffectKind, path: impl Into<String>) -> Self {
        let (path, subject) = (Some(path.into()), None);
        Self { kind, path, tree: false, subject, run: None, foreign: None, web: None }
    }

    /// An effect outside of the project's files.
    pub fn outside(kind: EffectKind, subject: impl Into<String>) -> Self {
        let (path, subject) = (None, Some(subject.into()));
        Self { kind, path, tree: false, subject, run: None, foreign: None, web: None }
    }
}

impl EffectKind {
    /// Whether files may differ afterwards. A program counts: it can write.
    pub fn writes(self) -> bool {
        self != EffectKind::Fetch
    }

    /// Whether something that exists is lost, or names lead elsewhere: what is never remembered as
    /// allowed, however the approver answered once.
    pub(super) fn is_grave(self) -> bool {
        matches!(self, EffectKind::Delete | EffectKind::Link)
    }

    fn verb(self) -> &'static str {
        match self {
            EffectKind::Create => "creates",
            EffectKind::Overwrite => "changes the existing",
            EffectKind::Delete => "deletes",
            EffectKind::Move => "moves",
            EffectKind::MakeDir => "makes the directory",
            EffectKind::Link => "makes the link",
            EffectKind::Run => "runs",
            EffectKind::Fetch => "fetches",
            EffectKind::Call => "calls",
        }
    }
}

/// Characters of a command that an explanation repeats; a program may be one argument of another.
const SHOWN_CHARS: usize = 300;

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.into(),
        Some((cut, _)) => {
            let more = text[cut..].chars().count();
            format!("{}… and {more} more characters", &text[..cut]).into()
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = self.path.as_deref().or(self.subject.as_deref()).unwrap_or("something");
        write!(f, "{} `{}`", self.kind.verb(), visible(&shortened(object)))
    }
}

/// Everything that `proposal` does. A command line has one effect for each simple command in it.
pub(crate) fn effects_of(proposal: &Proposal) -> Vec<Effect> {
    match proposal {
        Proposal::Changes(set) => set.changes.iter().flat_map(effects_of_change).collect(),
        Proposal::Command(command) => effects_of_command(command),
        Proposal::Web(request) => {
            let subject = format!("{} {}", request.method, request.url);
            let web = WebUrl::parse(&request.url).ok().map(|url| WebTarget {
                sends: request.body.is_some()
                    || !request.headers.is_empty()
                    || request.method != "GET",
                unnamed: request.unnamed,
                ..WebTarget::of(&url)
            });
            vec![Effect { web: web.map(Box::new), ..Effect::outside(EffectKind::Fetch, subject) }]
        }
        Proposal::Foreign(call) => vec![effect_of_foreign(call)],
    }
}

fn effect_of_foreign(call: &ForeignCall) -> Effect {
    let foreign = ForeignEffect {
        definition: call.definition,
        is_unapproved: call.unapproved.is_some(),
        is_destructive: call.destructive,
    };
    let subject = format!("{} of the MCP server {}", call.tool, call.server);
    Effect { foreign: Some(Box::new(foreign)), ..Effect::outside(EffectKind::Call, subject) }
}

fn effects_of_change(change: &Change) -> Vec<Effect> {
    match change {
        Change::Write { path, base: Base::Absent, .. } => {
            vec![Effect::on(EffectKind::Create, path)]
        }
        Change::Write { path, .. } => vec![Effect::on(EffectKind::Overwrite, path)],
        Change::Delete { path, .. } | Change::RemoveDir { path, .. } => {
            vec![Effect::on(EffectKind::Delete, path)]
        }
        Change::Move { from, to, base, target } => {
            let tree = matches!(base, Base::Directory { .. });
            let landing = match target {
                Base::Absent => EffectKind::Move,
                _ => EffectKind::Overwrite,
            };
            [(EffectKind::Move, from), (landing, to)]
                .map(|(kind, path)| Effect { tree, ..Effect::on(kind, path) })
                .into()
        }
        Change::Link { path, base: Base::Absent, .. } => vec![Effect::on(EffectKind::Link, path)],
        Change::Link { path, .. } => {
            vec![Effect::on(EffectKind::Overwrite, path), Effect::on(EffectKind::Link, path)]
        }
        Change::MakeDir { path, .. } => vec![Effect::on(EffectKind::MakeDir, path)],
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ChangeSet, ContentHash, FileBytes};

    use super::*;

    fn file() -> Base {
        Base::File { hash: ContentHash::of(b"x"), size: 1, mode: 0o644 }
    }

    #[test]
    fn each_change_has_the_effects_that_its_base_implies() {
        let content = || FileBytes(b"y".to_vec());
        let write = |base| Change::Write { path: "a".into(), base, content: content(), mode: None };
        let moved = |base, target| Change::Move { from: "a".into(), to: "b".into(), base, target };
        let link = |base| Change::Link { path: "a".into(), base, target: content() };
        let cases = [
            (write(Base::Absent), "creates `a`"),
            (write(file()), "changes the existing `a`"),
            (Change::Delete { path: "a".into(), base: file() }, "deletes `a`"),
            (Change::RemoveDir { path: "a".into(), mode: 0o755 }, "deletes `a`"),
            (Change::MakeDir { path: "a".into(), mode: None }, "makes the directory `a`"),
            (moved(file(), Base::Absent), "moves `a`, moves `b`"),
            (moved(file(), file()), "moves `a`, changes the existing `b`"),
            (link(Base::Absent), "makes the link `a`"),
            (link(file()), "changes the existing `a`, makes the link `a`"),
        ];
        for (change, expected) in cases {
            let proposal = Proposal::Changes(ChangeSet { changes: vec![change] });
            let shown: Vec<_> = effects_of(&proposal).iter().map(Effect::to_string).collect();
            assert_eq!(shown.join(", "), expected);
        }
    }

    #[test]
    fn moving_a_directory_affects_everything_beneath_both_names() {
        let moved = Change::Move {
            from: "a".into(),
            to: "b".into(),
            base: Base::Directory { mode: 0o755 },
            target: Base::Absent,
        };
        assert!(effects_of_change(&moved).iter().all(|effect| effect.tree));
    }
}
