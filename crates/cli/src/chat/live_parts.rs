//! Parts of the live chat that stand alone: what a question shows, what can be mentioned, and where
//! messages are remembered.

pub(crate) mod asking;
pub(crate) mod history_file;
pub(crate) mod mention_source;
