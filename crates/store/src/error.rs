//! What can go wrong with a store.

use crate::{Holder, SessionId};

/// Why a store cannot do something. The messages are for users.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No session has this id or title.
    #[error("there is no session `{text}`; `toolkiln sessions list` shows those there are")]
    NotFound {
        /// What was looked for.
        text: String,
    },
    /// Several sessions can be meant by this.
    #[error("`{text}` can mean several sessions: {}; give more of the id", join(candidates))]
    Ambiguous {
        /// What was looked for.
        text: String,
        /// The sessions it can mean.
        candidates: Vec<SessionId>,
    },
    /// Another process, or another part of this one, has the lease of the session.
    #[error("session {session} is open in {holder}; go on there, or end that process first")]
    InUse {
        session: SessionId,
        /// The process that has it.
        holder: Holder,
    },
    /// Another replica has the session, or may have it: this one has not renewed its lease in time.
    #[error("this replica has lost the lease of session {session}; nothing was written")]
    LeaseLost { session: SessionId },
    /// There is another session with this id.
    #[error("there is already a session {session}")]
    Exists { session: SessionId },
    /// An item of an inbox is not waiting any more.
    #[error("item {number} of session {session} was taken back, refused or done before")]
    ItemGone {
        session: SessionId,
        /// The item.
        number: i64,
    },
    /// The database does not answer.
    #[error("{database} does not answer: {reason}; check that it runs and can be reached")]
    Unreachable {
        database: String,
        /// What went wrong.
        reason: String,
    },
    /// A newer version of Toolkiln has written the file.
    #[error(
        "{file} was written by a newer Toolkiln (format {found}, this one knows {known}); it can \
         only be read here, so update Toolkiln to go on writing"
    )]
    Newer {
        file: String,
        /// The version of its format.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// A repair has replaced the file while this process had it open.
    #[error("the sessions were repaired by another process and are now in {file}; start again")]
    Moved {
        /// The file that is used from now on.
        file: String,
    },
    /// The file is damaged at a place that is needed.
    #[error(
        "{file} is damaged ({reason}); `toolkiln sessions check --repair` brings what can be read \
         into a new file"
    )]
    Damaged {
        file: String,
        /// What the database says.
        reason: String,
    },
    /// Another process has locked the file for too long.
    #[error("{file} is locked by another process; try again")]
    Busy { file: String },
    #[error("there is no space left on the disk for {file}; free some and try again")]
    DiskFull { file: String },
    /// The file may not be written.
    #[error("{file} cannot be written: {reason}; check its permissions and those of its directory")]
    ReadOnly {
        file: String,
        /// What the database says.
        reason: String,
    },
    /// A text is not the export of a session.
    #[error("this is not an exported session: {reason}")]
    NotAnExport {
        /// What is wrong with it.
        reason: String,
    },
    /// Something else.
    #[error("{doing} failed: {reason}")]
    Failed {
        /// What was being done.
        doing: String,
        /// What went wrong.
        reason: String,
    },
}

impl StoreError {
    pub(crate) fn failed(doing: &str, reason: impl ToString) -> Self {
        Self::Failed { doing: doing.to_owned(), reason: reason.to_string() }
    }
}

fn join(ids: &[SessionId]) -> String {
    ids.iter().map(SessionId::as_str).collect::<Vec<_>>().join(", ")
}
