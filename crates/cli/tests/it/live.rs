//! `toolkiln chat` as a user at a terminal has it: real processes, a real terminal, a scripted model.

mod answering;
mod conversation;
mod live_chat;
mod queue;
mod standing_answers;
mod typed_ahead;
mod typing;

pub(crate) use live_chat::LiveChat;
