//! The log of a session: everything that happened in a conversation, in order. Whatever a screen
//! shows, an export holds or a statistic counts is read from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgentRole, ApprovalRequest, ApprovalResponse, Content, ContentHash, Image, Rewind, SharedText,
    ToolResult, Usage,
};

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The position in the log, from 1 without gaps.
    pub sequence: u64,
    /// When it was written: milliseconds since 1970, UTC.
    pub at: i64,
    /// What happened.
    #[serde(flatten)]
    pub event: SessionEvent,
}

/// What can happen in a session; `{"type": "user_message", "data": {…}}` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum SessionEvent {
    /// The session begins. The first event of every log.
    Opened(Opened),
    /// The session has a name.
    Renamed {
        /// Shown in lists of sessions.
        title: String,
    },
    /// From here on another model answers, or the same one in another role.
    SettingsChanged(Settings),
    /// A message of the user; a turn begins.
    UserMessage {
        /// What is said.
        content: Vec<Content>,
    },
    /// The user says more while a turn is under way; it belongs to that turn.
    UserAdded {
        /// What is said.
        content: Vec<Content>,
    },
    /// A request is about to be sent to the model.
    ModelAsked {
        /// The tokens that the request is thought to take.
        estimated_tokens: u64,
    },
    /// Part of an answer, as it arrives. [`SessionEvent::ModelAnswered`] holds the whole of it.
    TextDelta {
        /// What follows the delta before.
        text: SharedText,
    },
    /// Part of the thinking, where the provider shows it.
    ThinkingDelta {
        /// What follows the delta before.
        text: String,
    },
    /// A complete answer. Only the calls in it are ever run.
    ModelAnswered(ModelAnswer),
    /// The model did not answer, or not to the end. What came before is not sent again.
    ModelFailed {
        /// The kind of failure.
        kind: ModelErrorKind,
        /// One line for the user.
        message: String,
        /// After how many milliseconds it is tried again; the turn ends or pauses if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
        /// What was used all the same: what the answer had announced, or our estimate of it.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
        /// What that cost in US dollars, where the price is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// A call is about to be run.
    CallStarted {
        call_id: String,
        /// What it does, for the user: `Read src/main.rs, lines 10 to 20`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// The approver is asked about a call.
    ApprovalAsked(Box<ApprovalRequest>),
    /// The approver has answered.
    ApprovalAnswered {
        call_id: String,
        /// Whether and how it was approved.
        response: ApprovalResponse,
    },
    /// A call has its result. Every call gets exactly one.
    CallEnded {
        call_id: String,
        #[serde(with = "crate::message::result_as_json")]
        result: ToolResult,
        /// What a model reads in place of the result's JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Images that belong to the result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// What the call did, for the user: `Edited 2 files, +12 −3`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Tools that were not listed to the model, which it may call from here on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found_tools: Vec<String>,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// The provider has refused images. Until a model is chosen again, they are described in words.
    ImagesRefused {
        /// One line for the user: how it refused them.
        message: String,
    },
    /// The model is told something that is not from the user, such as that it repeats itself.
    Nudged {
        /// What it is told.
        text: String,
    },
    /// The model is told what the project says about the part of it that is being worked in.
    Instructed(Instructions),
    PlanChanged {
        /// The whole plan as it is now.
        steps: Vec<PlanStep>,
    },
    /// The turn stops until the user says how to go on.
    Paused(PauseReason),
    /// The user wants the turn to go on.
    Continued,
    /// The turn is over.
    TurnEnded(TurnEnd),
    /// The conversation goes on from before an earlier message.
    Rewound(Rewind),
    /// What came before is from here on represented by something shorter.
    Compacted(Compaction),
    /// Something happened in a sub-agent.
    Nested {
        /// The call that started the sub-agent.
        call_id: String,
        /// What happened there.
        entry: Box<LogEntry>,
    },
    /// The log was found damaged and has been repaired.
    Repaired {
        /// What was wrong and what became of it.
        notes: Vec<String>,
    },
}

impl SessionEvent {
    /// Whether it is a piece of what is being said, by the model or in a sub-agent.
    pub fn is_delta(&self) -> bool {
        match self {
            Self::TextDelta { .. } | Self::ThinkingDelta { .. } => true,
            Self::Nested { entry, .. } => entry.event.is_delta(),
            _ => false,
        }
    }

    /// All images of an event, those of a sub-agent included.
    pub fn images_mut(&mut self) -> Vec<&mut Image> {
        match self {
            Self::UserMessage { content }
            | Self::UserAdded { content }
            | Self::ModelAnswered(ModelAnswer { content, .. }) => {
                content.iter_mut().flat_map(images_of).collect()
            }
            Self::CallEnded { images, .. } => images.iter_mut().collect(),
            Self::Nested { entry, .. } => entry.event.images_mut(),
            _ => Vec::new(),
        }
    }

    /// The tokens that this event says were used and what they cost, in a sub-agent too.
    pub fn spent(&self) -> Option<(Usage, Option<f64>)> {
        match self {
            SessionEvent::ModelAnswered(answer) => Some((answer.usage, answer.cost_usd)),
            SessionEvent::ModelFailed { usage, cost_usd, .. } => Some((*usage, *cost_usd)),
            SessionEvent::Compacted(compaction) => Some((compaction.usage, compaction.cost_usd)),
            SessionEvent::Nested { entry, .. } => entry.event.spent(),
            _ => None,
        }
    }
}

fn images_of(content: &mut Content) -> &mut [Image] {
    match content {
        Content::Image(image) => std::slice::from_mut(image),
        Content::ToolResult { images, .. } => images,
        _ => &mut [],
    }
}

/// What a file of the project tells agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// The file, from the project root.
    pub path: String,
    /// The hash of what it says: another one is told again.
    pub version: ContentHash,
    /// What the user should know, such as that it was cut or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// What the model is told.
    pub text: String,
}

/// How a session begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The absolute path of the project.
    pub root: String,
    /// The model and its role at the beginning.
    pub settings: Settings,
    /// The session and the position this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
}

/// A position in another session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkPoint {
    /// The id of the other session.
    pub session: String,
    /// Its last entry that both have in common.
    pub sequence: u64,
}

/// The model of a session, and the role it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The provider, as the configuration names it.
    pub provider: String,
    /// The model, as its provider calls it.
    pub model: String,
    /// The role, which limits what may be done.
    pub role: AgentRole,
}

/// A complete answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// What is to be kept and sent back, in order. Every tool call stands here, broken ones with
    /// empty arguments.
    pub content: Vec<Content>,
    /// Calls whose arguments were not a JSON object. They are answered with an error, not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<BrokenCall>,
    /// Why the answer ended.
    pub stop: StopReason,
    /// What it took.
    pub usage: Usage,
    /// What it cost in US dollars, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// From the request to the end of the answer, in milliseconds.
    pub duration_ms: u64,
}

/// A call that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenCall {
    /// The id of the call.
    pub id: String,
    /// The arguments as sent.
    pub arguments: String,
    /// What is wrong with them.
    pub reason: String,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model has said what it wanted to say.
    EndOfTurn,
    /// It waits for the results of its tool calls.
    ToolUse,
    /// It reached the most tokens it may answer.
    MaxTokens,
    /// It reached the most tokens it can see.
    ContextFull,
    /// It will not answer.
    Refusal,
    /// It pauses and has to be called again with its answer so far.
    Pause,
    /// Something else, as the provider calls it.
    Other(String),
}

/// Kinds of failure of a model provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The request is wrong; sending it again is no use.
    InvalidRequest,
    /// The key is missing, wrong or not allowed to do this.
    Unauthorized,
    /// The model does not exist there.
    UnknownModel,
    /// The conversation is longer than the model can see.
    ContextFull,
    /// Too many requests.
    RateLimited,
    /// The provider has too much to do or is broken.
    Overloaded,
    /// The connection failed or fell silent.
    Connection,
    /// The answer ended before it was complete.
    Cut,
    /// What came back cannot be understood.
    Malformed,
    /// The caller gave up.
    Cancelled,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: StepStatus,
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Done,
}

/// Why a turn waits for the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum PauseReason {
    /// The model has used tools this many times in a row.
    TurnLimit {
        /// How often.
        turns: u32,
    },
    /// The session has used as many tokens as it may.
    TokenBudget {
        /// What was used.
        used: u64,
        /// What was allowed.
        limit: u64,
    },
    /// The session has cost as much as it may.
    CostBudget {
        /// What it cost, in US dollars.
        used: f64,
        /// What was allowed.
        limit: f64,
    },
    /// The turn has taken as long as it may.
    TimeBudget {
        /// How long it took, in milliseconds.
        used_ms: u64,
        /// What was allowed.
        limit_ms: u64,
    },
    /// The model makes the same call again and again, gets the same result and was told so.
    GoingInCircles {
        /// The tool that is called again and again.
        tool: String,
        /// How often.
        times: u32,
    },
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model has said what it wanted to say.
    Done,
    /// The model ended its turn with a tool call.
    Terminated,
    /// The model will not answer.
    Refused,
    /// The answer was cut at the most tokens it may have.
    MaxTokens,
    /// The conversation does not fit, and nothing more can be left out.
    ContextFull,
    /// The provider failed.
    Failed,
    /// The user has cancelled it.
    Cancelled,
    /// The user has ended it at a pause.
    Stopped,
    /// The process ended in the middle.
    Interrupted,
}

/// What stands for the earlier part of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compaction {
    /// Entries up to and including this one are left out of requests.
    pub through: u64,
    /// What is told instead.
    pub summary: String,
    /// Whether a model wrote the summary.
    pub by_model: bool,
    /// The tokens that the conversation was thought to take before.
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// How many messages, until now shown as they were, the summary stands for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summarised: u64,
    /// Calls whose results are shown in a few words from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elided: Vec<String>,
    /// Messages of the user up to `through` that stay all the same, after the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<u64>,
    /// Messages of the user of which only a part is shown from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<ShortenedMessage>,
    /// Whether the model can read what is left out, by a [`MessageHandle`](crate::MessageHandle).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub readable: bool,
    /// What the model took to write the summary.
    #[serde(default)]
    pub usage: Usage,
    /// What that cost in US dollars, where the price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A message of the user of which only a part is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortenedMessage {
    /// Its entry in the log, which holds all of it.
    pub sequence: u64,
    /// What is shown.
    pub content: Vec<Content>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
