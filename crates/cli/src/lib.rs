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

use args::Arguments;

/// Reads the command line and does what it says.
pub fn run() -> ExitCode {
    // This program also confines its own commands; then it is started anew and does not return.
    sandbox::hidden_entry();
    output::catch_panics();
    commands::run(Arguments::read()).unwrap_or_else(|error| output::failure(&error))
}
