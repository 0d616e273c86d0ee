//! Spans and measures of whole logs, and how they are sent.

mod exporting;
mod folding;
mod properties;
mod story;
mod trace_contexts;
