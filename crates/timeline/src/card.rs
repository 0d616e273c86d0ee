//! The card of a tool call.

use protocol::{ErrorCode, FileDiff, Image, ToolError, ToolResult, unified, visible};
use schemars::JsonSchema;
use serde::Serialize;

use crate::headline::Headline;
use crate::item::without_data;
use crate::live_output::Output;
use crate::question::CardQuestion;
use crate::safe_text::safe;
use protocol::Waiting;

/// A tool call: what it does, how far it is and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Card {
    /// The id of the call. Calls of different agents may have the same.
    pub call_id: String,
    /// The tool, as the model names it; empty if the log does not say.
    pub tool: String,
    /// What the call does or, once it has ended, what it came to, on one line.
    pub title: String,
    /// The same in parts. What came of the call is beside what it does.
    pub headline: Headline,
    /// The arguments as indented JSON; empty if there are none.
    pub arguments: String,
    /// How far it is.
    pub state: CallState,
    /// Why it did not end well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<CallFailure>,
    /// When it began to run: milliseconds since 1970, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// How long it took without the time that the user was waited for, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_ms: Option<u64>,
    /// How long the user was waited for, sub-agents included.
    pub waiting: Waiting,
    /// What was asked about it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<CardQuestion>,
    /// The changes of files that were asked about last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<FileDiff>,
    /// The changes of files as the result tells them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_diff: Option<String>,
    /// Why changes that the call wanted to make were not made, although it ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// What it has printed while it ran. Not in the log, so there is none in a session that is shown
    /// again.
    pub output: Output,
    /// What came of it, in a few lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcome: Vec<String>,
    /// The whole result as text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Checks that did not pass, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Images that belong to the result. In JSON they have no bytes.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "without_data")]
    pub images: Vec<Image>,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The model wants it; it has not begun.
    #[default]
    Pending,
    /// It runs.
    Running,
    /// The user is asked about it.
    WaitingForApproval,
    /// It has ended well.
    Done,
    /// It has failed.
    Failed,
    /// The user or the policy has said no.
    Refused,
    /// It was cancelled, or the process ended before it had a result.
    Interrupted,
}

impl CallState {
    /// Whether nothing more comes of the call.
    pub fn is_over(self) -> bool {
        match self {
            Self::Pending | Self::Running | Self::WaitingForApproval => false,
            Self::Done | Self::Failed | Self::Refused | Self::Interrupted => true,
        }
    }

    pub(crate) fn of(result: &ToolResult) -> Self {
        match result {
            Ok(_) => Self::Done,
            Err(error) if error.is_denial() => Self::Refused,
            Err(error) => match error.code {
                ErrorCode::Cancelled | ErrorCode::Interrupted => Self::Interrupted,
                _ => Self::Failed,
            },
        }
    }
}

/// Why a call did not end well.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CallFailure {
    /// The stable word for it.
    pub code: ErrorCode,
    /// In words.
    pub message: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl CallFailure {
    pub(crate) fn of(error: &ToolError) -> Self {
        let suggestion = error.suggestion.as_deref().map(safe);
        Self { code: error.code, message: safe(&error.message), suggestion }
    }
}

impl Card {
    /// Takes what the call is about; what it came to is not known.
    pub(crate) fn begins_as(&mut self, title: String) {
        self.headline = Headline::of(&title, None);
        self.title = title;
    }

    /// Takes what the call came to.
    pub(crate) fn ends_as(&mut self, summary: String) {
        self.headline = Headline::of(&self.title, Some(&summary));
        self.title = summary;
    }

    /// What it has printed or, in a session that is shown again, its whole result.
    pub fn printed(&self) -> &str {
        if self.output.text.is_empty() { &self.detail } else { &self.output.text }
    }

    /// The changes of files as a unified diff: as they were asked about, else as the result tells them.
    /// What the user has revised was made as the result tells it, and not as it was asked about.
    pub fn diff(&self) -> Option<String> {
        if self.diffs.is_empty() || (self.state == CallState::Done && self.is_revised()) {
            return self.told_diff.clone();
        }
        Some(unified(&self.diffs))
    }

    /// Whether the last answer was a yes to something else than what was asked about.
    pub fn is_revised(&self) -> bool {
        let reply = self.questions.last().and_then(|question| question.reply.as_ref());
        reply.is_some_and(|reply| reply.revised)
    }

    /// Whether a question stands.
    pub(crate) fn is_asking(&self) -> bool {
        self.questions.last().is_some_and(|question| question.reply.is_none())
    }
}

/// Diffs whose paths are harmless like the rest of them.
pub(crate) fn harmless_diffs(diffs: &[FileDiff]) -> Vec<FileDiff> {
    let harmless = |diff: &FileDiff| FileDiff {
        path: visible(&diff.path),
        from_path: diff.from_path.as_deref().map(visible),
        ..diff.clone()
    };
    diffs.iter().map(harmless).collect()
}
