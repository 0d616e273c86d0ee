//! Talking in a session: messages, the queue, interrupting, going on, going back.

use axum::http::{HeaderMap, Method};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use protocol::{Content, ContentHash, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session::{Attached, RewindFiles, with_files};
use store::SessionId;
use team::SessionAct;

use super::SessionBrief;
use super::colours::blocking;
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::{Need, Refusal};
use crate::hub::{QueuedText, RequestKey, Sent, text_of};
use crate::route::{Nothing, Request, Route, RouteAnswer};
use crate::view::ProjectView;

/// Bytes of a message, in which users paste whole files and images in Base64.
const MESSAGE_BODY: usize = 48 * 1024 * 1024;
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
        Route::raw(
            Method::GET,
            "/api/sessions/{session}/images/{hash}",
            Need::Login,
            "The bytes of an image of the session: PNG, JPEG, GIF or WebP.",
            "image/*",
            image,
        ),
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
    /// Texts that go with it, such as files of the user's computer.
    #[serde(default)]
    texts: Vec<TextBody>,
    /// Images that go with it: PNG, JPEG, GIF or WebP. Large ones are scaled down.
    #[serde(default)]
    images: Vec<ImageBody>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TextBody {
    /// What it is called, such as the name of its file.
    name: String,
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ImageBody {
    /// What it is called, such as the name of its file.
    name: Option<String>,
    /// Its bytes in Base64.
    data: String,
}

impl ImageBody {
    fn decoded(self, number: usize) -> Result<(String, Vec<u8>), ApiError> {
        let name = self.name.map(|name| visible(&name)).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| format!("image {number}"));
        match STANDARD.decode(&self.data) {
            Ok(bytes) => Ok((name, bytes)),
            Err(_) => Err(ApiError::invalid(format!("{name} is not valid Base64"))),
        }
    }
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
    let MessageBody { text, files, texts, images } = request.body;
    let is_bare = files.is_empty() && texts.is_empty() && images.is_empty();
    if text.trim().is_empty() && is_bare {
        return Err(ApiError::invalid("the message is empty"));
    }
    if files.len() + texts.len() > MAX_FILES {
        return Err(ApiError::invalid(format!("a message attaches at most {MAX_FILES} files")));
    }
    let session = request.hub.session(&id, SessionAct::Write).await?;
    let (content, notes) = if is_bare {
        (vec![Content::Text { text: text.into() }], Vec::new())
    } else {
        let (executor, options) = session.reading().await?;
        let mut attached = with_files(&executor, text, &files).await;
        texts.iter().for_each(|text| attached.add_text(&text.name, &text.text));
        let attached = with_images(&session.project(), attached, images).await?;
        let notes = attached.told(&options);
        (attached.content, notes)
    };
    let key = request_key(&request.headers)?;
    let (sequence, queued) = match session.send(content, key).await? {
        Sent::Written(sequence) => (Some(sequence), None),
        Sent::Queued(name) => (None, Some(name)),
    };
    Ok(SentMessage { sequence, queued, notes })
}

/// The header that tells a request from its repetition.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Bytes of such a key.
const MAX_KEY: usize = 255;

/// What tells a request from its repetition, if the client says it.
fn request_key(headers: &HeaderMap) -> Result<RequestKey, ApiError> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(RequestKey::New) };
    match key.to_str() {
        Ok(key) if (1..=MAX_KEY).contains(&key.len()) => Ok(RequestKey::Named(key.to_owned())),
        _ => Err(ApiError::invalid(format!(
            "an Idempotency-Key has 1 to {MAX_KEY} visible ASCII characters"
        ))),
    }
}

/// The message with images, which are looked at and scaled where that holds up nothing else.
async fn with_images(
    project: &ProjectView,
    mut attached: Attached,
    images: Vec<ImageBody>,
) -> Result<Attached, ApiError> {
    let numbered = images.into_iter().enumerate();
    let images: Result<Vec<_>, _> = numbered.map(|(at, image)| image.decoded(at + 1)).collect();
    let (images, limits) = (images?, project.limits().clone());
    blocking(move || {
        attached.add_images(&images, &limits)?;
        Ok(attached)
    })
    .await?
}

async fn image(request: Request<Nothing, Nothing>) -> Result<RouteAnswer, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let hash: ContentHash = request.parsed("hash")?;
    let feed = request.hub.session(&id, SessionAct::Read).await?.feed();
    feed.load().await?;
    let image = feed.with(|feed| feed.timeline().image(hash).cloned());
    let bytes = image.as_ref().and_then(|image| STANDARD.decode(image.base64()?).ok());
    match image.zip(bytes) {
        // One of four types, which the bytes were found to have when the image came.
        Some((image, bytes)) => Ok(RouteAnswer::text(image.format.media_type(), bytes)),
        None => Err(ApiError::not_found(format!("the session has no image `{hash}`"))),
    }
}

/// Messages that wait.
#[derive(Debug, Serialize, JsonSchema)]
struct MessageQueue {
    messages: Vec<QueuedText>,
}

async fn queue(request: Request<Nothing, Nothing>) -> Result<MessageQueue, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let session = request.hub.session(&id, SessionAct::Read).await?;
    Ok(MessageQueue { messages: session.queue() })
}

async fn withdraw(request: Request<Nothing, Nothing>) -> Result<QueuedText, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let name: u64 = request.parsed("message")?;
    let session = request.hub.session(&id, SessionAct::Write).await?;
    Ok(QueuedText { id: name, text: session.withdraw(name).await? })
}

/// Whether a turn ran.
#[derive(Debug, Serialize, JsonSchema)]
struct Interrupted {
    interrupted: bool,
}

async fn interrupt(request: Request<Nothing, Nothing>) -> Result<Interrupted, ApiError> {
    let id: SessionId = request.parsed("session")?;
    // An admin ends what must be ended.
    let session = request.hub.session(&id, SessionAct::Manage).await?;
    Ok(Interrupted { interrupted: session.interrupt().await? })
}

async fn go_on(request: Request<Nothing, Nothing>) -> Result<SessionBrief, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let session = request.hub.session(&id, SessionAct::Write).await?;
    session.go_on().await?;
    session.brief().await
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FilesChoice {
    /// They stay as they are.
    #[default]
    Keep,
    /// What the session has changed since the message is undone. Needs the scope `tools` too.
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
        // It takes changes back, as undo does.
        FilesChoice::Restore if !request.may(AccessScope::Tools) => {
            return Err(Refusal::Scope.into());
        }
        // No other user is asked.
        FilesChoice::Restore if request.hub.needs_two_users() => {
            let message =
                "approvals need two users: keep the files, and have `undo` take changes back";
            return Err(ApiError::forbidden(message));
        }
        FilesChoice::Restore => RewindFiles::Restore,
    };
    let session = request.hub.session(&id, SessionAct::Write).await?;
    let (point, rewind) = session.rewind(request.body.to, files).await?;
    let text = text_of(&point.content);
    Ok(RewoundTo { text, restored: rewind.restored, kept: rewind.kept })
}
