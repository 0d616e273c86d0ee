//! `cargo xtask bench`: what a user feels, measured beside what they could use instead.

mod agent;
mod answers;
mod changes;
mod client;
mod connected;
mod corpus;
mod exec;
mod front_ends;
pub(crate) mod peers;
mod ranking;
mod report;
mod search;
mod stats;
mod team;
mod terminal;
mod verdict;
mod web;

pub(crate) use agent::run as agent;
pub(crate) use answers::run as answers;
pub(crate) use changes::run as changes;
pub(crate) use connected::run as connected;
pub(crate) use exec::run as exec;
pub(crate) use front_ends::run as front_ends;
pub(crate) use ranking::ablate as ablate_ranking;
pub(crate) use ranking::choose as choose_ranking_cases;
pub(crate) use ranking::run as ranking;
pub(crate) use ranking::time as time_ranking;
pub(crate) use search::run as search;
pub(crate) use team::run as team;
pub(crate) use terminal::run as terminal;
pub(crate) use web::run as web;

/// How often each thing is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Enough to publish.
    Full,
    /// Enough to see whether something broke.
    Quick,
}
