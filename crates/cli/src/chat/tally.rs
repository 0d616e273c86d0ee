//! What a turn took and how it came out, counted from its log.

use protocol::{
    Content, LogEntry, ModelAnswer, ModelErrorKind, SessionEvent, ToolResult, TurnEnd, Usage,
};
use serde::Serialize;

/// How a headless run came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The model has said what it wanted to say, and nothing it wanted to do was denied.
    Done,
    /// The run could not begin or go on: wrong settings, no project, a log that cannot be written.
    Error,
    /// The model has said what it wanted to say, but the user or the policy denied something that it
    /// wanted to do itself.
    Denied,
    /// A limit stopped it: turns, tokens, cost, time, or the length of the conversation.
    Limit,
    /// The provider failed.
    ProviderError,
    /// The model will not answer.
    Refused,
    /// Somebody cancelled it, or the process was stopped.
    Cancelled,
}

impl Outcome {
    /// The exit code that tells this outcome. 1 (a tool failed) belongs to other commands.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            // As for a command line that cannot be understood.
            Outcome::Error => 2,
            Outcome::Denied => 3,
            Outcome::Limit => 4,
            Outcome::ProviderError => 5,
            Outcome::Refused => 6,
            // As shells tell a program that was ended with Ctrl-C.
            Outcome::Cancelled => 130,
        }
    }
}

/// A call that the user or the policy denied, or whose changes they did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Denied {
    /// The call.
    pub(crate) call_id: String,
    /// What the model was told.
    pub(crate) reason: String,
}

/// Counts one turn; a new message begins a new count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// The tokens of the turn, those of sub-agents and summaries included.
    pub(crate) usage: Usage,
    /// The cost of the turn, if the price of any part is known.
    pub(crate) cost_usd: Option<f64>,
    /// The last thing that the model has said.
    pub(crate) text: String,
    /// The tokens of the conversation, as the last answer has told.
    pub(crate) context_tokens: Option<u64>,
    /// What the user or the policy denied, at the top.
    pub(crate) denied: Vec<Denied>,
    /// Why the model did not answer, if that ended the turn.
    pub(crate) failure: Option<String>,
    began_at: Option<i64>,
    last_at: i64,
    is_paused: bool,
    was_cancelled: bool,
    end: Option<TurnEnd>,
}

impl Tally {
    /// Counts one entry of the log.
    pub(crate) fn add(&mut self, entry: &LogEntry) {
        if let SessionEvent::UserMessage { .. } = entry.event {
            *self = Self { began_at: Some(entry.at), ..Self::default() };
        }
        self.last_at = self.last_at.max(entry.at);
        if let Some((usage, cost_usd)) = entry.event.spent() {
            self.spent(usage, cost_usd);
        }
        match &entry.event {
            SessionEvent::ModelAnswered(answer) => self.answered(answer),
            SessionEvent::ModelFailed { kind: ModelErrorKind::Cancelled, .. } => {
                self.was_cancelled = true;
            }
            SessionEvent::ModelFailed { message, retry_in_ms: None, .. } => {
                self.failure = Some(message.clone());
            }
            SessionEvent::CallEnded { call_id, result, .. } => {
                self.denied.extend(denial(result).map(|reason| {
                    let call_id = call_id.clone();
                    Denied { call_id, reason }
                }));
            }
            SessionEvent::Paused(_) => self.is_paused = true,
            SessionEvent::Continued => self.is_paused = false,
            SessionEvent::TurnEnded(end) => self.end = Some(*end),
            _ => {}
        }
    }

    fn answered(&mut self, answer: &ModelAnswer) {
        self.context_tokens = Some(answer.usage.total());
        let text = text_of(&answer.content);
        if !text.is_empty() {
            self.text = text;
        }
    }

    fn spent(&mut self, usage: Usage, cost_usd: Option<f64>) {
        self.usage += usage;
        if let Some(cost) = cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    /// From the message to the last entry, in milliseconds.
    pub(crate) fn duration_ms(&self) -> u64 {
        let began = self.began_at.unwrap_or(self.last_at);
        u64::try_from(self.last_at - began).unwrap_or(0)
    }

    /// How the turn came out so far.
    pub(crate) fn outcome(&self) -> Outcome {
        match self.end {
            Some(TurnEnd::Done | TurnEnd::Terminated) if !self.denied.is_empty() => Outcome::Denied,
            Some(TurnEnd::Done | TurnEnd::Terminated) => Outcome::Done,
            Some(TurnEnd::Refused) => Outcome::Refused,
            Some(TurnEnd::MaxTokens | TurnEnd::ContextFull | TurnEnd::Stopped) => Outcome::Limit,
            Some(TurnEnd::Failed) if self.was_cancelled => Outcome::Cancelled,
            Some(TurnEnd::Failed) => Outcome::ProviderError,
            Some(TurnEnd::Cancelled | TurnEnd::Interrupted) => Outcome::Cancelled,
            None if self.is_paused => Outcome::Limit,
            None => Outcome::Cancelled,
        }
    }
}

/// The text in a message, with its images in words.
pub(crate) fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(text.clone()),
        Content::Image(image) => Some(format!("[image: {image}]")),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The words with which a call, or what a command wanted to change, was denied.
fn denial(result: &ToolResult) -> Option<String> {
    match result {
        Err(error) => error.is_denial().then(|| error.message.clone()),
        Ok(value) => {
            let changes = value.get("changes").filter(|changes| changes["denied"] == true)?;
            Some(changes["dropped"].as_str().unwrap_or_default().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ErrorCode, PauseReason, StopReason, ToolError};
    use serde_json::json;

    use super::*;

    fn tally(events: Vec<SessionEvent>) -> Tally {
        let mut tally = Tally::default();
        let message = SessionEvent::UserMessage { content: Vec::new() };
        for (at, event) in std::iter::once(message).chain(events).enumerate() {
            tally.add(&LogEntry { sequence: at as u64 + 1, at: at as i64 * 1000, event });
        }
        tally
    }

    fn call_ended(result: ToolResult) -> SessionEvent {
        SessionEvent::CallEnded {
            call_id: "c".into(),
            result,
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 1,
        }
    }

    fn failed(code: ErrorCode) -> SessionEvent {
        call_ended(Err(ToolError::new(code, "no")))
    }

    fn answer(text: &str, cost_usd: Option<f64>) -> SessionEvent {
        SessionEvent::ModelAnswered(ModelAnswer {
            content: vec![Content::Text { text: text.into() }],
            broken: Vec::new(),
            stop: StopReason::EndOfTurn,
            usage: Usage { input: 10, output: 5, cache_read: 100, cache_write: 0 },
            cost_usd,
            duration_ms: 1,
        })
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
            assert_eq!(tally(events.clone()).outcome().exit_code(), expected, "{events:?}");
        }
    }

    #[test]
    fn a_turn_adds_up_with_its_sub_agents_and_a_new_message_begins_anew() {
        let events =
            vec![answer("first", Some(0.25)), nested(answer("inner", Some(0.5))), answer("", None)];
        let mut tally = tally(events);
        assert_eq!((tally.usage.total(), tally.cost_usd), (345, Some(0.75)));
        assert_eq!((tally.text.as_str(), tally.context_tokens), ("first", Some(115)));
        assert_eq!(tally.duration_ms(), 3000);
        let event = SessionEvent::UserMessage { content: Vec::new() };
        tally.add(&LogEntry { sequence: 9, at: 9000, event });
        assert_eq!((tally.usage.total(), tally.cost_usd, tally.duration_ms()), (0, None, 0));
    }
}
