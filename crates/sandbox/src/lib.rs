//! Runs one command, confined.
//!
//! [`Sandbox::run`] performs a [`protocol::CommandSpec`] behind walls: namespaces of its own (user,
//! mount, process, network and the rest), a fresh root in which only the system, the project and
//! named toolchains are visible, an environment built from nothing, no capabilities, a filter for
//! system calls, Landlock as a second wall, and limits. Output is streamed; however the run ends,
//! nothing that the command started is left. With an overlay the command works on a copy on write,
//! and [`Changes`] tells what it changed. A command that may use the network finds a proxy, which
//! reaches what [`NetworkRules`] allow.
//!
//! The walls are built by the same program, started anew: its `main` calls [`hidden_entry`] first.
//! What the kernel lacks is told by [`probe()`]; without the walls nothing runs.
//!
//! This crate must never know what a tool, a model or a policy is. It never prints and never reads
//! the environment. It needs Linux.
#![allow(
    clippy::disallowed_methods,
    reason = "this crate is behind the wall that the lint holds: it is where processes are started"
)]

mod cancel;
mod carry_over;
mod cgroup;
mod changes;
mod channel;
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
pub use changes::{Changed, Changes, ChangesError, Entry, Fate, Listed};
pub use entry::hidden_entry;
pub use environment::system_program;
pub use error::SandboxError;
pub use launcher::Launcher;
pub use layer::{LayerLimits, LayerUse, PrivateLayer, Room, remove_other_layers, tidy_layers};
pub use network::{
    Allowance, InvalidAllowance, NetworkRules, RefusedConnection, Resolver, SystemResolver,
    Upstream,
};
pub use output::{Kept, OutputChunk, Stream};
pub use plan::Part;
pub use probe::{Finding, Probe, Problem, probe};
pub use profile::{Access, Copy, Limits, Profile, ProjectAccess, Visible};
pub use ran::{Exit, LevelReport, LimitKind, MemoryScope, NetworkLevel, ProjectLevel, Ran};
pub use repository::WorktreeIndex;
pub use sandbox::{RunOptions, Sandbox};
pub use signals::signal_is_ignored;
pub use toolchains::Toolchains;
pub use unconfined::Unconfined;
