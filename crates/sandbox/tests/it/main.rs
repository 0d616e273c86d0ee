//! Runs commands in real sandboxes, as root and as an ordinary user, and tries to get out.
//!
//! What a machine cannot do is named on the standard error and left out.
#![allow(clippy::print_stderr, reason = "what is left out has to be said")]
#![allow(clippy::disallowed_methods, reason = "tests start processes and look at what they left")]

mod bench;
mod bounds;
mod escapes;
mod in_process;
mod layer;
mod leaks;
mod network;
mod overlay;
mod running;
mod sockets;
mod toolchains;
mod worktrees;
