//! What a command changed in its copy of the project, as changes to the project itself.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use protocol::{Base, Change, ChangeSet, FileBytes, ToolError};
use sandbox::{Changed, ChangedEntry, CommandChanges};
use workspace::{RelPath, Workspace};

use super::apart::Apart;
use crate::Limits;
use crate::policy::protection;

/// Changes that are looked at.
pub(super) const MOST_CHANGES: usize = 500_000;
/// Bytes of all changed files together, which are held in memory.
const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// The permission bits that a file of the project may have.
const PERMISSIONS: u32 = 0o777;

/// What a command would leave in the project.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// The changes, as they would be made.
    pub(crate) set: ChangeSet,
    /// What was left out of them, and why.
    pub(crate) notes: Vec<String>,
    /// Why nothing can be applied.
    pub(crate) refusal: Option<String>,
    /// Everything that the command changed.
    pub(crate) paths: Vec<String>,
    /// Ignored paths that are new to the project and are kept in its private layer.
    pub(crate) private: Vec<String>,
    /// Ignored paths that were copied into the project, because the user wants it so.
    pub(crate) filled: Vec<String>,
    /// What it wrote to ignored paths, if that waits for what becomes of the changes.
    pub(crate) apart: Option<Apart>,
}

impl Taken {
    /// The same, of which nothing is applied, for this reason if there is no other.
    pub(super) fn refused(mut self, why: &str) -> Taken {
        if !self.paths.is_empty() {
            self.refusal.get_or_insert_with(|| why.to_owned());
        }
        self
    }
}

/// Makes changes to the project of what a command changed. `begun` is when the command was started.
pub(super) fn take(
    workspace: &Workspace,
    found: &[(&CommandChanges, &[Changed])],
    limits: &Limits,
    begun: SystemTime,
) -> Taken {
    let mut taken = Taken::default();
    let count: usize = found.iter().map(|(_, changed)| changed.len()).sum();
    if count as u64 > limits.delete_entries {
        let most = limits.delete_entries;
        taken.refusal = Some(format!("it changed {count} files; the most is {most}"));
    }
    let mut removed_dirs = Vec::new();
    let mut bytes = 0;
    for (changes, changed) in found {
        let max_bytes = limits.edit_bytes;
        let mut taking = Taking {
            workspace,
            changes,
            max_bytes,
            begun,
            bytes,
            set: Vec::new(),
            removed_dirs: Vec::new(),
            notes: Vec::new(),
        };
        for changed in *changed {
            let path = match RelPath::from_bytes(changed.path.as_os_str().as_bytes()) {
                Ok(path) => path,
                Err(error) => {
                    let shown = changed.path.display();
                    taking.notes.push(format!("{shown} was left out: {error}"));
                    continue;
                }
            };
            taken.paths.push(path.to_text());
            if taken.refusal.is_none() {
                taken.refusal = taking.one(&path, changed).err().map(|error| error.message);
            }
        }
        bytes = taking.bytes;
        taken.set.changes.append(&mut taking.set);
        removed_dirs.append(&mut taking.removed_dirs);
        taken.notes.append(&mut taking.notes);
    }
    removed_dirs.reverse();
    taken.set.changes.extend(removed_dirs);
    taken
}

/// Copies what a program wrote beneath `paths` into the project, without asking and without undo: for
/// directories of thousands of files that the user let it fill. Links that leave the project and names
/// that other programs run or follow are left out, and so is everything but files, directories and links.
pub(super) fn fill(changes: &CommandChanges, paths: &[PathBuf]) -> Result<(), String> {
    for path in paths {
        let listed = changes.list_at(path, MOST_CHANGES).map_err(|error| error.to_string())?;
        let allowed: Vec<Changed> = listed.into_iter().filter(may_be_copied_back).collect();
        changes.copy_back(&allowed).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn may_be_copied_back(changed: &Changed) -> bool {
    let Ok(path) = RelPath::from_bytes(changed.path.as_os_str().as_bytes()) else { return false };
    let stays = match &changed.now {
        Some(ChangedEntry::Link { target }) => stays_inside(&path, target),
        Some(ChangedEntry::Other) => false,
        Some(ChangedEntry::File { .. } | ChangedEntry::Directory { .. }) | None => true,
    };
    stays && protection(&path.to_text(), false).is_none()
}

struct Taking<'a> {
    workspace: &'a Workspace,
    changes: &'a CommandChanges,
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
            (Some(ChangedEntry::Directory { mode }), None) => {
                self.removed_dirs.push(Change::RemoveDir { path: text, mode: *mode });
            }
            (Some(ChangedEntry::Other), _) | (_, Some(ChangedEntry::Other)) => {
                self.note(&text, "sockets, pipes and devices are not applied");
            }
            (Some(_), None) => {
                let (base, _) = self.base(path)?;
                self.set.push(Change::Delete { path: text, base });
            }
            (None, Some(ChangedEntry::Directory { mode })) => {
                let mode = Some(mode & PERMISSIONS);
                self.set.push(Change::MakeDir { path: text, mode });
            }
            (Some(ChangedEntry::Directory { .. }), Some(ChangedEntry::Directory { .. })) => {
                self.note(&text, "permissions of directories are not applied");
            }
            (Some(ChangedEntry::Directory { .. }), Some(_))
            | (Some(_), Some(ChangedEntry::Directory { .. })) => {
                return Err(refused(format!(
                    "{text} became a directory, or was one; that cannot be applied in one step"
                )));
            }
            (_, Some(ChangedEntry::Link { target })) => self.link(path, text, target)?,
            (_, Some(ChangedEntry::File { mode, size })) => {
                self.file(path, text, changed, (*mode, *size))?;
            }
            (None, None) => {}
        }
        Ok(())
    }

    fn note(&mut self, path: &str, why: &str) {
        self.notes.push(format!("{path} was left out: {why}"));
    }

    fn link(&mut self, path: &RelPath, text: String, target: &Path) -> Result<(), ToolError> {
        if !stays_inside(path, target) {
            self.note(&text, "links that lead out of the project are not applied");
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
                "{path} was changed by another process while the command ran"
            )));
        }
        Ok((base, bytes))
    }
}

fn refused(message: String) -> ToolError {
    ToolError::new(protocol::ErrorCode::Conflict, message)
}

/// Whether a link at `path` leads to a place in the project, as far as its own text says. It may climb
/// only at its beginning: behind a name, which may be another link, it is unknown from where it climbs.
fn stays_inside(path: &RelPath, target: &Path) -> bool {
    let mut left = path.depth().saturating_sub(1);
    let mut has_name = false;
    for part in target.components() {
        match part {
            Component::Normal(_) => has_name = true,
            Component::ParentDir if has_name || left == 0 => return false,
            Component::ParentDir => left -= 1,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return false,
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
            ("a", "./x/y", true),
            ("a", "x/../y", false),
            // If `z` is a link to a directory at the top, this climbs out of the project.
            ("a", "x/y/z/../../..", false),
            ("d/e/a", "../../b/c", true),
        ];
        for (path, target, inside) in cases {
            let path = RelPath::parse(path).unwrap();
            assert_eq!(stays_inside(&path, Path::new(target)), inside, "{path} -> {target}");
        }
    }
}
