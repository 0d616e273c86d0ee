//! The service from end to end: the real binary, real HTTP on both sides, a scripted model.

mod abuse;
mod access;
mod agent_change;
pub(crate) mod agents;
mod agents_attacked;
mod agents_links;
mod attach;
mod attach_faults;
mod attacks;
mod conversation;
mod description;
mod finding;
mod history;
mod images;
mod killing;
mod many;
mod operation;
mod project_facts;
mod reading;
pub(crate) mod service;
