//! Toolkiln's tools as an MCP server: the door through which other people's programs call them.
//!
//! Here live the stdio transport (bounded lines, strict JSON, one write a message), the handler
//! that answers `tools/list` and `tools/call` from a [`tool_system::ToolExecutor`], the translation
//! of results, errors and progress into MCP's shapes, and asking the host's user by elicitation.
//! Both lifecycles of the protocol are served: the `initialize` handshake and the stateless requests
//! of revision 2026-07-28.
//!
//! This crate must never know a particular tool, decide about permissions or touch a file; all of
//! that lies behind the executor. It never prints and never reads the environment.

mod answer;
mod approval;
mod envelope;
mod handler;
mod line_reader;
mod message;
mod parked;
mod progress;
mod question;
mod serve;
mod transport;

pub use approval::Asking;
pub use serve::{ServeError, serve, serve_stdio};
