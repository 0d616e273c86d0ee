//! `cargo xtask bench`: what a user feels, measured beside what they could use instead.

mod agent;
mod answers;
mod changes;
mod client;
mod corpus;
mod doors;
mod exec;
mod peers;
mod report;
mod search;
mod stats;
mod verdict;

pub(crate) use agent::run as agent;
pub(crate) use answers::run as answers;
pub(crate) use changes::run as changes;
pub(crate) use doors::run as doors;
pub(crate) use exec::run as exec;
pub(crate) use search::run as search;

/// How often each thing is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Enough to publish.
    Full,
    /// Enough to see whether something broke.
    Quick,
}
