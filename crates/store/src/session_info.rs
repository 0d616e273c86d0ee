//! A session in short, as a list shows it.

use protocol::{AgentRole, ForkPoint, Usage};
use serde::Serialize;

use crate::{Holder, SessionId};

/// Which sessions a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// At most this many; all if absent.
    pub limit: Option<u32>,
    /// Only those whose title holds this text, in whatever case.
    pub title: Option<String>,
    /// Only those written to since then: milliseconds since 1970, UTC.
    pub updated_since: Option<i64>,
}

/// A session in short.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionInfo {
    pub id: SessionId,
    /// Its name; the beginning of the first message if it has none.
    pub title: Option<String>,
    /// The project.
    pub root: String,
    /// When it began: milliseconds since 1970, UTC.
    pub created: i64,
    /// When it was last written to: milliseconds since 1970, UTC.
    pub updated: i64,
    /// The position of its last entry.
    pub events: u64,
    /// How many messages the user has sent.
    pub turns: u64,
    /// Where the model runs.
    pub provider: String,
    /// The model that answers.
    pub model: String,
    /// The role it acts in.
    pub role: Option<AgentRole>,
    /// Tokens used so far, those of sub-agents included.
    pub usage: Usage,
    /// What it cost so far in US dollars, where prices are known.
    pub cost_usd: Option<f64>,
    /// What it is doing.
    pub state: SessionState,
    /// Which process has it open, if any.
    pub held_by: Option<Holder>,
    /// Where it was forked from.
    pub forked_from: Option<ForkPoint>,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Waits for a message of the user.
    Idle,
    /// The model or a tool is at work.
    Working,
    /// A call needs approval.
    Waiting,
    /// A limit was reached; the user decides how to go on.
    Paused,
    /// Its process ended in the middle of a turn.
    Interrupted,
}

impl SessionState {
    /// The state as one word.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionState::Idle => "idle",
            SessionState::Working => "working",
            SessionState::Waiting => "waiting",
            SessionState::Paused => "paused",
            SessionState::Interrupted => "interrupted",
        }
    }

    pub(crate) fn from_word(word: &str) -> Self {
        match word {
            "working" => SessionState::Working,
            "waiting" => SessionState::Waiting,
            "paused" => SessionState::Paused,
            _ => SessionState::Idle,
        }
    }

    /// The state in the log, corrected by whether a process has the lease.
    pub(crate) fn with_holder(self, is_held: bool) -> Self {
        match self {
            SessionState::Working | SessionState::Waiting if !is_held => SessionState::Interrupted,
            state => state,
        }
    }
}
