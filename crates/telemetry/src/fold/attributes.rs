//! What is known of a span, under the names of the conventions.

use protocol::{Content as Said, Settings, StopReason, ToolCall, TurnEnd, Usage};

use super::Ending;
use crate::content::{self, ContentCapture};
use crate::conventions::{TOOL_TYPE, bounded_name, key, operation, provider};
use crate::span::{AttributeValue, TraceSpan};

/// What is known when a span begins.
pub(super) struct SpanFacts<'a> {
    pub(super) session: &'a str,
    pub(super) settings: Option<&'a Settings>,
    pub(super) agent: &'static str,
    pub(super) call: Option<&'a ToolCall>,
    pub(super) content: ContentCapture,
}

type Attributes = Vec<(&'static str, AttributeValue)>;

impl SpanFacts<'_> {
    /// The name and the attributes of a span.
    pub(super) fn describe(
        &self,
        operation: &'static str,
        call_id: Option<&str>,
    ) -> (String, Attributes) {
        let mut known: Attributes =
            vec![(key::OPERATION, operation.into()), (key::CONVERSATION_ID, self.session.into())];
        let subject = match operation {
            operation::INVOKE_AGENT => self.agent(&mut known),
            operation::CHAT => self.model(&mut known),
            operation::AWAIT_USER => None,
            _ => self.tool(call_id, &mut known),
        };
        let name = subject
            .map_or_else(|| operation.to_owned(), |subject| format!("{operation} {subject}"));
        (name, known)
    }

    fn agent(&self, known: &mut Attributes) -> Option<String> {
        known.push((key::AGENT_NAME, self.agent.into()));
        if let Some(settings) = self.settings {
            known.push((key::ROLE, settings.role.name().into()));
        }
        self.model(known);
        Some(self.agent.to_owned())
    }

    fn model(&self, known: &mut Attributes) -> Option<String> {
        let settings = self.settings?;
        known.push((key::PROVIDER, provider(&settings.provider).into()));
        known.push((key::REQUEST_MODEL, settings.model.as_str().into()));
        Some(settings.model.clone())
    }

    fn tool(&self, call_id: Option<&str>, known: &mut Attributes) -> Option<String> {
        known.push((key::TOOL_TYPE, TOOL_TYPE.into()));
        known.extend(call_id.map(|id| (key::TOOL_CALL_ID, id.into())));
        let call = self.call?;
        let name = bounded_name(&call.name);
        known.push((key::TOOL_NAME, name.as_str().into()));
        if self.content == ContentCapture::Recorded {
            known.push((key::TOOL_ARGUMENTS, content::arguments(&call.arguments).into()));
        }
        Some(name)
    }
}

/// The call in a part of an answer.
pub(super) fn call_in(said: &Said) -> Option<&ToolCall> {
    match said {
        Said::ToolUse(call) => Some(call),
        _ => None,
    }
}

/// The one word that stands for a value in the log.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// How the span of a turn ends. What the user or the model has decided is not an error.
pub(super) fn ending(end: TurnEnd) -> Ending {
    match end {
        TurnEnd::Failed | TurnEnd::ContextFull | TurnEnd::Interrupted => Ending::Failed(word(&end)),
        TurnEnd::Done
        | TurnEnd::Terminated
        | TurnEnd::Refused
        | TurnEnd::MaxTokens
        | TurnEnd::Cancelled
        | TurnEnd::Stopped => Ending::Well,
    }
}

/// Why an answer ended, as the conventions call it.
pub(super) fn finish(stop: &StopReason) -> AttributeValue {
    let reason = match stop {
        StopReason::EndOfTurn => "stop",
        StopReason::ToolUse => "tool_call",
        StopReason::MaxTokens | StopReason::ContextFull => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Pause => "pause",
        StopReason::Other(reason) => reason,
    };
    AttributeValue::Texts(vec![bounded_name(reason)])
}

pub(super) fn add_usage(span: &mut TraceSpan, usage: Usage, cost_usd: Option<f64>) {
    if !usage.is_zero() {
        let cached = [
            (key::CACHE_READ_TOKENS, usage.cache_read),
            (key::CACHE_CREATION_TOKENS, usage.cache_write),
        ];
        let all = [(key::INPUT_TOKENS, usage.seen()), (key::OUTPUT_TOKENS, usage.output)];
        let told = all.into_iter().chain(cached.into_iter().filter(|(_, tokens)| *tokens > 0));
        span.attributes.extend(told.map(|(name, tokens)| (name, tokens.into())));
    }
    span.attributes.extend(cost_usd.map(|cost| (key::COST, cost.into())));
}
