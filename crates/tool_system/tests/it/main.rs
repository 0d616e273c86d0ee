//! The tool system from outside: real tools on real directories, through the executor.
#![allow(clippy::disallowed_methods, reason = "tests make the files that tools then read")]

mod agent;
mod answer_texts;
mod apply_changes;
mod approval;
mod attacks;
mod command_policy;
mod command_texts;
mod commands;
mod definitions;
mod definitions_lookup;
mod dev_tools;
mod edit_lines;
mod executor;
mod file_reading;
mod git_tools;
mod git_traps;
mod glob;
mod grep;
mod harness;
mod imports;
mod jobs;
mod links;
mod listing;
mod outline;
mod parallel_calls;
mod proposals;
mod redundancy;
mod references;
mod rename;
mod replace;
mod search;
mod search_limits;
mod undo;
mod validation;
mod whole_files;
