//! The program `toolkiln`: command line, configuration, environment; the only place where concrete types meet.
//!
//! It is a library so that its compilation can begin before that of the crates below it has ended.

mod args;
mod attach;
mod browser;
mod chat;
mod commands;
mod config;
mod conversation;
mod custom_tools;
mod diff_view;
mod environment;
mod interrupt;
mod line_questions;
mod mcp_servers;
mod model_choice;
mod output;
mod project;
mod reports;
mod session_worktrees;
mod shown_project;
mod telemetry;
mod user_commands;
mod web_tools;

use std::process::ExitCode;

use args::{Arguments, Command};

/// Reads the command line and does what it says.
pub fn run() -> ExitCode {
    // This program also confines its own commands; then it is started anew and does not return.
    sandbox::hidden_entry();
    output::catch_panics();
    let result = match Arguments::read() {
        Command::Setup(args) => commands::setup::run(&args),
        Command::Chat(args) => commands::chat::run(&args),
        Command::Resume(args) => commands::resume::run(args),
        Command::Run(args) => commands::run::run(&args),
        Command::Sessions(command) => commands::sessions::run(&command),
        Command::Stats(args) => commands::stats::run(&args),
        Command::Tools(args) => commands::tools::run(&args),
        Command::Call(args) => commands::call::run(args),
        Command::Mcp(args) => commands::mcp::run(args),
        Command::Acp(args) => commands::acp::run(args),
        Command::Web(args) => commands::web::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Index(args) => commands::index::run(&args),
        Command::History(args) => commands::history::run(&args),
        Command::Undo(args) => commands::undo::run(args),
        Command::Redo(args) => commands::redo::run(&args),
        Command::Policy(command) => commands::policy::run(command),
        Command::Config(command) => commands::config::run(&command),
        Command::Layer(args) => commands::layer::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    };
    result.unwrap_or_else(|error| output::failure(&error))
}
