//! What was used, how often and for how long.

use std::collections::BTreeMap;

use protocol::Usage;
use serde::Serialize;

use crate::call_reader::{ApprovalVerdict, Observation};
use crate::{SessionId, SessionInfo};

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatsFilter {
    /// Only this session.
    pub session: Option<SessionId>,
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
    /// The provider.
    pub provider: String,
    /// The model.
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
    /// The session.
    pub session: SessionId,
    /// Its title.
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

/// Adds observations up.
#[derive(Default)]
pub(crate) struct StatsCounter {
    tools: BTreeMap<String, (ToolStats, Vec<u64>)>,
    models: BTreeMap<(String, String), (ModelStats, Vec<u64>)>,
    sessions: BTreeMap<SessionId, SessionCount>,
}

#[derive(Default)]
struct SessionCount {
    turns: u64,
    calls: u64,
    usage: Usage,
    cost: Option<f64>,
}

impl StatsCounter {
    pub(crate) fn count(&mut self, session: &SessionId, seen: &Observation<'_>) {
        self.count_session(session, seen);
        match *seen {
            Observation::Answer { settings, usage, cost, duration_ms } => {
                let (model, durations) = self.model(&settings.provider, &settings.model);
                model.answers += 1;
                model.usage += usage;
                add_cost(&mut model.cost_usd, cost);
                durations.push(duration_ms);
            }
            Observation::Compaction { settings, usage, cost } => {
                let (model, _) = self.model(&settings.provider, &settings.model);
                model.usage += usage;
                add_cost(&mut model.cost_usd, cost);
            }
            Observation::Failure { settings } => {
                self.model(&settings.provider, &settings.model).0.failures += 1;
            }
            Observation::Call { tool, error, duration_ms, tokens } => {
                let (tool, durations) = self.tool(tool);
                tool.calls += 1;
                tool.result_tokens += tokens as u64;
                durations.push(duration_ms);
                match error {
                    None => tool.ok += 1,
                    Some(code) => *tool.errors.entry(code.to_owned()).or_default() += 1,
                }
            }
            Observation::Asked { tool } => self.tool(tool).0.asked += 1,
            Observation::Answered { tool, verdict, .. } => {
                let (tool, _) = self.tool(tool);
                match verdict {
                    ApprovalVerdict::Approved | ApprovalVerdict::Remembered => tool.approved += 1,
                    ApprovalVerdict::Edited => tool.edited += 1,
                    ApprovalVerdict::Denied => tool.denied += 1,
                }
            }
            Observation::Turn | Observation::Helped { .. } => {}
        }
    }

    fn count_session(&mut self, session: &SessionId, seen: &Observation<'_>) {
        if !self.sessions.contains_key(session) {
            self.sessions.insert(session.clone(), SessionCount::default());
        }
        let Some(count) = self.sessions.get_mut(session) else { return };
        match *seen {
            Observation::Turn => count.turns += 1,
            Observation::Call { .. } => count.calls += 1,
            Observation::Answer { usage, cost, .. }
            | Observation::Compaction { usage, cost, .. } => {
                count.usage += usage;
                add_cost(&mut count.cost, cost);
            }
            _ => {}
        }
    }

    fn tool(&mut self, name: &str) -> &mut (ToolStats, Vec<u64>) {
        self.tools.entry(name.to_owned()).or_default()
    }

    fn model(&mut self, provider: &str, model: &str) -> &mut (ModelStats, Vec<u64>) {
        self.models.entry((provider.to_owned(), model.to_owned())).or_default()
    }

    /// The sums; `sessions` gives titles and order.
    pub(crate) fn finish(mut self, sessions: Vec<SessionInfo>) -> Stats {
        let mut tools: Vec<ToolStats> = (self.tools.into_iter())
            .map(|(tool, (stats, durations))| ToolStats {
                tool,
                latency: Latency::of(durations),
                ..stats
            })
            .collect();
        tools.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
        let mut models: Vec<ModelStats> = (self.models.into_iter())
            .map(|((provider, model), (stats, durations))| {
                let latency = Latency::of(durations);
                ModelStats { provider, model, latency, ..stats }
            })
            .collect();
        models.sort_by_key(|model| std::cmp::Reverse(model.usage.total()));
        let sessions = sessions.into_iter().filter_map(|info| {
            let SessionCount { turns, calls, usage, cost: cost_usd } =
                self.sessions.remove(&info.id)?;
            let SessionInfo { id: session, title, .. } = info;
            Some(SessionStats { session, title, turns, calls, usage, cost_usd })
        });
        Stats { tools, models, sessions: sessions.collect() }
    }
}

fn add_cost(sum: &mut Option<f64>, cost: Option<f64>) {
    if let Some(cost) = cost {
        *sum = Some(sum.unwrap_or_default() + cost);
    }
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
