//! What a check of the store found and did.

use serde::Serialize;

use crate::inspection::LogProblem;
use crate::{SessionId, StoreError};

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

impl CheckReport {
    /// Adds what is wrong with a session, and how its repair went if there was one.
    pub(crate) fn add(
        &mut self,
        id: &SessionId,
        problems: &[LogProblem],
        repair: Option<Result<(), StoreError>>,
    ) {
        let is_repaired = matches!(repair, Some(Ok(())));
        let mut find = |problem: String, repaired: Option<&str>| {
            let repaired = repaired.map(str::to_owned);
            self.findings.push(CheckFinding { session: Some(id.clone()), problem, repaired });
        };
        for problem in problems {
            find(problem.to_string(), is_repaired.then(|| what_was_done(problem)).flatten());
        }
        if let Some(Err(error)) = repair {
            find(format!("not repaired: {error}"), None);
        }
    }
}

fn what_was_done(problem: &LogProblem) -> Option<&'static str> {
    match problem {
        LogProblem::Damaged { .. } => {
            Some("moved to the table `damaged`; the log goes on without it")
        }
        LogProblem::Missing(_) => Some("noted as lost; the log goes on without it"),
        LogProblem::OpeningRebuilt => Some("written into the log"),
        LogProblem::Unlisted => Some("listed again, as its log tells"),
        LogProblem::Unreadable { .. } | LogProblem::Unknown { .. } => None,
    }
}
