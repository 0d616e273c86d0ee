//! `toolkiln chat` as a user at a terminal has it: real processes, a real terminal, a scripted model.

mod answering;
mod conversation;
mod live_chat;
mod queue;
mod rewinding;
mod standing_answers;
mod typed_ahead;
mod typing;

pub(crate) use live_chat::{LiveChat, with_model};

/// The smallest image that is recognised: two pixels beside each other.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x01\x08\x02\0\0\0crc.\0\0\0\0IENDcrc.";
