//! What was done on each day, for charts.

use std::collections::BTreeMap;

use protocol::{ErrorCode, Usage};

use crate::Latency;
use crate::call_reader::{ApprovalVerdict, Observation};

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60 * 1000;

/// Which days are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaysFilter {
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
    /// By tool.
    pub tools: BTreeMap<String, DayCount>,
    /// By model.
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
        self.spend(other.cost_usd);
    }

    /// How long calls or answers took.
    pub fn latency(&self) -> Latency {
        Latency::of(self.working_ms.clone())
    }

    fn spend(&mut self, cost: Option<f64>) {
        if let Some(cost) = cost {
            self.cost_usd = Some(self.cost_usd.unwrap_or_default() + cost);
        }
    }

    fn count(&mut self, seen: &Observation<'_>) {
        match *seen {
            Observation::Call { error, duration_ms, .. } => {
                self.calls += 1;
                self.working_ms.push(duration_ms);
                match error {
                    None => self.ok += 1,
                    Some(code) => self.refused += u64::from(is_refusal(code)),
                }
            }
            Observation::Answered { verdict: ApprovalVerdict::Denied, .. } => self.denied += 1,
            Observation::Answered { .. } => self.approved += 1,
            Observation::Answer { usage, cost, .. } => {
                self.answers += 1;
                self.usage += usage;
                self.spend(cost);
            }
            Observation::Compaction { usage, cost, .. } => {
                self.usage += usage;
                self.spend(cost);
            }
            Observation::Turn
            | Observation::Failure { .. }
            | Observation::Helped { .. }
            | Observation::Asked { .. } => {}
        }
    }
}

fn is_refusal(code: &str) -> bool {
    [ErrorCode::Rejected, ErrorCode::ApprovalRequired]
        .iter()
        .any(|refusal| refusal.as_str() == code)
}

/// Adds observations up, day by day.
#[derive(Default)]
pub(crate) struct DaysCounter {
    days: BTreeMap<i64, DayStats>,
    ahead_ms: i64,
}

impl DaysCounter {
    pub(crate) fn new(filter: &DaysFilter) -> Self {
        let ahead_ms = i64::from(filter.ahead_minutes) * MINUTE_MS;
        Self { days: BTreeMap::new(), ahead_ms }
    }

    pub(crate) fn count(&mut self, at: i64, seen: &Observation<'_>) {
        let day = at.saturating_add(self.ahead_ms).div_euclid(DAY_MS);
        let stats = self.days.entry(day).or_insert_with(|| DayStats { day, ..DayStats::default() });
        stats.all.count(seen);
        match *seen {
            Observation::Call { tool, .. } | Observation::Answered { tool, .. } => {
                stats.tools.entry(tool.to_owned()).or_default().count(seen);
            }
            Observation::Answer { settings, duration_ms, .. } => {
                let model = stats.models.entry(settings.model.clone()).or_default();
                model.count(seen);
                model.working_ms.push(duration_ms);
            }
            Observation::Compaction { settings, .. } => {
                stats.models.entry(settings.model.clone()).or_default().count(seen);
            }
            _ => {}
        }
    }

    pub(crate) fn finish(self) -> Vec<DayStats> {
        self.days.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_begins_by_the_users_clock() {
        let call = |error| Observation::Call { tool: "grep", error, duration_ms: 7, tokens: 1 };
        let count = |ahead_minutes| {
            let mut counter = DaysCounter::new(&DaysFilter { since: None, ahead_minutes });
            counter.count(DAY_MS - 1, &call(None));
            counter.count(DAY_MS, &call(Some("REJECTED")));
            counter.count(DAY_MS, &call(Some("TIMEOUT")));
            let days = counter.finish();
            let told = days.iter().map(|day| {
                let grep = &day.tools["grep"];
                assert_eq!(grep, &day.all);
                (day.day, grep.calls, grep.ok, grep.refused)
            });
            told.collect::<Vec<_>>()
        };
        assert_eq!(count(0), [(0, 1, 1, 0), (1, 2, 0, 1)]);
        assert_eq!(count(60), [(1, 3, 1, 1)]);
        assert_eq!(count(-60), [(0, 3, 1, 1)]);
    }
}
