//! Toolkiln's tools as an MCP server, for hosts such as Claude Code, Codex and VS Code.
//!
//! Here live the stdio transport (bounded lines, strict JSON, bounded work, one write a message), the handler
//! that answers `tools/list` and `tools/call` from a [`tool_system::ToolExecutor`], the translation
//! of results, errors and progress into MCP's shapes, and asking the host's user by elicitation. The same
//! handler answers over HTTP ([`HttpEndpoint`]), and offers what can be read beside the tools.
//! Both lifecycles of the protocol are served: the `initialize` handshake and the stateless requests
//! of revision 2026-07-28.
//!
//! This crate must never know a particular tool, decide about permissions or touch a file; all of
//! that lies behind the executor. It never prints and never reads the environment.

mod answer;
mod approval;
mod backlog;
mod batch;
mod envelope;
mod file_uri;
mod handler;
mod host_limits;
mod host_roots;
mod http_client;
mod http_endpoint;
mod line_reader;
mod message;
mod progress;
mod prompts;
mod question;
mod random_id;
mod resources;
mod serve;
mod slow_answer;
mod subscriptions;
mod tool_list;
mod traced_call;
mod transport;
mod waiting_calls;

pub use approval::{ApproverChoice, QuestionPage};
pub use handler::McpHandler;
pub use host_limits::host_limits;
pub use http_client::HttpClient;
pub use http_endpoint::{AnswerBody, HttpEndpoint, MAX_MESSAGE_BYTES};
pub use resources::{FileVersion, ProjectResources, ResourceFile};
pub use serve::{ServeError, ServerParts, serve, serve_stdio};
pub use tool_list::listed_tool;
pub use traced_call::{CallTracer, TracedCall};
