//! What a session has changed, all its changes folded into one for each file.

use protocol::{Base, Change, ContentHash, FileBytes, FileDiff, unified, visible};
use workspace::{Error, Journal, RelPath, UndoTarget};

/// A larger file is only named.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What a session has changed: each file as it was before its first change, against the file as it is now.
#[derive(Debug, Default)]
pub struct SessionDiff {
    /// One for each file that is other than it was, by path.
    pub files: Vec<FileDiff>,
    /// Files that cannot be compared, and why, one line each.
    pub notes: Vec<String>,
}

impl SessionDiff {
    /// The changes of `session` that are in force. What was undone, or changed back since, is not among
    /// them.
    pub(super) fn of(journal: &Journal, session: &str) -> Result<Self, Error> {
        let inverse = match journal.inverse(&UndoTarget::Session(session.to_owned())) {
            Err(Error::NothingToUndo { .. }) => return Ok(Self::default()),
            inverse => inverse?,
        };
        let mut all = Self::default();
        for change in &inverse.set.changes {
            match now(journal, change) {
                Ok(Some(diff)) => all.files.push(diff),
                Ok(None) => {}
                Err(why) => all.notes.push(why),
            }
        }
        all.files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(all)
    }

    /// A line for each file, then the diff.
    pub fn text(&self) -> String {
        if self.files.is_empty() && self.notes.is_empty() {
            return "Nothing has been changed in this session.\n".to_owned();
        }
        let mut text = String::new();
        for FileDiff { path, added, removed, .. } in &self.files {
            text.push_str(&format!("{}  +{added} −{removed}\n", visible(path)));
        }
        for note in &self.notes {
            text.push_str(&format!("{note}\n"));
        }
        if !self.files.is_empty() {
            text.push('\n');
            text.push_str(&unified(&self.files));
        }
        text
    }
}

/// What has become of a file, given the change that would bring it back to what it was.
fn now(journal: &Journal, back: &Change) -> Result<Option<FileDiff>, String> {
    match back {
        Change::Write { path, content, mode, .. } => {
            let before = file(&content.0, *mode);
            let change = match present(journal, path)? {
                (_, Some(bytes)) if bytes == content.0 => return Ok(None),
                (_, Some(bytes)) => {
                    let content = FileBytes(bytes);
                    Change::Write { path: path.clone(), base: before, content, mode: None }
                }
                (Base::Absent, None) => Change::Delete { path: path.clone(), base: before },
                _ => return Err(format!("{} is not a regular file any more", visible(path))),
            };
            Ok(Some(FileDiff::of(&change, Some(&content.0))))
        }
        Change::Delete { path, .. } => {
            let change = match present(journal, path)? {
                (_, Some(bytes)) => Change::Write {
                    path: path.clone(),
                    base: Base::Absent,
                    content: FileBytes(bytes),
                    mode: None,
                },
                (Base::Link { target }, _) => {
                    Change::Link { path: path.clone(), base: Base::Absent, target }
                }
                _ => return Ok(None),
            };
            Ok(Some(FileDiff::of(&change, None)))
        }
        Change::Move { from, to, base, target } => {
            let (from, to) = (to.clone(), from.clone());
            let change = Change::Move { from, to, base: base.clone(), target: target.clone() };
            Ok(Some(FileDiff::of(&change, None)))
        }
        Change::Link { path, .. } => Err(format!("{} was a link", visible(path))),
        Change::MakeDir { .. } | Change::RemoveDir { .. } => Ok(None),
    }
}

fn file(bytes: &[u8], mode: Option<u32>) -> Base {
    Base::File {
        hash: ContentHash::of(bytes),
        size: bytes.len() as u64,
        mode: mode.unwrap_or_default(),
    }
}

/// What is at a path now, with the bytes of a file.
fn present(journal: &Journal, path: &str) -> Result<(Base, Option<Vec<u8>>), String> {
    let found = RelPath::parse(path).map(|path| journal.base(&path, MAX_BYTES));
    match found {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(format!("{} is not compared: {error}", visible(path))),
        Err(error) => Err(format!("{} is not compared: {error}", visible(path))),
    }
}
