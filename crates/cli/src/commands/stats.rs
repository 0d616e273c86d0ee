//! `toolkiln stats`: which tools and models were used, how well and at what cost.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use store::{
    Favourites, ListFilter, ModelStats, SessionId, SessionStats, Stats, StatsFilter, ToolStats,
    short_ids,
};
use timeline::{count, duration, money};

use super::sessions::store_at;
use crate::chat::safe_text::one_line;
use crate::output;

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
    let stats = store.stats(&StatsFilter { session, since: None }).await?;
    if args.json {
        output::json(&json!(stats))?;
    } else {
        let all = store.list(&ListFilter::default()).await?;
        let short = short_ids(all.iter().map(|info| &info.id));
        output::result(tables(&stats, &short).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tables(stats: &Stats, short: &BTreeMap<&SessionId, &str>) -> String {
    let tools = table(
        ["tool", "calls", "ok", "p50", "p95", "tokens", "asked", "approved"],
        stats.tools.iter().map(tool_row),
    );
    let models = table(
        ["model", "answers", "failed", "in", "out", "cached", "p50", "cost"],
        stats.models.iter().map(model_row),
    );
    let sessions = table(
        ["session", "turns", "calls", "in", "out", "cached", "cost", "title"],
        stats.sessions.iter().map(|stats| {
            session_row(short.get(&stats.session).copied().unwrap_or_default(), stats)
        }),
    );
    [tools, models, sessions].join("\n")
}

fn tool_row(stats: &ToolStats) -> [String; 8] {
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
    ]
}

fn model_row(stats: &ModelStats) -> [String; 8] {
    [
        format!("{}:{}", stats.provider, stats.model),
        stats.answers.to_string(),
        stats.failures.to_string(),
        count(stats.usage.input + stats.usage.cache_write),
        count(stats.usage.output),
        count(stats.usage.cache_read),
        duration(stats.latency.p50_ms),
        stats.cost_usd.map(money).unwrap_or_default(),
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
    let tools = table(["tool", "calls", "helped"], tools);
    if favourites.rules.is_empty() {
        return tools;
    }
    let rules = table(["a rule that would have answered for you", "times", ""], rules);
    [tools, rules].join("\n")
}

fn percent(part: u64, whole: u64) -> String {
    (part * 100).checked_div(whole).map(|percent| format!("{percent} %")).unwrap_or_default()
}

/// Rows in columns as wide as they have to be: the first to the left, the others to the right, the
/// last one as it comes.
fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let head = head.map(str::to_owned);
    let rows: Vec<[String; N]> = std::iter::once(head).chain(rows).collect();
    let widths: [usize; N] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    let mut text = String::new();
    for row in &rows {
        let cells =
            row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:width$}"),
                _ if column + 1 == N => format!("  {cell}"),
                _ => format!("  {cell:>width$}"),
            });
        text.push_str(cells.collect::<String>().trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use store::Latency;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["grep", "12", "yes"], ["find_definition", "3", ""]];
        let text =
            table(["tool", "calls", "helped"], rows.map(|row| row.map(str::to_owned)).into_iter());
        insta::assert_snapshot!(text, @r"
        tool             calls  helped
        grep                12  yes
        find_definition      3
        ");
    }

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
            tool_row(&stats),
            ["edit_lines", "4", "75 %", "3 ms", "1.2 s", "2.1k", "4", "75 %"]
        );
    }
}
