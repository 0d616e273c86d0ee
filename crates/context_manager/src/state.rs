//! The state of a conversation, and its transition function, which is pure and total: an event that
//! is not possible in a state changes nothing.

use std::collections::HashMap;

use protocol::{
    Content, ErrorCode, ModelAnswer, PauseReason, SessionEvent, SharedText, ToolCall, ToolError,
};

/// The state of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ContextState {
    /// No turn is under way.
    #[default]
    Idle,
    /// A turn is under way, and the next thing is to ask the model or to end it.
    Ready,
    /// The model has been asked; this much of its answer is here.
    AwaitingModel(PartialAnswer),
    /// These calls of the last answer have no result yet, in the order they were made.
    RunningTools(Vec<OpenCall>),
    /// The turn waits for the user.
    Paused(PauseReason),
}

/// What has come of an answer so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartialAnswer {
    /// What was said.
    pub text: SharedText,
    /// What was thought, where that is shown.
    pub thinking: String,
}

/// A call without a result.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    pub call: ToolCall,
    /// What is wrong with it, if it cannot be run.
    pub broken: Option<String>,
    /// How far it is.
    pub progress: CallProgress,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallProgress {
    /// The model wants it.
    Announced,
    /// It is being run.
    Started,
    /// It waits for approval.
    AwaitingApproval,
}

impl OpenCall {
    /// What stands for the result that a call never had.
    pub(crate) fn interrupted(&self) -> ToolError {
        interrupted(Some(self.progress))
    }
}

/// The result of a call that has none, by what is known about it.
pub(crate) fn interrupted(progress: Option<CallProgress>) -> ToolError {
    let (what, then) = match progress {
        Some(CallProgress::Announced) => {
            ("The session ended before this call was run; it had no effect.", "Call it again.")
        }
        Some(CallProgress::AwaitingApproval) => (
            "The session ended while the user was asked about this call; it was not performed.",
            "Call it again if it is still wanted.",
        ),
        Some(CallProgress::Started) | None => (
            "The session ended while this call was running; it may have had an effect.",
            "Check the current state before you call it again.",
        ),
    };
    ToolError::new(ErrorCode::Interrupted, what).suggest(then)
}

/// The state after an event, and whether the event was possible in the state before.
#[derive(Debug, PartialEq)]
pub(crate) struct Transition {
    pub(crate) state: ContextState,
    pub(crate) taken: bool,
}

fn taken(state: ContextState) -> Transition {
    Transition { state, taken: true }
}

fn ignored(state: ContextState) -> Transition {
    Transition { state, taken: false }
}

/// The transition function.
pub(crate) fn next(state: ContextState, event: &SessionEvent) -> Transition {
    use ContextState::{AwaitingModel, Idle, Paused, Ready, RunningTools};
    use SessionEvent as Event;
    match (state, event) {
        // Nothing that the user says is ever lost.
        (_, Event::UserMessage { .. } | Event::UserAdded { .. }) => taken(Ready),

        (_, Event::Rewound(_)) => taken(Idle),

        (Ready | AwaitingModel(_), Event::ModelAsked { .. }) => {
            taken(AwaitingModel(PartialAnswer::default()))
        }
        (AwaitingModel(mut partial), Event::TextDelta { text }) => {
            partial.text.push(text);
            taken(AwaitingModel(partial))
        }
        (AwaitingModel(mut partial), Event::ThinkingDelta { text }) => {
            partial.thinking.push_str(text);
            taken(AwaitingModel(partial))
        }
        (AwaitingModel(_), Event::ModelAnswered(answer)) => taken(answered(answer)),
        (AwaitingModel(_), Event::ModelFailed { .. }) => taken(Ready),
        // Between answers it is the request for a summary that failed.
        (state @ (Idle | Ready | Paused(_)), Event::ModelFailed { .. }) => taken(state),

        (RunningTools(open), Event::CallStarted { call_id, .. }) => {
            advance(open, call_id, CallProgress::Announced, CallProgress::Started)
        }
        (RunningTools(open), Event::ApprovalAsked(request)) => {
            advance(open, &request.step_id, CallProgress::Started, CallProgress::AwaitingApproval)
        }
        (RunningTools(open), Event::ApprovalAnswered { call_id, .. }) => {
            advance(open, call_id, CallProgress::AwaitingApproval, CallProgress::Started)
        }
        (RunningTools(open), Event::CallEnded { call_id, .. }) => ended(open, call_id),

        (Ready, Event::Paused(reason)) => taken(Paused(reason.clone())),
        (Paused(_), Event::Continued) => taken(Ready),
        (Ready | AwaitingModel(_) | RunningTools(_) | Paused(_), Event::TurnEnded(_)) => {
            taken(Idle)
        }

        // These are told to the model, so they may not stand between a call and its result.
        (
            state @ (Idle | Ready | Paused(_)),
            Event::Nudged { .. } | Event::Instructed(_) | Event::Compacted(_),
        ) => taken(state),
        (
            state,
            Event::Opened(_)
            | Event::Renamed { .. }
            | Event::SettingsChanged(_)
            | Event::PlanChanged { .. }
            | Event::Nested { .. }
            | Event::ImagesRefused { .. }
            | Event::Repaired { .. },
        ) => taken(state),
        (state, _) => ignored(state),
    }
}

fn answered(answer: &ModelAnswer) -> ContextState {
    let broken: HashMap<&str, &str> =
        answer.broken.iter().map(|call| (call.id.as_str(), call.reason.as_str())).collect();
    let calls = answer.content.iter().filter_map(|content| match content {
        Content::ToolUse(call) => Some(OpenCall {
            call: call.clone(),
            broken: broken.get(call.id.as_str()).map(|&reason| reason.to_owned()),
            progress: CallProgress::Announced,
        }),
        _ => None,
    });
    let calls: Vec<_> = calls.collect();
    if calls.is_empty() { ContextState::Ready } else { ContextState::RunningTools(calls) }
}

fn advance(mut open: Vec<OpenCall>, id: &str, from: CallProgress, to: CallProgress) -> Transition {
    let found = open.iter_mut().find(|open| open.call.id == id && open.progress == from);
    let belongs = found.is_some();
    if let Some(found) = found {
        found.progress = to;
    }
    Transition { state: ContextState::RunningTools(open), taken: belongs }
}

fn ended(mut open: Vec<OpenCall>, id: &str) -> Transition {
    match open.iter().position(|open| open.call.id == id) {
        None => ignored(ContextState::RunningTools(open)),
        Some(_) if open.len() == 1 => taken(ContextState::Ready),
        Some(position) => {
            open.remove(position);
            taken(ContextState::RunningTools(open))
        }
    }
}

#[cfg(test)]
mod tests;
