//! Reads calls, approvals and answers out of the stored rows of a session, in order, for statistics
//! and for what is learned. Pure.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use protocol::{AgentRole, ApprovalResponse, Settings, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call_waiting::CallWaiting;
use crate::event_data::EventData;
use crate::slim_events::{
    AnsweredApproval, Nested, SlimAnswer, SlimContent, SlimEnd, SlimOpened, SlimQuestion,
    SlimResult, SlimSpending, parse,
};

/// The kinds of events that are read; a query need not fetch others.
pub(crate) const KINDS: [&str; 10] = [
    "opened",
    "settings_changed",
    "user_message",
    "model_answered",
    "model_failed",
    "approval_asked",
    "approval_answered",
    "call_ended",
    "compacted",
    "nested",
];

/// Something worth counting.
#[derive(Debug, PartialEq)]
pub(crate) enum Observation<'a> {
    /// The session was made from another one, of which it has the entries up to this one.
    Forked { at: u64 },
    /// A message of the user.
    Turn,
    /// A model has answered.
    Answer { settings: &'a Settings, usage: Usage, cost: Option<f64>, duration_ms: u64 },
    /// A model has written a summary that replaces the earlier part of the conversation.
    Compaction { settings: &'a Settings, usage: Usage, cost: Option<f64> },
    /// A model has failed to answer, and may have been paid for a part all the same.
    Failure { settings: &'a Settings, usage: Usage, cost: Option<f64> },
    /// A call has ended.
    Call { tool: &'a str, error: Option<&'a str>, duration_ms: u64, tokens: usize },
    /// The model went on after a call without making the same one again.
    Helped { tool: &'a str },
    /// The approver was asked.
    Asked { tool: &'a str },
    /// The approver has answered.
    Answered { tool: &'a str, verdict: ApprovalVerdict, directories: &'a BTreeSet<String> },
    /// The same for an audit, which shows every answer. The subject is the tool, or the id of the call if its question
    /// is not known.
    Decided { subject: &'a str, response: &'a ApprovalResponse },
}

/// The approver's answer in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalVerdict {
    Approved,
    /// Approved, and a rule was made of it.
    Remembered,
    /// Approved with changes.
    Edited,
    Denied,
}

/// Follows one session. Where it stands can be written down, so that the next reader goes on from there; it holds
/// nothing of calls and sub-agents that have ended.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct CallReader {
    /// The session itself is the scope "", a sub-agent the ids of the calls that lead to it.
    scopes: HashMap<String, AgentScope>,
    waiting: CallWaiting,
}

/// A row on its way to the agent it is about.
struct ReadRow<'a> {
    /// The agent, as the ids of the calls that lead to it.
    path: &'a str,
    kind: &'a str,
    at: i64,
    data: EventData<'a>,
}

#[derive(Default, Serialize, Deserialize)]
struct AgentScope {
    settings: Option<Settings>,
    calls: HashMap<String, Call>,
    questions: HashMap<String, AskedApproval>,
    /// Calls that ended well since the model last spoke.
    ended_well: Vec<Call>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Call {
    tool: String,
    arguments: ArgumentsMark,
}

/// Tells arguments from others. They can be whole files, which are not kept to see whether a call is made again.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct ArgumentsMark {
    checksum: u32,
    bytes: usize,
}

impl ArgumentsMark {
    fn of(arguments: &Value) -> Self {
        let text = arguments.to_string();
        Self { checksum: crc32fast::hash(text.as_bytes()), bytes: text.len() }
    }
}

#[derive(Serialize, Deserialize)]
struct AskedApproval {
    tool: String,
    directories: BTreeSet<String>,
}

impl CallReader {
    /// Takes the next row and passes what is to be counted to `seen`. Rows that do not read are
    /// passed over.
    pub(crate) fn read(
        &mut self,
        kind: &str,
        at: i64,
        data: EventData<'_>,
        seen: &mut dyn FnMut(Observation<'_>),
    ) {
        self.read_in(&ReadRow { path: "", kind, at, data }, seen);
    }

    fn read_in(&mut self, row: &ReadRow<'_>, seen: &mut dyn FnMut(Observation<'_>)) {
        let ReadRow { path, kind, at, data } = *row;
        if kind == "nested" {
            let Some(nested) = parse::<Nested>(data) else { return };
            let path = format!("{path}/{}", nested.call_id);
            let Some(kind) = nested.entry.get("type").and_then(Value::as_str) else { return };
            // The entries of a sub-agent say nothing of time; the one that holds them does.
            let data = nested.entry.to_string();
            return self
                .read_in(&ReadRow { path: &path, kind, at, data: EventData::Plain(&data) }, seen);
        }
        if !self.scopes.contains_key(path) {
            // A sub-agent without settings of its own has those of its parent.
            let settings = self.settings_above(path);
            self.scopes.insert(path.to_owned(), AgentScope { settings, ..AgentScope::default() });
        }
        let ended =
            self.scopes.get_mut(path).and_then(|scope| scope.read(row, &mut self.waiting, seen));
        if let Some(call_id) = ended {
            // The sub-agent that worked for the call, and those of its own.
            let gone = format!("{path}/{call_id}");
            let below = format!("{gone}/");
            self.scopes.retain(|path, _| *path != gone && !path.starts_with(&below));
        }
    }

    fn settings_above(&self, path: &str) -> Option<Settings> {
        let (parent, _) = path.rsplit_once('/')?;
        self.scopes.get(parent)?.settings.clone()
    }
}

impl AgentScope {
    /// The id of the call that has ended with the row; none if it does not read either.
    fn read(
        &mut self,
        row: &ReadRow<'_>,
        waiting: &mut CallWaiting,
        seen: &mut dyn FnMut(Observation<'_>),
    ) -> Option<String> {
        let ReadRow { path, kind, at, data } = *row;
        match kind {
            "opened" => {
                let SlimOpened { settings, forked_from } = parse(data)?;
                self.settings = Some(settings);
                // A sub-agent is not a session.
                if let Some(point) = forked_from.filter(|_| path.is_empty()) {
                    seen(Observation::Forked { at: point.sequence });
                }
            }
            "settings_changed" => self.settings = Some(parse(data)?),
            "user_message" => seen(Observation::Turn),
            "model_answered" => self.answer(parse(data)?, seen),
            "compacted" => {
                let SlimSpending { usage, cost_usd: cost } = parse(data)?;
                seen(Observation::Compaction { settings: &self.paid(), usage, cost });
            }
            "model_failed" => {
                let SlimSpending { usage, cost_usd: cost } = parse(data)?;
                seen(Observation::Failure { settings: &self.paid(), usage, cost });
            }
            "approval_asked" => {
                let asked: SlimQuestion = parse(data)?;
                waiting.asked(path, &asked.step_id, at);
                self.ask(asked, seen);
            }
            "approval_answered" => {
                let answered: AnsweredApproval = parse(data)?;
                waiting.answered(path, &answered.call_id, at);
                self.decide(&answered, seen);
            }
            "call_ended" => {
                let mut ended: SlimEnd = parse(data)?;
                ended.duration_ms = waiting.ended(path, &ended.call_id, at, ended.duration_ms);
                self.end(&ended, data.tokens(), seen);
                return Some(ended.call_id);
            }
            _ => {}
        }
        None
    }

    /// The model that is paid. What was spent counts also where the entry that names it is lost.
    fn paid(&self) -> Cow<'_, Settings> {
        let unknown =
            || Settings { provider: String::new(), model: String::new(), role: AgentRole::Actor };
        self.settings.as_ref().map_or_else(|| Cow::Owned(unknown()), Cow::Borrowed)
    }

    fn answer(&mut self, answer: SlimAnswer, seen: &mut dyn FnMut(Observation<'_>)) {
        let SlimAnswer { usage, cost_usd: cost, duration_ms, .. } = answer;
        seen(Observation::Answer { settings: &self.paid(), usage, cost, duration_ms });
        let calls: Vec<(String, Call)> =
            answer.content.into_iter().filter_map(SlimContent::call).collect();
        for done in std::mem::take(&mut self.ended_well) {
            if !calls.iter().any(|(_, call)| *call == done) {
                seen(Observation::Helped { tool: &done.tool });
            }
        }
        self.calls = calls.into_iter().collect();
        self.questions.clear();
    }

    fn ask(&mut self, asked: SlimQuestion, seen: &mut dyn FnMut(Observation<'_>)) {
        seen(Observation::Asked { tool: &asked.tool });
        let directories = asked.proposal.directories();
        self.questions.insert(asked.step_id, AskedApproval { tool: asked.tool, directories });
    }

    fn decide(&mut self, answered: &AnsweredApproval, seen: &mut dyn FnMut(Observation<'_>)) {
        let AnsweredApproval { call_id, response } = answered;
        let asked = self.questions.remove(call_id);
        if let Some(AskedApproval { tool, directories }) = &asked {
            let verdict = verdict(response);
            seen(Observation::Answered { tool, verdict, directories });
        }
        let subject = asked.as_ref().map_or(call_id, |asked| &asked.tool);
        seen(Observation::Decided { subject, response });
    }

    fn end(&mut self, ended: &SlimEnd, tokens: usize, seen: &mut dyn FnMut(Observation<'_>)) {
        let Some(call) = self.calls.remove(&ended.call_id) else { return };
        let error = match &ended.result {
            SlimResult::Ok(_) => None,
            SlimResult::Error(error) => Some(error.code.as_str()),
        };
        let duration_ms = ended.duration_ms;
        seen(Observation::Call { tool: &call.tool, error, duration_ms, tokens });
        if error.is_none() {
            self.ended_well.push(call);
        }
    }
}

impl SlimContent {
    fn call(self) -> Option<(String, Call)> {
        let arguments = ArgumentsMark::of(&self.arguments?);
        Some((self.id?, Call { tool: self.name?, arguments }))
    }
}

fn verdict(response: &ApprovalResponse) -> ApprovalVerdict {
    let is_edited = response.modified_args.is_some()
        || !response.modified_files.is_empty()
        || !response.accepted_hunks.is_empty();
    match response.remember {
        _ if !response.is_approved() => ApprovalVerdict::Denied,
        _ if is_edited => ApprovalVerdict::Edited,
        Some(_) => ApprovalVerdict::Remembered,
        None => ApprovalVerdict::Approved,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(events: &[Value]) -> Vec<String> {
        let mut reader = CallReader::default();
        let mut all = Vec::new();
        for event in events {
            let kind = event["type"].as_str().unwrap();
            let at = event["at"].as_i64().unwrap_or_default();
            let data = event.to_string();
            reader
                .read(kind, at, EventData::Plain(&data), &mut |seen| all.push(format!("{seen:?}")));
        }
        all
    }

    fn answer(calls: &[(&str, &str)]) -> Value {
        let call = |(id, pattern): &(&str, &str)| json!({"type": "tool_use", "id": id, "name": "grep", "arguments": {"p": pattern}});
        let content: Vec<Value> = calls.iter().map(call).collect();
        let usage = json!({"input": 1, "output": 2, "cache_read": 0, "cache_write": 0});
        json!({"type": "model_answered", "data": {"content": content, "stop": "tool_use", "usage": usage, "duration_ms": 7}})
    }

    fn ended(id: &str, result: Value) -> Value {
        json!({"type": "call_ended", "data": {"call_id": id, "result": result, "duration_ms": 3}})
    }

    #[test]
    fn a_call_helped_if_the_model_goes_on_without_repeating_it() {
        let failed = json!({"error": {"code": "TIMEOUT", "message": "slow"}});
        let mut seen = read(&[
            answer(&[("1", "x"), ("2", "y"), ("3", "z")]),
            ended("1", json!({"ok": 1})),
            ended("2", json!({"ok": null})),
            ended("3", failed),
            answer(&[("4", "x")]),
        ]);
        seen.retain(|seen| !seen.starts_with("Answer"));
        insta::assert_snapshot!(seen.join("\n"), @r#"
        Call { tool: "grep", error: None, duration_ms: 3, tokens: 20 }
        Call { tool: "grep", error: None, duration_ms: 3, tokens: 21 }
        Call { tool: "grep", error: Some("TIMEOUT"), duration_ms: 3, tokens: 29 }
        Helped { tool: "grep" }
        "#);
    }

    #[test]
    fn a_call_does_not_work_while_the_user_is_asked() {
        let row = |mut event: Value, at: i64| {
            event["at"] = json!(at);
            event
        };
        let request = json!({"stepId": "1", "tool": "grep", "proposal": {}});
        let asked = json!({"type": "approval_asked", "data": request});
        let response = json!({"approved": false});
        let data = json!({"call_id": "1", "response": response});
        let answered = json!({"type": "approval_answered", "data": data});
        let mut end = ended("1", json!({"ok": 1}));
        end["data"]["duration_ms"] = json!(60_004);
        let events =
            [answer(&[("1", "x")]), row(asked, 1), row(answered, 60_001), row(end, 60_005)];
        let seen = read(&events);
        assert!(seen.last().unwrap().contains("duration_ms: 4,"), "{seen:?}");
    }

    #[test]
    fn sub_agents_are_followed_on_their_own() {
        let settings = json!({"provider": "p", "model": "big", "role": "actor"});
        let opened = json!({"type": "opened", "data": {"root": "/", "settings": settings}});
        let mut inner = answer(&[("1", "x")]);
        inner["sequence"] = json!(1);
        inner["at"] = json!(0);
        let nested = json!({"type": "nested", "data": {"call_id": "9", "entry": inner}});
        let seen = read(&[opened, answer(&[("1", "x")]), nested, ended("1", json!({"ok": 1}))]);
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(seen[1].contains("big") && seen[2].starts_with("Call"), "{seen:?}");
    }
}
