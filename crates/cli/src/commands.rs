//! What each command does: one file per command, named after it.

pub(crate) mod acp;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod history;
pub(crate) mod index;
pub(crate) mod layer;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod policy;
pub(crate) mod redo;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod stats;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod web;

use std::process::ExitCode;

use crate::args::Command;

/// Does what the command line says.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Setup(args) => setup::run(&args),
        Command::Chat(args) => chat::run(&args),
        Command::Resume(args) => resume::run(args),
        Command::Run(args) => run::run(&args),
        Command::Sessions(command) => sessions::run(&command),
        Command::Stats(args) => stats::run(&args),
        Command::Tools(args) => tools::run(&args),
        Command::Call(args) => call::run(args),
        Command::Mcp(args) => mcp::run(args),
        Command::Acp(args) => acp::run(args),
        Command::Web(args) => web::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Index(args) => index::run(&args),
        Command::History(args) => history::run(&args),
        Command::Undo(args) => undo::run(args),
        Command::Redo(args) => redo::run(&args),
        Command::Policy(command) => policy::run(command),
        Command::Config(command) => config::run(&command),
        Command::Layer(args) => layer::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
