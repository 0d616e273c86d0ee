//! The data types of Toolkiln: what a tool call, a result, an error, a permission, a proposal and an
//! event *are*, and the pure functions that show one of them in another shape.
//!
//! Everything here is plain, serialisable data. This crate does no I/O, starts no task, reads no
//! clock and knows no tool, no model provider and no wire protocol; every other crate may use it.

mod activity;
mod approval;
mod command_view;
mod diff;
mod error;
mod foreign;
mod hash;
mod image;
mod json;
mod message;
mod permission;
mod proposal;
mod question;
mod recall;
mod rewind;
mod role;
mod session;
mod shared_text;
mod tokens;
mod trace_context;
mod unknown_name;
mod usage;
mod view;
mod waiting;

pub use activity::{ActivityData, ActivityEvent, ActivityType};
pub use approval::{ApprovalRequest, ApprovalResponse, LineComment, Remember};
pub use command_view::describe_command;
pub use diff::{
    BinaryDiff, Blob, CommonRun, DiffKind, DiffLine, FileDiff, Hunk, LineEndingStyle, LineKind,
    Mark, MarkKind, apply_selected, common_runs, hidden_parts, unified, unified_hunks, visible,
};
pub use error::{ErrorCode, ErrorType, ToolError};
pub use foreign::{ForeignCall, describe_foreign};
pub use hash::{ContentHash, InvalidHash};
pub use image::{Image, ImageFormat, ImageTokens};
pub use json::{MAX_JSON_DEPTH, StrictJsonError, parse_strict_json};
pub use message::{CallReport, Content, Message, Speaker, ToolCall};
pub use permission::{PermissionSet, ToolPermission};
pub use proposal::{
    Base, Change, ChangeSet, CommandSpec, FileBytes, ProjectMode, Proposal, RunMode, WebRequest,
};
pub use question::QuestionText;
pub use recall::{MessageHandle, joined_parts, line_after, recalled_text};
pub use rewind::{Rewind, RewoundEntries};
pub use role::AgentRole;
pub use session::{
    BrokenCall, Compaction, ForkPoint, Instructions, LogEntry, ModelAnswer, ModelErrorKind, Opened,
    PauseReason, PlanStep, SessionEvent, Settings, ShortenedMessage, StepStatus, StopReason,
    TurnEnd,
};
pub use shared_text::SharedText;
pub use tokens::{TokenCount, estimate_tokens};
pub use trace_context::TraceContext;
pub use unknown_name::UnknownName;
pub use usage::Usage;
pub use view::{View, describe_call};
pub use waiting::{Waiting, milliseconds_between};

/// What a tool call ends with: a JSON value, or an error that goes back to the model.
pub type ToolResult = Result<serde_json::Value, ToolError>;
