//! Where sessions are kept: the append-only log of every session, and what is learned from it.
//!
//! [`Store`] is the trait that callers use. [`SqliteStore`] implements it without a server: one
//! file per project, which several processes may use at once. [`PostgresStore`] is a project in a database that
//! replicas of a service share, and [`Exchange`] what these tell each other. Everything that can be said about a
//! session (its summary in a list, its statistics, what is learned from it) is derived from its log.
//!
//! What is written is safe from the end of the process as soon as [`Store::append`] returns. If the
//! machine loses power, the last moments may be missing, but never something in the middle.
//!
//! This crate knows no model, no tool and no screen. The only files it touches are its own, through
//! SQLite, and what `/proc` says about processes; the only connections are those to its database.

mod call_reader;
mod call_waiting;
mod check;
mod columns;
mod copied;
mod copy;
mod counting;
mod cut;
mod days;
mod decision;
mod error;
mod event_data;
mod exchange;
mod favourites;
mod find;
mod found_messages;
mod heirs;
mod id;
mod inspection;
mod jsonl;
mod lease;
mod months;
mod owner;
mod postgres;
mod question_board;
mod row;
mod rule_board;
mod said_words;
mod session_info;
mod slim_events;
mod sqlite;
mod stats;
mod stats_query;
mod store;
mod stored_data;
mod summary;

pub use check::{CheckFinding, CheckMode, CheckReport, RepairNote};
pub use copy::{CopyReport, copy_sessions};
pub use days::{DayCount, DayStats, DaysFilter};
pub use decision::{DecisionFilter, LoggedDecision};
pub use error::StoreError;
pub use exchange::{Exchange, Hint, InboxItem, ItemState, Put, ReplicaInfo};
pub use favourites::{FavouriteTool, Favourites, SuggestedRule};
pub use found_messages::{FoundMessage, FoundMessages};
pub use id::{InvalidSessionId, SessionId, short_ids};
pub use lease::Lease;
pub use owner::Holder;
pub use postgres::{PostgresDatabase, PostgresOptions, PostgresStore, Removed};
pub use question_board::{QuestionBoard, QuestionState, ShownQuestion};
pub use rule_board::{RevokedRule, RuleBoard};
pub use session_info::{ListFilter, SessionInfo, SessionState};
pub use sqlite::SqliteStore;
pub use stats::{Latency, ModelStats, SessionCost, SessionStats, Stats, StatsFilter, ToolStats};
pub use store::{Imported, Loaded, ProjectStores, Store};
