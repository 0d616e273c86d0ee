//! A running conversation: the orchestrator, a model, the tools, the approver and the log put
//! together.
//!
//! A front end makes a [`Session`] from [`SessionParts`], sends what the user says, and shows the entries
//! of [`StoredLog::watch`]; `examples/front_end.rs` is a complete one. Everything that happens goes into the store first. This crate never
//! prints and never reads the environment.

mod agent;
mod approval;
mod attachments;
mod instructions;
mod log;
mod observer;
mod prompt;
mod recall;
mod rewinding;
mod runtime;
mod session;
mod taking_back;

pub use approval::{ApprovalManager, NotAsked};
pub use attachments::{Attached, with_files};
pub use context_manager::{ChatContext, Inbox, QueuedId, TurnOutcome};
pub use log::StoredLog;
pub use observer::LogObserver;
pub use prompt::SystemPromptService;
pub use rewinding::{RewindFiles, RewindPoint};
pub use runtime::{ContextToolRuntime, tool_spec};
pub use session::{Model, Session, SessionError, SessionParts};
pub use taking_back::TakeBack;
