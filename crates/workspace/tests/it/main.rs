//! Behaviour of the workspace on a real file system.
#![allow(
    clippy::disallowed_methods,
    reason = "tests build the trees they look at with plain file calls"
)]

mod cache_files;
mod changes;
mod ignore_rules;
mod ignored;
mod listing;
mod paths;
mod races;
mod reading;
mod tree;
mod walking;
mod watching;
