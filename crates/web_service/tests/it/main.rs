//! The service of a team, over real connections: who may see and do what.
#![allow(clippy::disallowed_methods, reason = "tests make files, and start programs of others")]

mod attacks;
mod budgets;
mod client;
mod deleted;
mod isolation;
mod login;
mod matrix;
mod provider;
mod real_provider;
mod streams;
mod team_service;
