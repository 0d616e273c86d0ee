//! What outlives a session that its owner, or an admin, deletes.

use crate::{AuditEntry, Spending, UserId};

/// What stays of a session that is about to be deleted. Otherwise a user could spend a budget again by deleting what it
/// was spent in, and take answers to questions out of the audit.
#[derive(Clone, Debug, PartialEq)]
pub struct RemovedSession {
    /// Its id.
    pub session: String,
    pub project: String,
    /// The user that began it, if it is known.
    pub owner: Option<UserId>,
    /// When it is deleted, by the clock that decides: milliseconds since 1970, UTC.
    pub at: i64,
    /// US dollars that it has spent on that day.
    pub usd: f64,
    /// The answers to its questions.
    pub answers: Vec<AuditEntry>,
}

/// What a session had spent when it was deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct RemovedSpending {
    pub session: String,
    /// What it had spent on the day of its deletion, where and by whom.
    pub spending: Spending,
}
