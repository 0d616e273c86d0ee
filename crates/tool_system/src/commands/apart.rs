//! What a command wrote to ignored paths, until it is known what becomes of its other changes.
//!
//! Build output goes with the sources that it was made from. Programs such as cargo and make compare
//! time stamps: if an edit of a source were dropped and the output kept, the next build would take that
//! output for the output of the source as it is.

use std::path::PathBuf;

use sandbox::{Changed, ChangedEntry, CommandChanges};

use super::copied;
use super::runner::CommandRunner;

/// Said where output was dropped.
pub(super) const DROPPED_TOO: &str = "what it wrote to ignored paths was dropped too, because it may \
                                      be made from the changes that were not applied";

/// What a command wrote to ignored paths.
#[derive(Debug)]
pub(crate) struct Apart {
    changes: CommandChanges,
    output: Output,
    /// Files that were there before and that the command changed or removed. New ones are not among
    /// them: a build notices that they are gone.
    sources: Vec<Changed>,
}

/// The outermost ignored paths that a command wrote to.
#[derive(Debug)]
pub(super) struct Output {
    /// These go into the project.
    pub(super) filled: Vec<PathBuf>,
    /// These go into the private layer.
    pub(super) private: Vec<PathBuf>,
    /// The private layer has them already, because the call wants some of them in the project.
    pub(super) is_kept: bool,
}

impl Apart {
    pub(super) fn new(changes: CommandChanges, output: Output, changed: Vec<Changed>) -> Self {
        let was_file = |one: &Changed| {
            matches!(one.before, Some(ChangedEntry::File { .. } | ChangedEntry::Link { .. }))
        };
        let sources = changed.into_iter().filter(was_file).collect();
        changes.release();
        Self { changes, output, sources }
    }

    /// Whether it has to wait for what becomes of other changes.
    pub(super) fn waits(&self) -> bool {
        let Output { filled, private, .. } = &self.output;
        let has_output = !filled.is_empty() || !private.is_empty();
        has_output && !self.sources.is_empty()
    }

    /// Keeps it if the changes were applied. Returns whether they were.
    pub(super) fn settle(self, runner: &CommandRunner) -> Result<bool, String> {
        let Output { filled, private, is_kept } = &self.output;
        if !self.changes.are_in_project(&self.sources) {
            if *is_kept {
                private.iter().for_each(|path| runner.forget(path));
            }
            return Ok(false);
        }
        copied::fill(&self.changes, filled)?;
        filled.iter().for_each(|path| runner.forget(path));
        if !is_kept {
            self.changes.keep_private(private).map_err(|error| error.to_string())?;
        }
        Ok(true)
    }
}
