//! Tools that do what a test needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use protocol::{Base, Change, ChangeSet, FileBytes};
use serde_json::Map;
use tokio::sync::{Notify, mpsc};
use tool_system::prelude::*;

type AnyObject = Map<String, Value>;

fn definition(name: &'static str) -> ToolDefinition {
    ToolDefinition::new::<AnyObject, AnyObject>(name, Category::Search)
}

/// `wait`: never ends by itself, and reports when it begins and when it is given up.
pub(crate) struct Wait {
    reports: mpsc::UnboundedSender<&'static str>,
}

impl Wait {
    pub(crate) fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<&'static str>) {
        let (reports, receiver) = mpsc::unbounded_channel();
        (Arc::new(Self { reports }), receiver)
    }
}

struct OnDrop(mpsc::UnboundedSender<&'static str>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send("given up");
    }
}

#[async_trait]
impl Tool for Wait {
    fn definition(&self) -> ToolDefinition {
        definition("wait")
    }

    async fn execute(&self, _: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let _guard = OnDrop(self.reports.clone());
        cx.output("waiting");
        let _ = self.reports.send("begun");
        std::future::pending().await
    }
}

/// `talk`: says `1`, waits to be told, says `2`, `3` and `4` at once, and answers.
#[derive(Default)]
pub(crate) struct Talk {
    pub(crate) go_on: Notify,
}

#[async_trait]
impl Tool for Talk {
    fn definition(&self) -> ToolDefinition {
        definition("talk")
    }

    async fn execute(&self, _: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        cx.output("1");
        self.go_on.notified().await;
        ["2", "3", "4"].into_iter().for_each(|chunk| cx.output(chunk));
        Outcome::answer(json!({"said": 4}))
    }
}

/// `counter`: proposes to write how often it has run, which no tool may.
pub(crate) struct Counter {
    path: &'static str,
    runs: AtomicU32,
}

impl Counter {
    pub(crate) fn new(path: &'static str) -> Arc<Self> {
        Arc::new(Self { path, runs: AtomicU32::new(0) })
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Tool for Counter {
    fn definition(&self) -> ToolDefinition {
        definition("counter")
    }

    async fn execute(&self, _: ToolArguments, _: ToolContext) -> Result<Outcome, ToolError> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let write = Change::Write {
            path: self.path.into(),
            base: Base::Absent,
            content: FileBytes(format!("run {run}\n").into_bytes()),
            mode: None,
        };
        Ok(Outcome::Proposal(Proposed::changes(ChangeSet { changes: vec![write] }, json!({}))))
    }
}

/// `panic`: has a fault.
pub(crate) struct Panic;

#[async_trait]
impl Tool for Panic {
    fn definition(&self) -> ToolDefinition {
        definition("panic")
    }

    async fn execute(&self, _: ToolArguments, _: ToolContext) -> Result<Outcome, ToolError> {
        panic!("out of cheese")
    }
}

/// `measure`: the length of `text`.
pub(crate) struct Measure;

#[async_trait]
impl Tool for Measure {
    fn definition(&self) -> ToolDefinition {
        definition("measure")
    }

    async fn execute(&self, args: ToolArguments, _: ToolContext) -> Result<Outcome, ToolError> {
        let arguments: AnyObject = args.parse()?;
        let length = arguments.get("text").and_then(Value::as_str).map_or(0, str::len);
        Outcome::answer(json!({"length": length}))
    }
}
