//! A running conversation: the orchestrator, a model, the tools, the person and the log put
//! together.
//!
//! A door makes a [`Session`] from [`Parts`], sends what the person says, and shows what
//! [`StoredLog::watch`] tells. Everything that happens goes into the store first. This crate never
//! prints and never reads the environment.

mod agent;
mod approval;
mod attachments;
mod instructions;
mod log;
mod prompt;
mod recall;
mod runtime;
mod session;

pub use approval::{ApprovalManager, NotAsked};
pub use attachments::Attached;
pub use context_manager::{ChatContext, TurnOutcome};
pub use log::StoredLog;
pub use prompt::SystemPromptService;
pub use runtime::{ContextToolRuntime, Toolbox, Wiring, tool_spec};
pub use session::{Model, Parts, Session, SessionError};
