//! For tests: the real tools, and conversations with them.

use std::sync::{Arc, LazyLock};

use context_manager::{CacheHint, ModelEvent, ModelRequest, StopReason, ToolSpec};
use protocol::{
    ApprovalRequest, ApprovalResponse, Content, Message, Speaker, ToolCall, ToolError, ToolResult,
};
use serde_json::Value;
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::prelude::async_trait;
use tool_system::{
    Approver, Caller, ExecutorOptions, JournalPerformer, OnDemand, ProjectTools, ToolExecutor,
    ToolRegistry, Vocabulary,
};
use workspace::{Journal, JournalOptions, Workspace};

use super::answer;

/// The tools of a vocabulary as a session offers them.
pub(crate) fn tools_of(vocabulary: Vocabulary) -> Vec<ToolSpec> {
    // Property tests ask for them often, and schemas are made anew for each registry.
    static REGISTRY: LazyLock<ToolRegistry> = LazyLock::new(ToolRegistry::builtin);
    let listed = REGISTRY.list(vocabulary);
    let tools = listed.iter().map(|tool| ToolSpec {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.input_schema().clone(),
        listing: Default::default(),
    });
    tools.collect()
}

/// A request with these messages.
pub(crate) fn request(tools: &[ToolSpec], messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: super::NAME.into(),
        system: String::new(),
        messages: messages.into_iter().map(Into::into).collect(),
        tools: tools.into(),
        max_tokens: 1000,
        effort: None,
        cache: CacheHint::Nothing,
        shows_images: false,
    }
}

pub(crate) fn said(text: &str) -> Message {
    Message { role: Speaker::User, content: vec![Content::Text { text: text.into() }] }
}

pub(crate) fn called(text: &str, call: ToolCall) -> Message {
    let text = Content::Text { text: text.into() };
    Message { role: Speaker::Assistant, content: vec![text, Content::ToolUse(call)] }
}

pub(crate) fn answered(id: &str, result: ToolResult) -> Message {
    let content = vec![Content::ToolResult {
        tool_use_id: id.into(),
        result,
        images: Vec::new(),
        found_tools: Vec::new(),
    }];
    Message { role: Speaker::User, content }
}

/// The text of an answer, and its call if it has one. Checks what holds for every answer.
pub(crate) fn read_answer(events: &[ModelEvent]) -> (String, Option<ToolCall>) {
    let (mut text, mut started, mut call, mut end) = (String::new(), None, None, None);
    for event in events {
        assert_eq!(end, None, "nothing follows the end");
        match event {
            ModelEvent::Text(piece) => text += piece,
            ModelEvent::ToolCallStarted { id, name } => started = Some((id.clone(), name.clone())),
            ModelEvent::ToolCall(complete) => call = Some(complete.clone()),
            ModelEvent::Done(reason) => end = Some(reason.clone()),
            ModelEvent::Usage(usage) => assert_eq!(usage.total(), 0),
            other => panic!("{other:?} is never said"),
        }
    }
    let expected = if call.is_some() { StopReason::ToolUse } else { StopReason::EndOfTurn };
    assert_eq!(end, Some(expected));
    assert_eq!(started, call.as_ref().map(|call| (call.id.clone(), call.name.clone())));
    (text, call)
}

/// An approver that answers every question alike: with yes, or with no for this reason.
struct FixedAnswer(Option<String>);

#[async_trait]
impl Approver for FixedAnswer {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        Ok(match &self.0 {
            None => request.approve(),
            reason => ApprovalResponse::no(reason.clone()),
        })
    }
}

/// A conversation in a real project with real tools.
pub(crate) struct Talk {
    pub(crate) project: Fixture,
    executor: ToolExecutor,
    tools: Vec<ToolSpec>,
    messages: Vec<Message>,
}

/// More calls in one turn mean that a plan does not end.
const MAX_CALLS: usize = 8;

impl Talk {
    pub(crate) fn new(vocabulary: Vocabulary, fixture: &str, refusal: Option<String>) -> Self {
        let project = Fixture::new(fixture);
        let workspace = Arc::new(Workspace::open(project.root()).unwrap());
        let state = project.root().with_file_name("state");
        let journal = Journal::open(Arc::clone(&workspace), &state, JournalOptions::default());
        let journal = Arc::new(OnDemand::from(Arc::new(journal.unwrap())));
        let options = ExecutorOptions {
            vocabulary,
            require_read: true,
            performer: Some(Arc::new(JournalPerformer::new(Arc::clone(&journal)))),
            history: Some(tool_system::History::of(journal)),
            ..ExecutorOptions::default()
        };
        let caller = Caller {
            approver: Arc::new(FixedAnswer(refusal)),
            detect_repeats: true,
            ..Caller::default()
        };
        let tools = ProjectTools::new(ToolRegistry::builtin(), workspace, options);
        let executor = tools.executor(caller);
        Self { project, executor, tools: tools_of(vocabulary), messages: Vec::new() }
    }

    /// Says something and plays the turn to its end; all that was said and called.
    pub(crate) async fn say(&mut self, text: &str) -> String {
        self.executor.clear_current_turn();
        self.messages.push(said(text));
        let mut transcript = format!("> {text}\n");
        for _ in 0..MAX_CALLS {
            let (text, call) = read_answer(&answer(&request(&self.tools, self.messages.clone())));
            transcript += &format!("{}\n", text.trim_end());
            let Some(call) = call else {
                let content = vec![Content::Text { text: text.into() }];
                self.messages.push(Message { role: Speaker::Assistant, content });
                return transcript;
            };
            let arguments = Value::Object(call.arguments.clone());
            transcript += &format!("[{} {} {arguments}]\n", call.id, call.name);
            let report = self
                .executor
                .report(&call, &CancellationToken::new(), self.executor.approver())
                .await;
            // As a session gives it to a model.
            let result = report.result.map(|value| report.text.map_or(value, Value::String));
            self.messages.push(called(&text, call.clone()));
            self.messages.push(answered(&call.id, result));
        }
        panic!("no end after {MAX_CALLS} calls:\n{transcript}");
    }
}
