//! `toolkiln stats`: which tools and models were used, how well and at what cost.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, Zoned};
use serde_json::json;
use store::{
    Favourites, ListFilter, ModelStats, SessionId, SessionInfo, SessionStats, Stats, StatsFilter,
    ToolStats, short_ids,
};
use timeline::{count, duration, money};

use super::sessions::store_at;
use crate::chat::safe_text::one_line;
use crate::output::{self, Stream};
use crate::reports::bars::{bar, sparkline};
use crate::reports::text_table::table;

/// Columns of the longest bar.
const BAR_WIDTH: usize = 12;
/// Days that are drawn.
const DAYS: i64 = 28;

const EXAMPLES: &str = "\
Examples:
  toolkiln stats
  toolkiln stats --session \"the failing test\"
  toolkiln stats --favourites";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatsArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Only one conversation
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// What was learned: which tools helped, and which approvals repeat
    #[arg(long)]
    pub(crate) favourites: bool,
    /// Forget what was learned
    #[arg(long, conflicts_with = "favourites")]
    pub(crate) clear_favourites: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &StatsArgs) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(perform(args))
}

async fn perform(args: &StatsArgs) -> anyhow::Result<ExitCode> {
    let store = store_at(&args.root).await?;
    if args.clear_favourites {
        store.clear_favourites().await?;
        output::to_user("What was learned is forgotten; the sessions themselves are kept.");
        return Ok(ExitCode::SUCCESS);
    }
    if args.favourites {
        let favourites = store.favourites().await?;
        if args.json {
            output::json(&json!(favourites))?;
        } else {
            output::result(favourites_table(&favourites).trim_end())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let session = match &args.session {
        Some(text) => Some(store.find(text).await?),
        None => None,
    };
    let is_all = session.is_none();
    let stats =
        store.stats(&StatsFilter { sessions: session.map(|id| vec![id]), since: None }).await?;
    if args.json {
        output::json(&json!(stats))?;
        return Ok(ExitCode::SUCCESS);
    }
    let sessions = store.list(&ListFilter::default()).await?;
    let short = short_ids(sessions.iter().map(|info| &info.id));
    let mut text = tables(&stats, &short, Stream::Out.width());
    if is_all {
        let days = days(&sessions, &Timestamp::now().to_zoned(TimeZone::system()));
        text.push_str(&days.unwrap_or_default());
    }
    output::result(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// What was used, in as many columns as fit into `width`.
fn tables(stats: &Stats, short: &BTreeMap<&SessionId, &str>, width: Option<usize>) -> String {
    let most = stats.tools.iter().map(|tool| tool.calls).max().unwrap_or(0);
    let tools = table(
        ["tool", "calls", "ok", "p50", "p95", "tokens", "asked", "approved", ""],
        stats.tools.iter().map(|tool| tool_row(tool, most)),
        &[7, 6, 4, 5, 3],
        width,
    );
    let most = stats.models.iter().map(|model| model.usage.total()).max().unwrap_or(0);
    let models = table(
        ["model", "answers", "failed", "in", "out", "cached", "p50", "cost", ""],
        stats.models.iter().map(|model| model_row(model, most)),
        &[2, 6, 5, 1, 8],
        width,
    );
    let sessions = table(
        ["session", "turns", "calls", "in", "out", "cached", "cost", "title"],
        stats.sessions.iter().map(|stats| {
            session_row(short.get(&stats.session).copied().unwrap_or_default(), stats)
        }),
        &[5, 2, 4, 3, 1],
        width,
    );
    // The title is the last column and takes what is left.
    let cut =
        |line: &str| width.map_or_else(|| line.to_owned(), |width| terminal::fit(line, width));
    let sessions: String = sessions.lines().map(|line| format!("{}\n", cut(line))).collect();
    [tools, models, sessions].join("\n")
}

/// The tokens of each of the last days where the user is, today last. A session counts on the day it was last
/// written to.
fn days(sessions: &[SessionInfo], now: &Zoned) -> Option<String> {
    let day = |time: Timestamp| time.to_zoned(now.time_zone().clone()).date();
    let first = now.date().checked_sub((DAYS - 1).days()).ok()?;
    let mut tokens = vec![0; usize::try_from(DAYS).ok()?];
    for session in sessions {
        let Ok(updated) = Timestamp::from_millisecond(session.updated) else { continue };
        let Ok(since) = first.until(day(updated)) else { continue };
        let place = usize::try_from(since.get_days()).ok();
        if let Some(sum) = place.and_then(|place| tokens.get_mut(place)) {
            *sum += session.usage.total();
        }
    }
    let most = tokens.iter().copied().max().filter(|most| *most > 0)?;
    let line = sparkline(&tokens);
    Some(format!("\ntokens by day since {first}, at most {}\n{line}\n", count(most)))
}

fn tool_row(stats: &ToolStats, most: u64) -> [String; 9] {
    let asked = if stats.asked == 0 { String::new() } else { stats.asked.to_string() };
    [
        stats.tool.clone(),
        stats.calls.to_string(),
        percent(stats.ok, stats.calls),
        duration(stats.latency.p50_ms),
        duration(stats.latency.p95_ms),
        count(stats.result_tokens),
        asked,
        stats.approval_rate().map(|rate| format!("{:.0} %", rate * 100.0)).unwrap_or_default(),
        bar(stats.calls, most, BAR_WIDTH),
    ]
}

fn model_row(stats: &ModelStats, most: u64) -> [String; 9] {
    [
        format!("{}:{}", stats.provider, stats.model),
        stats.answers.to_string(),
        stats.failures.to_string(),
        count(stats.usage.input + stats.usage.cache_write),
        count(stats.usage.output),
        count(stats.usage.cache_read),
        duration(stats.latency.p50_ms),
        stats.cost_usd.map(money).unwrap_or_default(),
        bar(stats.usage.total(), most, BAR_WIDTH),
    ]
}

fn session_row(id: &str, stats: &SessionStats) -> [String; 8] {
    [
        id.to_owned(),
        stats.turns.to_string(),
        stats.calls.to_string(),
        count(stats.usage.input + stats.usage.cache_write),
        count(stats.usage.output),
        count(stats.usage.cache_read),
        stats.cost_usd.map(money).unwrap_or_default(),
        one_line(stats.title.as_deref().unwrap_or_default()),
    ]
}

fn favourites_table(favourites: &Favourites) -> String {
    let tools = favourites
        .tools
        .iter()
        .map(|tool| [tool.name.clone(), tool.calls.to_string(), percent(tool.helped, tool.calls)]);
    let rules = favourites.rules.iter().map(|rule| {
        [format!("--allow '{}:{}'", rule.tool, rule.paths), rule.times.to_string(), String::new()]
    });
    let tools = table(["tool", "calls", "helped"], tools, &[], None);
    if favourites.rules.is_empty() {
        return tools;
    }
    let rules = table(["a rule that would have answered for you", "times", ""], rules, &[], None);
    [tools, rules].join("\n")
}

fn percent(part: u64, whole: u64) -> String {
    (part * 100).checked_div(whole).map(|percent| format!("{percent} %")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use protocol::Usage;
    use store::{Latency, SessionState};

    use super::*;

    #[test]
    fn a_tool_that_asked_shows_how_often_it_was_approved() {
        let stats = ToolStats {
            tool: "edit_lines".into(),
            calls: 4,
            ok: 3,
            errors: [("REJECTED".to_owned(), 1)].into(),
            latency: Latency { p50_ms: 3, p95_ms: 1200 },
            result_tokens: 2100,
            asked: 4,
            approved: 3,
            edited: 0,
            denied: 1,
        };
        assert_eq!(
            tool_row(&stats, 8),
            ["edit_lines", "4", "75 %", "3 ms", "1.2 s", "2.1k", "4", "75 %", "██████"]
        );
        let stats = Stats { tools: vec![stats], ..Stats::default() };
        for width in [40, 60, 100] {
            let text = tables(&stats, &BTreeMap::new(), Some(width));
            assert!(text.lines().all(|line| terminal::columns(line) <= width), "{text}");
            assert!(text.contains("██"), "the bar is kept: {text}");
        }
    }

    #[test]
    fn tokens_stand_on_their_days_and_none_before_the_first() {
        let now: Timestamp = "2026-03-28T12:00:00Z".parse().unwrap();
        let at = |day: &str, input| {
            let updated: Timestamp = format!("{day}T23:30:00Z").parse().unwrap();
            session(updated.as_millisecond(), input)
        };
        let all = [at("2026-03-27", 800), at("2026-03-26", 100), at("2026-02-01", 9_000)];
        // Half past eleven in Greenwich is the next day further east.
        for (hours, drawn) in [(0, "▁█ "), (2, " ▁█"), (-5, "▁█ ")] {
            let now = now.to_zoned(TimeZone::fixed(jiff::tz::offset(hours)));
            let told = days(&all, &now).unwrap();
            let blank = " ".repeat(25);
            let expected =
                format!("\ntokens by day since 2026-03-01, at most 800\n{blank}{drawn}\n");
            assert_eq!(told, expected, "{hours}");
            assert_eq!(days(&[], &now), None);
        }
    }

    fn session(updated: i64, input: u64) -> SessionInfo {
        SessionInfo {
            id: "00000000000000000000".parse().unwrap(),
            title: None,
            root: String::new(),
            created: 0,
            updated,
            events: 0,
            turns: 0,
            provider: String::new(),
            model: String::new(),
            role: None,
            usage: Usage { input, ..Usage::default() },
            cost_usd: None,
            state: SessionState::Idle,
            held_by: None,
            forked_from: None,
        }
    }
}
