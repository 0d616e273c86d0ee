//! A conversation on a stage: everybody around it follows a script.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_manager::{
    AgentOptions, CacheHint, Charge, ChatContext, Inbox, LogError, ModelError, ModelErrorKind,
    ModelEvent, ModelProvider, ModelRequest, ModelStream, Ports, Purse, RetryPolicy, SessionLog,
    StopReason, ToolListing, ToolRuntime, ToolSpec, TurnOutcome, Usage,
};
use futures_util::{StreamExt, stream};
use protocol::{
    CallReport, Content, ContentHash, ErrorCode, Image, ImageFormat, Instructions, LogEntry,
    SessionEvent, ToolCall, ToolError, ToolResult,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::story;

/// One line of the model's part.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Piece(ModelEvent),
    Fails(ModelErrorKind),
    /// It fails, and the provider says that asking again is no use.
    FailsForGood(ModelErrorKind),
    /// The request does not reach the provider.
    Unreachable,
    /// The request itself fails.
    Refuses(ModelErrorKind),
    /// The user cancels, and nothing more comes.
    Cancelled,
    /// The user says this while the answer comes.
    Hears(&'static str),
    /// Nothing more comes.
    Hangs,
    /// A piece that comes after so many milliseconds.
    Late(u64, ModelEvent),
}

pub(crate) type Reply = Vec<Line>;

/// What requests cost that never ended, for tests that do not count.
pub(crate) fn nothing_charged() -> Charge {
    Charge::of(&FreeModel, None)
}

struct FreeModel;

#[async_trait]
impl ModelProvider for FreeModel {
    fn name(&self) -> &str {
        "free"
    }

    fn takes_tokens(&self) -> bool {
        false
    }

    async fn stream(&self, _: &ModelRequest) -> Result<ModelStream, ModelError> {
        unreachable!("it is never asked")
    }
}

pub(crate) fn text(text: &str) -> Line {
    Line::Piece(ModelEvent::Text(text.into()))
}

pub(crate) fn done(stop: StopReason) -> Line {
    Line::Piece(ModelEvent::Done(stop))
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Line {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    Line::Piece(ModelEvent::ToolCall(ToolCall::new(id, name, arguments)))
}

pub(crate) fn broken(id: &str, name: &str) -> Line {
    Line::Piece(ModelEvent::BrokenToolCall {
        id: id.into(),
        name: name.into(),
        arguments: "{\"pa".into(),
        reason: "the arguments are not valid JSON".into(),
    })
}

/// A whole answer of text.
pub(crate) fn says(words: &str) -> Reply {
    vec![text(words), done(StopReason::EndOfTurn)]
}

/// A whole answer of calls.
pub(crate) fn wants(calls: Vec<Line>) -> Reply {
    calls.into_iter().chain([done(StopReason::ToolUse)]).collect()
}

/// A whole answer of one call.
pub(crate) fn wants_one(id: &str, name: &str, arguments: Value) -> Reply {
    wants(vec![call(id, name, arguments)])
}

/// The same answer with a report of what it took.
pub(crate) fn using(mut reply: Reply, usage: Usage) -> Reply {
    reply.insert(0, Line::Piece(ModelEvent::Usage(usage)));
    reply
}

/// The user's way to cancel the turn.
#[derive(Default)]
pub(crate) struct Button(Mutex<CancellationToken>);

impl Button {
    fn press(&self) {
        self.0.lock().unwrap().cancel();
    }
}

pub(crate) struct ScriptedModel {
    replies: Mutex<VecDeque<Reply>>,
    pub(crate) requests: Mutex<Vec<ModelRequest>>,
    cancel: Arc<Button>,
    inbox: Arc<Inbox>,
}

#[async_trait]
impl ModelProvider for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        let reply = self.replies.lock().unwrap().pop_front();
        let reply = reply.unwrap_or_else(|| vec![Line::Refuses(ModelErrorKind::InvalidRequest)]);
        if let [Line::Refuses(kind), ..] = reply.as_slice() {
            return Err(error(*kind));
        }
        let user = (self.cancel.clone(), self.inbox.clone());
        let pieces = stream::iter(reply).then(move |line| {
            let (cancel, inbox) = user.clone();
            async move {
                match line {
                    Line::Piece(piece) => Ok(piece),
                    Line::Fails(kind) | Line::Refuses(kind) => Err(error(kind)),
                    Line::FailsForGood(kind) => {
                        Err(ModelError { should_retry: Some(false), ..error(kind) })
                    }
                    Line::Unreachable => Err(ModelError {
                        may_be_charged: false,
                        ..error(ModelErrorKind::Connection)
                    }),
                    Line::Cancelled => {
                        cancel.press();
                        std::future::pending().await
                    }
                    Line::Hears(words) => {
                        inbox.push(story::said(words));
                        Ok(ModelEvent::Text("…".into()))
                    }
                    Line::Hangs => std::future::pending().await,
                    Line::Late(ms, piece) => {
                        tokio::time::sleep(Duration::from_millis(ms)).await;
                        Ok(piece)
                    }
                }
            }
        });
        Ok(Box::pin(pieces))
    }
}

fn error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, format!("{kind:?}"))
}

/// Tools whose names say what they do.
pub(crate) struct ScriptedTools {
    cancel: Arc<Button>,
    inbox: Arc<Inbox>,
    running: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
    counter: AtomicUsize,
    /// A tool that waited has been stopped.
    pub(crate) stopped: tokio::sync::Notify,
    pub(crate) turns: AtomicUsize,
    /// What the project says wherever it is worked in.
    pub(crate) instructions: Mutex<Vec<Instructions>>,
    /// The tokens that there were for instructions when they were last asked for.
    pub(crate) room: AtomicUsize,
}

#[async_trait]
impl ToolRuntime for ScriptedTools {
    fn tools(&self) -> Arc<[ToolSpec]> {
        ["look", "write"].map(spec).into()
    }

    fn is_read_only(&self, call: &ToolCall) -> bool {
        call.name != "write"
    }

    fn terminates(&self, call: &ToolCall) -> bool {
        call.arguments.get("terminate") == Some(&json!(true))
    }

    fn reads_messages(&self) -> bool {
        true
    }

    async fn execute_tool(&self, call: &ToolCall, cancel: &CancellationToken) -> CallReport {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(running, Ordering::SeqCst);
        tokio::task::yield_now().await;
        let result = self.execute(call, cancel).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        CallReport { images: shown_by(call), ..result.into() }
    }

    async fn instructions(
        &self,
        known: &BTreeMap<String, ContentHash>,
        room: u64,
    ) -> Vec<Instructions> {
        self.room.store(usize::try_from(room).unwrap(), Ordering::SeqCst);
        let all = self.instructions.lock().unwrap();
        let is_known = |told: &Instructions| known.get(&told.path) == Some(&told.version);
        all.iter().filter(|told| !is_known(told)).cloned().collect()
    }

    fn turn_began(&self) {
        self.turns.fetch_add(1, Ordering::SeqCst);
    }
}

/// `picture` answers with the image of this name.
fn shown_by(call: &ToolCall) -> Vec<Image> {
    if call.name != "picture" {
        return Vec::new();
    }
    let side = call.arguments.get("side").and_then(Value::as_u64).unwrap_or(280);
    let side = u32::try_from(side).unwrap_or(u32::MAX);
    let path = call.arguments.get("path").and_then(Value::as_str).unwrap_or("p.png");
    vec![picture(path, side)]
}

/// An image whose bytes are its name.
pub(crate) fn picture(name: &str, side: u32) -> Image {
    Image::new(name, ImageFormat::Png, (side, side), name.as_bytes())
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters: json!({}),
        listing: ToolListing::Always,
    }
}

impl ScriptedTools {
    async fn execute(&self, call: &ToolCall, cancel: &CancellationToken) -> ToolResult {
        let fails = |code, message: &str| Err(ToolError::new(code, message));
        match call.name.as_str() {
            "look" | "write" | "picture" => Ok(json!({"done": call.arguments.get("path")})),
            "count" => Ok(json!(self.counter.fetch_add(1, Ordering::SeqCst))),
            "big" => {
                let size = call.arguments.get("size").and_then(Value::as_u64).unwrap_or(10_000);
                Ok("x".repeat(usize::try_from(size).unwrap_or_default()).into())
            }
            "hears" => {
                let words = call.arguments.get("words").and_then(Value::as_str).unwrap_or("more");
                self.inbox.push(story::said(words));
                Ok("heard".into())
            }
            "missing" => fails(ErrorCode::FileNotFound, "x.rs does not exist"),
            "refused" => fails(ErrorCode::Rejected, "User rejected changes: keep the name"),
            "breaks" => fails(ErrorCode::Internal, "the tool failed unexpectedly: out of luck"),
            "panics" => panic!("out of luck"),
            "waits" => {
                cancel.cancelled().await;
                self.stopped.notify_one();
                fails(ErrorCode::Cancelled, "stopped")
            }
            "cancels_and_heeds" => {
                self.cancel.press();
                cancel.cancelled().await;
                fails(ErrorCode::Cancelled, "stopped at once")
            }
            "cancels_and_finishes" => {
                self.cancel.press();
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok("the change is made".into())
            }
            "hangs" => std::future::pending().await,
            "cancels_and_hangs" => {
                self.cancel.press();
                std::future::pending().await
            }
            other => fails(ErrorCode::UnknownTool, &format!("unknown tool {other}")),
        }
    }
}

#[derive(Default)]
pub(crate) struct MemoryLog {
    pub(crate) entries: Mutex<Vec<LogEntry>>,
    pub(crate) appends: AtomicUsize,
    /// What another process writes before the next append.
    pub(crate) aside: Mutex<Vec<SessionEvent>>,
    /// After this many appends the disk is full.
    pub(crate) full_after: Mutex<Option<usize>>,
    /// The user cancels during this append.
    pub(crate) cancel_in: Mutex<Option<(usize, CancellationToken)>>,
}

#[async_trait]
impl SessionLog for MemoryLog {
    async fn append(&self, events: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        if self.full_after.lock().unwrap().is_some_and(|full| number > full) {
            return Err(LogError { message: "no space left".into() });
        }
        if let Some((at, cancel)) = &*self.cancel_in.lock().unwrap()
            && number == *at
        {
            cancel.cancel();
        }
        let aside = std::mem::take(&mut *self.aside.lock().unwrap());
        let events = aside.into_iter().chain(events);
        let mut entries = self.entries.lock().unwrap();
        let numbered = (entries.len() as u64 + 1..).zip(events);
        let new = numbered.map(|(sequence, event)| LogEntry { sequence, at: 0, event });
        let new: Vec<_> = new.collect();
        entries.extend(new.clone());
        Ok(new)
    }
}

pub(crate) struct Stage {
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) tools: Arc<ScriptedTools>,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) options: AgentOptions,
    pub(crate) context: ChatContext,
    pub(crate) purse: Arc<Purse>,
    pub(crate) inbox: Arc<Inbox>,
    button: Arc<Button>,
}

impl Stage {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let button = Arc::new(Button::default());
        let inbox = Arc::<Inbox>::default();
        let model = ScriptedModel {
            replies: Mutex::new(replies.into_iter().collect()),
            requests: Mutex::default(),
            cancel: button.clone(),
            inbox: inbox.clone(),
        };
        let tools = ScriptedTools {
            cancel: button.clone(),
            inbox: inbox.clone(),
            running: AtomicUsize::default(),
            most_at_once: AtomicUsize::default(),
            counter: AtomicUsize::default(),
            stopped: tokio::sync::Notify::new(),
            turns: AtomicUsize::default(),
            instructions: Mutex::default(),
            room: AtomicUsize::default(),
        };
        Self {
            model: Arc::new(model),
            tools: Arc::new(tools),
            log: Arc::default(),
            // Without chance in it, waits can be compared.
            options: AgentOptions {
                retry: RetryPolicy { jitter: 0.0, ..RetryPolicy::default() },
                ..AgentOptions::default()
            },
            context: ChatContext::default(),
            purse: Purse::new(),
            inbox,
            button,
        }
    }

    /// What the model answers from here on, whatever it was going to.
    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        *self.model.replies.lock().unwrap() = replies.into_iter().collect();
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut AgentOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// The token of the turn.
    pub(crate) fn cancel(&self) -> CancellationToken {
        self.button.0.lock().unwrap().clone()
    }

    /// The next turn can be cancelled anew.
    pub(crate) fn renew(&self) {
        *self.button.0.lock().unwrap() = CancellationToken::new();
    }

    pub(crate) fn ports(&self) -> Ports {
        Ports {
            model: self.model.clone(),
            tools: self.tools.clone(),
            log: self.log.clone(),
            purse: self.purse.clone(),
            inbox: self.inbox.clone(),
        }
    }

    /// Writes an event that comes from elsewhere.
    pub(crate) async fn write(&mut self, event: SessionEvent) {
        let written = self.ports().log.append(vec![event]).await.expect("the log takes it");
        written.iter().for_each(|entry| self.context.apply(entry));
    }

    /// The user says something; whatever comes of it is checked.
    pub(crate) async fn send(&mut self, words: &str) -> TurnOutcome {
        self.try_send(words).await.unwrap()
    }

    pub(crate) async fn try_send(&mut self, words: &str) -> Result<TurnOutcome, LogError> {
        self.try_say(story::said(words)).await
    }

    /// The user says something with files attached.
    pub(crate) async fn try_say(&mut self, content: Vec<Content>) -> Result<TurnOutcome, LogError> {
        let ports = self.ports();
        let outcome =
            self.context.send_message(content, &ports, &self.options, &self.cancel()).await;
        self.check();
        outcome
    }

    pub(crate) async fn go_on(&mut self) -> TurnOutcome {
        let ports = self.ports();
        let outcome = self.context.continue_turn(&ports, &self.options, &self.cancel()).await;
        self.check();
        outcome.unwrap()
    }

    pub(crate) async fn stop(&mut self) -> TurnOutcome {
        let ports = self.ports();
        let outcome = self.context.stop_turn(&ports).await.unwrap();
        self.check();
        outcome
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests.lock().unwrap().clone()
    }

    pub(crate) fn entries(&self) -> Vec<LogEntry> {
        self.log.entries.lock().unwrap().clone()
    }

    /// The log in short.
    pub(crate) fn story(&self) -> String {
        story::of_log(&self.entries())
    }

    /// The messages of the last request in short.
    pub(crate) fn last_request(&self) -> String {
        story::of_messages(&self.requests().last().expect("a request was sent").messages)
    }

    /// What holds whenever the conversation is left alone.
    pub(crate) fn check(&self) {
        let entries = self.entries();
        let again = ChatContext::replay(&entries);
        assert_eq!(again.state(), self.context.state(), "replay leads to the same state");
        assert_eq!(again.messages(), self.context.messages(), "and to the same messages");
        story::assert_valid(&self.context.messages());
        for request in self.requests() {
            story::assert_valid(&request.messages);
        }
        let rewrites = |entry: &LogEntry| {
            matches!(entry.event, SessionEvent::Compacted(_) | SessionEvent::SettingsChanged(_))
        };
        if !entries.iter().any(rewrites) {
            let requests = self.requests().into_iter();
            let requests: Vec<_> =
                requests.filter(|request| request.cache == CacheHint::Conversation).collect();
            for pair in requests.windows(2) {
                assert!(pair[1].messages.starts_with(&pair[0].messages), "the prefix is stable");
                assert_eq!((&pair[0].system, &pair[0].tools), (&pair[1].system, &pair[1].tools));
            }
        }
    }
}
