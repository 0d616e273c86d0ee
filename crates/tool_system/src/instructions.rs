//! Files in which a project, or the user, keeps instructions for agents.
//!
//! One file in a directory counts, the first that can be read. A project's root is read when a
//! conversation begins, another directory when the agent reads or changes a file beneath it. Files are
//! opened like all others: beneath the root, and only if they are regular.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::sync::Mutex;

use protocol::ContentHash;
use workspace::{Error, OpenFile, RelPath, Workspace, bytes_to_text, real_user_file};

use crate::locked::locked;
use crate::{FileTracker, Limits};

/// What such files are called, in any directory.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];
/// And in the root alone, after those.
const ROOT_NAMES: [&str; 3] = [".github/copilot-instructions.md", ".cursorrules", ".windsurfrules"];
/// What the user's own file is called.
const USER_NAME: &str = "AGENTS.md";
const BYTE_ORDER_MARK: char = '\u{feff}';

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFile {
    /// The path from the project root, or as the user knows it.
    pub path: String,
    /// Another one if anything else is to be told.
    pub version: ContentHash,
    /// What it says, or why that cannot be shown.
    pub content: Result<InstructionText, String>,
}

/// What a file with instructions says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionText {
    /// The text, as much of it as is shown.
    pub text: String,
    /// The size of the file.
    pub bytes: u64,
    /// The line at which the part that is not shown begins.
    pub cut_at_line: Option<usize>,
}

impl InstructionFile {
    fn new(path: &str, content: Result<InstructionText, String>) -> Self {
        let shown = match &content {
            Ok(content) => &content.text,
            Err(why) => why,
        };
        Self { path: path.to_owned(), version: ContentHash::of(shown.as_bytes()), content }
    }

    /// The instructions in the root of a project: what cannot be read, then at most one that can.
    pub fn of_project(workspace: &Workspace, limits: &Limits) -> Vec<InstructionFile> {
        in_directory(workspace, &RelPath::root(), limits)
    }

    /// The user's own instructions in the configuration directory `dir`, where they may be a link.
    pub fn of_user(dir: &Path, limits: &Limits) -> Option<InstructionFile> {
        let path = dir.join(USER_NAME);
        let real = real_user_file(&path).unwrap_or(path);
        let name = RelPath::parse(&bytes_to_text(real.file_name()?.as_encoded_bytes())).ok()?;
        let file = read(&Workspace::open(real.parent()?).ok()?, &name, limits)?;
        Some(InstructionFile::new(USER_NAME, file.content))
    }

    /// Why the text is not shown, or not all of it.
    pub fn remark(&self) -> Option<String> {
        match &self.content {
            Err(why) => Some(format!("not read: {why}")),
            Ok(InstructionText { text, bytes, cut_at_line: Some(line) }) => {
                let shown = text.len();
                Some(format!(
                    "cut: {shown} of {bytes} bytes are shown; the rest begins in line {line}"
                ))
            }
            Ok(_) => None,
        }
    }

    fn shown_bytes(&self) -> u64 {
        self.content.as_ref().map_or(0, |content| content.text.len() as u64)
    }
}

fn in_directory(workspace: &Workspace, dir: &RelPath, limits: &Limits) -> Vec<InstructionFile> {
    let more: &[&str] = if dir.is_root() { &ROOT_NAMES } else { &[] };
    let mut found = Vec::new();
    for name in NAMES.iter().chain(more) {
        let path = name.split('/').try_fold(dir.clone(), |dir, part| dir.join(part.as_bytes()));
        let Some(file) = path.ok().and_then(|path| read(workspace, &path, limits)) else {
            continue;
        };
        let is_readable = file.content.is_ok();
        found.push(file);
        if is_readable {
            break;
        }
    }
    found
}

/// None if there is no such file, or nothing in it.
fn read(workspace: &Workspace, path: &RelPath, limits: &Limits) -> Option<InstructionFile> {
    let content = match workspace.open_file(path) {
        Ok(file) => shown(&file, limits.agents_md_bytes),
        Err(Error::NotFound { .. } | Error::NotADirectory { .. }) => return None,
        Err(error) => Err(error.to_string()),
    };
    let is_empty = content.as_ref().is_ok_and(|content| content.text.trim().is_empty());
    (!is_empty).then(|| InstructionFile::new(&path.to_text(), content))
}

fn shown(file: &OpenFile, most: u64) -> Result<InstructionText, String> {
    let mut bytes = Vec::new();
    let read = (&file.file).take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| format!("{}: {error}", file.path()))?;
    let all = file.meta.size.max(bytes.len() as u64);
    let is_cut = bytes.len() as u64 > most;
    let text =
        decoded(&bytes, is_cut).ok_or_else(|| format!("{} is not UTF-8 text", file.path()))?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Ok(cut(text.trim_start_matches(BYTE_ORDER_MARK), most, is_cut, all))
}

/// The text, without a character that a cut has torn.
fn decoded(bytes: &[u8], is_cut: bool) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if is_cut && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// At most `most` bytes of `text`, whole lines if there are any.
fn cut(text: &str, most: usize, is_cut: bool, bytes: u64) -> InstructionText {
    if !is_cut {
        return InstructionText { text: text.to_owned(), bytes, cut_at_line: None };
    }
    let fits = &text[..text.floor_char_boundary(most)];
    let whole = fits.rfind('\n').map_or(fits, |end| &fits[..=end]);
    let line = whole.matches('\n').count() + 1;
    InstructionText { text: whole.to_owned(), bytes, cut_at_line: Some(line) }
}

/// The instructions for the parts of a project that one agent works in.
#[derive(Default)]
pub(crate) struct TouchedInstructions(Mutex<Touched>);

#[derive(Default)]
struct Touched {
    /// Directories that were looked into in this turn.
    looked: BTreeSet<RelPath>,
    /// What was found, in this order, with the directory of each.
    found: Vec<(RelPath, InstructionFile)>,
    /// What was told last in this turn, and for files in which directories.
    told: Option<(BTreeSet<RelPath>, Vec<InstructionFile>)>,
}

impl TouchedInstructions {
    /// Looks anew when it is asked the next time.
    pub(crate) fn look_again(&self) {
        let mut touched = locked(&self.0);
        touched.looked.clear();
        touched.told = None;
    }

    /// What [`Self::gather`] would answer, if that is known without looking at the disk: no file in
    /// another directory was seen since it was asked in this turn.
    pub(crate) fn known(&self, tracker: &FileTracker) -> Option<Vec<InstructionFile>> {
        let touched = locked(&self.0);
        let (directories, told) = touched.told.as_ref()?;
        tracker.directories().is_subset(directories).then(|| told.clone())
    }

    /// Everything that was found in the root and above the files that `tracker` knows, in the order in
    /// which it was found.
    pub(crate) fn gather(
        &self,
        tracker: &FileTracker,
        workspace: &Workspace,
        limits: &Limits,
    ) -> Vec<InstructionFile> {
        let mut touched = locked(&self.0);
        let mut wanted: BTreeSet<RelPath> = BTreeSet::from([RelPath::root()]);
        let directories = tracker.directories().clone();
        for dir in directories.iter().filter(|dir| !touched.looked.contains(*dir)) {
            wanted.extend(ancestors(dir.clone(), limits.walk_depth));
        }
        for dir in wanted {
            // What was found before counts; what would be too much is not even read.
            if !touched.looked.contains(&dir) && (!touched.is_full(limits) || touched.knows(&dir)) {
                touched.put(dir.clone(), in_directory(workspace, &dir, limits));
                touched.looked.insert(dir);
            }
        }
        let told = within(touched.found.iter().map(|(_, file)| file), limits);
        touched.told = Some((directories, told.clone()));
        told
    }
}

impl Touched {
    fn is_full(&self, limits: &Limits) -> bool {
        let bytes: u64 = self.found.iter().map(|(_, file)| file.shown_bytes()).sum();
        self.found.len() as u64 > limits.agents_md_files || bytes > limits.agents_md_all_bytes
    }

    fn knows(&self, dir: &RelPath) -> bool {
        self.found.iter().any(|(known, _)| known == dir)
    }

    /// Files of a directory keep their place when they are read again.
    fn put(&mut self, dir: RelPath, files: Vec<InstructionFile>) {
        let at = self.found.iter().position(|(known, _)| *known == dir);
        self.found.retain(|(known, _)| *known != dir);
        let at = at.unwrap_or(self.found.len()).min(self.found.len());
        self.found.splice(at..at, files.into_iter().map(|file| (dir.clone(), file)));
    }
}

/// A directory and all above it, but for those that are too deep.
fn ancestors(dir: RelPath, deepest: u64) -> impl Iterator<Item = RelPath> {
    let all = std::iter::successors(Some(dir), RelPath::parent);
    all.filter(move |dir| dir.depth() as u64 <= deepest)
}

/// As many of the files as there is room for. The first that finds none is named, and nothing after it.
fn within<'a>(
    files: impl Iterator<Item = &'a InstructionFile>,
    limits: &Limits,
) -> Vec<InstructionFile> {
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for file in files {
        bytes += file.shown_bytes();
        let (most_files, most_bytes) = (limits.agents_md_files, limits.agents_md_all_bytes);
        if shown.len() as u64 >= most_files || bytes > most_bytes {
            let why = format!(
                "there are more than {most_files} files or {most_bytes} bytes of instructions; \
                 nothing further is shown"
            );
            shown.push(InstructionFile::new(&file.path, Err(why)));
            break;
        }
        shown.push(file.clone());
    }
    shown
}

#[cfg(test)]
mod tests;
