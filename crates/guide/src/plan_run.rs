//! Plans of several steps, written as if each tool call were answered on the spot.
//!
//! A plan is run from its beginning each time. The calls it has made before are in the conversation,
//! with their results, and are answered from there. The first call that is not there yet ends the
//! run and is what is asked for next.

use context_manager::ToolSpec;
use protocol::{ErrorCode, ToolCall, ToolError, ToolResult};
use serde_json::{Map, Value};

use crate::results::describe;
use crate::sentence::Slots;
use crate::tools::{ToolNames, Tools, arguments_for};

/// Why a plan stops before its end.
#[derive(Debug, PartialEq)]
pub(crate) enum PlanStop {
    /// It wants a tool to be called, and says so.
    Call { say: String, name: String, arguments: Map<String, Value> },
    /// It can only say this.
    Answer(String),
}

/// What a plan comes to: an answer, or the reason why there is none yet.
pub(crate) type PlanResult = Result<String, PlanStop>;

/// A call of this turn, and its result.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PastCall<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) result: Option<&'a ToolResult>,
}

/// What a plan works with.
pub(crate) struct PlanRun<'a> {
    pub(crate) tools: Tools<'a>,
    pub(crate) slots: &'a Slots,
    /// The calls of this turn that no part of the plan has looked at yet.
    pub(crate) steps: std::slice::Iter<'a, PastCall<'a>>,
}

impl<'a> PlanRun<'a> {
    pub(crate) fn slot(&self, name: &str) -> Option<&'a str> {
        self.slots.iter().find(|(slot, _)| *slot == name).map(|(_, text)| text.as_str())
    }

    /// The text of a slot that all forms of the request have.
    pub(crate) fn text(&self, name: &str) -> &'a str {
        self.slot(name).unwrap_or_default()
    }

    /// What a tool says about an action.
    pub(crate) fn tell(&mut self, action: ToolNames, say: &str, arguments: Value) -> PlanResult {
        self.ask(action, say, arguments).map(describe)
    }

    /// The result of an action. An error of the tool ends the plan and is told as it is.
    pub(crate) fn ask(
        &mut self,
        action: ToolNames,
        say: &str,
        arguments: Value,
    ) -> Result<&'a Value, PlanStop> {
        let tool = self.tools.tool_for(action).ok_or_else(|| {
            let names = action.join("` or `");
            PlanStop::Answer(format!("That needs `{names}`, which this session does not have."))
        })?;
        let result = self.call(tool, say, arguments_for(tool, arguments))?;
        result.map_err(|error| PlanStop::Answer(failure(error)))
    }

    pub(crate) fn call(
        &mut self,
        tool: &ToolSpec,
        say: &str,
        arguments: Map<String, Value>,
    ) -> Result<Result<&'a Value, &'a ToolError>, PlanStop> {
        let Some(step) = self.steps.next() else {
            return Err(PlanStop::Call { say: say.to_owned(), name: tool.name.clone(), arguments });
        };
        let missing = || PlanStop::Answer(format!("There is no result of {}.", step.call.name));
        step.result.map(Result::as_ref).ok_or_else(missing)
    }
}

/// What to tell about an error: what happened, why, and what can be done.
pub(crate) fn failure(error: &ToolError) -> String {
    let ToolError { code, message, suggestion, .. } = error;
    let end = if message.ends_with(['.', '!', '?']) { "" } else { "." };
    match (code, suggestion) {
        (ErrorCode::Rejected, _) => format!(
            "You declined this: {message}{end} Nothing was changed. Tell me what should be \
             different, or do it with a command; `help` shows them."
        ),
        // The suggestion of the front end speaks to a model.
        (ErrorCode::ApprovalRequired, _) => format!(
            "That was not done: {message}{end} Nothing was changed. Ask me where you can be asked \
             (`toolkiln chat`), or allow it beforehand with `--yes` or `--allow`."
        ),
        (_, Some(suggestion)) => format!("That did not work: {message}\n{suggestion}"),
        (_, None) => format!("That did not work: {message}"),
    }
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
