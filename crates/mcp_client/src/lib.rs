//! Tools of foreign MCP servers, behind Toolkiln's own gate.
//!
//! Here live the connection to a server (its program runs confined, with pipes that are bounded both
//! ways), the two eras of the protocol, the identity of a definition and what the user has approved of
//! it, and each tool as a [`tool_system::Tool`] whose calls are proposals like any other.
//!
//! What a server says is data: nothing it says gives it a right, and nothing it sends makes this
//! process hold more than it asked for. This crate must never decide whether a call is allowed. It
//! never prints and never reads the environment.

mod answer;
mod asking;
mod credentials;
mod definition;
mod event_stream;
mod foreign_schema;
mod foreign_tool;
mod handshake;
mod http;
mod lines;
mod locked;
#[cfg(feature = "oauth")]
pub mod oauth;
mod param_headers;
mod peer;
mod received;
mod records;
mod server;
mod server_config;
mod servers;
mod stdio;
mod tool_names;
mod wire;

pub use credentials::{HttpRefusal, NotAdmitted, ServerCredentials, fixed_token};
pub use definition::{ForeignDefinition, ServerTools};
pub use http::ServerAddress;
pub use records::{ServerRecords, Shelf};
pub use server::ForeignServer;
pub use server_config::{OAuthConfig, OAuthGrant, ServerApproval, ServerConfig, ServerName};
pub use servers::ForeignServers;
pub use stdio::ServerProgram;
pub use tool_names::SEPARATOR;
