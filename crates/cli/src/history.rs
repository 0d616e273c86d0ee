//! `toolkiln history`, `undo` and `redo`: what was changed, and taking it back.

use std::process::ExitCode;

use jiff::{Timestamp, Unit};
use serde_json::{Map, Value, json};
use workspace::EntrySummary;

use crate::args::{Gate, HistoryArgs, RedoArgs, Scope, UndoArgs};
use crate::setup::Project;
use crate::{call, output};

pub(crate) fn run(args: &HistoryArgs) -> anyhow::Result<ExitCode> {
    let project = Project::open(&args.root)?;
    let entries = project.state()?.journal()?.entries(args.limit)?;
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

pub(crate) fn undo(args: UndoArgs) -> anyhow::Result<ExitCode> {
    let mut arguments = Map::new();
    if let Some(change) = args.change {
        arguments.insert("change_id".into(), change.into());
    }
    through_the_tool("undo", arguments, args.scope, &args.gate)
}

pub(crate) fn redo(args: RedoArgs) -> anyhow::Result<ExitCode> {
    through_the_tool("redo", Map::new(), args.scope, &args.gate)
}

/// Undoing is a change like any other: it is shown, approved and journalled.
fn through_the_tool(
    tool: &str,
    arguments: Map<String, Value>,
    scope: Scope,
    gate: &Gate,
) -> anyhow::Result<ExitCode> {
    call::execute(tool.to_owned(), arguments, &scope, gate, None)
}
