//! Model providers: what is sent to them, how their answers are read, and the HTTP between.
//!
//! Most of it is pure functions and state machines that are fed: no connection, no clock, no task.
//! A format is a module with a `request_body`, which turns a
//! [`ModelRequest`](context_manager::ModelRequest) into the JSON to send, and a stream, which
//! turns the events of the answer into [`ModelEvent`](context_manager::ModelEvent)s:
//!
//! ```text
//! bytes → SseDecoder::push → SseEvent → AnthropicStream / ChatStream / ResponsesStream::push → ModelEvent
//! ```
//!
//! Three promises hold for every format and every sequence of bytes. A tool call is passed on only
//! when the provider has ended it, never half. An answer ends with one `Done` or one error, and nothing
//! follows. Nothing panics.
//!
//! Names of tools and ids of calls are passed on as they came, whatever they are. A request writes
//! them in a form that its provider accepts, and always in the same one (`wire_names`); that ids are
//! unique in a conversation is up to the conversation.
//!
//! [`HttpProvider`] is the one that does I/O: it sends a request once, in the form of its [`Api`], and
//! reads the answer as it comes. What failed is not sent again here: the loop of `context_manager`
//! decides about that (`retry.rs` there). Dropping its stream closes the connection. How providers
//! differ is data: [`Quirks`], [`catalogue::ENDPOINTS`], [`HttpConfig`]. [`catalogue::choose`] picks one
//! of them from what was asked for and what is available. Keys are [`Secret`]s, given by the caller: nothing here reads the environment.
//!
//! It must never know a tool, a session, or where a key is kept.

pub mod anthropic;
mod api;
mod cache_key;
mod calls;
pub mod catalogue;
mod error;
mod format;
mod growing;
mod http_provider;
mod json_server;
mod model_list;
pub mod openai_chat;
pub mod openai_responses;
mod quirks;
mod reader;
mod secret;
mod sse;
mod surrogates;
#[cfg(test)]
mod testing;
mod turns;
mod web_search;
mod wire_names;

pub use anthropic::AnthropicStream;
pub use api::{Api, ApiReader};
pub use error::error_of;
pub use http_provider::{HttpConfig, HttpConfigError, HttpProvider, Timeouts};
pub use json_server::{JsonAnswer, JsonEvents, JsonServer, NoJsonAnswer};
pub use model_list::{NoModelList, offered_models, probe_models, probe_ollama};
pub use openai_chat::ChatStream;
pub use openai_responses::ResponsesStream;
pub use quirks::Quirks;
pub use reader::{AnswerReader, Dialect};
pub use secret::{NoKey, Secret};
pub use sse::{SseDecoder, SseEvent};
pub use web_search::{FoundPage, ModelQuestion, ModelSearch};
