//! What was done on each day, for charts.

use std::collections::BTreeMap;

use protocol::Usage;

use crate::{Latency, SessionId};

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Milliseconds of a minute.
pub(crate) const MINUTE_MS: i64 = 60 * 1000;

/// Which days are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DaysFilter {
    /// Only these sessions.
    pub sessions: Option<Vec<SessionId>>,
    /// Only what was written since then: milliseconds since 1970, UTC.
    pub since: Option<i64>,
    /// How far the user's clock is ahead of UTC, in minutes: it decides when a day begins.
    pub ahead_minutes: i32,
}

/// What was done on one day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DayStats {
    /// The day, counted from 1970-01-01.
    pub day: i64,
    /// Everything.
    pub all: DayCount,
    pub tools: BTreeMap<String, DayCount>,
    pub models: BTreeMap<String, DayCount>,
}

/// What was counted on a day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DayCount {
    /// Calls that ended.
    pub calls: u64,
    /// Those of them that ended well.
    pub ok: u64,
    /// Those that were refused by the approver, or because there was none.
    pub refused: u64,
    /// Questions that were answered with a yes, changed or not.
    pub approved: u64,
    /// Questions that were answered with a no.
    pub denied: u64,
    /// How long each call worked, or, for a model, each answer took, in milliseconds.
    pub working_ms: Vec<u64>,
    /// Answers of models.
    pub answers: u64,
    /// Tokens used.
    pub usage: Usage,
    /// What they cost in US dollars, where prices are known.
    pub cost_usd: Option<f64>,
}

impl DayCount {
    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.ok += other.ok;
        self.refused += other.refused;
        self.approved += other.approved;
        self.denied += other.denied;
        self.working_ms.extend(&other.working_ms);
        self.answers += other.answers;
        self.usage += other.usage;
        if let Some(cost) = other.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or_default() + cost);
        }
    }

    /// How long calls or answers took.
    pub fn latency(&self) -> Latency {
        Latency::of(self.working_ms.clone())
    }
}
