//! Confines the commands of this crate's tests, which cannot start themselves anew, and runs calls for
//! them as another user or where it is going to be killed.
//!
//! `tool-system-testbed serve PROJECT STATE` reads one call a line, `{"tool": …, "arguments": …}`, and
//! answers with one line of JSON, `{"ok": …}` or `{"error": …}`. There is no approver.
#![allow(clippy::print_stdout, reason = "it answers on the standard output")]

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use protocol::{ToolCall, ToolError};
use sandbox::{Launcher, Profile};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::{
    Caller, CommandRunner, ExecutorOptions, History, IgnoredFiles, JournalPerformer, OnDemand,
    ProjectTools, RunnerOptions, ToolExecutor, ToolRegistry,
};
use workspace::{Journal, JournalOptions, Workspace};

/// A call, as tests write it.
#[derive(Deserialize)]
struct Call {
    tool: String,
    arguments: Map<String, Value>,
}

fn main() -> ExitCode {
    sandbox::hidden_entry();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ["serve", project, state] = words[..] else {
        println!("usage: tool-system-testbed serve PROJECT STATE");
        return ExitCode::from(2);
    };
    match serve(project.as_ref(), state.into()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}", json!({"error": error}));
            ExitCode::FAILURE
        }
    }
}

fn serve(project: &Path, state: PathBuf) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let executor = executor(project, state)?;
    println!("{}", json!({"ok": "ready"}));
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let call: Call = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let call = ToolCall::new("c1", &call.tool, call.arguments);
        let result = runtime.block_on(executor.execute_tool(&call, &CancellationToken::new()));
        let answer = match result {
            Ok(value) => json!({"ok": value}),
            Err(error) => json!({"error": error}),
        };
        println!("{answer}");
        std::io::stdout().flush().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// An executor as a front end without a user makes it.
fn executor(project: &Path, state: PathBuf) -> Result<ToolExecutor, String> {
    let text = |error: ToolError| error.full_message();
    let workspace = Workspace::open(project).map_err(|error| text(error.into()))?;
    let workspace = Arc::new(workspace);
    let journal = Journal::open(Arc::clone(&workspace), &state, JournalOptions::default());
    let journal = journal.map_err(|error| text(error.into()))?;
    let journal = Arc::new(OnDemand::from(Arc::new(journal)));
    let home = project.with_file_name("home");
    let runner = RunnerOptions {
        profile: Profile::new(project, home),
        launcher: Launcher::this_program(),
        unconfined: false,
        layer: Some(state.join("layer")),
        ignored: IgnoredFiles::Private,
    };
    let runner = Arc::new(CommandRunner::new(Arc::clone(&workspace), runner));
    let performer = JournalPerformer::new(Arc::clone(&journal));
    let performer = performer.with_commands(Arc::new(OnDemand::from(runner)));
    let options = ExecutorOptions {
        performer: Some(Arc::new(performer)),
        history: Some(History::of(journal)),
        ..ExecutorOptions::default()
    };
    let tools = ProjectTools::new(ToolRegistry::builtin(), workspace, options);
    Ok(tools.executor(Caller { session: "attack".into(), ..Caller::default() }))
}
