//! Plans of several steps, written as if each tool call were answered on the spot.
//!
//! Nothing is remembered between requests. A plan is run from its beginning each time; the calls
//! it has made before are in the conversation, with their results, and are answered from there.
//! The first call that is not there yet ends the run and is what is asked for next.

use context_manager::ToolSpec;
use protocol::{ErrorCode, ToolCall, ToolError, ToolResult};
use serde_json::{Map, Value};

use super::toolbox::{Action, Toolbox, ability};

/// Why a plan stops before its end.
#[derive(Debug, PartialEq)]
pub(super) enum Stop {
    /// It wants a tool to be called, and says so.
    Call { say: String, name: String, arguments: Map<String, Value> },
    /// It can only say this.
    Answer(String),
}

/// What a plan comes to: an answer, or the reason why there is none yet.
pub(super) type Told = Result<String, Stop>;

/// A call of this turn, and its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) result: Option<&'a ToolResult>,
}

/// The tools on offer, and the calls of this turn that no part of the plan has looked at yet.
pub(super) struct Script<'a> {
    pub(super) tools: Toolbox<'a>,
    steps: std::slice::Iter<'a, Step<'a>>,
}

impl<'a> Script<'a> {
    pub(super) fn new(tools: Toolbox<'a>, steps: &'a [Step<'a>]) -> Self {
        Self { tools, steps: steps.iter() }
    }

    /// The result of an action. An error of the tool ends the plan and is told as it is.
    pub(super) fn ask(
        &mut self,
        say: &str,
        action: Action,
        arguments: &[(&str, Value)],
    ) -> Result<&'a Value, Stop> {
        self.attempt(say, action, arguments)?.map_err(|error| Stop::Answer(failure(error)))
    }

    /// The result of an action, for a plan that knows what to do about an error.
    pub(super) fn attempt(
        &mut self,
        say: &str,
        action: Action,
        arguments: &[(&str, Value)],
    ) -> Result<Result<&'a Value, &'a ToolError>, Stop> {
        let Some(tool) = self.tools.tool_for(action) else {
            return Err(Stop::Answer(cannot(action)));
        };
        self.call(say, tool, Toolbox::arguments(tool, arguments))
    }

    /// The result of a call.
    pub(super) fn call(
        &mut self,
        say: &str,
        tool: &ToolSpec,
        arguments: Map<String, Value>,
    ) -> Result<Result<&'a Value, &'a ToolError>, Stop> {
        let Some(step) = self.steps.next() else {
            return Err(Stop::Call { say: say.to_owned(), name: tool.name.clone(), arguments });
        };
        match step.result {
            Some(result) => Ok(result.as_ref()),
            None => Err(Stop::Answer(format!("There is no result of {}.", step.call.name))),
        }
    }
}

fn cannot(action: Action) -> String {
    let what = ability(action);
    format!("None of this session's tools can {what}. `help` lists the tools there are.")
}

/// What to tell about an error: what happened, why, and what can be done.
pub(super) fn failure(error: &ToolError) -> String {
    match error.code {
        ErrorCode::Rejected => format!(
            "You declined this: {} Nothing was changed. Tell me what should be different, or do it \
             with a command; `help` shows them.",
            as_sentence(&error.message)
        ),
        // The door's own suggestion speaks to a model.
        ErrorCode::ApprovalRequired => format!(
            "That was not done: {} Nothing was changed. Ask me where you can be asked \
             (`toolkiln chat`), or allow it beforehand with `--yes` or `--allow`.",
            as_sentence(&error.message)
        ),
        _ => match &error.suggestion {
            Some(suggestion) => format!("That did not work: {}\n{suggestion}", error.message),
            None => format!("That did not work: {}", error.message),
        },
    }
}

fn as_sentence(text: &str) -> String {
    let ended = text.ends_with(['.', '!', '?']);
    if ended { text.to_owned() } else { format!("{text}.") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_say_what_happened_and_what_can_be_done() {
        let error = |code| ToolError::new(code, "x needs approval").suggest("Do y.");
        let cases = [
            (ErrorCode::Rejected, "You declined this: x needs approval. Nothing was changed."),
            (
                ErrorCode::ApprovalRequired,
                "That was not done: x needs approval. Nothing was changed.",
            ),
            (ErrorCode::FileNotFound, "That did not work: x needs approval\nDo y."),
        ];
        for (code, beginning) in cases {
            let told = failure(&error(code));
            assert!(told.starts_with(beginning), "{told}");
        }
    }
}
