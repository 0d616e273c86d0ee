//! What tests need and users never get: temporary projects written as text ([`Fixture`]), real
//! child processes that speak JSON-RPC over their standard streams ([`StdioServer`]), a scripted
//! model behind real HTTP ([`ModelServer`]), programs at a real terminal ([`LiveScreen`]), a real
//! PostgreSQL server ([`Postgres`]) and connections that break ([`FaultProxy`]), trees remembered to the last bit ([`Snapshot`]), and
//! loops that end ([`at_most`], [`in_time`]). The rules of the house live in `tests/tidy`.
//!
//! Everything here fails by panicking with a message for the reader of the test, at the line
//! of the test.
//!
//! This crate must never be a normal dependency of a crate that ships, and it must never know a
//! tool.

// Fixtures and child processes are the very purpose of this crate.
#![allow(clippy::disallowed_methods)]

mod bounded_loops;
mod fault_proxy;
mod fixture;
mod fixture_text;
mod left_out;
pub mod live_screen;
mod login_server;
mod mcp_server;
pub mod model_server;
mod postgres;
mod process;
mod snapshot;
mod team_login;

pub use bounded_loops::{at_most, in_time};
pub use fault_proxy::FaultProxy;
pub use fixture::Fixture;
pub use left_out::left_out;
pub use live_screen::LiveScreen;
pub use login_server::{LoginServer, LoginState};
pub use mcp_server::MCP_SERVER;
pub use model_server::{Exchange, Fault, Gate, ModelServer, Reply};
pub use postgres::{POSTGRES_VARIABLE, Postgres, PostgresDatabase};
pub use process::StdioServer;
pub use snapshot::Snapshot;
pub use team_login::{first_admin_token, invited_token};
