//! What a command changed in its copy of the project, as changes to the project itself.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::time::SystemTime;

use protocol::{Base, Change, ChangeSet, FileBytes, ToolError};
use sandbox::{Changed, Changes, Entry};
use workspace::{Ignored, RelPath, Workspace};

use crate::Limits;

/// Changes that are looked at, ignored files included.
const MOST_CHANGES: usize = 500_000;
/// Bytes of all changed files together, which are held in memory.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// The permission bits that a file of the project may have.
const PERMISSIONS: u32 = 0o777;

/// What is to be taken over.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The changes, as they would be made.
    pub(crate) set: ChangeSet,
    /// What was left out of them, and why.
    pub(crate) notes: Vec<String>,
    /// Why nothing can be taken over.
    pub(crate) refusal: Option<String>,
    /// Everything that the command changed.
    pub(crate) paths: Vec<String>,
}

/// The changes of one run, sorted by what becomes of them.
pub(super) struct Sorted {
    pub(super) ignored: Vec<Changed>,
    rest: Vec<(RelPath, Changed)>,
    notes: Vec<String>,
}

/// Tells ignored files from others.
pub(super) fn sort(workspace: &Workspace, changes: &Changes) -> Result<Sorted, String> {
    let listed = changes.list(MOST_CHANGES).map_err(|error| error.to_string())?;
    let mut sorted = Sorted { ignored: Vec::new(), rest: Vec::new(), notes: Vec::new() };
    let mut ignored = Ignored::new(workspace);
    for changed in listed {
        let path = match RelPath::from_bytes(changed.path.as_os_str().as_bytes()) {
            Ok(path) => path,
            Err(error) => {
                let shown = changed.path.display();
                sorted.notes.push(format!("{shown} was not taken over: {error}"));
                continue;
            }
        };
        let entry = changed.now.as_ref().or(changed.before.as_ref());
        let is_dir = matches!(entry, Some(Entry::Directory { .. }));
        match ignored.covers(&path, is_dir) {
            true => sorted.ignored.push(changed),
            false => sorted.rest.push((path, changed)),
        }
    }
    Ok(sorted)
}

/// Makes changes to the project of what is not ignored. `begun` is when the command was started.
pub(super) fn take(
    workspace: &Workspace,
    changes: &Changes,
    sorted: Sorted,
    limits: &Limits,
    begun: SystemTime,
) -> Taken {
    let paths = sorted.rest.iter().map(|(path, _)| path.to_text()).collect();
    let mut taking = Taking {
        workspace,
        changes,
        max_bytes: limits.edit_bytes,
        begun,
        bytes: 0,
        set: Vec::new(),
        removed_dirs: Vec::new(),
        notes: sorted.notes,
    };
    let mut refusal = None;
    if sorted.rest.len() as u64 > limits.delete_entries {
        let (many, most) = (sorted.rest.len(), limits.delete_entries);
        refusal = Some(format!("it changed {many} files that are not ignored; the most is {most}"));
    }
    for (path, changed) in &sorted.rest {
        if refusal.is_none() {
            refusal = taking.one(path, changed).err().map(|error| error.message);
        }
    }
    let Taking { mut set, mut removed_dirs, notes, .. } = taking;
    removed_dirs.reverse();
    set.extend(removed_dirs);
    Taken { set: ChangeSet { changes: set }, notes, refusal, paths }
}

struct Taking<'a> {
    workspace: &'a Workspace,
    changes: &'a Changes,
    max_bytes: u64,
    begun: SystemTime,
    bytes: u64,
    set: Vec<Change>,
    /// Outermost first, as they are listed.
    removed_dirs: Vec<Change>,
    notes: Vec<String>,
}

impl Taking<'_> {
    fn one(&mut self, path: &RelPath, changed: &Changed) -> Result<(), ToolError> {
        let text = path.to_text();
        match (&changed.before, &changed.now) {
            (Some(Entry::Directory { mode }), None) => {
                self.removed_dirs.push(Change::RemoveDir { path: text, mode: *mode });
            }
            (Some(Entry::Other), _) | (_, Some(Entry::Other)) => {
                self.note(&text, "sockets, pipes and devices are not");
            }
            (Some(_), None) => {
                let (base, _) = self.base(path)?;
                self.set.push(Change::Delete { path: text, base });
            }
            (None, Some(Entry::Directory { mode })) => {
                let mode = Some(mode & PERMISSIONS);
                self.set.push(Change::MakeDir { path: text, mode });
            }
            (Some(Entry::Directory { .. }), Some(Entry::Directory { .. })) => {
                self.note(&text, "permissions of directories are not");
            }
            (Some(Entry::Directory { .. }), Some(_)) | (Some(_), Some(Entry::Directory { .. })) => {
                return Err(refused(format!(
                    "{text} became a directory, or was one; that cannot be taken over in one step"
                )));
            }
            (_, Some(Entry::Link { target })) => self.link(path, text, target)?,
            (_, Some(Entry::File { mode, size })) => {
                self.file(path, text, changed, (*mode, *size))?;
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn note(&mut self, path: &str, why: &str) {
        self.notes.push(format!("{path} was not taken over: {why}"));
    }

    fn link(&mut self, path: &RelPath, text: String, target: &Path) -> Result<(), ToolError> {
        if !stays_inside(path, target) {
            self.note(&text, "links that lead out of the project are not");
            return Ok(());
        }
        let (base, _) = self.base(path)?;
        let target = FileBytes(target.as_os_str().as_bytes().to_vec());
        self.set.push(Change::Link { path: text, base, target });
        Ok(())
    }

    fn file(
        &mut self,
        path: &RelPath,
        text: String,
        changed: &Changed,
        (mode, size): (u32, u64),
    ) -> Result<(), ToolError> {
        self.bytes = self.bytes.saturating_add(size);
        if size > self.max_bytes || self.bytes > MOST_BYTES {
            return Err(refused(format!(
                "{text} has {size} bytes; that is more than can be kept for undo"
            )));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        self.changes
            .open_file(&changed.path)
            .and_then(|mut file| std::io::Read::read_to_end(&mut file, &mut content))
            .map_err(|error| refused(format!("{text} cannot be read: {error}")))?;
        let (base, old) = self.base(path)?;
        let mode = mode & PERMISSIONS;
        let old_mode = match &base {
            Base::File { mode, .. } => Some(mode & PERMISSIONS),
            _ => None,
        };
        if old_mode == Some(mode) && old.as_deref() == Some(content.as_slice()) {
            return Ok(());
        }
        let mode = (old_mode != Some(mode)).then_some(mode);
        self.set.push(Change::Write { path: text, base, content: FileBytes(content), mode });
        Ok(())
    }

    /// What is in the project, if it is still what the command saw when it began.
    fn base(&self, path: &RelPath) -> Result<(Base, Option<Vec<u8>>), ToolError> {
        let (base, bytes) = self.workspace.base_of(path, self.max_bytes)?;
        if base != Base::Absent
            && self.workspace.metadata(path).is_ok_and(|meta| meta.changed > self.begun)
        {
            return Err(refused(format!(
                "{path} was changed by someone else while the command ran"
            )));
        }
        Ok((base, bytes))
    }
}

fn refused(message: String) -> ToolError {
    ToolError::new(protocol::ErrorCode::Conflict, message)
}

/// Whether a link at `path` leads to a place in the project, as far as its own text says.
fn stays_inside(path: &RelPath, target: &Path) -> bool {
    let mut depth = path.depth() as isize - 1;
    for part in target.components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
        }
        if depth < 0 {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_judged_by_where_they_lead() {
        let cases = [
            ("a", "b", true),
            ("a", "../b", false),
            ("d/a", "../b", true),
            ("d/a", "../../b", false),
            ("d/a", "../../p/b", false),
            ("a", "/etc/passwd", false),
            ("a", "./x/../y", true),
        ];
        for (path, target, inside) in cases {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(stays_inside(&path, Path::new(target)), inside, "{path} -> {target}");
        }
    }
}
