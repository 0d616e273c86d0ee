//! What is done about each kind of request.

mod changing;
mod finding;
mod project;

use context_manager::ToolSpec;
use protocol::ErrorCode;
use serde_json::{Map, Value, json};

use crate::command::{self, Command};
use crate::requests::Intent;
use crate::results::{FileLines, describe};
use crate::script::{Script, Step, Stop, Told, failure};
use crate::sentence::{directory, understand};
use crate::tools::{FIND_FILES, READ, REDO, RUN_TESTS, Tools, UNDO};
use crate::{help, manifest};

/// What is done about something that was said, given the calls that were made about it.
pub(crate) fn respond(said: &str, tools: &[ToolSpec], steps: &[Step<'_>]) -> Told {
    let tools = Tools(tools);
    let steps = steps.iter();
    match command::parse(said, tools) {
        Some(Command::Run(tool, arguments)) => {
            run_command(&mut Script { tools, slots: &Vec::new(), steps }, tool, arguments)
        }
        Some(Command::Help(name)) => {
            let about = name.and_then(|name| tools.named(&name)).map(help::about);
            Ok(about.unwrap_or_else(|| help::overview(tools)))
        }
        Some(Command::Problem(problem)) => Ok(problem),
        None => match understand(said) {
            Some((intent, slots)) => run(intent, &mut Script { tools, slots: &slots, steps }),
            None => Ok(command::foreign_name(said, tools).unwrap_or_else(help::not_understood)),
        },
    }
}

/// Runs a tool as it was asked for. A file that has to be read before is read.
fn run_command(script: &mut Script<'_>, tool: &ToolSpec, arguments: Map<String, Value>) -> Told {
    let mut result = script.call(tool, "", arguments.clone())?;
    let path = ["path", "file_path"].iter().find_map(|name| arguments.get(*name).cloned());
    if let (Err(error), Some(path)) = (result, path)
        && error.code == ErrorCode::NotRead
    {
        script.ask(READ, "The file has to be read first.", json!({"path": path}))?;
        result = script.call(tool, "Trying again.", arguments)?;
    }
    result.map(describe).map_err(|error| Stop::Answer(failure(error)))
}

/// Runs the plan for an intent as far as it goes.
fn run(intent: Intent, script: &mut Script<'_>) -> Told {
    let [file, symbol, text] =
        ["file", "symbol", "text"].map(|name| script.slot(name).unwrap_or_default());
    match intent {
        Intent::ProjectFact => project::fact(script),
        Intent::Overview => project::overview(script),
        Intent::Define => finding::definition(script, symbol),
        Intent::Search => {
            let within = script.slot("within").map(directory).filter(|path| path != ".");
            finding::search(script, text, within.as_deref())
        }
        Intent::FindFiles => finding::files(script, file),
        Intent::References => finding::references(script, symbol),
        Intent::Users => finding::users(script, symbol),
        Intent::Impact => finding::impact(script, symbol),
        Intent::List => finding::list(script),
        Intent::Read => read(script, file).map(|found| describe(found.result)),
        Intent::Outline => finding::outline(script, file),
        Intent::CommentAtTop => changing::comment(script, file),
        Intent::AddLine => changing::add_line(script, file),
        Intent::Replace => changing::replace(script, file),
        Intent::Rename => changing::rename(script, symbol),
        Intent::Create => changing::create(script, file),
        Intent::Delete => changing::delete(script, file),
        Intent::Move => changing::move_file(script, file),
        Intent::Undo => script.tell(UNDO, "Taking back the last change.", json!({})),
        Intent::Redo => script.tell(REDO, "Making it again.", json!({})),
        Intent::RunTests => script.tell(RUN_TESTS, "Running the tests.", json!({})),
        Intent::Hello => Ok(help::HELLO.to_owned()),
        Intent::Thanks => Ok("You are welcome.".to_owned()),
        Intent::Help => Ok(help::overview(script.tools)),
    }
}

/// A file that was found and read.
struct ReadFile<'a> {
    path: String,
    result: &'a Value,
    lines: FileLines,
}

/// Reads a file, which may be given by its name alone wherever it is.
fn read<'a>(script: &mut Script<'a>, file: &str) -> Result<ReadFile<'a>, Stop> {
    let file = file.strip_prefix("./").unwrap_or(file);
    let (path, say) = if is_bare_name(file) && script.tools.can(FIND_FILES) {
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

/// Whether a name says nothing about where the file is. Manifests and READMEs are meant to be the
/// project's own, which are in its root.
fn is_bare_name(file: &str) -> bool {
    !file.contains('/') && !is_readme(file) && !manifest::FILES.contains(&file)
}

fn is_readme(name: &str) -> bool {
    name.to_lowercase().starts_with("readme")
}

/// Where the file of this name is, of several the one nearest to the root, and what to say of it.
fn located(script: &mut Script<'_>, name: &str) -> Result<(String, String), Stop> {
    // A user who names a dotfile means it.
    let hidden = name.starts_with('.').then_some(true);
    let arguments = json!({"pattern": format!("**/{name}"), "hidden": hidden});
    let found = script.ask(FIND_FILES, &format!("Looking for {name}."), arguments)?;
    let nearest = paths(found).min_by_key(|path| path.matches('/').count());
    let missing = || Stop::Answer(format!("No file in this project is called {name}."));
    let path = nearest.ok_or_else(missing)?;
    let say = match paths(found).count() {
        1 => format!("It is at {path}; reading it."),
        count => {
            format!("Of {count} files of that name {path} is nearest to the root; reading it.")
        }
    };
    Ok((path.to_owned(), say))
}

/// The paths that a search for files found.
fn paths(result: &Value) -> impl Iterator<Item = &str> {
    result["files"].as_array().into_iter().flatten().filter_map(Value::as_str)
}
