//! The pipeline around a tool.

use std::sync::Arc;

use protocol::{ActivityData, ActivityType, AgentRole, ErrorCode, PermissionSet, ToolCall};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;
use tool_system::prelude::*;
use tool_system::{Caller, ExecutorOptions, Limits};

use crate::harness::{Bench, Setup};

/// A tool that does what its argument says, for trying the executor.
#[derive(Debug)]
struct Probe;

/// Behave in a certain way, to see what becomes of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProbeArgs {
    how: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ProbeOutput {
    text: String,
}

#[async_trait]
impl Tool for Probe {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<ProbeArgs, ProbeOutput>("probe", Category::Search)
            .example(json!({"how": "chatter"}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: ProbeArgs = args.parse()?;
        match args.how.as_str() {
            "panic" => panic!("the sky fell"),
            "panic while blocking" => {
                cx.blocking(|_| -> Result<_, ToolError> { panic!("deep inside") }).await
            }
            "wait" => std::future::pending().await,
            "chatter" => {
                cx.output("one\n");
                cx.output("two\n");
                Outcome::answer(ProbeOutput { text: "done".into() })
            }
            "much" => Outcome::answer(ProbeOutput { text: "word ".repeat(100_000) }),
            other => {
                Err(ToolError::new(ErrorCode::ExecutionError, format!("no such way: {other}")))
            }
        }
    }

    fn preview(&self, result: &Value, _: usize) -> Vec<String> {
        vec![format!("it said {}", result["text"])]
    }
}

fn bench(setup: impl Into<Setup>) -> Bench {
    Bench::with("//- /a.txt\none\n", setup, vec![Arc::new(Probe)])
}

#[tokio::test]
async fn a_panic_in_a_tool_becomes_an_error_and_the_executor_lives() {
    let bench = bench(ExecutorOptions::default());
    for (how, text) in [("panic", "the sky fell"), ("panic while blocking", "deep inside")] {
        let error = bench.err("probe", json!({"how": how})).await;
        assert_eq!(error.code, ErrorCode::Internal);
        assert!(error.message.contains(text), "{error}");
    }
    bench.ok("probe", json!({"how": "chatter"})).await;
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let bench = bench(ExecutorOptions::default());
    let cancel = CancellationToken::new();
    let call = ToolCall::new("1", "probe", json!({"how": "wait"}).as_object().unwrap().clone());
    let (result, ()) =
        tokio::join!(bench.executor.execute_tool(&call, &cancel), async { cancel.cancel() });
    assert_eq!(result.unwrap_err().code, ErrorCode::Cancelled);
}

#[tokio::test]
async fn events_tell_the_story_of_a_call() {
    let bench = bench(ExecutorOptions::default());
    let mut events = bench.executor.activity().subscribe_all();
    bench.ok("probe", json!({"how": "chatter"})).await;
    bench.err("probe", json!({"how": "badly"})).await;
    let mut story = Vec::new();
    while let Some(event) = events.try_next() {
        assert_eq!(&*event.call_id, "c1");
        story.push(match &event.data {
            ActivityData::ToolCallStart { tool_name, .. } => format!("start {tool_name}"),
            ActivityData::ToolOutputChunk { chunk } => format!("chunk {chunk:?}"),
            ActivityData::ToolCallEnd { preview, success, .. } => {
                format!("end {success} {preview:?}")
            }
            ActivityData::Error { code, error, .. } => format!("error {code} {error}"),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(
        story,
        [
            "start probe",
            "chunk \"one\\n\"",
            "chunk \"two\\n\"",
            "end true [\"it said \\\"done\\\"\"]",
            "start probe",
            "error EXECUTION_ERROR no such way: badly",
        ]
    );
}

#[tokio::test]
async fn a_subscriber_to_one_type_sees_only_that() {
    let bench = bench(ExecutorOptions::default());
    let mut chunks = bench.executor.activity().subscribe(ActivityType::ToolOutputChunk);
    bench.ok("probe", json!({"how": "chatter"})).await;
    let seen: Vec<_> =
        std::iter::from_fn(|| chunks.try_next()).map(|event| event.sequence).collect();
    assert_eq!(seen, [1, 2]);
}

#[tokio::test]
async fn a_result_that_is_too_large_is_cut_and_the_rest_can_be_read_by_its_handle() {
    let limits = Limits { result_bytes: 10_000, ..Limits::default() };
    let bench = bench(ExecutorOptions { limits, ..Default::default() });
    let result = bench.ok("probe", json!({"how": "much"})).await;
    assert!(result["text"].as_str().unwrap().len() < 10_000);
    let note = &result["truncation"][0];
    assert_eq!((&note["field"], &note["total"]), (&json!("text"), &json!(500_000)));
    let handle = note["handle"].as_str().unwrap();
    let rest = bench.ok("read_file", json!({"path": handle})).await;
    assert_eq!(rest["size"], 500_000);
    assert!(rest["content"].as_str().unwrap().starts_with("     1\tword word"));
    // A line that is too long for a page is broken, so that all of it can be reached.
    let last = rest["total_lines"].as_u64().unwrap();
    assert!(last > 1, "{last}");
    let last = bench.ok("read_file", json!({"path": handle, "offset": last})).await;
    assert!(last["content"].as_str().unwrap().trim_end().ends_with("word"), "{last}");
    assert_eq!(last["message"], json!(null));
    let error = bench.err("read_file", json!({"path": "result:0000000000000000"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestion.unwrap(), "Repeat the call whose result was cut.");
}

#[tokio::test]
async fn a_role_without_the_permission_is_refused_and_told_what_is_missing() {
    let role = AgentRole::Custom { name: "guest".into(), permissions: PermissionSet::NONE };
    let bench = bench(Caller { role, ..Default::default() });
    let error = bench.err("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert_eq!(error.message, "the role guest may not use read_file: it lacks ReadFiles");
    assert!(bench.executor.offered().is_empty());
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_a_near_one() {
    let bench = bench(ExecutorOptions::default());
    let error = bench.err("read_flie", json!({})).await;
    assert_eq!(error.code, ErrorCode::UnknownTool);
    assert_eq!(error.suggestion.unwrap(), "Did you mean `read_file`?");
    let error = bench.err("xyzzy", json!({})).await;
    assert!(error.suggestion.unwrap().starts_with("The tools are: "));
}

#[tokio::test]
async fn a_tool_is_understood_as_a_member_of_a_namespace() {
    let bench = bench(ExecutorOptions::default());
    for name in ["functions.read_file", "functions.read_file:0", "default_api.read_file"] {
        bench.ok(name, json!({"path": "a.txt"})).await;
    }
    for name in
        ["other.read_file", "functions.functions.read_file", "functions.read_file:x", "functions."]
    {
        let error = bench.err(name, json!({"path": "a.txt"})).await;
        assert_eq!(error.code, ErrorCode::UnknownTool, "{name}");
        assert!(error.message.contains(&format!("`{name}`")), "{}", error.message);
    }
    let error = bench.err("functions.read_flie:1", json!({})).await;
    assert_eq!(error.suggestion.unwrap(), "Did you mean `read_file`?");
}

#[tokio::test]
async fn a_name_from_another_vocabulary_is_understood() {
    let bench = bench(ExecutorOptions::default());
    let found = bench.ok("search_files", json!({"pattern": "one", "filePattern": "*.txt"})).await;
    assert_eq!(found["total"], 1);
}

#[tokio::test]
async fn the_flag_that_ends_a_turn_is_not_for_the_tool() {
    let bench = bench(ExecutorOptions::default());
    bench.ok("read_file", json!({"path": "a.txt", "terminate": true})).await;
    let error = bench.err("read_file", json!({"path": "a.txt", "terminate": "yes"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn what_was_read_is_tracked_by_content() {
    let bench = bench(ExecutorOptions { require_read: true, ..Default::default() });
    let path = workspace::RelPath::parse("a.txt").unwrap();
    let now = protocol::ContentHash::of(b"one\n");
    assert_eq!(bench.executor.files().check(&path, now).unwrap_err().code, ErrorCode::NotRead);
    bench.ok("read_file", json!({"path": "a.txt"})).await;
    bench.executor.files().check(&path, now).unwrap();
    let changed = protocol::ContentHash::of(b"two\n");
    assert_eq!(bench.executor.files().check(&path, changed).unwrap_err().code, ErrorCode::Conflict);
    bench.executor.clear_state();
    assert_eq!(bench.executor.files().check(&path, now).unwrap_err().code, ErrorCode::NotRead);
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let bench = bench(ExecutorOptions::default());
    let cancel = CancellationToken::new();
    let slow = ToolCall::new("1", "probe", json!({"how": "wait"}).as_object().unwrap().clone());
    let quick = ToolCall::new("2", "list_directory", Map::new());
    tokio::select! {
        _ = bench.executor.execute_tool(&slow, &cancel) => panic!("it waits for ever"),
        result = bench.executor.execute_tool(&quick, &cancel) => assert_eq!(result.unwrap()["total"], 1),
    }
}
