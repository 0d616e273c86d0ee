//! How the database adds up the rows of [`crate::counting`], and what its answers mean. The same SQL for both databases:
//! each names the rows as `seen` and their sessions as `wanted`.
//!
//! Sums of costs are made in whatever order the database takes the rows, so that their last digits can differ.

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use protocol::{ErrorCode, Usage};

use crate::columns::{Columns, count, number, session_id, text};
use crate::counting::{verdict, what};
use crate::days::{DAY_MS, DayCount, DayStats, MINUTE_MS};
use crate::{Latency, ModelStats, SessionCost, SessionStats, Stats, ToolStats};

/// Numbers of a group of rows.
const SUMS: &str = "count(*) AS times, \
    CAST(sum(tokens) AS BIGINT) AS tokens, CAST(sum(input) AS BIGINT) AS input, \
    CAST(sum(output) AS BIGINT) AS output, CAST(sum(cache_read) AS BIGINT) AS cache_read, \
    CAST(sum(cache_write) AS BIGINT) AS cache_write, sum(cost) AS cost";

/// Sums by tool and by model. The percentiles are values that occurred: that with the rank of the share, rounded up.
pub(crate) fn groups() -> String {
    format!(
        "SELECT what, name, model, {SUMS}, \
         max(duration_ms) FILTER (WHERE place = (many * 50 + 99) / 100) AS p50_ms, \
         max(duration_ms) FILTER (WHERE place = (many * 95 + 99) / 100) AS p95_ms \
         FROM (SELECT seen.*, \
             row_number() OVER (PARTITION BY what, name, model ORDER BY duration_ms) AS place, \
             count(*) OVER (PARTITION BY what, name, model) AS many FROM seen) AS ranked \
         GROUP BY what, name, model"
    )
}

/// How calls ended and questions were answered.
pub(crate) const WORDS: &str = "SELECT what, name, word, count(*) AS times FROM seen \
    WHERE what IN ('call', 'answered') GROUP BY what, name, word";

/// Sums by session, the one written last first.
pub(crate) fn sessions() -> String {
    format!(
        "SELECT id, title, count(*) FILTER (WHERE what = 'turn') AS turns, \
         count(*) FILTER (WHERE what = 'call') AS calls, {SUMS} \
         FROM seen JOIN wanted ON id = session GROUP BY id, title, updated \
         ORDER BY updated DESC, id DESC"
    )
}

/// What sessions have spent themselves: all that comes after what they had when they were forked.
pub(crate) const SPENT: &str = "SELECT id, sum(cost) AS cost FROM seen JOIN wanted ON id = session \
    WHERE cost IS NOT NULL AND sequence > coalesce((SELECT max(fork.tokens) FROM counted AS fork \
    WHERE fork.session = id AND fork.what = 'forked'), 0) GROUP BY id ORDER BY id";

/// Reads the answers to [`SPENT`].
pub(crate) fn spent<R: Columns>(rows: &[R]) -> Result<Vec<SessionCost>, sqlx::Error> {
    let cost = |row: &R| {
        let usd = row.fraction("cost")?.unwrap_or_default();
        Ok(SessionCost { session: session_id(row)?, usd })
    };
    rows.iter().map(cost).collect()
}

/// The day of a row on a clock that is ahead of UTC; its number is rounded down, also before 1970.
fn day(ahead_minutes: i32) -> String {
    let ahead = i64::from(ahead_minutes) * MINUTE_MS;
    let local = format!("(at + ({ahead}))");
    format!("(({local} - (({local} % {DAY_MS}) + {DAY_MS}) % {DAY_MS}) / {DAY_MS})")
}

/// Sums by day, tool and model.
pub(crate) fn day_groups(ahead_minutes: i32) -> String {
    let day = day(ahead_minutes);
    format!(
        "SELECT day, what, name, model, word, {SUMS} \
         FROM (SELECT seen.*, {day} AS day FROM seen) AS dated \
         GROUP BY day, what, name, model, word"
    )
}

/// How long calls and answers of a day took. These are not made into percentiles by the database, because those of
/// several projects do not follow from those of each; equal ones are one row.
pub(crate) fn day_durations(ahead_minutes: i32) -> String {
    let day = day(ahead_minutes);
    format!(
        "SELECT day, what, name, model, duration_ms, count(*) AS times \
         FROM (SELECT seen.*, {day} AS day FROM seen WHERE what IN ('call', 'answer')) AS dated \
         GROUP BY day, what, name, model, duration_ms ORDER BY day, what, name, model, duration_ms"
    )
}

fn usage(row: &dyn Columns) -> Result<Usage, sqlx::Error> {
    Ok(Usage {
        input: count(row, "input")?,
        output: count(row, "output")?,
        cache_read: count(row, "cache_read")?,
        cache_write: count(row, "cache_write")?,
    })
}

fn add_cost(sum: &mut Option<f64>, cost: Option<f64>) {
    if let Some(cost) = cost {
        *sum = Some(sum.unwrap_or_default() + cost);
    }
}

/// Puts the answers to [`groups`], [`WORDS`] and [`sessions`] together.
pub(crate) fn stats<R: Columns>(
    groups: &[R],
    words: &[R],
    sessions: &[R],
) -> Result<Stats, sqlx::Error> {
    let mut tools: BTreeMap<String, ToolStats> = BTreeMap::new();
    let mut models: BTreeMap<(String, String), ModelStats> = BTreeMap::new();
    for row in groups {
        let (name, times) = (text(row, "name")?, count(row, "times")?);
        let latency = Latency { p50_ms: count(row, "p50_ms")?, p95_ms: count(row, "p95_ms")? };
        let model = (name.clone(), text(row, "model")?);
        match text(row, "what")?.as_str() {
            what::CALL => {
                let tool = tools.entry(name).or_default();
                (tool.calls, tool.latency) = (times, latency);
                tool.result_tokens = count(row, "tokens")?;
            }
            what::ASKED => tools.entry(name).or_default().asked = times,
            what @ (what::ANSWER | what::COMPACTION | what::FAILURE) => {
                let model = models.entry(model).or_default();
                match what {
                    what::ANSWER => (model.answers, model.latency) = (times, latency),
                    what::FAILURE => model.failures = times,
                    _ => {}
                }
                model.usage += usage(row)?;
                add_cost(&mut model.cost_usd, row.fraction("cost")?);
            }
            _ => {}
        }
    }
    for row in words {
        let tool = tools.entry(text(row, "name")?).or_default();
        let (word, times) = (row.text("word")?, count(row, "times")?);
        match (text(row, "what")?.as_str(), word) {
            (what::CALL, None) => tool.ok = times,
            (what::CALL, Some(code)) => _ = tool.errors.insert(code, times),
            (_, word) => match word.as_deref() {
                Some(verdict::EDITED) => tool.edited = times,
                Some(verdict::DENIED) => tool.denied = times,
                _ => tool.approved = times,
            },
        }
    }
    let named = |(tool, stats)| ToolStats { tool, ..stats };
    let mut tools: Vec<ToolStats> = tools.into_iter().map(named).collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    let named = |((provider, model), stats)| ModelStats { provider, model, ..stats };
    let mut models: Vec<ModelStats> = models.into_iter().map(named).collect();
    models.sort_by_key(|model| std::cmp::Reverse(model.usage.total()));
    let sessions: Result<_, _> = sessions.iter().map(|row| session_stats(row)).collect();
    Ok(Stats { tools, models, sessions: sessions? })
}

fn session_stats(row: &dyn Columns) -> Result<SessionStats, sqlx::Error> {
    Ok(SessionStats {
        session: session_id(row)?,
        title: row.text("title")?,
        turns: count(row, "turns")?,
        calls: count(row, "calls")?,
        usage: usage(row)?,
        cost_usd: row.fraction("cost")?,
    })
}

/// Puts the answers to [`day_groups`] and [`day_durations`] together.
pub(crate) fn days<R: Columns>(
    groups: &[R],
    durations: &[R],
) -> Result<Vec<DayStats>, sqlx::Error> {
    let mut days: BTreeMap<i64, DayStats> = BTreeMap::new();
    for row in groups {
        let day = day_of(&mut days, row)?;
        let counted = day_count(row)?;
        day.all.add(&counted);
        if let Some(count) = part_of(day, row)? {
            count.add(&counted);
        }
    }
    for row in durations {
        let day = day_of(&mut days, row)?;
        let times = usize::try_from(count(row, "times")?).unwrap_or_default();
        let took = vec![count(row, "duration_ms")?; times];
        // How long models take is not how long the tools of a day worked.
        if text(row, "what")? == what::CALL {
            day.all.working_ms.extend(&took);
        }
        if let Some(count) = part_of(day, row)? {
            count.working_ms.extend(&took);
        }
    }
    Ok(days.into_values().collect())
}

fn day_of<'a>(
    days: &'a mut BTreeMap<i64, DayStats>,
    row: &dyn Columns,
) -> Result<&'a mut DayStats, sqlx::Error> {
    let day = number(row, "day")?;
    Ok(days.entry(day).or_insert_with(|| DayStats { day, ..DayStats::default() }))
}

/// The tool or the model of a day that a row is about.
fn part_of<'a>(
    day: &'a mut DayStats,
    row: &dyn Columns,
) -> Result<Option<&'a mut DayCount>, sqlx::Error> {
    Ok(match text(row, "what")?.as_str() {
        what::CALL | what::ANSWERED => Some(day.tools.entry(text(row, "name")?).or_default()),
        what::ANSWER | what::COMPACTION | what::FAILURE => {
            Some(day.models.entry(text(row, "model")?).or_default())
        }
        _ => None,
    })
}

fn day_count(row: &dyn Columns) -> Result<DayCount, sqlx::Error> {
    let (times, word) = (count(row, "times")?, row.text("word")?);
    let none = DayCount::default();
    Ok(match text(row, "what")?.as_str() {
        what::CALL => DayCount {
            calls: times,
            ok: if word.is_none() { times } else { 0 },
            refused: if word.is_some_and(|code| is_refusal(&code)) { times } else { 0 },
            ..none
        },
        what::ANSWERED if word.as_deref() == Some(verdict::DENIED) => {
            DayCount { denied: times, ..none }
        }
        what::ANSWERED => DayCount { approved: times, ..none },
        what @ (what::ANSWER | what::COMPACTION | what::FAILURE) => DayCount {
            answers: if what == what::ANSWER { times } else { 0 },
            usage: usage(row)?,
            cost_usd: row.fraction("cost")?,
            ..none
        },
        _ => none,
    })
}

fn is_refusal(code: &str) -> bool {
    [ErrorCode::Rejected, ErrorCode::ApprovalRequired]
        .iter()
        .any(|refusal| refusal.as_str() == code)
}
