//! Running approved commands, and what they leave.
//!
//! A command works on a copy of the project. What it changed there among files that are not ignored
//! becomes a [`protocol::ChangeSet`], which is judged, approved, applied and undone like any other;
//! ignored files, such as build output, are taken over as they are.

mod copied;
mod job;
mod jobs;
mod place;
mod report;
mod runner;
mod settling;

pub(crate) use copied::Taken;
pub(crate) use job::Look;
pub(crate) use jobs::Jobs;
pub(crate) use runner::NotRun;
pub use runner::{CommandRunner, RunnerOptions};
