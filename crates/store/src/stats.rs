//! What was used, how often and for how long.

use std::collections::BTreeMap;

use protocol::Usage;
use serde::Serialize;

use crate::SessionId;

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsFilter {
    /// Only these sessions.
    pub sessions: Option<Vec<SessionId>>,
    /// Only what was written since then: milliseconds since 1970, UTC.
    pub since: Option<i64>,
}

/// Statistics over sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Per tool, the one called most first.
    pub tools: Vec<ToolStats>,
    /// Per model, the one used most first.
    pub models: Vec<ModelStats>,
    /// Per session, the one written last first.
    pub sessions: Vec<SessionStats>,
}

/// What a session has spent.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionCost {
    pub session: SessionId,
    /// In US dollars, where prices are known.
    pub usd: f64,
}

/// How a tool did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolStats {
    /// The tool, as the model names it.
    pub tool: String,
    /// Calls that ended.
    pub calls: u64,
    /// Those of them that ended well.
    pub ok: u64,
    /// The others by error code.
    pub errors: BTreeMap<String, u64>,
    /// How long calls took.
    pub latency: Latency,
    /// An estimate of the tokens of all results together.
    pub result_tokens: u64,
    /// How often the approver was asked.
    pub asked: u64,
    /// Of these: approved as proposed.
    pub approved: u64,
    /// Approved with changes.
    pub edited: u64,
    /// Refused.
    pub denied: u64,
}

impl ToolStats {
    /// The share of answered questions that were approved, with changes or without.
    pub fn approval_rate(&self) -> Option<f64> {
        let answered = self.approved + self.edited + self.denied;
        (answered > 0).then(|| (answered - self.denied) as f64 / answered as f64)
    }
}

/// How long something took, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// Half of them took at most this long.
    pub p50_ms: u64,
    /// All but the slowest twentieth took at most this long.
    pub p95_ms: u64,
}

impl Latency {
    pub(crate) fn of(mut durations: Vec<u64>) -> Self {
        durations.sort_unstable();
        let rank = |percent: usize| {
            let rank = (durations.len() * percent).div_ceil(100);
            durations.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self { p50_ms: rank(50), p95_ms: rank(95) }
    }
}

/// What a model was used for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelStats {
    pub provider: String,
    pub model: String,
    /// Complete answers.
    pub answers: u64,
    /// Requests that failed.
    pub failures: u64,
    /// Tokens used.
    pub usage: Usage,
    /// What it cost in US dollars, where prices are known.
    pub cost_usd: Option<f64>,
    /// How long answers took.
    pub latency: Latency,
}

/// What a session used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionStats {
    pub session: SessionId,
    pub title: Option<String>,
    /// How many messages the user has sent.
    pub turns: u64,
    /// Calls that ended.
    pub calls: u64,
    /// Tokens used.
    pub usage: Usage,
    /// What it cost in US dollars, where prices are known.
    pub cost_usd: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        assert_eq!(Latency::of(Vec::new()), Latency { p50_ms: 0, p95_ms: 0 });
        assert_eq!(Latency::of(vec![7]), Latency { p50_ms: 7, p95_ms: 7 });
        assert_eq!(Latency::of((1..=100).rev().collect()), Latency { p50_ms: 50, p95_ms: 95 });
        assert_eq!(Latency::of(vec![1, 2, 900]), Latency { p50_ms: 2, p95_ms: 900 });
    }

    #[test]
    fn the_approval_rate_is_about_answers() {
        let tool =
            ToolStats { asked: 9, approved: 2, edited: 1, denied: 1, ..ToolStats::default() };
        assert_eq!(tool.approval_rate(), Some(0.75));
        assert_eq!(ToolStats::default().approval_rate(), None);
    }
}
