//! `/jobs`: commands that run in the background.

use protocol::{Content, LogEntry, SessionEvent, ToolCall};
use serde_json::{Map, Value};
use session::Session;
use timeline::duration;
use tokio_util::sync::CancellationToken;
use tool_system::extensions::execution::job;

use super::text_table::table;

/// The jobs of a session as a table, as of `now`: milliseconds since 1970, UTC.
pub(crate) async fn job_list(session: &Session, now: i64) -> anyhow::Result<String> {
    let arguments = Map::from_iter([("action".to_owned(), Value::from("list"))]);
    let call = ToolCall::new("chat_jobs", job::NAME, arguments);
    let listed = session.executor().execute_tool(&call, &CancellationToken::new()).await;
    let listed = listed.map_err(|error| anyhow::anyhow!(error.full_message()))?;
    let log = session.parts().store.load(session.id()).await?;
    Ok(shown(&listed, &log.entries, now))
}

fn shown(listed: &Value, entries: &[LogEntry], now: i64) -> String {
    let jobs = listed["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    if jobs.is_empty() {
        return "No background jobs.\n".to_owned();
    }
    let rows = jobs.iter().map(|job| {
        let id = job["id"].as_str().unwrap_or_default();
        let age = started(entries, id).map(|at| now.saturating_sub(at).max(0).unsigned_abs());
        [
            id.to_owned(),
            state(job),
            age.map(duration).unwrap_or_default(),
            timeline::safe_text::one_line(job["command"].as_str().unwrap_or_default()),
        ]
    });
    table(["job", "state", "age", "command"], rows, &[], None)
}

fn state(job: &Value) -> String {
    match (job["running"].as_bool(), job["exit_code"].as_i64()) {
        (Some(true), _) => "running".to_owned(),
        (_, Some(code)) => format!("exit {code}"),
        _ => "ended".to_owned(),
    }
}

/// When the newest job of this name was started. Names are counted anew by each process.
fn started(entries: &[LogEntry], id: &str) -> Option<i64> {
    let is_start = |call_id: &str| {
        let answers = entries.iter().rev().filter_map(|entry| match &entry.event {
            SessionEvent::ModelAnswered(answer) => Some(&answer.content),
            _ => None,
        });
        let mut calls = answers.flatten().filter_map(|content| match content {
            Content::ToolUse(call) if call.id == call_id => Some(call),
            _ => None,
        });
        calls.next().is_some_and(|call| {
            call.name == job::NAME
                && call.arguments.get("action").is_some_and(|action| action == "start")
        })
    };
    entries.iter().rev().find_map(|entry| match &entry.event {
        SessionEvent::CallEnded { call_id, result: Ok(value), .. }
            if value["id"] == id && is_start(call_id) =>
        {
            Some(entry.at)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use protocol::{ModelAnswer, StopReason, Usage};
    use serde_json::json;

    use super::*;

    fn job(action: &str, call_id: &str, at: i64) -> [LogEntry; 2] {
        let arguments = Map::from_iter([("action".to_owned(), Value::from(action))]);
        let answer = ModelAnswer {
            content: vec![Content::ToolUse(ToolCall::new(call_id, job::NAME, arguments))],
            broken: Vec::new(),
            stop: StopReason::ToolUse,
            usage: Usage::default(),
            cost_usd: None,
            duration_ms: 1,
        };
        let ended = SessionEvent::CallEnded {
            call_id: call_id.into(),
            result: Ok(json!({"id": "1", "running": true})),
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 1,
        };
        [SessionEvent::ModelAnswered(answer), ended].map(|event| LogEntry {
            sequence: 1,
            at,
            event,
        })
    }

    #[test]
    fn a_job_has_its_state_and_the_time_since_it_was_started() {
        let entries: Vec<LogEntry> =
            [job("start", "a", 1_000), job("start", "b", 5_000), job("output", "c", 9_000)]
                .concat();
        let listed = json!({"jobs": [
            {"id": "1", "command": "npm run\ndev", "running": true},
            {"id": "2", "command": "false", "running": false, "exit_code": 1},
        ]});
        insta::assert_snapshot!(shown(&listed, &entries, 70_000), @"
        job    state        age  command
        1    running  1 min 5 s  npm run dev
        2     exit 1             false
        ");
        assert_eq!(shown(&json!({"jobs": []}), &entries, 0), "No background jobs.\n");
    }
}
