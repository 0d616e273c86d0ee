//! The built-in provider for when no model is configured: a guide that follows rules, says so, and
//! drives the very same loop of tool calls, approvals included.
//!
//! It understands every tool as a command (`command.rs`) and a list of requests in plain English,
//! which is [`examples`] (`requests.rs` has all forms). What it does not understand it answers with
//! the nearest of that list and with how to get a model.
//!
//! An answer is a pure function of the request. What was asked is the last thing the user said;
//! what has been done about it are the calls and results since. A plan (`plans.rs`) is run from its
//! beginning each time, with those results as answers, up to the first call that has none.
//!
//! It must never know a tool by its type, do I/O, or keep anything between requests.

mod command;
mod conversation;
mod help;
mod nearest;
mod plan_run;
mod plans;
mod requests;
mod results;
mod sentence;
mod tools;
mod words;

use async_trait::async_trait;
use context_manager::{
    ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, StopReason, Usage,
};
use futures_util::stream;
use protocol::ToolCall;

pub use help::examples;

use conversation::Conversation;
use plan_run::PlanStop;

/// The name of the provider, and of its one model.
pub const NAME: &str = "offline";

/// What is said where there is nothing to show.
const NOTHING: &str = "That is done, and there is nothing to show.";

/// A provider that needs no model. See the [crate](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Guide;

#[async_trait]
impl ModelProvider for Guide {
    fn name(&self) -> &str {
        NAME
    }

    fn takes_tokens(&self) -> bool {
        false
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        Ok(Box::pin(stream::iter(answer(request).into_iter().map(Ok))))
    }
}

fn answer(request: &ModelRequest) -> Vec<ModelEvent> {
    let conversation = Conversation::of(request);
    let told = plans::respond(&conversation.said, &request.tools, &conversation.steps);
    let (text, call) = match told {
        // A tool may answer with nothing, as a command without output does.
        Ok(text) | Err(PlanStop::Answer(text)) if text.is_empty() => (NOTHING.to_owned(), None),
        Ok(text) | Err(PlanStop::Answer(text)) => (text, None),
        Err(PlanStop::Call { say, name, arguments }) => {
            (say, Some(ToolCall::new(conversation.next_id(), name, arguments)))
        }
    };
    let text = match (conversation.introduced, text.as_str()) {
        (true, _) => text,
        (false, "") => format!("{}\n", help::NOTICE),
        (false, _) => format!("{}\n\n{text}", help::NOTICE),
    };
    // Words with the blanks after them, so that a screen has something to show as it comes.
    let pieces = text.split_inclusive([' ', '\n']).map(str::to_owned);
    let mut events: Vec<ModelEvent> = pieces.map(ModelEvent::Text).collect();
    events.push(ModelEvent::Usage(Usage::default()));
    let stop = if call.is_some() { StopReason::ToolUse } else { StopReason::EndOfTurn };
    if let Some(call) = call {
        let (id, name) = (call.id.clone(), call.name.clone());
        events.extend([ModelEvent::ToolCallStarted { id, name }, ModelEvent::ToolCall(call)]);
    }
    events.push(ModelEvent::Done(stop));
    events
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
