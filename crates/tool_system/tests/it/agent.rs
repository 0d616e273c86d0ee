//! The tools that need a conversation behind the executor.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use protocol::{ErrorCode, PlanStep, StepStatus, ToolError, ToolResult};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tool_system::{AgentHost, Delegation, ExecutorOptions, Vocabulary};

use crate::harness::Bench;

/// A conversation that only remembers what it was asked.
#[derive(Default)]
struct Host {
    plans: Mutex<Vec<Vec<PlanStep>>>,
    tasks: Mutex<Vec<Delegation>>,
}

#[async_trait]
impl AgentHost for Host {
    async fn plan_changed(&self, steps: Vec<PlanStep>) -> Result<(), ToolError> {
        self.plans.lock().unwrap().push(steps);
        Ok(())
    }

    async fn delegate(&self, task: Delegation, _: &CancellationToken) -> ToolResult {
        self.tasks.lock().unwrap().push(task);
        Ok(json!({"report": "found it", "outcome": "done", "turns": 1, "tokens": 10}))
    }
}

fn bench(vocabulary: Vocabulary) -> (Bench, Arc<Host>) {
    let host = Arc::new(Host::default());
    let agent_host: Arc<dyn AgentHost> = host.clone();
    let options =
        ExecutorOptions { vocabulary, agent_host: Some(agent_host), ..ExecutorOptions::default() };
    (Bench::with("", options, Vec::new()), host)
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
    assert!(names.ends_with(&["delegate", "plan"]), "{names:?}");
}
