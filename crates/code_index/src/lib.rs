//! Finding things in a code base: text by regular expression, files by glob.
//!
//! Both go through the workspace's walk on descriptors and re-read what they find, so an answer is
//! about the files as they are. This crate opens nothing by path, knows no tool and no limits of
//! its own; its callers say how much is enough.

mod excerpt;
mod file_filter;
mod file_search;
mod first_by_path;
mod imports;
mod index;
mod language;
mod pattern;
mod ranking;
mod scope;
mod symbols;
mod text_search;

pub use file_filter::FileFilter;
pub use file_search::{FoundFiles, find_files};
pub use language::Language;
pub use pattern::PatternError;
pub use scope::SearchScope;
pub use text_search::{TextMatch, TextMatches, TextQuery, search_text};
