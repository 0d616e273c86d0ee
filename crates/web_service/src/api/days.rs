//! What was done on each day, for charts.

use std::collections::BTreeMap;

use axum::http::Method;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::DayCount;

use crate::api_error::ApiError;
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};
use crate::view::ProjectView;

/// Minutes that a clock can be ahead of UTC, or behind it.
const MOST_AHEAD: i32 = 24 * 60;
const SECONDS_OF_DAY: i64 = 24 * 60 * 60;

pub(super) fn routes() -> Vec<Route> {
    let about = "Calls, approvals, working time, tokens and costs by day, tool, model and project.";
    vec![Route::new(Method::GET, "/api/stats/days", Need::Login, about, days)]
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DaysQuery {
    /// Only this project; all if left out.
    project: Option<String>,
    /// Only what was written since then: milliseconds since 1970, UTC.
    since: Option<i64>,
    /// How far the user's clock is ahead of UTC, in minutes: it decides when a day begins.
    #[serde(default)]
    ahead_minutes: i32,
}

/// Days on which something was done.
#[derive(Debug, Serialize, JsonSchema)]
struct DayList {
    /// The first one first.
    days: Vec<DayReport>,
}

/// What was done on a day.
#[derive(Debug, Serialize, JsonSchema)]
struct DayReport {
    /// Such as `2026-11-16`.
    date: String,
    all: DayFigures,
    tools: BTreeMap<String, DayFigures>,
    models: BTreeMap<String, DayFigures>,
    projects: BTreeMap<String, DayFigures>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DayFigures {
    /// Calls that ended.
    calls: u64,
    /// Those that ended well.
    successes: u64,
    /// Those that did not, without refusals.
    failures: u64,
    /// Those that were refused by the approver, or because there was none.
    refusals: u64,
    /// Questions that were answered with a yes.
    approvals: u64,
    /// Questions that were answered with a no.
    denials: u64,
    /// Half of the calls worked at most this long, without the time that the user was waited for. For a
    /// model: its answers.
    p50_ms: u64,
    /// All but the slowest twentieth.
    p95_ms: u64,
    /// Answers of models.
    answers: u64,
    tokens_in: u64,
    tokens_out: u64,
    /// In US dollars, where prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

impl From<&DayCount> for DayFigures {
    fn from(count: &DayCount) -> Self {
        let latency = count.latency();
        let usage = count.usage;
        Self {
            calls: count.calls,
            successes: count.ok,
            failures: count.calls - count.ok - count.refused,
            refusals: count.refused,
            approvals: count.approved,
            denials: count.denied,
            p50_ms: latency.p50_ms,
            p95_ms: latency.p95_ms,
            answers: count.answers,
            tokens_in: usage.input + usage.cache_read + usage.cache_write,
            tokens_out: usage.output,
            cost_usd: count.cost_usd,
        }
    }
}

/// One day of all projects.
#[derive(Default)]
struct DaySum {
    all: DayCount,
    tools: BTreeMap<String, DayCount>,
    models: BTreeMap<String, DayCount>,
    projects: BTreeMap<String, DayCount>,
}

async fn days(request: Request<DaysQuery, Nothing>) -> Result<DayList, ApiError> {
    let DaysQuery { project, since, ahead_minutes } = request.query;
    let hub = &request.hub;
    if project.is_some() {
        hub.project(project.as_deref())?;
    }
    if !(-MOST_AHEAD..=MOST_AHEAD).contains(&ahead_minutes) {
        return Err(ApiError::invalid("a clock is at most a day ahead of UTC or behind it"));
    }
    let mut sums: BTreeMap<i64, DaySum> = BTreeMap::new();
    let wanted = |seen: &ProjectView| project.as_ref().is_none_or(|name| name == seen.name());
    for seen in hub.projects().into_iter().filter(wanted) {
        for day in seen.days(since, ahead_minutes).await? {
            let sum = sums.entry(day.day).or_default();
            sum.all.add(&day.all);
            sum.projects.entry(seen.name().to_owned()).or_default().add(&day.all);
            for (tool, count) in &day.tools {
                sum.tools.entry(tool.clone()).or_default().add(count);
            }
            for (model, count) in &day.models {
                sum.models.entry(model.clone()).or_default().add(count);
            }
        }
    }
    let figures = |counts: &BTreeMap<String, DayCount>| {
        counts.iter().map(|(name, count)| (name.clone(), count.into())).collect()
    };
    let days = sums.iter().map(|(day, sum)| DayReport {
        date: date(*day),
        all: (&sum.all).into(),
        tools: figures(&sum.tools),
        models: figures(&sum.models),
        projects: figures(&sum.projects),
    });
    Ok(DayList { days: days.collect() })
}

fn date(day: i64) -> String {
    let begins = Timestamp::from_second(day.saturating_mul(SECONDS_OF_DAY)).unwrap_or_default();
    begins.strftime("%Y-%m-%d").to_string()
}
