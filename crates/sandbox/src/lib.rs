//! Runs one command, confined.
//!
//! [`Sandbox::run`] performs a [`protocol::CommandSpec`] in namespaces of its own (user, mount,
//! process, network and the rest), with a fresh root in which only the system, the project and
//! named toolchains are visible, an environment built from nothing, no capabilities, a filter for
//! system calls, Landlock as a second restriction, and limits. Output is streamed; however the run
//! ends, nothing that the command started is left. With an overlay the command works on a copy on
//! write, and [`CommandChanges`] tells what it changed. A command that may use the network finds a
//! proxy, which reaches what [`NetworkRules`] allow.
//!
//! The sandbox is built by the same program, started anew: its `main` calls [`hidden_entry`] first.
//! [`probe()`] says what the kernel lacks; what cannot be confined is not run.
//!
//! This crate must never know what a tool, a model or a policy is. It never prints and never reads
//! the environment. It needs Linux.
#![allow(
    clippy::disallowed_methods,
    reason = "the lint keeps other crates from starting processes; this one is where they are started"
)]

mod cancel;
mod cgroup;
mod changes;
mod channel;
mod copy_back;
mod entry;
mod environment;
mod error;
mod helper_pool;
mod holes;
mod in_project;
mod kernel;
mod launcher;
mod layer;
mod leftovers;
mod network;
mod output;
mod owners;
mod plan;
mod probe;
mod profile;
mod ran;
mod repository;
mod run;
mod sandbox;
mod signals;
mod toolchains;
mod unconfined;
mod view;

pub use cancel::Canceller;
pub use changes::{Changed, ChangedEntry, ChangesError, CommandChanges, Fate, Listed};
pub use entry::hidden_entry;
pub use environment::system_program;
pub use error::SandboxError;
pub use launcher::Launcher;
pub use layer::{
    LayerLimits, LayerUse, PrivateLayer, WriteSpace, remove_other_layers, tidy_layers,
};
pub use network::{NetworkRules, RefusedConnection};
pub use output::{KeptOutput, OutputChunk, Stream};
pub use plan::SandboxPart;
pub use probe::{Probe, ProbeFinding, Problem, probe};
pub use profile::{Access, CommandLimits, Copy, Profile, ProjectAccess, Visible};
pub use ran::{Exit, LevelReport, LimitKind, MemoryScope, NetworkLevel, ProjectLevel, Ran};
pub use repository::WorktreeIndex;
pub use sandbox::{RunOptions, Sandbox};
pub use signals::signal_is_ignored;
pub use toolchains::Toolchains;
pub use unconfined::Unconfined;
