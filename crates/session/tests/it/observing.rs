//! Readers of everything that a process writes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use protocol::{LogEntry, SessionEvent, ToolError, TraceContext};
use serde_json::json;
use session::{LogObserver, Session};
use store::SessionId;
use tool_system::{
    Category, Outcome, Tool, ToolArguments, ToolContext, ToolDefinition, ToolRegistry,
};

use crate::stage::{Scripted, Stage, calls, says, send};

/// What was told: moments in a few words each, and all entries.
#[derive(Default)]
struct Notes {
    moments: Mutex<Vec<String>>,
    entries: Mutex<Vec<LogEntry>>,
}

impl LogObserver for Notes {
    fn taken_up(&self, _: &SessionId, entries: &[LogEntry]) {
        self.moments.lock().unwrap().push(format!("taken up with {} entries", entries.len()));
    }

    fn written(&self, _: &SessionId, entries: &[LogEntry]) {
        self.entries.lock().unwrap().extend_from_slice(entries);
    }

    fn left(&self, _: &SessionId) {
        self.moments.lock().unwrap().push("left".to_owned());
    }

    /// A span whose number is that of the entry with which the call began.
    fn trace_context(&self, _: &SessionId, path: &[String], id: &str) -> Option<TraceContext> {
        let entries = self.entries.lock().unwrap();
        let began = entries.iter().rev().find(|entry| {
            let (mut event, mut inner) = (&entry.event, Vec::new());
            while let SessionEvent::Nested { call_id, entry } = event {
                inner.push(call_id.clone());
                event = &entry.event;
            }
            let is_beginning =
                matches!(event, SessionEvent::CallStarted { call_id, .. } if call_id == id);
            is_beginning && inner == path
        });
        let span = began?.sequence.to_be_bytes();
        Some(TraceContext { trace: [1; 16], span, is_sampled: true, state: None })
    }
}

/// Answers the span that it is called in.
struct Where;

#[async_trait]
impl Tool for Where {
    fn definition(&self) -> ToolDefinition {
        let schema = json!({"type": "object", "properties": {}});
        let (category, about) = (Category::Reading, "Says where it is.".to_owned());
        ToolDefinition::described("where", category, about, schema.clone(), schema)
            .termination("Never.")
    }

    async fn execute(&self, _: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let span = cx.trace_context().map(|context| u64::from_be_bytes(context.span));
        Outcome::answer(json!({"span": span}))
    }
}

#[tokio::test]
async fn an_observer_is_told_the_whole_log_once_and_of_who_has_it() {
    let model = Scripted::new("scripted", [says("Hello."), says("Still here.")]);
    let mut stage = Stage::new(&model).await;
    let notes = Arc::<Notes>::default();
    stage.parts.observers.push(notes.clone());
    let mut session = stage.begin().await;
    send(&mut session, "Hi").await;
    let id = session.id().clone();
    let first = stage.log(&session).await;
    assert_eq!(*notes.entries.lock().unwrap(), first);
    session.close().await;
    let (mut session, _) = Session::resume(stage.parts.clone(), id).await.unwrap();
    send(&mut session, "And now?").await;
    let second = stage.log(&session).await;
    assert_eq!(*notes.entries.lock().unwrap(), second);
    drop(session);
    let taken_up = format!("taken up with {} entries", first.len());
    assert_eq!(*notes.moments.lock().unwrap(), ["left", taken_up.as_str(), "left"]);
}

#[tokio::test]
async fn a_call_knows_its_span_which_has_begun_before_it_runs_in_sub_agents_too() {
    let replies = || {
        [
            calls("c1", "where", json!({})),
            calls("c2", "delegate", json!({"task": "Where are you?"})),
            calls("c1", "where", json!({})),
            says("There."),
            says("Done."),
        ]
    };
    for is_traced in [true, false] {
        let mut stage = Stage::new(&Scripted::new("scripted", replies())).await;
        let mut registry = ToolRegistry::builtin();
        registry.register(Arc::new(Where));
        stage.parts.tools.registry = Arc::new(registry);
        if is_traced {
            stage.parts.observers.push(Arc::<Notes>::default());
        }
        let mut session = stage.begin().await;
        send(&mut session, "Where are you?").await;
        let (mut begun, mut told) = (Vec::new(), Vec::new());
        for LogEntry { sequence, event, .. } in stage.log(&session).await {
            let event = match event {
                SessionEvent::Nested { entry, .. } => entry.event,
                event => event,
            };
            match event {
                SessionEvent::CallStarted { call_id, .. } if call_id == "c1" => {
                    begun.push(Some(sequence));
                }
                SessionEvent::CallEnded { call_id, result: Ok(value), .. } if call_id == "c1" => {
                    told.push(value["span"].as_u64());
                }
                _ => {}
            }
        }
        assert_eq!(told, if is_traced { begun } else { vec![None, None] });
    }
}
