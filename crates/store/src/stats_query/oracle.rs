//! The sums of statistics as a plain fold in memory, for tests: what the database adds up must be the same.

use std::collections::BTreeMap;

use protocol::{ErrorCode, Usage};

use crate::call_reader::{ApprovalVerdict, CallReader, Observation};
use crate::days::{DAY_MS, DayCount, DayStats, DaysFilter, MINUTE_MS};
use crate::event_data::EventData;
use crate::row::Row;
use crate::{Latency, ModelStats, SessionId, SessionInfo, SessionStats, Stats, ToolStats};

/// Adds up what some sessions did.
pub(super) struct LogStats {
    since: i64,
    stats: StatsCounter,
    days: DaysCounter,
    sessions: Vec<SessionInfo>,
}

impl LogStats {
    pub(super) fn new(filter: &DaysFilter) -> Self {
        let since = filter.since.unwrap_or(i64::MIN);
        let (stats, days) = (StatsCounter::default(), DaysCounter::new(filter));
        Self { since, stats, days, sessions: Vec::new() }
    }

    /// Adds a session. What it has in common with the one that it was forked from counts there.
    pub(super) fn add(&mut self, info: SessionInfo, log: &[Row]) {
        let inherited = info.forked_from.as_ref().map_or(0, |point| point.sequence);
        let mut reader = CallReader::default();
        for row in log {
            let counts = row.sequence > inherited && row.at >= self.since;
            reader.read(&row.kind, row.at, EventData::Plain(&row.data), &mut |seen| {
                let is_counted =
                    !matches!(seen, Observation::Decided { .. } | Observation::Forked { .. });
                if counts && is_counted {
                    self.stats.count(&info.id, &seen);
                    self.days.count(row.at, &seen);
                }
            });
        }
        self.sessions.push(info);
    }

    /// The sums, and those of each day. Sessions are in the order in which they were added.
    pub(super) fn finish(self) -> (Stats, Vec<DayStats>) {
        (self.stats.finish(self.sessions), self.days.finish())
    }
}

/// Adds observations up.
#[derive(Default)]
struct StatsCounter {
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
    fn count(&mut self, session: &SessionId, seen: &Observation<'_>) {
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
            Observation::Failure { settings, usage, cost } => {
                let (model, _) = self.model(&settings.provider, &settings.model);
                model.failures += 1;
                model.usage += usage;
                add_cost(&mut model.cost_usd, cost);
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
            Observation::Turn
            | Observation::Forked { .. }
            | Observation::Helped { .. }
            | Observation::Decided { .. } => {}
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
            | Observation::Compaction { usage, cost, .. }
            | Observation::Failure { usage, cost, .. } => {
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
    fn finish(mut self, sessions: Vec<SessionInfo>) -> Stats {
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

fn count_in(day: &mut DayCount, seen: &Observation<'_>) {
    match *seen {
        Observation::Call { error, duration_ms, .. } => {
            day.calls += 1;
            day.working_ms.push(duration_ms);
            match error {
                None => day.ok += 1,
                Some(code) => day.refused += u64::from(is_refusal(code)),
            }
        }
        Observation::Answered { verdict: ApprovalVerdict::Denied, .. } => day.denied += 1,
        Observation::Answered { .. } => day.approved += 1,
        Observation::Answer { usage, cost, .. } => {
            day.answers += 1;
            day.usage += usage;
            add_cost(&mut day.cost_usd, cost);
        }
        Observation::Compaction { usage, cost, .. } | Observation::Failure { usage, cost, .. } => {
            day.usage += usage;
            add_cost(&mut day.cost_usd, cost);
        }
        Observation::Turn
        | Observation::Forked { .. }
        | Observation::Helped { .. }
        | Observation::Asked { .. }
        | Observation::Decided { .. } => {}
    }
}

fn is_refusal(code: &str) -> bool {
    [ErrorCode::Rejected, ErrorCode::ApprovalRequired]
        .iter()
        .any(|refusal| refusal.as_str() == code)
}

/// Adds observations up, day by day.
#[derive(Default)]
struct DaysCounter {
    days: BTreeMap<i64, DayStats>,
    ahead_ms: i64,
}

impl DaysCounter {
    fn new(filter: &DaysFilter) -> Self {
        let ahead_ms = i64::from(filter.ahead_minutes) * MINUTE_MS;
        Self { days: BTreeMap::new(), ahead_ms }
    }

    fn count(&mut self, at: i64, seen: &Observation<'_>) {
        let day = at.saturating_add(self.ahead_ms).div_euclid(DAY_MS);
        let stats = self.days.entry(day).or_insert_with(|| DayStats { day, ..DayStats::default() });
        count_in(&mut stats.all, seen);
        match *seen {
            Observation::Call { tool, .. } | Observation::Answered { tool, .. } => {
                count_in(stats.tools.entry(tool.to_owned()).or_default(), seen);
            }
            Observation::Answer { settings, duration_ms, .. } => {
                let model = stats.models.entry(settings.model.clone()).or_default();
                count_in(model, seen);
                model.working_ms.push(duration_ms);
            }
            Observation::Compaction { settings, .. } | Observation::Failure { settings, .. } => {
                count_in(stats.models.entry(settings.model.clone()).or_default(), seen);
            }
            _ => {}
        }
    }

    fn finish(self) -> Vec<DayStats> {
        let sorted = |mut day: DayStats| {
            let parts = day.tools.values_mut().chain(day.models.values_mut());
            parts.chain([&mut day.all]).for_each(|count| count.working_ms.sort_unstable());
            day
        };
        self.days.into_values().map(sorted).collect()
    }
}
