//! `toolkiln history`: what was changed.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use workspace::EntrySummary;

use crate::output;
use crate::project::Project;

const EXAMPLES: &str = "\
Examples:
  toolkiln history
  toolkiln history --limit 5 --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HistoryArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// How many changes to show
    #[arg(long, default_value = "20")]
    pub(crate) limit: usize,
    /// Print the changes as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &HistoryArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.root)?;
    let entries = project.state()?.open_journal()?.entries(args.limit)?;
    if args.json {
        let listed: Vec<Value> = entries.iter().map(listed).collect();
        output::json(&json!(listed))?;
        return Ok(ExitCode::SUCCESS);
    }
    for entry in &entries {
        let undone = match &entry.undone_by {
            Some(by) => format!("  (undone by {by})"),
            None => String::new(),
        };
        output::result(&format!(
            "{:>6}  {}  {}{undone}",
            entry.id.to_string(),
            time(entry),
            entry.summary
        ))?;
    }
    if entries.is_empty() {
        output::to_user("Nothing has been changed yet.");
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(entry: &EntrySummary) -> Value {
    json!({
        "change_id": entry.id.to_string(),
        "time": time(entry),
        "session": entry.session,
        "call": entry.call,
        "tool": entry.tool,
        "summary": entry.summary,
        "paths": entry.paths,
        "undone_by": entry.undone_by.map(|id| id.to_string()),
        "undoes": entry.undoes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn time(entry: &EntrySummary) -> String {
    let time = Timestamp::try_from(entry.time).unwrap_or_default();
    time.round(Unit::Second).unwrap_or(time).to_string()
}
