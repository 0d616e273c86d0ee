//! How a turn came out, as programs are told.

use protocol::TurnEnd;
use serde::Serialize;
use timeline::TurnTally;

/// How a headless run came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunOutcome {
    /// The model has said what it wanted to say, and nothing it wanted to do was denied.
    Done,
    /// The run could not begin or go on: wrong settings, no project, a log that cannot be written.
    Error,
    /// The model has said what it wanted to say, but the user or the policy denied something that it
    /// wanted to do itself.
    Denied,
    /// A limit stopped it: turns, tokens, cost, time, or the length of the conversation.
    Limit,
    ProviderError,
    /// The model will not answer.
    Refused,
    /// The user cancelled it, or a signal stopped the process.
    Cancelled,
}

impl RunOutcome {
    /// How the turn came out so far.
    pub(crate) fn of(turn: &TurnTally) -> Self {
        match turn.end {
            Some(TurnEnd::Done | TurnEnd::Terminated) if !turn.denied.is_empty() => {
                RunOutcome::Denied
            }
            Some(TurnEnd::Done | TurnEnd::Terminated) => RunOutcome::Done,
            Some(TurnEnd::Refused) => RunOutcome::Refused,
            Some(TurnEnd::MaxTokens | TurnEnd::ContextFull | TurnEnd::Stopped) => RunOutcome::Limit,
            Some(TurnEnd::Failed) if turn.was_cancelled => RunOutcome::Cancelled,
            Some(TurnEnd::Failed) => RunOutcome::ProviderError,
            Some(TurnEnd::Cancelled | TurnEnd::Interrupted) => RunOutcome::Cancelled,
            None if turn.is_paused => RunOutcome::Limit,
            None => RunOutcome::Cancelled,
        }
    }

    /// The exit code that tells this outcome. 1 (a tool failed) belongs to other commands.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            RunOutcome::Done => 0,
            // As for a command line that cannot be understood.
            RunOutcome::Error => 2,
            RunOutcome::Denied => 3,
            RunOutcome::Limit => 4,
            RunOutcome::ProviderError => 5,
            RunOutcome::Refused => 6,
            // As shells tell a program that was ended with Ctrl-C.
            RunOutcome::Cancelled => 130,
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ErrorCode, LogEntry, PauseReason, SessionEvent, ToolError, ToolResult};
    use serde_json::json;

    use super::*;

    fn turn(events: Vec<SessionEvent>) -> TurnTally {
        let mut turn = TurnTally::default();
        let message = SessionEvent::UserMessage { content: Vec::new() };
        for (at, event) in std::iter::once(message).chain(events).enumerate() {
            turn.add(&LogEntry { sequence: at as u64 + 1, at: at as i64 * 1000, event });
        }
        turn
    }

    fn call_ended(result: ToolResult) -> SessionEvent {
        SessionEvent::CallEnded {
            call_id: "c".into(),
            result,
            text: None,
            images: Vec::new(),
            found_tools: Vec::new(),
            title: None,
            duration_ms: 1,
        }
    }

    fn failed(code: ErrorCode) -> SessionEvent {
        call_ended(Err(ToolError::new(code, "no")))
    }

    fn nested(event: SessionEvent) -> SessionEvent {
        let entry = Box::new(LogEntry { sequence: 1, at: 0, event });
        SessionEvent::Nested { call_id: "d".into(), entry }
    }

    #[test]
    fn every_way_to_end_has_its_exit_code() {
        let ended = SessionEvent::TurnEnded;
        let pause = || SessionEvent::Paused(PauseReason::TurnLimit { turns: 10 });
        let by_policy = ToolError::new(ErrorCode::PermissionDenied, "no").by_policy();
        let by_policy = call_ended(Err(by_policy));
        let changes =
            |denied: bool| call_ended(Ok(json!({"changes": {"dropped": "no", "denied": denied}})));
        let table = [
            (vec![ended(TurnEnd::Done)], 0),
            (vec![failed(ErrorCode::FileNotFound), ended(TurnEnd::Terminated)], 0),
            (vec![failed(ErrorCode::ApprovalRequired), ended(TurnEnd::Done)], 3),
            (vec![failed(ErrorCode::Rejected), ended(TurnEnd::Terminated)], 3),
            (vec![by_policy, ended(TurnEnd::Done)], 3),
            (vec![changes(true), ended(TurnEnd::Done)], 3),
            // Neither a file that cannot be opened nor what was denied in a sub-agent counts.
            (vec![failed(ErrorCode::PermissionDenied), ended(TurnEnd::Done)], 0),
            (vec![changes(false), ended(TurnEnd::Done)], 0),
            (vec![nested(failed(ErrorCode::Rejected)), ended(TurnEnd::Done)], 0),
            (vec![pause()], 4),
            (vec![pause(), ended(TurnEnd::Stopped)], 4),
            (vec![pause(), SessionEvent::Continued, ended(TurnEnd::Done)], 0),
            (vec![ended(TurnEnd::ContextFull)], 4),
            (vec![failed(ErrorCode::Rejected), ended(TurnEnd::Failed)], 5),
            (vec![ended(TurnEnd::Refused)], 6),
            (vec![ended(TurnEnd::Cancelled)], 130),
            (vec![], 130),
        ];
        for (events, expected) in table {
            assert_eq!(RunOutcome::of(&turn(events.clone())).exit_code(), expected, "{events:?}");
        }
    }
}
