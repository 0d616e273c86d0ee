//! The forms in which a reply can be written.

use serde_json::{Value, json};

use super::reply::Reply;
use super::{anthropic, chat, responses};

/// A form of answer, which goes with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct WireEvent {
    /// Its name, where the format has names.
    pub name: Option<String>,
    pub data: Value,
    /// Whether it is a piece of a call's arguments.
    pub(super) in_call: bool,
    /// Whether it is a piece of text, which a gate may hold back.
    pub(super) is_text: bool,
}

impl WireEvent {
    /// An event that is named after its type.
    pub(super) fn typed(data: Value) -> Self {
        let name = data["type"].as_str().map(str::to_owned);
        Self { name, data, in_call: false, is_text: false }
    }

    pub(super) fn nameless(data: Value) -> Self {
        Self { name: None, data, in_call: false, is_text: false }
    }

    pub(super) fn of_call(self) -> Self {
        Self { in_call: true, ..self }
    }

    pub(super) fn of_text(self) -> Self {
        Self { is_text: true, ..self }
    }
}

impl WireFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::Chat, Self::Responses];

    pub(super) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        let forms = [
            ("/messages", Self::Anthropic),
            ("/chat/completions", Self::Chat),
            ("/responses", Self::Responses),
        ];
        forms.into_iter().find(|(ending, _)| path.ends_with(ending)).map(|(_, form)| form)
    }

    pub(super) fn events(self, reply: &Reply, request: usize) -> Vec<WireEvent> {
        match self {
            Self::Anthropic => anthropic::events(reply, request),
            Self::Chat => chat::events(reply, request),
            Self::Responses => responses::events(reply, request),
        }
    }

    pub(super) fn error(self, kind: &str, message: &str) -> WireEvent {
        let error = json!({"type": kind, "code": kind, "message": message});
        match self {
            Self::Anthropic => WireEvent::typed(json!({"type": "error", "error": error})),
            Self::Chat => WireEvent::nameless(json!({"error": error})),
            Self::Responses => WireEvent::typed(
                json!({"type": "error", "code": kind, "message": message, "sequence_number": 0}),
            ),
        }
    }
}

/// The bytes of a stream; the event at `spoilt` loses its second half.
pub(super) fn sse(events: &[WireEvent], spoilt: Option<usize>) -> Vec<u8> {
    let mut text = String::new();
    for (at, event) in events.iter().enumerate() {
        if let Some(name) = &event.name {
            text += &format!("event: {name}\n");
        }
        let data = match &event.data {
            Value::String(mark) => mark.clone(),
            data => data.to_string(),
        };
        let shown = if spoilt == Some(at) {
            &data[..data.floor_char_boundary(data.len() / 2)]
        } else {
            &data
        };
        text += &format!("data: {shown}\n\n");
    }
    text.into_bytes()
}

/// A text in a few pieces, as it would be streamed.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    let mut pieces: Vec<&str> = text.split_inclusive(' ').collect();
    // Long texts are for tests of size, not of streaming.
    const MOST: usize = 64;
    if pieces.len() > MOST {
        pieces = vec![text];
    }
    pieces
}

/// Arguments in two pieces, so that one of them is a half.
pub(super) fn halves(text: &str) -> Vec<&str> {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second].into_iter().filter(|piece| !piece.is_empty()).collect()
}
