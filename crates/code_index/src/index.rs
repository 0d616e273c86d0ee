//! The trigram index: which files can contain a match.
//!
//! This is the part without files of its own. Bytes come from the caller ([`Extractor`]), the
//! finished index goes to a writer ([`IndexBuilder`]) and is read from whatever holds its bytes
//! ([`Segment`]). A question is turned into a [`TrigramPlan`], which names the trigrams that a
//! matching file must have. The answer only ever narrows: each candidate is to be searched.
//!
//! `cargo xtask bench search` asks for what is written by hand here: "rare literal, with the index"
//! for the plans and lists, "index build" for the batches and runs, "size of the index" for how lists
//! are packed.

mod answer;
mod batch;
mod builder;
mod candidates;
mod extract;
mod format;
mod merge;
mod packed;
mod path_order;
mod plan;
mod postings;
mod run;
mod segment;
mod stamp;
pub(crate) mod varint;

pub use batch::IndexBatch;
pub use builder::{IndexBuilder, IndexedFile, Totals};
pub use candidates::Candidates;
pub use extract::{Extractor, SearchableContent, Trigrams};
pub use format::SegmentError;
pub(crate) use path_order::path_order;
pub use plan::{Narrow, TrigramPlan};
pub use run::Spool;
pub use segment::Segment;
pub use stamp::{Flags, IndexStamp};

#[cfg(test)]
mod tests;
