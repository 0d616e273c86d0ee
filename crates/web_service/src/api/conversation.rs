//! Talking in a session: messages, the queue, interrupting, going on, going back.

use axum::http::Method;
use protocol::Content;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::{RewindFiles, with_files};
use store::SessionId;

use super::SessionBrief;
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::Sent;
use crate::route::{Nothing, Request, Route};

/// Bytes of a message, in which users paste whole files.
const MESSAGE_BODY: usize = 8 * 1024 * 1024;
/// Files that one message may attach.
const MAX_FILES: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    let chat = Need::Scope(AccessScope::Chat);
    vec![
        Route::new(
            Method::POST,
            "/api/sessions/{session}/messages",
            chat,
            "Says something. It is written down when this answers, or waits for the running turn.",
            send,
        )
        .up_to(MESSAGE_BODY),
        Route::new(
            Method::GET,
            "/api/sessions/{session}/queue",
            Need::Login,
            "The messages that wait for the running turn.",
            queue,
        ),
        Route::new(
            Method::DELETE,
            "/api/sessions/{session}/queue/{message}",
            chat,
            "Takes a waiting message back.",
            withdraw,
        ),
        Route::new(
            Method::POST,
            "/api/sessions/{session}/interrupt",
            chat,
            "Ends the running turn.",
            interrupt,
        ),
        Route::new(
            Method::POST,
            "/api/sessions/{session}/continue",
            chat,
            "Goes on after a pause.",
            go_on,
        ),
        Route::new(
            Method::POST,
            "/api/sessions/{session}/rewind",
            chat,
            "Goes back to before a message, with or without the files of that moment.",
            rewind,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageBody {
    text: String,
    /// Files of the project that go with it, by their paths.
    #[serde(default)]
    files: Vec<String>,
}

/// What became of a message.
#[derive(Debug, Serialize, JsonSchema)]
struct SentMessage {
    /// Its entry in the log, if it is written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    /// Its name in the queue, if it waits. It is in memory until the turn takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    queued: Option<u64>,
    /// What the user should know, such as which files could not be read.
    notes: Vec<String>,
}

async fn send(request: Request<Nothing, MessageBody>) -> Result<SentMessage, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let MessageBody { text, files } = request.body;
    if text.trim().is_empty() && files.is_empty() {
        return Err(ApiError::invalid("the message is empty"));
    }
    if files.len() > MAX_FILES {
        return Err(ApiError::invalid(format!("a message attaches at most {MAX_FILES} files")));
    }
    let hub = &request.app.hub;
    let (content, notes) = if files.is_empty() {
        (vec![Content::Text { text: text.into() }], Vec::new())
    } else {
        let live = hub.open(&id).await?;
        let attached = with_files(live.executor(), text, &files).await;
        (attached.content, attached.notes)
    };
    let (sequence, queued) = match hub.send(&id, content).await? {
        Sent::Written(sequence) => (Some(sequence), None),
        Sent::Queued(name) => (None, Some(name)),
    };
    Ok(SentMessage { sequence, queued, notes })
}

/// Messages that wait.
#[derive(Debug, Serialize, JsonSchema)]
struct MessageQueue {
    messages: Vec<QueuedText>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QueuedText {
    id: u64,
    text: String,
}

async fn queue(request: Request<Nothing, Nothing>) -> Result<MessageQueue, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let hub = &request.app.hub;
    hub.project_of(&id).await?;
    let queued = hub.live_session(&id).map(|live| live.queue()).unwrap_or_default();
    let messages = queued
        .into_iter()
        .map(|queued| QueuedText { id: queued.id, text: text_of(&queued.content) });
    Ok(MessageQueue { messages: messages.collect() })
}

async fn withdraw(request: Request<Nothing, Nothing>) -> Result<QueuedText, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let name: u64 = request.parsed("message")?;
    let live = request.app.hub.live_session(&id);
    let content = live.and_then(|live| live.withdraw(name));
    let content =
        content.ok_or_else(|| ApiError::conflict("the message does not wait any more"))?;
    Ok(QueuedText { id: name, text: text_of(&content) })
}

fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(text.to_string()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether a turn ran.
#[derive(Debug, Serialize, JsonSchema)]
struct Interrupted {
    interrupted: bool,
}

async fn interrupt(request: Request<Nothing, Nothing>) -> Result<Interrupted, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let hub = &request.app.hub;
    hub.project_of(&id).await?;
    let interrupted = hub.live_session(&id).is_some_and(|live| live.interrupt());
    Ok(Interrupted { interrupted })
}

async fn go_on(request: Request<Nothing, Nothing>) -> Result<SessionBrief, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let live = request.app.hub.open(&id).await?;
    live.go_on()?;
    Ok(SessionBrief::of(&live))
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FilesChoice {
    /// They stay as they are.
    #[default]
    Keep,
    /// What the session has changed since the message is undone.
    Restore,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RewindBody {
    /// The entry of the message.
    to: u64,
    #[serde(default)]
    files: FilesChoice,
}

/// What became of the conversation and the files.
#[derive(Debug, Serialize, JsonSchema)]
struct RewoundTo {
    /// What was said there, to be said again or otherwise.
    text: String,
    /// Files that are as they were before.
    restored: Vec<String>,
    /// Files that others have changed since, which stay as they are.
    kept: Vec<String>,
}

async fn rewind(request: Request<Nothing, RewindBody>) -> Result<RewoundTo, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let files = match request.body.files {
        FilesChoice::Keep => RewindFiles::Keep,
        FilesChoice::Restore => RewindFiles::Restore,
    };
    let live = request.app.hub.open(&id).await?;
    let (point, rewind) = live.rewind(request.body.to, files).await?;
    let text = text_of(&point.content);
    Ok(RewoundTo { text, restored: rewind.restored, kept: rewind.kept })
}
