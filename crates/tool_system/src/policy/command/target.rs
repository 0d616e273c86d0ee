//! Where the paths of a command lead, as far as text can tell.

use super::{CommandLine, Redirect, SimpleCommand, TreeFacts, Word, WordKind};
use crate::policy::protection;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Into the project: every path that it may be, relative to the root.
    Inside(Vec<String>),
    /// A place that holds nothing, or nothing for long.
    Scratch,
    /// Out of the project.
    Outside,
    /// That turns out only as the command runs.
    Unknown,
}

/// The place that a command line is judged in.
#[derive(Debug)]
pub(super) struct Scene<'a> {
    pub(super) facts: &'a TreeFacts,
    /// The directories that a command may run in: where the line starts, and wherever it changes to.
    directories: Vec<String>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(line: &CommandLine, working_dir: &str, facts: &'a TreeFacts) -> Self {
        let start = normal(working_dir).unwrap_or_default();
        let mut scene = Self { facts, directories: vec![start] };
        for command in &line.commands {
            let changes = matches!(command.program(), Some("cd" | "pushd"));
            let Some(word) = command.operands().next().filter(|_| changes) else { continue };
            if let Target::Inside(more) = scene.target(word) {
                let new = more.into_iter().filter(|dir| !scene.directories.contains(dir));
                let new: Vec<_> = new.collect();
                scene.directories.extend(new);
            }
        }
        scene
    }

    /// Where a word leads if it is a path.
    pub(super) fn target(&self, word: &Word) -> Target {
        let text = match word.kind {
            WordKind::Opaque => return Target::Unknown,
            WordKind::Plain => word.text.as_str(),
            // What a pattern finds lies in the directory before its first sign.
            WordKind::Pattern if word.text.contains('~') => return Target::Outside,
            // Braces can hold anything, and a pattern may climb out of what it finds.
            WordKind::Pattern if word.text.contains('{') || word.text.contains("..") => {
                return Target::Unknown;
            }
            WordKind::Pattern => {
                let fixed = word.text.split(['*', '?', '[', '{']).next().unwrap_or_default();
                fixed.rsplit_once('/').map_or("", |(directory, _)| directory)
            }
        };
        if !text.starts_with('/') {
            let joined = self.directories.iter().map(|dir| normal(&format!("{dir}/{text}")));
            let inside: Option<Vec<_>> = joined.collect();
            return inside.map_or(Target::Outside, Target::Inside);
        }
        let root = self.facts.root.as_deref().map(|root| root.trim_end_matches('/'));
        let beneath = root.and_then(|root| text.strip_prefix(root));
        match beneath.filter(|rest| rest.is_empty() || rest.starts_with('/')).map(normal) {
            Some(Some(path)) => Target::Inside(vec![path]),
            _ if is_scratch(text) => Target::Scratch,
            _ => Target::Outside,
        }
    }

    /// Why a word that is written to asks, if it names something protected.
    pub(super) fn protection(&self, word: &Word) -> Option<&'static str> {
        let hidden = |name: &str| name.starts_with('.') && name.contains(['*', '?', '[']);
        if word.kind == WordKind::Pattern && word.text.split('/').any(hidden) {
            return Some("it may stand for a name that other programs obey");
        }
        let Target::Inside(paths) = self.target(word) else { return None };
        paths.iter().find_map(|path| protection(path, word.kind == WordKind::Pattern))
    }

    /// The paths in the project that the words name.
    pub(super) fn paths<'w>(&self, words: impl Iterator<Item = &'w Word>) -> Vec<String> {
        let paths = words.filter_map(|word| match self.target(word) {
            Target::Inside(paths) => Some(paths),
            _ => None,
        });
        paths.flatten().collect()
    }

    /// Whether a word stays in the project or in a place that does not matter.
    pub(super) fn stays(&self, word: &Word) -> bool {
        matches!(self.target(word), Target::Inside(_) | Target::Scratch)
    }
}

impl SimpleCommand {
    /// The files that the shell writes for the command.
    pub(super) fn written(&self) -> impl Iterator<Item = &Word> {
        let null = |word: &&Word| {
            !matches!(word.text.as_str(), "/dev/null" | "/dev/stderr" | "/dev/stdout")
        };
        self.redirects.iter().filter(|redirect| redirect.writes).map(Redirect::target).filter(null)
    }
}

impl Redirect {
    fn target(&self) -> &Word {
        &self.target
    }
}

/// Devices that swallow, and the directory that a confined command has for itself.
fn is_scratch(path: &str) -> bool {
    let climbs = path.split('/').any(|name| name == "..");
    let device = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/zero"];
    device.contains(&path) || (!climbs && (path == "/tmp" || path.starts_with("/tmp/")))
}

/// A relative path without `.` and `..`; `None` if it climbs out.
fn normal(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}
