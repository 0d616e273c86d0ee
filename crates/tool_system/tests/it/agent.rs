//! The tools that need a conversation behind the executor.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use protocol::{
    ErrorCode, MessageHandle, PlanStep, StepStatus, ToolError, ToolResult, TraceContext,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tool_system::{
    AgentHost, Caller, Delegation, ExecutorOptions, ListedTool, Recalled, TextSearch, ToolRegistry,
    Vocabulary,
};

use crate::harness::{Bench, Setup};

/// A conversation that only remembers what it was asked.
#[derive(Default)]
struct Host {
    plans: Mutex<Vec<Vec<PlanStep>>>,
    tasks: Mutex<Vec<Delegation>>,
}

#[async_trait]
impl AgentHost for Host {
    fn tools_on_demand(&self) -> Vec<Arc<ListedTool>> {
        let all = ToolRegistry::builtin().list(Vocabulary::Standard);
        all.into_iter().filter(|tool| tool.definition().on_demand).collect()
    }

    async fn plan_changed(&self, steps: Vec<PlanStep>) -> Result<(), ToolError> {
        self.plans.lock().unwrap().push(steps);
        Ok(())
    }

    async fn delegate(&self, task: Delegation, _: &CancellationToken) -> ToolResult {
        self.tasks.lock().unwrap().push(task);
        Ok(json!({"report": "found it", "outcome": "done", "turns": 1, "tokens": 10}))
    }

    /// Entry 7 is all there is.
    async fn recall(&self, handle: MessageHandle) -> Result<Recalled, ToolError> {
        let text = (1..=100).map(|line| format!("line {line}\n")).collect();
        match handle {
            MessageHandle(7) => Ok(Recalled { text, page_bytes: 160 }),
            _ => Err(ToolError::new(ErrorCode::FileNotFound, "there is no such entry")),
        }
    }

    async fn was_told(&self, says: TextSearch) -> bool {
        says("look at http://named.test/page")
    }

    fn trace_context(&self, _: &str) -> Option<TraceContext> {
        None
    }
}

fn bench(vocabulary: Vocabulary) -> (Bench, Arc<Host>) {
    let host = Arc::new(Host::default());
    let agent_host: Arc<dyn AgentHost> = host.clone();
    let options = ExecutorOptions { vocabulary, ..ExecutorOptions::default() };
    let caller = Caller { agent_host: Some(agent_host), ..Caller::default() };
    (Bench::with("", Setup { options, caller }, Vec::new()), host)
}

#[tokio::test]
async fn a_plan_reaches_the_conversation_and_the_model_is_told_what_is_next() {
    let (bench, host) = bench(Vocabulary::Standard);
    let steps = json!([
        {"text": "look", "status": "done"},
        {"text": "change", "status": "in_progress"},
        {"text": "check"},
    ]);
    let answer = bench.call("plan", json!({"steps": steps})).await.unwrap();
    assert_eq!(answer, json!({"steps": 3, "done": 1, "next": "change"}));
    let plans = host.plans.lock().unwrap();
    let statuses: Vec<_> = plans[0].iter().map(|step| step.status).collect();
    assert_eq!(statuses, [StepStatus::Done, StepStatus::InProgress, StepStatus::Pending]);
}

#[tokio::test]
async fn a_plan_of_endless_steps_is_refused() {
    let (bench, host) = bench(Vocabulary::Standard);
    let steps: Vec<_> = (0..51).map(|n| json!({"text": format!("step {n}")})).collect();
    let error = bench.call("plan", json!({"steps": steps})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert!(host.plans.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_task_is_handed_on_with_role_and_budget_under_both_names() {
    let (bench, host) = bench(Vocabulary::Ally);
    let arguments = json!({"task": "find it", "role": "actor", "max_turns": 3, "max_tokens": 1000});
    let answer = bench.call("agent", arguments).await.unwrap();
    assert_eq!(answer["report"], "found it");
    bench.call("delegate", json!({"task": "look again"})).await.unwrap();
    let error = bench.call("delegate", json!({"task": " "})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    let tasks = host.tasks.lock().unwrap();
    assert_eq!((tasks[0].role.as_str(), tasks[0].max_turns), ("actor", Some(3)));
    assert_eq!(tasks[1].role, "planner", "who asks for no rights gets those to read");
}

#[tokio::test]
async fn without_a_conversation_they_are_neither_offered_nor_done() {
    let bench = Bench::new("");
    let names: Vec<_> = bench.executor.offered().iter().map(|tool| tool.name()).collect();
    assert!(!names.contains(&"plan") && !names.contains(&"delegate"), "{names:?}");
    let error = bench.call("plan", json!({"steps": []})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    let (bench, _host) = self::bench(Vocabulary::Standard);
    let names: Vec<_> = bench.executor.offered().iter().map(|tool| tool.name()).collect();
    assert!(names.ends_with(&["delegate", "find_tools", "plan"]), "{names:?}");
}

#[tokio::test]
async fn what_was_said_is_read_in_pages_that_the_conversation_can_take() {
    let (bench, _) = bench(Vocabulary::Standard);
    assert!(bench.executor.reads_messages());
    let mut read = String::new();
    let mut offset = 1;
    for _ in testkit::at_most(100, "the pages of a message of 100 lines") {
        let arguments = json!({"path": "message:7", "offset": offset, "line_numbers": false});
        let page = bench.call("read_file", arguments).await.unwrap();
        let content = page["content"].as_str().unwrap();
        assert!(content.len() <= 200 && page["total_lines"] == 100, "{page}");
        read.push_str(content);
        let Some(message) = page["message"].as_str() else { break };
        let next = message.rsplit_once("offset=").unwrap().1.trim_end_matches('.');
        assert!(message.contains(" of 100. Continue"), "{message}");
        offset = next.parse().unwrap();
    }
    assert_eq!(read, (1..=100).map(|line| format!("line {line}\n")).collect::<String>());
}

#[tokio::test]
async fn a_handle_of_something_else_is_refused_and_other_names_are_files() {
    let (bench, _) = bench(Vocabulary::Standard);
    let unknown = bench.call("read_file", json!({"path": "message:8"})).await.unwrap_err();
    assert_eq!(unknown.message, "there is no such entry");
    let file = bench.call("read_file", json!({"path": "message:x"})).await.unwrap_err();
    assert_eq!(file.code, ErrorCode::FileNotFound);
    assert!(file.message.contains("message:x"), "{}", file.message);
}

#[tokio::test]
async fn several_files_and_messages_are_read_at_once() {
    let (bench, _) = bench(Vocabulary::Ally);
    let paths = json!({"file_paths": ["message:7", "message:9"]});
    let answer = bench.call("read", paths).await.unwrap();
    let content = answer["content"].as_str().unwrap();
    assert!(content.starts_with("=== message:7 ===\n     1\tline 1\n"), "{content}");
    assert_eq!(answer["errors"][0]["path"], "message:9");
}

#[tokio::test]
async fn without_a_conversation_there_are_no_messages_to_read() {
    let bench = Bench::with("//- /message:7\nmine\n", ExecutorOptions::default(), Vec::new());
    assert!(!bench.executor.reads_messages());
    let answer = bench.call("read_file", json!({"path": "message:7"})).await.unwrap();
    assert!(answer["content"].as_str().unwrap().ends_with("mine"), "{answer}");
}
