//! The tool system from outside: real tools on real directories, through the executor.
#![allow(clippy::disallowed_methods, reason = "tests make the files that tools then read")]

mod apply_changes;
mod approval;
mod definitions;
mod edit_lines;
mod executor;
mod file_reading;
mod glob;
mod grep;
mod harness;
mod listing;
mod proposals;
mod redundancy;
mod replace;
mod undo;
mod validation;
mod whole_files;
