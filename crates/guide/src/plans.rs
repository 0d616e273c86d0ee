//! What is done about each kind of request. `requests.rs` names the plan of each.

pub(crate) mod changing;
mod comment;
pub(crate) mod finding;
pub(crate) mod project;

use context_manager::ToolSpec;
use protocol::ErrorCode;
use serde_json::{Map, Value, json};

use crate::command::{self, Command};
use crate::help;
use crate::plan_run::{PastCall, PlanResult, PlanRun, PlanStop, failure};
use crate::results::{FileLines, describe, paths_in, text_of};
use crate::sentence::{corrected, understand};
use crate::tools::{FIND_FILES, READ, Tools};

/// What is done about something that was said, given the calls that were made about it.
pub(crate) fn respond(said: &str, tools: &[ToolSpec], steps: &[PastCall<'_>]) -> PlanResult {
    let tools = Tools(tools);
    let steps = steps.iter();
    match command::parse(said, tools) {
        Some(Command::Run(tool, arguments)) => {
            run_command(&mut PlanRun { tools, slots: &Vec::new(), steps }, tool, arguments)
        }
        Some(Command::Help(name)) => {
            let about = name.and_then(|name| tools.named(&name)).map(help::about);
            Ok(about.unwrap_or_else(|| help::overview(tools)))
        }
        Some(Command::Problem(problem)) => Ok(problem),
        None => match understand(said) {
            Some((request, slots)) => (request.plan)(&mut PlanRun { tools, slots: &slots, steps }),
            None => {
                let meant = corrected(said).or_else(|| command::corrected(said, tools));
                Ok(help::not_understood(said, meant.as_deref()))
            }
        },
    }
}

/// Runs a tool as it was asked for. A file that has to be read before is read.
fn run_command(
    script: &mut PlanRun<'_>,
    tool: &ToolSpec,
    arguments: Map<String, Value>,
) -> PlanResult {
    let mut result = script.call(tool, "", arguments.clone())?;
    let path = ["path", "file_path"].iter().find_map(|name| arguments.get(*name).cloned());
    if let (Err(error), Some(path)) = (result, path)
        && error.code == ErrorCode::NotRead
    {
        script.ask(READ, "The file has to be read first.", json!({"path": path}))?;
        result = script.call(tool, "Trying again.", arguments)?;
    }
    result.map(describe).map_err(|error| PlanStop::Answer(failure(error)))
}

/// A file that was found and read.
struct ReadFile<'a> {
    path: String,
    result: &'a Value,
    lines: FileLines,
}

/// Reads a file, which may be given by its name alone wherever it is.
fn read<'a>(script: &mut PlanRun<'a>, file: &str) -> Result<ReadFile<'a>, PlanStop> {
    let file = file.strip_prefix("./").unwrap_or(file);
    // Manifests and READMEs are meant to be those in the project's root.
    let is_of_root = is_readme(file) || project::is_manifest(file);
    let (path, say) = if !file.contains('/') && !is_of_root && script.tools.can(FIND_FILES) {
        located(script, file)?
    } else {
        (file.to_owned(), format!("Reading {file}."))
    };
    // This one tool has a limit unless it is told to have none.
    let is_limited = script.tools.tool_for(READ).is_some_and(|tool| tool.name == "read");
    let limit = is_limited.then_some(0);
    let result = script.ask(READ, &say, json!({"path": path, "limit": limit}))?;
    Ok(ReadFile { path, result, lines: FileLines::of(result) })
}

fn is_readme(name: &str) -> bool {
    name.to_lowercase().starts_with("readme")
}

/// Where the file of this name is, of several the one nearest to the root, and what to say of it.
fn located(script: &mut PlanRun<'_>, name: &str) -> Result<(String, String), PlanStop> {
    // A user who names a dotfile means it.
    let hidden = name.starts_with('.').then_some(true);
    let arguments = json!({"pattern": format!("**/{name}"), "hidden": hidden});
    let found = script.ask(FIND_FILES, &format!("Looking for {name}."), arguments)?;
    let paths = paths_in(&text_of(found));
    let Some(path) = paths.iter().min_by_key(|path| path.matches('/').count()) else {
        return Err(PlanStop::Answer(format!("No file in this project is called {name}.")));
    };
    let say = match paths.len() {
        1 => format!("It is at {path}; reading it."),
        all => format!("Of {all} files of that name {path} is nearest to the root; reading it."),
    };
    Ok((path.clone(), say))
}
