//! `toolkiln`: safe, fast hands on a code base for language models.

mod args;
mod call;
mod chat;
mod chat_door;
mod config;
mod config_door;
mod conversation;
mod diff_view;
mod doctor;
mod environment;
mod history;
mod index;
mod interrupt;
mod layer;
mod mcp_door;
mod model_choice;
mod output;
mod policy;
mod run_door;
mod sessions_door;
mod setup;
mod stats_door;
mod terminal;
mod tools;

use std::process::ExitCode;

use args::{Arguments, Command};

fn main() -> ExitCode {
    // This program also confines its own commands; then it is started anew and does not return.
    sandbox::hidden_entry();
    output::catch_panics();
    let arguments = Arguments::read();
    let result = match arguments.command.unwrap_or(Command::Chat(arguments.chat)) {
        Command::Chat(args) => chat_door::run(&args),
        Command::Run(args) => run_door::run(&args),
        Command::Sessions(command) => sessions_door::run(&command),
        Command::Stats(args) => stats_door::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Call(args) => call::run(args),
        Command::Mcp(args) => mcp_door::run(&args),
        Command::Index(args) => index::run(&args),
        Command::History(args) => history::run(&args),
        Command::Undo(args) => history::undo(args),
        Command::Redo(args) => history::redo(args),
        Command::Policy(command) => policy::run(command),
        Command::Config(command) => config_door::run(&command),
        Command::Layer(args) => layer::run(&args),
        Command::Doctor(args) => doctor::run(&args),
    };
    result.unwrap_or_else(|error| output::failure(&error))
}
