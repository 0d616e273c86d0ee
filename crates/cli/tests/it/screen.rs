//! The chat as it is drawn at a terminal, attacked: how it leaves the terminal behind, other sizes, hostile text,
//! floods, and how it looks as a whole.

mod drawn_chat;
mod leaving;
mod resizing;

use drawn_chat::DrawnChat;
