//! Whether a host works where this server works.
//!
//! The project is chosen when the server starts, and a host cannot move it: what it calls its roots is only
//! compared. A server that was started without a project by name serves the directory it was started in, which
//! may not be the one that the host has open; then calls are refused, since they would be about other files.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use protocol::{ErrorCode, ToolError};

use crate::file_uri;

/// What a host has said about its roots, compared with the project.
pub(crate) struct HostRoots {
    project: PathBuf,
    /// The roots, if none of them has to do with the project.
    foreign: Mutex<Vec<String>>,
}

impl HostRoots {
    pub(crate) fn new(project: PathBuf) -> Self {
        Self { project, foreign: Mutex::default() }
    }

    /// The host has named its roots, the first time or anew.
    pub(crate) fn are(&self, uris: &[String]) {
        let is_ours = |uri: &String| {
            let path = file_uri::to_path(uri);
            path.is_some_and(|path| overlap(Path::new(&path), &self.project))
        };
        let foreign = match uris.iter().any(is_ours) {
            true => Vec::new(),
            false => uris.to_vec(),
        };
        *self.foreign.lock().unwrap_or_else(PoisonError::into_inner) = foreign;
    }

    /// Refuses calls while the host works elsewhere.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        let foreign = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if foreign.is_empty() {
            return Ok(());
        }
        let (roots, project) = (foreign.join(", "), self.project.display());
        let message = format!(
            "the host works in {roots}, and this server serves {project}, which is not a part of it"
        );
        Err(ToolError::new(ErrorCode::PermissionDenied, message).suggest(
            "The user can start `toolkiln mcp` with --root and the directory that is meant.",
        ))
    }
}

/// Whether one lies within the other.
fn overlap(root: &Path, project: &Path) -> bool {
    root.starts_with(project) || project.starts_with(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(uris: &[&str]) -> bool {
        let roots = HostRoots::new("/home/u/project".into());
        roots.are(&uris.iter().map(|uri| (*uri).to_owned()).collect::<Vec<_>>());
        roots.check().is_err()
    }

    #[test]
    fn calls_are_refused_while_no_root_has_to_do_with_the_project() {
        assert!(!refused(&[]));
        assert!(!refused(&["file:///home/u/project"]));
        assert!(!refused(&["file:///home/u/project/src"]));
        assert!(!refused(&["file:///home/u"]));
        assert!(!refused(&["file:///elsewhere", "file:///home/u/project/"]));
        assert!(refused(&["file:///home/u/project2"]));
        assert!(refused(&["file:///elsewhere", "https://example.org/"]));
    }

    #[test]
    fn roots_that_change_are_compared_anew() {
        let roots = HostRoots::new("/p".into());
        roots.are(&["file:///q".to_owned()]);
        let refusal = roots.check().unwrap_err().full_message();
        insta::assert_snapshot!(refusal, @r"
        the host works in file:///q, and this server serves /p, which is not a part of it
        The user can start `toolkiln mcp` with --root and the directory that is meant.
        ");
        roots.are(&["file:///p".to_owned()]);
        assert!(roots.check().is_ok());
    }
}
