//! The same server over HTTP: one message a request, answered as JSON or as a stream of events.
//!
//! rmcp knows the rules of both eras: sessions of the handshake, headers of the stateless requests. Here is
//! what it leaves open: strict JSON, how many requests and sessions there are, whose session it is, and
//! a sign of life while an answer takes long. Host, Origin and token are judged before, by the service that
//! this is mounted in.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{
    SessionManager as _, StreamableHttpServerConfig, StreamableHttpService,
};
use rmcp::{ErrorData, ServerHandler};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backlog::{MAX_RUNNING, MAX_WAITING};
use crate::handler::McpHandler;
use crate::http_client::HttpClient;
use crate::message::{self, LineContent};
use crate::serve::ServerParts;
use crate::slow_answer;

/// Requests that are worked on at once, of all clients together. More than on standard streams, since those
/// that wait for the user on the page are among them.
const MAX_RUNNING_HTTP: usize = 2 * MAX_RUNNING;
/// Stateless requests that wait for news. They are open for as long as their client is, so that they must not
/// take the room of requests that do something.
const MAX_LISTENING: usize = 64;
/// Sessions of the handshake era; the one that was not used for the longest time makes room.
const MAX_SESSIONS: usize = 256;
/// A session in which nothing was said for so long is over. Hosts stay open for a day.
const SESSION_TIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of a message, which may hold whole files.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

pub(crate) const SESSION_HEADER: &str = "mcp-session-id";
/// Headers that say what the message says too. Two values would be read differently by different programs.
const SINGLE_HEADERS: [&str; 5] =
    [SESSION_HEADER, "mcp-protocol-version", "mcp-method", "mcp-name", "last-event-id"];
const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

/// Answers a request by the rules of rmcp. Behind a pointer, so that the server is compiled where its handler is
/// known and not again where it is used.
type Handle =
    dyn Fn(Request<Full<Bytes>>) -> BoxFuture<'static, Response<AnswerBody>> + Send + Sync;

/// The server at one address.
pub struct HttpEndpoint {
    handle: Box<Handle>,
    sessions: Arc<LocalSessionManager>,
    owners: Mutex<HashMap<SessionId, SessionOwner>>,
    running: Arc<Semaphore>,
    listening: Arc<Semaphore>,
    waiting: Semaphore,
}

/// What a session may be used for, and when it was.
struct SessionOwner {
    client: HttpClient,
    used: Instant,
}

impl HttpEndpoint {
    /// A server that ends its streams when `closing` fires.
    pub fn new(parts: ServerParts, closing: &CancellationToken) -> Self {
        Self::of(McpHandler::new(parts), closing)
    }

    /// The same for a handler that answers more than a project's own, such as one for tests.
    pub fn of<H: ServerHandler>(handler: H, closing: &CancellationToken) -> Self {
        let handler = Arc::new(handler);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_TIME);
        // An event without data at the beginning of a stream would help a client to come back to it; many
        // clients take it for a broken message.
        sessions.session_config.sse_retry = None;
        let sessions = Arc::new(sessions);
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_sse_retry(None)
            .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
            .with_cancellation_token(closing.child_token())
            // The guard of the service has looked at both, with the names and ports that it really has.
            .disable_allowed_hosts()
            .disable_allowed_origins();
        let service = StreamableHttpService::new(
            move || Ok(Arc::clone(&handler)),
            Arc::clone(&sessions),
            config,
        );
        let handle = move |request| {
            let service = service.clone();
            let answering = Box::pin(async move { service.handle(request).await });
            slow_answer::of(answering).boxed()
        };
        Self {
            handle: Box::new(handle),
            sessions,
            owners: Mutex::default(),
            running: Arc::new(Semaphore::new(MAX_RUNNING_HTTP)),
            listening: Arc::new(Semaphore::new(MAX_LISTENING)),
            waiting: Semaphore::new(MAX_WAITING),
        }
    }

    /// Answers a request that the guard has let in.
    pub fn answer(
        &self,
        parts: Parts,
        body: Bytes,
        client: HttpClient,
    ) -> BoxFuture<'_, Response<AnswerBody>> {
        self.answer_to(parts, body, client).boxed()
    }

    async fn answer_to(
        &self,
        mut parts: Parts,
        body: Bytes,
        client: HttpClient,
    ) -> Response<AnswerBody> {
        if let Some(name) = doubled(&parts.headers) {
            let message = format!("the header {name} occurs twice");
            let error = ErrorData::new(ErrorCode::HEADER_MISMATCH, message, None);
            return refusal(StatusCode::BAD_REQUEST, error, None);
        }
        if !self.owns_session(&parts.headers, client) {
            let error = ErrorData::invalid_request("there is no such session", None);
            return refusal(StatusCode::NOT_FOUND, error, None);
        }
        parts.extensions.insert(client);
        match parts.method {
            Method::POST => self.post(parts, &body, client).await,
            Method::GET => self.handle(parts, Bytes::new()).await,
            Method::DELETE => {
                let mut response = self.handle(parts, Bytes::new()).await;
                // "Accepted" is taken for a failure by clients: the session has ended, not will end.
                if response.status() == StatusCode::ACCEPTED {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                }
                response
            }
            _ => {
                let error = ErrorData::invalid_request("this method is not served here", None);
                let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, error, None);
                let allowed = HeaderValue::from_static("GET, POST, DELETE");
                response.headers_mut().insert(ALLOW, allowed);
                response
            }
        }
    }

    async fn post(
        &self,
        mut parts: Parts,
        body: &[u8],
        client: HttpClient,
    ) -> Response<AnswerBody> {
        let message = match read(body) {
            Ok(message) => message,
            Err(reply) => return told(StatusCode::BAD_REQUEST, &reply),
        };
        let id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        if id.is_some() {
            let room = match listens(&message) {
                true => Arc::clone(&self.listening).try_acquire_owned().ok(),
                false => self.room().await,
            };
            let Some(permit) = room else {
                let id = id.unwrap_or(RequestId::Number(0));
                return told(StatusCode::SERVICE_UNAVAILABLE, &message::too_many(id));
            };
            // It goes with the request, so it is given back when the request is done, also if its answer
            // is never read.
            parts.extensions.insert(Arc::new(permit));
        }
        let opens_session = opens_session(&message);
        if opens_session {
            self.make_room_for_session().await;
        }
        let body = match serde_json::to_vec(&message) {
            Ok(body) => body.into(),
            Err(error) => {
                let error = ErrorData::internal_error(error.to_string(), None);
                return refusal(StatusCode::INTERNAL_SERVER_ERROR, error, id);
            }
        };
        let response = self.handle(parts, body).await;
        if opens_session {
            self.note_session(response.headers(), client);
        }
        response
    }

    /// Room for one more request; none if too many wait already.
    async fn room(&self) -> Option<tokio::sync::OwnedSemaphorePermit> {
        let _place = self.waiting.try_acquire().ok()?;
        Arc::clone(&self.running).acquire_owned().await.ok()
    }

    fn handle(&self, parts: Parts, body: Bytes) -> BoxFuture<'static, Response<AnswerBody>> {
        (self.handle)(Request::from_parts(parts, Full::new(body)))
    }

    /// Whether the session that a request names, if any, was opened by a client that may do the same. One
    /// that may only ask cannot answer what another was asked.
    fn owns_session(&self, headers: &HeaderMap, client: HttpClient) -> bool {
        let Some(named) = headers.get(SESSION_HEADER).and_then(|value| value.to_str().ok()) else {
            return true;
        };
        let mut owners = self.owners();
        match owners.get_mut(named) {
            Some(owner) if owner.client == client => {
                owner.used = Instant::now();
                true
            }
            Some(_) => false,
            // rmcp says that there is none, in the words of the era.
            None => true,
        }
    }

    fn note_session(&self, headers: &HeaderMap, client: HttpClient) {
        if let Some(id) = headers.get(SESSION_HEADER).and_then(|value| value.to_str().ok()) {
            self.owners().insert(id.into(), SessionOwner { client, used: Instant::now() });
        }
    }

    async fn make_room_for_session(&self) {
        let alive: Vec<SessionId> = self.sessions.sessions.read().await.keys().cloned().collect();
        let oldest = {
            let mut owners = self.owners();
            owners.retain(|id, _| alive.contains(id));
            let is_full = owners.len() >= MAX_SESSIONS;
            let oldest = owners.iter().min_by_key(|(_, owner)| owner.used);
            let oldest = oldest.filter(|_| is_full).map(|(id, _)| Arc::clone(id));
            if let Some(oldest) = &oldest {
                owners.remove(oldest);
            }
            oldest
        };
        if let Some(oldest) = oldest {
            // One that has ended by itself meanwhile needs no end.
            let _ = self.sessions.close_session(&oldest).await;
        }
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<SessionId, SessionOwner>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn doubled(headers: &HeaderMap) -> Option<&'static str> {
    SINGLE_HEADERS.into_iter().find(|name| headers.get_all(*name).iter().count() > 1)
}

fn opens_session(message: &ClientJsonRpcMessage) -> bool {
    use rmcp::model::ClientRequest::InitializeRequest;
    matches!(message, JsonRpcMessage::Request(it) if matches!(it.request, InitializeRequest(_)))
}

fn listens(message: &ClientJsonRpcMessage) -> bool {
    use rmcp::model::ClientRequest::SubscriptionsListenRequest as Listen;
    matches!(message, JsonRpcMessage::Request(it) if matches!(it.request, Listen(_)))
}

/// The message of a body, read as strictly as a line is.
fn read(body: &[u8]) -> Result<ClientJsonRpcMessage, Box<ServerJsonRpcMessage>> {
    let error = |error| Box::new(JsonRpcMessage::error(error, None));
    match message::read(body) {
        LineContent::Message(message) => Ok(*message),
        LineContent::Refused(reply) => Err(reply),
        LineContent::Batch(_) => {
            let why = "a request holds one message; batches are not taken";
            Err(error(ErrorData::invalid_request(why, None)))
        }
        LineContent::Nothing => {
            Err(error(ErrorData::parse_error("the body is not a JSON-RPC message", None)))
        }
    }
}

fn refusal(status: StatusCode, error: ErrorData, id: Option<RequestId>) -> Response<AnswerBody> {
    told(status, &JsonRpcMessage::error(error, id))
}

fn told(status: StatusCode, reply: &ServerJsonRpcMessage) -> Response<AnswerBody> {
    let body = Bytes::from(serde_json::to_vec(reply).unwrap_or_default());
    let mut response = Response::new(Full::new(body).boxed_unsync());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}
