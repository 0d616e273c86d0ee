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
