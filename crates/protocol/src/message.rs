//! Messages between the user, a model and tools, in no provider's format.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Image, SharedText, ToolResult};

/// A model's wish to run a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The caller's id for this call; the result carries it back.
    pub id: String,
    /// The name of the tool in the caller's vocabulary.
    pub name: String,
    /// The arguments as sent.
    pub arguments: Map<String, Value>,
}

impl ToolCall {
    /// A call with the given id, tool name and arguments.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: Map<String, Value>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }
}

/// What a call ends with: its result for programs, and its texts for models and users.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReport {
    /// The result. It says in words what the images are, for models that cannot see them.
    pub result: ToolResult,
    /// What a model reads in place of the result's JSON.
    pub text: Option<String>,
    /// Images that belong to the result, which JSON cannot hold.
    pub images: Vec<Image>,
    /// What the call did, for the user: `Edited 2 files, +12 −3`.
    pub title: Option<String>,
    /// Tools that were not listed to the model, which it has asked for and may call from here on.
    pub found_tools: Vec<String>,
}

impl From<ToolResult> for CallReport {
    fn from(result: ToolResult) -> Self {
        Self { result, text: None, images: Vec::new(), title: None, found_tools: Vec::new() }
    }
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The user, or a tool answering on their machine.
    User,
    /// The model.
    Assistant,
    /// Instructions that frame the conversation.
    System,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its author.
    pub role: Speaker,
    /// What is said, in order.
    pub content: Vec<Content>,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text { text: SharedText },
    /// A text that goes with what the user says, such as a file.
    Attached {
        /// What it is, such as its path.
        name: String,
        /// As a model reads it: the first line says what it is.
        text: SharedText,
    },
    /// An image, sent to models that can see.
    Image(Image),
    /// The model calls a tool.
    ToolUse(ToolCall),
    /// A tool has answered.
    ToolResult {
        /// The id of the call that is answered.
        tool_use_id: String,
        /// The answer as the model reads it: a string where the tool brings a text.
        #[serde(with = "result_as_json")]
        result: ToolResult,
        /// Images that belong to the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// Tools that the model has asked for with this call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found_tools: Vec<String>,
    },
    /// A provider's own block, such as signed thinking, kept to be sent back unchanged.
    Opaque {
        /// The provider that understands it.
        provider: String,
        /// The block as received.
        block: Value,
    },
}

impl Content {
    /// A text of this name that goes with what the user says.
    pub fn attached(name: impl Into<String>, text: &str) -> Self {
        let name = name.into();
        Content::Attached { text: format!("The user attached {name}:\n{text}").into(), name }
    }

    /// What is said in words: by the model, by the user, or by what the user has attached.
    pub fn words(&self) -> Option<&SharedText> {
        match self {
            Content::Text { text } | Content::Attached { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// A stored result is `{"ok": value}` or `{"error": {…}}`, so that no value can pass for an error.
pub(crate) mod result_as_json {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use crate::{ToolError, ToolResult};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Stored {
        Ok(Value),
        Error(ToolError),
    }

    pub(crate) fn serialize<S: Serializer>(result: &ToolResult, out: S) -> Result<S::Ok, S::Error> {
        let stored = match result {
            Ok(value) => Stored::Ok(value.clone()),
            Err(error) => Stored::Error(error.clone()),
        };
        stored.serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<ToolResult, D::Error> {
        Ok(match Stored::deserialize(input)? {
            Stored::Ok(value) => Ok(value),
            Stored::Error(error) => Err(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorCode, ImageFormat, ToolError};

    #[test]
    fn a_message_with_every_kind_of_content_survives_json() {
        let image = Image::new("a.gif", ImageFormat::Gif, (1, 1), b"GIF");
        let message = Message {
            role: Speaker::User,
            content: vec![
                Content::Text { text: "hi".into() },
                Content::attached("a.rs", "fn a() {}"),
                Content::ToolUse(ToolCall::new("1", "grep", Map::new())),
                Content::Image(image.clone()),
                Content::ToolResult {
                    tool_use_id: "1".into(),
                    result: Ok(Value::Null),
                    images: vec![image],
                    found_tools: vec!["undo".into()],
                },
                Content::ToolResult {
                    tool_use_id: "2".into(),
                    result: Err(ToolError::new(ErrorCode::Timeout, "slow")),
                    images: Vec::new(),
                    found_tools: Vec::new(),
                },
                Content::Opaque { provider: "p".into(), block: serde_json::json!({"x": 1}) },
            ],
        };
        let json = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
    }
}
