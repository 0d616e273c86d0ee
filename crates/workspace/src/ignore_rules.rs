//! Which entries a project asks tools to leave alone, with the meaning ripgrep gives these files.
//!
//! Each directory may hold `.ignore`, `.gitignore` and `.git/info/exclude`. They are read through
//! descriptors and never through links, as git does. Global git configuration plays no part, and
//! no `.git` directory is needed for `.gitignore` to count.

mod name_filter;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::read::READ_FLAGS;
use crate::resolve::open_name;
use crate::root::DIR_FLAGS;
use crate::{OpenFile, RelPath};
use name_filter::NameFilter;

/// Rule files are read up to this size; what follows has no effect. A hostile file of this size
/// takes about a third of a second to compile, and real ones are far smaller.
const MAX_RULE_FILE_BYTES: usize = 256 * 1024;

const UTF8_BOM: char = '\u{FEFF}';

/// Which rule files a directory may have.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RuleFiles {
    pub(crate) ignore: bool,
    pub(crate) gitignore: bool,
    pub(crate) git: bool,
}

impl RuleFiles {
    /// For a directory whose listing was not looked at.
    pub(crate) const MAYBE_ALL: RuleFiles = RuleFiles { ignore: true, gitignore: true, git: true };

    /// Takes note of a name in the directory's listing.
    pub(crate) fn note(&mut self, name: &[u8]) {
        match name {
            b".ignore" => self.ignore = true,
            b".gitignore" => self.gitignore = true,
            b".git" => self.git = true,
            _ => {}
        }
    }
}

/// What the rules say about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IgnoreVerdict {
    /// Leave it alone.
    Ignored,
    /// A rule names it as wanted, which also shows it if it is hidden.
    Wanted,
    /// No rule applies.
    Neutral,
}

/// The rules of one directory, and through `outer` those of the directories around it.
/// A directory without rule files shares the value of its parent.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    outer: Option<Arc<IgnoreRules>>,
    /// Length of the directory's path with its trailing `/`: what to strip before matching.
    prefix: usize,
    ignore: Option<Matcher>,
    gitignore: Option<Matcher>,
    exclude: Option<Matcher>,
}

/// The rules of one file.
#[derive(Debug)]
struct Matcher {
    globs: Gitignore,
    filter: NameFilter,
}

impl IgnoreRules {
    /// The rules that hold inside the directory `dir` at `path`.
    pub(crate) fn load(
        outer: Option<Arc<IgnoreRules>>,
        dir: BorrowedFd<'_>,
        path: &RelPath,
        files: RuleFiles,
    ) -> Option<Arc<IgnoreRules>> {
        let read = |present: bool, name| if present { read_rule_file(dir, name) } else { None };
        let ignore = read(files.ignore, ".ignore").and_then(Matcher::compile);
        let gitignore = read(files.gitignore, ".gitignore").and_then(Matcher::compile);
        let exclude = if files.git { read_exclude_file(dir) } else { None };
        let exclude = exclude.and_then(Matcher::compile);
        if ignore.is_none() && gitignore.is_none() && exclude.is_none() {
            return outer;
        }
        let prefix = if path.is_root() { 0 } else { path.as_bytes().len() + 1 };
        Some(Arc::new(IgnoreRules { outer, prefix, ignore, gitignore, exclude }))
    }

    /// Judges the entry `name`, whose path from the root is `path`. `.ignore` outranks
    /// `.gitignore`, which outranks the exclude file; within each, the innermost directory with a
    /// matching rule decides.
    pub(crate) fn judge(&self, path: &[u8], name: &[u8], is_dir: bool) -> IgnoreVerdict {
        let mut gitignore = IgnoreVerdict::Neutral;
        let mut exclude = IgnoreVerdict::Neutral;
        let mut level = Some(self);
        while let Some(rules) = level {
            let verdict = |matcher: &Option<Matcher>| match matcher {
                Some(matcher) => matcher.judge(&path[rules.prefix..], name, is_dir),
                None => IgnoreVerdict::Neutral,
            };
            let ignore = verdict(&rules.ignore);
            if ignore != IgnoreVerdict::Neutral {
                return ignore;
            }
            if gitignore == IgnoreVerdict::Neutral {
                gitignore = verdict(&rules.gitignore);
            }
            if exclude == IgnoreVerdict::Neutral {
                exclude = verdict(&rules.exclude);
            }
            level = rules.outer.as_deref();
        }
        if gitignore == IgnoreVerdict::Neutral { exclude } else { gitignore }
    }
}

impl Matcher {
    /// None if the file has no rules.
    fn compile(text: Vec<u8>) -> Option<Matcher> {
        let mut builder = GitignoreBuilder::new("");
        let mut filter = NameFilter::new();
        for (index, line) in text.split(|&b| b == b'\n').enumerate() {
            // Like ripgrep, stop at what is not text.
            let Ok(line) = str::from_utf8(line) else { break };
            let line = line.strip_suffix('\r').unwrap_or(line);
            let line = if index == 0 { line.trim_start_matches(UTF8_BOM) } else { line };
            // A line that is not a valid pattern has no effect.
            if builder.add_line(None, line).is_ok() {
                filter.add_line(line);
            }
        }
        let globs = builder.build().ok()?;
        (!globs.is_empty()).then_some(Matcher { globs, filter })
    }

    /// `path` is relative to the directory of the rule file, `name` its last component.
    fn judge(&self, path: &[u8], name: &[u8], is_dir: bool) -> IgnoreVerdict {
        if !self.filter.may_match(name) {
            return IgnoreVerdict::Neutral;
        }
        match self.globs.matched(Path::new(OsStr::from_bytes(path)), is_dir) {
            Match::Ignore(_) => IgnoreVerdict::Ignored,
            Match::Whitelist(_) => IgnoreVerdict::Wanted,
            Match::None => IgnoreVerdict::Neutral,
        }
    }
}

fn read_exclude_file(dir: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let git = open_name(dir, ".git", DIR_FLAGS).ok()?;
    let info = open_name(git.as_fd(), "info", DIR_FLAGS).ok()?;
    read_rule_file(info.as_fd(), "exclude")
}

fn read_rule_file(dir: BorrowedFd<'_>, name: &str) -> Option<Vec<u8>> {
    let fd: OwnedFd = open_name(dir, name, READ_FLAGS).ok()?;
    let file: File = OpenFile::from_descriptor(fd, RelPath::root()).ok()?.file;
    let mut text = Vec::new();
    file.take(MAX_RULE_FILE_BYTES as u64).read_to_end(&mut text).ok()?;
    if text.len() == MAX_RULE_FILE_BYTES {
        // Half a pattern would be another pattern.
        text.truncate(memchr::memrchr(b'\n', &text).unwrap_or(0));
    }
    Some(text)
}
