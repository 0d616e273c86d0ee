//! Where a log may be cut. Pure.

use std::collections::HashSet;

use protocol::{Content, LogEntry, SessionEvent};

/// The last position up to `at` (or at all) behind which nothing is half done: no answer of the
/// model under way, no call without its result.
pub(crate) fn safe_cut(entries: &[LogEntry], at: Option<u64>) -> u64 {
    let mut safe = 0;
    let mut is_asking = false;
    let mut open_calls: HashSet<&str> = HashSet::new();
    let wanted = entries.iter().take_while(|entry| at.is_none_or(|at| entry.sequence <= at));
    for entry in wanted {
        match &entry.event {
            SessionEvent::ModelAsked { .. } => is_asking = true,
            SessionEvent::ModelFailed { .. } => is_asking = false,
            SessionEvent::ModelAnswered(answer) => {
                is_asking = false;
                open_calls.extend(answer.content.iter().filter_map(call_id));
            }
            SessionEvent::CallEnded { call_id, .. } => {
                open_calls.remove(call_id.as_str());
            }
            SessionEvent::TurnEnded(_)
            | SessionEvent::Rewound(_)
            | SessionEvent::UserMessage { .. }
            | SessionEvent::UserAdded { .. } => {
                is_asking = false;
                open_calls.clear();
            }
            _ => {}
        }
        if !is_asking && open_calls.is_empty() {
            safe = entry.sequence;
        }
    }
    safe
}

fn call_id(content: &Content) -> Option<&str> {
    match content {
        Content::ToolUse(call) => Some(&call.id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ModelAnswer, StopReason, ToolCall, TurnEnd, Usage};
    use serde_json::{Map, Value};

    use super::*;

    fn log() -> Vec<LogEntry> {
        let calls = ["a", "b"].map(|id| Content::ToolUse(ToolCall::new(id, "grep", Map::new())));
        let answer = ModelAnswer {
            content: calls.to_vec(),
            broken: Vec::new(),
            stop: StopReason::ToolUse,
            usage: Usage::default(),
            cost_usd: None,
            duration_ms: 1,
        };
        let ended = |id: &str| SessionEvent::CallEnded {
            call_id: id.into(),
            result: Ok(Value::Null),
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 1,
        };
        let events = [
            SessionEvent::Renamed { title: "t".into() },
            SessionEvent::UserMessage { content: Vec::new() },
            SessionEvent::ModelAsked { estimated_tokens: 1 },
            SessionEvent::TextDelta { text: "x".into() },
            SessionEvent::ModelAnswered(answer),
            ended("b"),
            ended("a"),
            SessionEvent::ModelAsked { estimated_tokens: 1 },
            SessionEvent::TurnEnded(TurnEnd::Interrupted),
        ];
        let numbered = (1..).zip(events);
        numbered.map(|(sequence, event)| LogEntry { sequence, at: 0, event }).collect()
    }

    #[test]
    fn a_log_is_never_cut_inside_an_answer_or_between_its_calls() {
        let log = log();
        let cuts: Vec<u64> = (0..=9).map(|at| safe_cut(&log, Some(at))).collect();
        assert_eq!(cuts, [0, 1, 2, 2, 2, 2, 2, 7, 7, 9]);
        assert_eq!(safe_cut(&log, None), 9);
        assert_eq!(safe_cut(&log[..6], None), 2);
    }
}
