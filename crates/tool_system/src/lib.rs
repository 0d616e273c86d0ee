//! The tool system: what a tool is, which tools there are, and the one pipeline that runs them.
//!
//! A tool proposes; the executor acts. A [`Tool`] turns arguments and a view of the workspace into
//! an answer or a [`protocol::Proposal`]; only [`ToolExecutor`] performs a proposal, after role,
//! policy and approver have seen exactly that data. Each tool is one file under `extensions/`.
//!
//! This crate knows no conversation, no model provider and no wire protocol. It never prints and
//! never reads the environment.

// Tool files name this crate as a tool author outside of it would, so that the example in
// CONTRIBUTING.md is the same text as a real one.
extern crate self as tool_system;

mod answers;
mod changes;
mod commands;
mod edit;
mod execution;
pub mod extensions;
mod git_command;
mod instructions;
mod limits;
mod locked;
pub mod policy;
mod registration;
mod toolchain;
mod web;

// Modules are named by what they hold, wherever they are grouped.
use answers::{
    command_report, file_view, import_notes, outcome_text, picture, plain_text, preview, rendering,
    result_store, search_notes, test_reports, timestamp, truncation,
};
use changes::{change_plan, history, proposing, session_diff, transfer, undoing};
use execution::{
    activity, agent_host, approval_gate, approver, caller, checks, context, editor_writes,
    executor, file_tracker, judging, learned_rules, on_demand, open_documents, own_changes,
    perform, project_tools, turn,
};
use registration::{
    absent_arguments, argument_problems, arguments, category, custom, definition, face,
    json_schema, registry, schema, tool, validator,
};
use toolchain::{formatters, package_name, project_kind, test_commands};

pub use activity::{ActivityStream, Subscription};
pub use agent_host::{AgentHost, DELEGATE_ROLE, Delegation, Recalled, TextSearch};
pub use approval_gate::{Approved, Asker};
pub use approver::{ApproveAll, Approver, RefuseAll, Revocation, RuleKeeper};
pub use argument_problems::misfit;
pub use arguments::{ToolArguments, Whole};
pub use caller::Caller;
pub use category::Category;
pub use checks::{CheckError, EditCheck};
pub use code_index::{CodeBase, IndexFacts, IndexStatus, NameBounds};
pub use commands::{CommandRunner, IgnoredFiles, RunnerOptions};
pub use context::ToolContext;
pub use custom::{CustomTool, Mistake as CustomToolMistake};
pub use definition::{Approval, ToolDefinition, ToolType};
pub use executor::{ExecutorOptions, Explained, ToolExecutor};
pub use face::{Face, Vocabulary};
pub use file_tracker::FileTracker;
pub use history::{ChangeSight, History};
pub use instructions::{InstructionFile, InstructionText};
pub use learned_rules::LearnedRules;
pub use limits::{LimitOverrides, Limits};
pub use on_demand::OnDemand;
pub use open_documents::OpenDocuments;
pub use perform::{JournalPerformer, Performer};
pub use picture::handed_image;
pub use project_tools::ProjectTools;
pub use registry::{ListedTool, ToolRegistry};
pub use rendering::TERMINATE;
pub use schema::{input_schema, output_schema};
pub use session_diff::SessionDiff;
pub(crate) use tool::json_of;
pub use tool::{Outcome, Proposed, TakesBack, Tool};
pub use validator::ToolValidator;
pub use web::{
    AskedSearch, Recency, SearchFormat, SearchHit, SearchKind, SearchProvider, SearchQuestion,
    SearchServer, WebAccess, WebOptions,
};
pub use workspace::EntrySummary;

/// Everything a tool's file needs, in one line.
pub mod prelude {
    pub use async_trait::async_trait;
    pub use protocol::{
        CommandSpec, ErrorCode, ProjectMode, ToolError, ToolPermission, ToolResult,
    };
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};

    pub use crate::{
        Approval, Category, Face, ListedTool, Outcome, Proposed, Tool, ToolArguments, ToolContext,
        ToolDefinition, Vocabulary, Whole, auto_register_tool,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
#[doc = include_str!("../../../README.md")]
struct DocumentedExamples;
