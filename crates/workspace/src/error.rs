//! What can go wrong with a file, and the error that a model reads.

use std::io;

use protocol::{ErrorCode, ToolError};
use rustix::io::Errno;

use crate::{EntryKind, PathError, RelPath};

/// How a path would have left the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Escape {
    /// The path is absolute and is not spelled beneath the root.
    #[error("is an absolute path outside the project")]
    Absolute,
    /// The path climbs above the root with `..`.
    #[error("climbs above the project root")]
    Climb,
    /// A symbolic link on the way is absolute or leads above the root. An absolute link is refused
    /// even if it points back inside, because only the kernel's own resolution is trusted.
    #[error("leaves the project through a symbolic link")]
    Link,
    /// Symbolic links on the way form a loop, or are too many.
    #[error("goes through too many symbolic links")]
    LinkLoop,
}

/// A failed operation on the project's files. `path` is the path as text, relative to the root
/// where it could be understood.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path does not stay inside the project.
    #[error("{path} {how}")]
    OutsideRoot {
        /// The path as given.
        path: String,
        /// The way it would have left.
        how: Escape,
    },
    /// The text is not a path.
    #[error("{path:?} is not a usable path: {reason}")]
    Malformed {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        reason: PathError,
    },
    /// Nothing is there.
    #[error("{path} does not exist")]
    NotFound { path: String },
    /// The system does not allow it.
    #[error("{path}: permission denied by the system")]
    PermissionDenied { path: String },
    /// A regular file was expected.
    #[error("{path} is {kind}, not a regular file")]
    NotAFile {
        path: String,
        /// What it is instead.
        kind: EntryKind,
    },
    /// A directory was expected.
    #[error("{path} is {kind}, not a directory")]
    NotADirectory {
        path: String,
        /// What it is instead.
        kind: EntryKind,
    },
    /// What is there is not what the change was made from, so nothing was changed.
    #[error("{path} {reason}")]
    Conflict {
        path: String,
        /// What was found instead, as the rest of a sentence that begins with the path.
        reason: String,
    },
    /// The set of changes contradicts itself.
    #[error("the changes contradict each other at {path}: {reason}")]
    Contradiction {
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The file's owner may not write it, so it is not replaced either.
    #[error("{path} is read-only: its owner has no write permission")]
    ReadOnlyFile { path: String },
    /// The whole file system is read-only.
    #[error("{path} is on a read-only file system")]
    ReadOnlyFileSystem { path: String },
    /// The disk or the quota is full.
    #[error("{path}: no space left on the disk")]
    NoSpace { path: String },
    /// The directory for Toolkiln's own state cannot be used.
    #[error("{path} cannot hold Toolkiln's state: {reason}")]
    State {
        /// The directory or the file in it.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no change to undo or redo, or it is no longer remembered.
    #[error("{wanted}")]
    NothingToUndo {
        /// What was looked for, as a sentence.
        wanted: String,
    },
    /// The editor could not be run or failed.
    #[error("the editor {editor} {reason}")]
    Editor {
        /// The command.
        editor: String,
        /// What went wrong, as the rest of a sentence.
        reason: String,
    },
    /// The file is larger than the caller's limit.
    #[error("{path} is larger than {limit} bytes")]
    TooLarge {
        path: String,
        /// The limit it exceeds, in bytes.
        limit: u64,
    },
    /// The caller cancelled the work.
    #[error("{path}: cancelled")]
    Cancelled { path: String },
    /// Anything else the system reports.
    #[error("{path}: {source}")]
    Io {
        path: String,
        /// The system's own error.
        source: io::Error,
    },
}

impl Error {
    /// The path the error is about, as text.
    pub fn path(&self) -> &str {
        match self {
            Error::OutsideRoot { path, .. }
            | Error::Malformed { path, .. }
            | Error::NotFound { path }
            | Error::PermissionDenied { path }
            | Error::NotAFile { path, .. }
            | Error::NotADirectory { path, .. }
            | Error::Conflict { path, .. }
            | Error::Contradiction { path, .. }
            | Error::ReadOnlyFile { path }
            | Error::ReadOnlyFileSystem { path }
            | Error::NoSpace { path }
            | Error::State { path, .. }
            | Error::TooLarge { path, .. }
            | Error::Cancelled { path }
            | Error::Io { path, .. } => path,
            Error::NothingToUndo { .. } | Error::Editor { .. } => ".",
        }
    }

    pub(crate) fn from_path_error(text: &str, reason: PathError) -> Error {
        let path = text.to_owned();
        match reason {
            PathError::Absolute => Error::OutsideRoot { path, how: Escape::Absolute },
            PathError::LeavesRoot => Error::OutsideRoot { path, how: Escape::Climb },
            _ => Error::Malformed { path, reason },
        }
    }

    pub(crate) fn from_errno(path: &RelPath, errno: Errno) -> Error {
        Error::from_io(path.to_text(), errno.into())
    }

    pub(crate) fn from_io(path: String, source: io::Error) -> Error {
        match Errno::from_io_error(&source) {
            Some(Errno::XDEV) => Error::OutsideRoot { path, how: Escape::Link },
            Some(Errno::LOOP) => Error::OutsideRoot { path, how: Escape::LinkLoop },
            Some(Errno::NOENT | Errno::NOTDIR) => Error::NotFound { path },
            Some(Errno::ACCESS | Errno::PERM) => Error::PermissionDenied { path },
            Some(Errno::EXIST) => Error::Conflict { path, reason: "exists already".to_owned() },
            Some(Errno::ROFS) => Error::ReadOnlyFileSystem { path },
            Some(Errno::NOSPC | Errno::DQUOT) => Error::NoSpace { path },
            Some(Errno::NAMETOOLONG) => Error::Malformed { path, reason: PathError::TooLong },
            _ => Error::Io { path, source },
        }
    }

    pub(crate) fn conflict(path: &RelPath, reason: impl Into<String>) -> Error {
        Error::Conflict { path: path.to_text(), reason: reason.into() }
    }

    pub(crate) fn contradiction(path: &RelPath, reason: impl Into<String>) -> Error {
        Error::Contradiction { path: path.to_text(), reason: reason.into() }
    }

    fn code(&self) -> ErrorCode {
        match self {
            Error::OutsideRoot { .. } | Error::Malformed { .. } => ErrorCode::InvalidPath,
            Error::NotFound { .. } => ErrorCode::FileNotFound,
            Error::PermissionDenied { .. }
            | Error::ReadOnlyFile { .. }
            | Error::ReadOnlyFileSystem { .. } => ErrorCode::PermissionDenied,
            Error::Conflict { .. } => ErrorCode::Conflict,
            Error::Contradiction { .. } | Error::NothingToUndo { .. } => {
                ErrorCode::InvalidArguments
            }
            Error::NotAFile { .. } => ErrorCode::NotAFile,
            Error::NotADirectory { .. } => ErrorCode::NotADirectory,
            Error::TooLarge { .. } => ErrorCode::FileTooLarge,
            Error::Cancelled { .. } => ErrorCode::Cancelled,
            Error::NoSpace { .. }
            | Error::State { .. }
            | Error::Editor { .. }
            | Error::Io { .. } => ErrorCode::ExecutionError,
        }
    }

    fn suggestion(&self) -> Option<&'static str> {
        match self {
            Error::OutsideRoot { how: Escape::Absolute | Escape::Climb, .. }
            | Error::Malformed { .. } => {
                Some("Use a path relative to the project root, such as src/main.rs.")
            }
            Error::OutsideRoot { how: Escape::Link | Escape::LinkLoop, .. } => Some(
                "Name the file itself by its path inside the project instead of going through \
                 the link.",
            ),
            Error::NotFound { .. } => {
                Some("List the directory or search by name to find the right path.")
            }
            Error::Conflict { .. } => Some(
                "Nothing was changed. Read the file again and make the change from what it holds.",
            ),
            Error::Contradiction { .. } => {
                Some("Name each path once, and make a directory before what goes into it.")
            }
            Error::NothingToUndo { .. } => Some(
                "Only changes made through Toolkiln can be undone; `toolkiln history` lists them.",
            ),
            Error::ReadOnlyFileSystem { .. } | Error::State { .. } => {
                Some("Ask the user; nothing was changed.")
            }
            Error::NoSpace { .. } => {
                Some("Nothing was changed. Ask the user to free some space, then try again.")
            }
            Error::PermissionDenied { .. } | Error::ReadOnlyFile { .. } => {
                Some("Ask the user to change the permissions, or work with another file.")
            }
            Error::NotAFile { kind: EntryKind::Directory, .. } => {
                Some("List the directory, then name one of its files.")
            }
            Error::NotAFile { .. } => Some("Only regular files can be read."),
            Error::NotADirectory { kind: EntryKind::File, .. } => {
                Some("Read it as a file, or name the directory it is in.")
            }
            Error::NotADirectory { .. } => Some("Name a directory inside the project."),
            Error::TooLarge { .. } => Some("Read a range of lines, or search in the file."),
            Error::Cancelled { .. } | Error::Editor { .. } | Error::Io { .. } => None,
        }
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> ToolError {
        let mut tool_error =
            ToolError::new(error.code(), error.to_string()).detail("path", error.path());
        if let Some(suggestion) = error.suggestion() {
            tool_error = tool_error.suggest(suggestion);
        }
        if let Error::TooLarge { limit, .. } = error {
            tool_error = tool_error.detail("limit_bytes", limit);
        }
        tool_error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_become_what_they_mean_for_a_path() {
        let path = RelPath::parse("src/x.rs").unwrap();
        let table = [
            (Errno::XDEV, "INVALID_PATH", "src/x.rs leaves the project through a symbolic link"),
            (Errno::LOOP, "INVALID_PATH", "src/x.rs goes through too many symbolic links"),
            (Errno::NOENT, "FILE_NOT_FOUND", "src/x.rs does not exist"),
            (Errno::NOTDIR, "FILE_NOT_FOUND", "src/x.rs does not exist"),
            (Errno::ACCESS, "PERMISSION_DENIED", "src/x.rs: permission denied by the system"),
            (
                Errno::NAMETOOLONG,
                "INVALID_PATH",
                "\"src/x.rs\" is not a usable path: the path, or a name in it, is too long",
            ),
        ];
        for (errno, code, message) in table {
            let error = ToolError::from(Error::from_errno(&path, errno));
            assert_eq!((error.code.as_str(), error.message.as_str()), (code, message));
            assert!(error.suggestion.is_some());
            assert_eq!(error.details["path"], "src/x.rs");
        }
    }

    #[test]
    fn a_model_is_told_what_to_do_about_a_bad_path() {
        let error = Error::from_path_error("/etc/passwd", PathError::Absolute);
        let error = ToolError::from(error);
        assert_eq!(error.code, ErrorCode::InvalidPath);
        assert_eq!(error.message, "/etc/passwd is an absolute path outside the project");
        assert_eq!(
            error.suggestion.as_deref(),
            Some("Use a path relative to the project root, such as src/main.rs.")
        );
    }

    #[test]
    fn a_limit_is_a_fact_for_programs() {
        let error = ToolError::from(Error::TooLarge { path: "a".into(), limit: 10 });
        assert_eq!(error.code, ErrorCode::FileTooLarge);
        assert_eq!(error.details["limit_bytes"], 10);
    }
}
