//! The terminal door: what a conversation looks like on a terminal, and what is typed there.
//!
//! Everything here is pure or writes to what it is given, except [`input`], which reads keys.

pub(crate) mod attachments;
pub(crate) mod cards;
pub(crate) mod commands;
pub(crate) mod events_json;
pub(crate) mod input;
pub(crate) mod look;
pub(crate) mod markdown;
pub(crate) mod notices;
pub(crate) mod safe_text;
pub(crate) mod screen;
pub(crate) mod tally;
