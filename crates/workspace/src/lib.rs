//! The only code that touches the user's files.
//!
//! It holds the rooted directory handle ([`Workspace`]), paths that cannot name anything outside
//! it ([`RelPath`]), bounded reading ([`OpenFile`], [`LineWindow`]), byte-preserving text
//! ([`Text`]), the ignore-aware walk on descriptors ([`Workspace::walk`]), and the one way to change
//! anything: sets of changes applied all or none, and undone, by the [`Journal`].
//!
//! Every open is made beneath the root descriptor; no decision about what lies inside rests on
//! comparing path strings. This crate must never know what a tool, a model, a policy or an
//! approval is; of `protocol` it uses only the error that goes back to a model, the content hash and
//! the set of changes. It never prints and never reads the environment.
#![allow(
    clippy::disallowed_methods,
    reason = "the lint keeps other crates from touching files; this one is where they are touched"
)]

mod background;
mod base;
mod binary;
mod cache_file;
mod editor;
mod entry_names;
mod error;
mod faults;
mod ignore_rules;
mod ignored;
mod image_file;
mod journal;
mod line_window;
mod list;
mod meta;
mod metadata;
mod opener;
mod ops;
mod path_text;
mod read;
mod real_path;
mod rel_path;
mod resolve;
mod root;
mod seen_tree;
mod shared_file;
mod similar;
mod state_dir;
mod sync_thread;
mod temp_name;
mod text;
mod tracked;
mod user_file;
mod walk;
mod watch;

pub use background::lower_priority;
pub use binary::{BinaryKind, describe_binary, is_binary};
pub use cache_file::{CacheDraft, Mapped};
pub use editor::{EditorRun, edit_in_program, find_program, show_in_program};
pub use error::{Error, Escape};
#[doc(hidden)]
pub use faults::Faults;
pub use ignored::Ignored;
pub use image_file::{ImageFile, ImageProblem, image_file};
pub use journal::{
    Applied, EntryId, EntryRole, EntrySummary, Inverse, InverseSince, Journal, JournalOptions,
    Label, RecoveryReport, UndoTarget, WrittenElsewhere,
};
pub use line_window::{HASH_LIMIT, LineWindow, ReadLines, WindowLine};
pub use list::{DirListing, LIST_LIMIT, ListedEntry};
pub use meta::{EntryKind, EntryMeta};
pub use opener::Opener;
pub use path_text::bytes_to_text;
pub use protocol::ContentHash;
pub use read::OpenFile;
pub use rel_path::{MAX_PATH_BYTES, PathError, RelPath};
pub use root::{OpenDir, Workspace};
pub use seen_tree::SeenTree;
pub use shared_file::LockedFile;
pub use state_dir::{Ownership, StateDir, StateLock, keep_private};
pub use text::{LineEnding, LineEndingCounts, Lines, Text, TextEncoding, Unencodable};
pub use tracked::{GitIndexStamp, MAX_INDEX_BYTES, Tracked, TrackedFiles};
pub use user_file::{real_user_file, replace_user_file};
pub use walk::{
    DEFAULT_MAX_DEPTH, DEFAULT_MAX_ENTRIES, Flow, UNREADABLE_LIMIT, Visitor, WalkEntry,
    WalkOptions, WalkReport, available_threads,
};
pub use watch::{Events, Watcher};
