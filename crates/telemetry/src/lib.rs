//! Traces and metrics of sessions.
//!
//! A reader of the log like any other: [`SpanFold`] makes spans of entries, one for each turn, model request, tool call
//! and wait, and knows neither clocks nor networks. Their ids are made of the session's id and positions in its log, so
//! that reading a log again, here or on another machine, names the same spans. [`Recorder`] folds the logs of all
//! sessions of a process, and the [`Exporter`] sends what has ended by OTLP over HTTP, in batches, in the background.
//!
//! What users, models and tools say is in a span only if [`ContentCapture::Recorded`] was asked for. This crate never prints,
//! never reads the environment, and never makes a session wait.

mod content;
pub mod conventions;
mod export;
mod fold;
mod measures;
mod otlp;
mod recorder;
mod served_call;
mod span;
mod wire;

pub use content::ContentCapture;
pub use export::{ExportSettings, ExportStatus, Exporter, InvalidEndpoint, Resource};
pub use fold::{Folded, SpanFold, TokenUse, spans_of};
pub use measures::Measures;
pub use otlp::{metrics_request, traces_request};
pub use recorder::Recorder;
pub use served_call::ServedCall;
pub use span::{AttributeValue, SpanId, SpanKind, SpanStatus, TraceId, TraceSpan};
