//! What the user sees of a session: a pure fold from its log to messages, cards of tool calls, plans,
//! notices and costs. Terminal, web page, `sessions show` and exports draw a [`Timeline`] and nothing
//! else, so that a session looks the same everywhere.
//!
//! Every text of an item is harmless: what a terminal would obey, what reorders a line and what a
//! reader cannot see is written out as an escape. HTML and Markdown still have to be escaped, which
//! [`html`] and [`markdown`] do.
//!
//! This crate does no I/O, reads no clock, and knows no tool by its name.

mod amounts;
mod card;
mod checks;
mod diff_parts;
mod export;
mod fold;
mod headline;
mod item;
mod live_output;
mod notices;
mod outcome;
mod question;
pub mod safe_text;
mod scope;
mod timeline;
mod title;
mod turn;

pub use amounts::{count, duration, money};
pub use card::{CallFailure, CallState, Card};
pub use diff_parts::{DiffPart, diff_parts};
pub use export::{html, markdown};
pub use headline::Headline;
pub use item::{
    Answer, AnswerState, AttachedText, Item, ItemBody, ItemId, Level, Notice, Topic, UserMessage,
};
pub use live_output::Output;
pub use notices::{compacted, instructions};
pub use protocol::Waiting;
pub use question::{CardQuestion, Reply};
pub use timeline::{ItemChanges, SessionFacts, Timeline};
pub use turn::{Denied, TurnCosts, TurnTally};
