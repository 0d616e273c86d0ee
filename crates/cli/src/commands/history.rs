//! `toolkiln history`: what was changed.

use std::process::ExitCode;

use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use workspace::EntrySummary;

use crate::args::HistoryArgs;
use crate::output;
use crate::project::Project;

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
        output::to_people("Nothing has been changed yet.");
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
