//! The three wire formats, chosen at run time: where a request goes, how it is signed and written,
//! and how its answer is read.

use context_manager::{ModelError, ModelEvent, ModelRequest, ToolListing, ToolSpec};
use net::RequestBody;
use serde_json::Value;

use crate::format::{self, WrittenCache};
use crate::{
    AnthropicStream, ChatStream, Quirks, ResponsesStream, SseEvent, anthropic, openai_chat,
    openai_responses,
};

/// The version of Anthropic's API that this code was written for.
const ANTHROPIC_VERSION: &str = "2026-10-21";

/// The wire format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    OpenAiResponses,
    /// OpenAI's Chat Completions, which most other servers imitate.
    OpenAiChat,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAiResponses, Self::OpenAiChat];

    /// The name in messages.
    pub fn title(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic Messages",
            Self::OpenAiResponses => "OpenAI Responses",
            Self::OpenAiChat => "OpenAI Chat Completions",
        }
    }

    /// An entry of the list of tools.
    pub fn tool(self, tool: &ToolSpec) -> Value {
        match self {
            Self::Anthropic => anthropic::tool(tool),
            Self::OpenAiResponses => openai_responses::tool(tool),
            Self::OpenAiChat => openai_chat::tool(tool),
        }
    }

    /// The body of a request, as it is sent.
    pub fn request_body(self, request: &ModelRequest, quirks: &Quirks) -> Value {
        match self {
            Self::Anthropic => anthropic::request_body(request),
            Self::OpenAiResponses => openai_responses::request_body(request),
            Self::OpenAiChat => openai_chat::request_body(request, quirks),
        }
    }

    /// The same as it is sent, with the help of what was written before.
    pub(crate) fn written_body(
        self,
        request: &ModelRequest,
        quirks: &Quirks,
        written: &WrittenCache,
    ) -> serde_json::Result<RequestBody> {
        match self {
            Self::Anthropic => format::written_body(&anthropic::Messages, request, written),
            Self::OpenAiResponses => {
                format::written_body(&openai_responses::Responses::of(request), request, written)
            }
            Self::OpenAiChat => {
                format::written_body(&openai_chat::Completions(quirks), request, written)
            }
        }
    }

    /// A reader for the answer to a request with these tools.
    pub fn reader(self, quirks: &Quirks, tools: &[ToolSpec]) -> ApiReader {
        ApiReader(match self {
            Self::Anthropic => FormatReader::Anthropic(AnthropicStream::new()),
            Self::OpenAiResponses => {
                let finder = tools.iter().find(|tool| tool.listing == ToolListing::Finder);
                let finder = finder.map(|tool| tool.name.clone());
                FormatReader::Responses(ResponsesStream::with_finder(finder))
            }
            Self::OpenAiChat => FormatReader::Chat(ChatStream::new(quirks.clone())),
        })
    }

    /// Where requests go. OpenAI's addresses include the version and Anthropic's do not; both
    /// are accepted.
    pub(crate) fn url(self, base: &str) -> String {
        let root = self.versioned(base);
        match self {
            Self::Anthropic => format!("{root}/messages"),
            Self::OpenAiResponses => format!("{root}/responses"),
            Self::OpenAiChat => format!("{root}/chat/completions"),
        }
    }

    /// Where the list of models is found.
    pub(crate) fn models_url(self, base: &str) -> String {
        // Anthropic lists twenty unless it is asked for more.
        let query = if self == Self::Anthropic { "?limit=1000" } else { "" };
        format!("{}/models{query}", self.versioned(base))
    }

    fn versioned(self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        let root = base.strip_suffix("/v1").unwrap_or(base);
        let has_path = root.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        let is_whole = self != Self::Anthropic && base == root && has_path;
        if is_whole { root.to_owned() } else { format!("{root}/v1") }
    }

    /// Headers that every request has.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", ANTHROPIC_VERSION)],
            Self::OpenAiResponses | Self::OpenAiChat => &[],
        }
    }
}

/// Reads an answer in any of the formats.
#[derive(Clone, Debug)]
pub struct ApiReader(FormatReader);

#[derive(Clone, Debug)]
enum FormatReader {
    Anthropic(AnthropicStream),
    Responses(ResponsesStream),
    Chat(ChatStream),
}

impl ApiReader {
    /// What this event of the stream means.
    pub fn push(&mut self, event: SseEvent) -> Vec<Result<ModelEvent, ModelError>> {
        match &mut self.0 {
            FormatReader::Anthropic(reader) => reader.push(event),
            FormatReader::Responses(reader) => reader.push(event),
            FormatReader::Chat(reader) => reader.push(event),
        }
    }

    /// The stream has ended. An answer that was not complete by then was cut.
    pub fn finish(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        match &mut self.0 {
            FormatReader::Anthropic(reader) => reader.finish(),
            FormatReader::Responses(reader) => reader.finish(),
            FormatReader::Chat(reader) => reader.finish(),
        }
    }

    /// Whether the answer is complete or has failed.
    pub fn is_ended(&self) -> bool {
        match &self.0 {
            FormatReader::Anthropic(reader) => reader.is_ended(),
            FormatReader::Responses(reader) => reader.is_ended(),
            FormatReader::Chat(reader) => reader.is_ended(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_understood_with_and_without_a_version() {
        let cases = [
            (Api::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "http://h:1/v1/", "http://h:1/v1/messages"),
            (Api::Anthropic, "http://h/proxy", "http://h/proxy/v1/messages"),
            (Api::OpenAiChat, "http://h:1/v1", "http://h:1/v1/chat/completions"),
            (Api::OpenAiChat, "http://h:1", "http://h:1/v1/chat/completions"),
            (Api::OpenAiChat, "http://h/openai/", "http://h/openai/chat/completions"),
            (Api::OpenAiChat, "https://h/api/v1", "https://h/api/v1/chat/completions"),
            (Api::OpenAiResponses, "https://h/v1/", "https://h/v1/responses"),
        ];
        for (api, base, expected) in cases {
            assert_eq!(api.url(base), expected);
        }
    }
}
