//! Who answered which question, for audits.

use crate::SessionId;
use crate::columns::{Columns, count, number, session_id, text};

/// An answer to a question of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedDecision {
    pub session: SessionId,
    /// The entry of its log.
    pub sequence: u64,
    /// Milliseconds since 1970, UTC.
    pub at: i64,
    /// The user of a team that has answered, if it is known.
    pub by: Option<String>,
    /// The tool, or the id of the call if its question is not in the log.
    pub subject: String,
    /// Whether it was a yes.
    pub is_approved: bool,
    /// Whether a rule was made of it.
    pub is_remembered: bool,
}

/// Which answers are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionFilter {
    /// Since then: milliseconds since 1970, UTC.
    pub since: Option<i64>,
    /// Before then.
    pub before: Option<i64>,
    /// Only by this user.
    pub by: Option<String>,
    /// Only what comes behind this moment, session and entry, the latest first. The session need not exist.
    pub behind: Option<(i64, String, i64)>,
    /// At most this many.
    pub limit: u32,
    /// Only of this session, and only what none of its forks holds: what is gone with it.
    pub leaving: Option<SessionId>,
}

impl DecisionFilter {
    /// All of them, but for how many.
    pub fn all(limit: u32) -> Self {
        Self { since: None, before: None, by: None, behind: None, limit, leaving: None }
    }
}

/// The answers that are wanted of the table `decided`, from `$1` on: since, before, user, the three parts of the place
/// that they are behind, how many, and the session that is about to go. What a fork has in common with another session is shown there.
pub(crate) fn query(inherited: &str, and: &str) -> String {
    format!(
        "SELECT own.id AS id, sequence, at, by_user, subject, \
         CAST(CAST(is_approved AS INTEGER) AS BIGINT) AS is_approved, \
         CAST(CAST(is_remembered AS INTEGER) AS BIGINT) AS is_remembered \
         FROM decided JOIN sessions AS own ON own.id = session \
         WHERE at >= $1 AND at < $2 AND ($3 IS NULL OR by_user = $3) \
         AND (at, session, sequence) < ($4, $5, $6) AND sequence > {inherited} \
         AND ($8 IS NULL OR own.id = $8 AND sequence > coalesce((SELECT max(fork.forked_at) \
         FROM sessions AS fork WHERE fork.forked_from = own.id), 0)) {and} \
         ORDER BY at DESC, session DESC, sequence DESC LIMIT $7"
    )
}

impl LoggedDecision {
    pub(crate) fn from_row(row: &dyn Columns) -> Result<Self, sqlx::Error> {
        Ok(Self {
            session: session_id(row)?,
            sequence: count(row, "sequence")?,
            at: number(row, "at")?,
            by: row.text("by_user")?,
            subject: text(row, "subject")?,
            is_approved: number(row, "is_approved")? != 0,
            is_remembered: number(row, "is_remembered")? != 0,
        })
    }
}
