//! What a check of the store found and did.

use serde::Serialize;

use crate::SessionId;

/// What a check may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckMode {
    /// Only look.
    Look,
    /// Repair what can be repaired.
    Repair,
}

/// What a check found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// How many sessions were looked at.
    pub sessions: usize,
    /// How many of their entries are whole.
    pub entries: usize,
    /// What is wrong, and what was done about it.
    pub findings: Vec<CheckFinding>,
    /// What was repaired before, for example when the file was opened.
    pub earlier: Vec<RepairNote>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckFinding {
    /// The session it is about; the whole file if absent.
    pub session: Option<SessionId>,
    /// What is wrong.
    pub problem: String,
    /// What was done about it, if anything.
    pub repaired: Option<String>,
}

/// Something that was repaired earlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RepairNote {
    /// When: milliseconds since 1970, UTC.
    pub at: i64,
    /// What was wrong and what was done.
    pub text: String,
}
