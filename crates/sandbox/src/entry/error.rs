//! Why the sandbox could not be built.

use crate::plan::{Report, SandboxPart};

/// A part of the sandbox that could not be built.
#[derive(Clone, Debug)]
pub(crate) struct EntryError {
    part: SandboxPart,
    doing: String,
    errno: Option<i32>,
}

impl EntryError {
    pub(crate) fn new(
        part: SandboxPart,
        doing: impl Into<String>,
        errno: Option<i32>,
    ) -> EntryError {
        EntryError { part, doing: doing.into(), errno }
    }

    pub(crate) fn into_report(self) -> Report {
        Report::Failed { part: self.part, doing: self.doing, errno: self.errno }
    }
}

/// Says what was being done when the system refused.
pub(crate) trait During<T> {
    fn during(self, part: SandboxPart, doing: impl Into<String>) -> Result<T, EntryError>;
}

impl<T> During<T> for Result<T, rustix::io::Errno> {
    fn during(self, part: SandboxPart, doing: impl Into<String>) -> Result<T, EntryError> {
        self.map_err(|errno| EntryError::new(part, doing, Some(errno.raw_os_error())))
    }
}

impl<T> During<T> for std::io::Result<T> {
    fn during(self, part: SandboxPart, doing: impl Into<String>) -> Result<T, EntryError> {
        self.map_err(|error| EntryError::new(part, doing, error.raw_os_error()))
    }
}
