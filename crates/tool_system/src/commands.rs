//! Running approved commands, and what they leave.
//!
//! A command works on a copy of the project and is harmless until something of that is kept. What it
//! changed among files that are not ignored becomes a [`protocol::ChangeSet`], which is judged,
//! approved, applied and undone like any other; ignored files, such as build output, are kept in the
//! project's private layer, which only other commands see. A job sees the project itself and cannot
//! write.

mod apart;
mod backend;
mod copied;
mod fate;
mod job;
mod jobs;
mod report;
mod runner;
mod settling;

pub(crate) use copied::Taken;
pub(crate) use job::JobView;
pub(crate) use jobs::Jobs;
pub(crate) use runner::NotRun;
pub use runner::{CommandRunner, IgnoredFiles, RunnerOptions};
