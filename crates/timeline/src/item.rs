//! The things that a timeline is made of.

use protocol::{Image, PlanStep, SharedText};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::card::Card;
use crate::turn::TurnCosts;

/// The name of an item for as long as its timeline exists: its place among all items, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ItemId(pub(crate) usize);

/// One thing that the user sees. Items stand in the order in which they began.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Item {
    /// Its name.
    pub id: ItemId,
    /// The card of the call whose sub-agent this happened in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ItemId>,
    /// How many sub-agents it is inside of.
    pub depth: usize,
    /// When it began: milliseconds since 1970, UTC.
    pub at: i64,
    /// The entry of the log that it began with.
    pub sequence: u64,
    /// Whether the conversation has gone back to before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rewound: bool,
    /// What it is.
    #[serde(flatten)]
    pub body: ItemBody,
}

impl Item {
    /// The card, if the item is a tool call.
    pub fn card(&self) -> Option<&Card> {
        match &self.body {
            ItemBody::Call(card) => Some(card),
            _ => None,
        }
    }
}

/// The kinds of item; `{"kind": "answer", …}` in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemBody {
    /// What the user said, or the task of a sub-agent.
    Message(UserMessage),
    /// What the model said.
    Answer(Answer),
    /// What the model thought, where it lets us see that.
    Thinking {
        /// The thoughts so far.
        text: SharedText,
        /// How long they took, once they are over.
        #[serde(skip_serializing_if = "Option::is_none")]
        took_ms: Option<u64>,
    },
    /// A tool call.
    Call(Box<Card>),
    /// The whole plan, after a change of it.
    Plan {
        /// Its steps.
        steps: Vec<PlanStep>,
    },
    /// One line about something else that happened.
    Notice(Notice),
    /// The turn is over.
    Turn(TurnCosts),
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UserMessage {
    /// What was said, with images in words.
    pub text: String,
    /// What was said alone, where there are images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// What was attached as text: files, directories, symbols.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<AttachedText>,
    /// The images. In JSON they have no bytes.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "without_data")]
    pub images: Vec<Image>,
}

/// A text that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttachedText {
    /// What it is, on one line, such as `src/main.rs, 40 lines`.
    pub title: String,
    /// As the model reads it.
    pub text: String,
}

impl UserMessage {
    /// What was said, with all that was attached as text.
    pub fn whole_text(&self) -> String {
        let attached = self.attached.iter().map(|attached| attached.text.as_str());
        std::iter::once(self.text.as_str()).chain(attached).collect::<Vec<_>>().join("\n")
    }
}

/// What the model said in answer to one request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The text so far, in Markdown.
    pub text: SharedText,
    /// How far it is.
    pub state: AnswerState,
}

/// How far an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerState {
    /// More is to come.
    Streaming,
    /// The model has said what it wanted to say.
    Complete,
    /// The request failed or was cancelled. The model does not see this text again.
    Cut,
}

/// One line about something that happened beside messages and tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notice {
    /// What it is about.
    pub topic: Topic,
    /// How much it matters.
    pub level: Level,
    /// The line.
    pub text: String,
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The model did not answer; the request may be sent again.
    ModelFailed,
    /// The conversation was made shorter.
    Compacted,
    /// Another model or role.
    Settings,
    /// The session has a name.
    Renamed,
    /// The model was told something that the user did not say.
    Nudged,
    /// The model was told the project's instructions.
    Instructions,
    /// The model has said nothing and called nothing.
    EmptyAnswer,
    /// The provider refused images.
    ImagesRefused,
    /// The turn waits for the user.
    Paused,
    /// The turn ended in an unusual way.
    TurnEnd,
    /// The conversation goes on from before an earlier message.
    Rewound,
    /// The log was damaged and has been repaired.
    Repaired,
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// The user may want to do something about it.
    Warning,
    /// Something failed.
    Error,
}

/// Bytes of images are long, and whoever reads items asks for them by their hash.
pub(crate) fn without_data<S: Serializer>(images: &[Image], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(images.iter().map(Image::without_data))
}
