//! Model providers: what is sent to them, and how their answers are read.
//!
//! Everything here is a pure function or a state machine that is fed: no connection, no clock, no
//! task. A format is a module with a `request_body`, which turns a
//! [`ModelRequest`](context_manager::ModelRequest) into the JSON to send, and a stream, which
//! turns the events of the answer into [`ModelEvent`](context_manager::ModelEvent)s:
//!
//! ```text
//! bytes → SseDecoder::push → SseEvent → AnthropicStream / ChatStream / ResponsesStream::push → ModelEvent
//! ```
//!
//! Three promises hold for every format and every sequence of bytes. A tool call is passed on only
//! when the provider has ended it, never half; its id occurs once in the conversation. An answer
//! ends with one `Done` or one error, and nothing follows. Nothing panics.
//!
//! [`error_of`] reads an answer whose status says that there is none.

pub mod anthropic;
mod calls;
mod error;
pub mod openai_chat;
pub mod openai_responses;
mod quirks;
mod reader;
mod sse;
#[cfg(test)]
mod testing;
mod turns;

pub use anthropic::AnthropicStream;
pub use error::error_of;
pub use openai_chat::ChatStream;
pub use openai_responses::ResponsesStream;
pub use quirks::Quirks;
pub use reader::{AnswerReader, Dialect};
pub use sse::{SseDecoder, SseEvent};
