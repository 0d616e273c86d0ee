//! Conversations with a scripted model, scripted tools and a log in memory.

mod cancelling;
mod crashes;
mod folding;
mod images;
mod instructed;
mod limits;
mod making_room;
mod queued;
mod stage;
mod story;
mod tool_calls;
mod turns;
mod users_words;
