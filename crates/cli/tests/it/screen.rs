//! The chat as it is drawn at a terminal, attacked: how it leaves the terminal behind, other sizes, hostile text,
//! floods, and how it looks as a whole.

mod at_100;
mod at_200;
mod at_60;
mod drawn_chat;
mod flood;
mod hostile_text;
mod leaving;
mod line_mode;
mod resizing;
mod scenes;
mod streaming;
mod terminal_bytes;

use drawn_chat::DrawnChat;
