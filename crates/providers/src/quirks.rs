//! How servers that imitate OpenAI's Chat Completions differ, as data.

use context_manager::Effort;

use crate::wire_names::IdRule;

/// What one server wants and does differently.
///
/// Only what cannot be told from the answer needs a switch. Always understood are: calls without
/// an id or with one that was used before, whole arguments in one piece or as an object, calls
/// without an index, a finish reason of `stop` beside a call, no usage, no closing `[DONE]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// The field that limits the answer: `max_completion_tokens`, or `max_tokens` for most imitators.
    pub max_tokens_field: String,
    /// The role of the instructions: `system`, or `developer`.
    pub system_role: String,
    /// Whether tools may be sent.
    pub tools: bool,
    /// Whether the server knows `reasoning_effort`.
    pub reasoning_effort: bool,
    /// Whether usage is reported on request. Some servers refuse to be asked.
    pub usage_on_request: bool,
    /// The field that carries thoughts, if they are to be sent back, such as `reasoning_content`.
    pub returned_reasoning: Option<String>,
    /// Whether `reasoning_details` are to be sent back as they came, as OpenRouter wants it.
    pub reasoning_details: bool,
    /// Whether the server knows `prompt_cache_key`, which routes a conversation to the machine with its cache.
    pub prompt_cache_key: bool,
    /// Whether ids of calls have to be nine letters and digits, as at Mistral.
    pub nine_character_ids: bool,
    /// Whether an answer without a finish reason is complete if `[DONE]` came.
    pub finish_reason_missing: bool,
    /// Whether `<tool_call>{"name": …, "arguments": …}</tool_call>` in the text is a call.
    pub calls_as_text: bool,
}

impl Quirks {
    /// OpenAI itself.
    pub fn openai() -> Self {
        Self {
            max_tokens_field: "max_completion_tokens".into(),
            reasoning_effort: true,
            usage_on_request: true,
            prompt_cache_key: true,
            ..Self::compatible()
        }
    }

    /// A server about which nothing is known: the smallest body, and nothing is guessed.
    pub fn compatible() -> Self {
        Self {
            max_tokens_field: "max_tokens".into(),
            system_role: "system".into(),
            tools: true,
            reasoning_effort: false,
            usage_on_request: false,
            returned_reasoning: None,
            reasoning_details: false,
            prompt_cache_key: false,
            nine_character_ids: false,
            finish_reason_missing: false,
            calls_as_text: false,
        }
    }

    /// Which ids of calls the server accepts.
    pub(crate) fn id_rule(&self) -> IdRule {
        if self.nine_character_ids { IdRule::Nine } else { IdRule::CHAT }
    }

    /// Whether a message of the model is sent back with this field.
    pub(crate) fn returns(&self, field: &str) -> bool {
        let is_details = field == REASONING_DETAILS && self.reasoning_details;
        is_details || self.returned_reasoning.as_deref() == Some(field)
    }
}

/// Where OpenRouter puts thoughts with their signatures.
pub(crate) const REASONING_DETAILS: &str = "reasoning_details";

/// The name that all providers have for an effort.
pub(crate) fn effort_name(effort: Effort) -> &'static str {
    effort.into()
}
