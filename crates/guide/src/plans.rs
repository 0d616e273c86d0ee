//! What is done about each kind of request.

mod changing;
mod finding;
mod project;

use serde_json::{Value, json};

use super::help;
use super::intent::Intent;
use super::manifest;
use super::results::{FileLines, describe};
use super::script::{Script, Stop, Told};
use super::toolbox::Action;

/// Runs the plan for an intent as far as it goes.
pub(super) fn run(intent: &Intent, script: &mut Script<'_>) -> Told {
    match intent {
        Intent::ProjectFact { file, fact } => project::fact(script, file.as_deref(), *fact),
        Intent::Overview => project::overview(script),
        Intent::Define(symbol) => finding::definition(script, symbol),
        Intent::Search { text, within } => finding::search(script, text, within.as_deref()),
        Intent::FindFiles(name) => finding::files(script, name),
        Intent::References(symbol) => finding::references(script, symbol),
        Intent::Users(symbol) => finding::users(script, symbol),
        Intent::Impact(target) => finding::impact(script, target),
        Intent::List(path) => finding::list(script, path),
        Intent::Read(file) => read(script, file).map(|found| describe(found.result)),
        Intent::Outline(file) => finding::outline(script, file),
        Intent::CommentAtTop { file, text } => changing::comment(script, file, text.as_deref()),
        Intent::AddLine { file, line, place } => changing::add_line(script, file, line, *place),
        Intent::Replace { find, replace, file } => changing::replace(script, find, replace, file),
        Intent::Rename { symbol, to } => changing::rename(script, symbol, to),
        Intent::Create { file, content } => changing::create(script, file, content),
        Intent::Delete(file) => changing::delete(script, file),
        Intent::Move { from, to } => changing::move_file(script, from, to),
        Intent::Undo => changing::plainly(script, "Taking back the last change.", Action::Undo),
        Intent::Redo => changing::plainly(script, "Making it again.", Action::Redo),
        Intent::RunTests => changing::plainly(script, "Running the tests.", Action::RunTests),
        Intent::Hello => Ok(help::hello()),
        Intent::Thanks => Ok("You are welcome.".to_owned()),
        Intent::Help => Ok(help::overview(script.tools)),
    }
}

/// A file that was found and read.
struct ReadFile<'a> {
    path: String,
    result: &'a Value,
}

impl ReadFile<'_> {
    fn lines(&self) -> FileLines {
        FileLines::of(self.result)
    }
}

/// Reads a file, which may be given by its name alone wherever it is.
fn read<'a>(script: &mut Script<'a>, file: &str) -> Result<ReadFile<'a>, Stop> {
    let file = file.strip_prefix("./").unwrap_or(file);
    let (path, say) = if is_bare_name(file) && script.tools.can(Action::FindFiles) {
        located(script, file)?
    } else {
        (file.to_owned(), format!("Reading {file}."))
    };
    let arguments = [("path", json!(path)), ("limit", whole_file(script))];
    let result = script.ask(&say, Action::Read, &arguments)?;
    Ok(ReadFile { path, result })
}

/// Whether a name says nothing about where the file is. Manifests and READMEs are meant to be the
/// project's own, which are in its root.
fn is_bare_name(file: &str) -> bool {
    let is_readme = file.to_lowercase().starts_with("readme");
    !file.contains('/') && !is_readme && !manifest::FILES.contains(&file)
}

/// Where the file of this name is, of several the one nearest to the root, and what to say of it.
fn located(script: &mut Script<'_>, name: &str) -> Result<(String, String), Stop> {
    let pattern = json!(format!("**/{name}"));
    let say = format!("Looking for {name}.");
    // Dotfiles are meant by whoever names one.
    let hidden = if name.starts_with('.') { json!(true) } else { Value::Null };
    let found = script.ask(&say, Action::FindFiles, &[("pattern", pattern), ("hidden", hidden)])?;
    let nearest = paths(found).min_by_key(|path| path.matches('/').count());
    let missing = || Stop::Answer(format!("No file in this project is called {name}."));
    let path = nearest.ok_or_else(missing)?.to_owned();
    let say = match paths(found).count() {
        1 => format!("It is at {path}; reading it."),
        count => {
            format!("Of {count} files of that name {path} is nearest to the root; reading it.")
        }
    };
    Ok((path, say))
}

/// The limit that means "all lines", for the tool that has one; others take null for none.
fn whole_file(script: &Script<'_>) -> Value {
    match script.tools.tool_for(Action::Read) {
        Some(tool) if tool.name == "read" => json!(0),
        _ => Value::Null,
    }
}

/// The paths that a search for files found.
fn paths(result: &Value) -> impl Iterator<Item = &str> {
    result["files"].as_array().into_iter().flatten().filter_map(Value::as_str)
}
