//! A server that is reached over HTTP: each message is a request of its own, and what comes back is one
//! message or a stream of them.

mod listening;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
    WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use net::{Network, RequestBody, RequestHost, Transport};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::credentials::{HttpRefusal, NotAdmitted, ServerCredentials};
use crate::event_stream::{EventSplitter, StreamPlace};
use crate::handshake::MODERN;
use crate::lines::{Line, MAX_LINE};
use crate::locked::locked;
use crate::param_headers::{self, ParamHeader};
use crate::peer::Peer;
use crate::received::Received;
use crate::wire::{NotSent, SentAt, Wire};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Requests that are under way; more are not sent.
const MOST_REQUESTS: usize = 64;
/// Bytes of what a server says about a failure.
const MAX_REFUSAL: usize = 2000;
/// How long is waited before a stream that broke is taken up again, unless the server says otherwise, and at most.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often in a row a stream is taken up again that does not get any further.
const MOST_RESUMPTIONS: usize = 3;
/// The connection broke or the server refused. Chosen outside of what the protocol reserves.
const HTTP_FAILED: i64 = -31000;
/// The server answers only users who have logged in.
pub(crate) const NEEDS_LOGIN: i64 = -31001;
/// The server does not answer to us, and logging in would not help.
pub(crate) const NOT_ADMITTED: i64 = -31002;
/// What is said of an answer that is not read.
const TOO_LARGE: &str = "its answer is too large to be read";
/// How long a server may take for a message that it has no answer to.
const NOTICE_PATIENCE: Duration = Duration::from_secs(30);
/// The word with which a server says that a token is good, but not for this.
const INSUFFICIENT: &str = "insufficient_scope";

/// How a server is reached.
pub struct ServerAddress {
    /// Its address.
    pub url: String,
    /// What it is shown, if it wants to know who asks.
    pub credentials: Option<Box<dyn ServerCredentials>>,
    /// How the network is reached.
    pub network: Network,
}

/// Requests to one address.
struct HttpWire {
    runtime: Handle,
    shared: Arc<SharedHttp>,
}

struct SharedHttp {
    transport: Transport,
    uri: Uri,
    credentials: Option<Box<dyn ServerCredentials>>,
    peer: Weak<Peer>,
    talk: Mutex<Talk>,
}

/// Why nothing came back for a message.
enum NoAnswer {
    /// With the code of the error that stands for the answer.
    Failed { code: i64, why: String },
    /// A server of the legacy era does not know the session, and has not looked at the message.
    SessionOver,
}

impl From<String> for NoAnswer {
    fn from(why: String) -> Self {
        Self::Failed { code: HTTP_FAILED, why }
    }
}

impl From<NotAdmitted> for NoAnswer {
    fn from(error: NotAdmitted) -> Self {
        match error {
            NotAdmitted::NeedsLogin(why) => Self::Failed { code: NEEDS_LOGIN, why },
            NotAdmitted::Failed(why) => Self::Failed { code: NOT_ADMITTED, why },
        }
    }
}

/// What is known of the conversation so far.
#[derive(Default)]
struct Talk {
    /// As a server of the legacy era names it.
    session: Option<HeaderValue>,
    /// The revision that was agreed on in a handshake.
    version: Option<HeaderValue>,
    under_way: BTreeMap<u64, AbortHandle>,
    /// Messages that nothing comes back for.
    others: usize,
    /// Ends with the greeting of the legacy era, before which nothing is asked.
    greeting: Option<CancellationToken>,
    /// Hears what a server of the legacy era says by itself.
    listening: Option<AbortHandle>,
    /// Arguments of tools that travel in the head too, by tool.
    param_headers: BTreeMap<String, Vec<ParamHeader>>,
}

impl Wire for HttpWire {
    fn send(&self, message: &Value) -> Result<SentAt, NotSent> {
        let body = serde_json::to_vec(message).map_err(|_| NotSent::Gone)?;
        let is_request = message.get("method").is_some() && message.get("id").is_some();
        let id = message["id"].as_u64().filter(|_| is_request);
        let mut talk = locked(&self.shared.talk);
        if message["method"] == "notifications/cancelled" {
            // Its end is what the server notices in the modern era.
            let ended = message["params"]["requestId"].as_u64();
            let ended = ended.and_then(|id| talk.under_way.remove(&id));
            ended.into_iter().for_each(|task| task.abort());
        }
        if talk.under_way.len() + talk.others >= MOST_REQUESTS {
            return Err(NotSent::TooMany);
        }
        let headers = self.shared.headers(message, &talk);
        let shared = Arc::clone(&self.shared);
        let is_greeting = message["method"] == "initialize";
        let greeting = talk.greeting.clone().filter(|_| id.is_some());
        let told = (message["method"] == "notifications/initialized").then(|| {
            let (told, begun) = (CancellationToken::new(), CancellationToken::new());
            talk.greeting = Some(begun.clone());
            let (shared, headers, told_to) =
                (Arc::clone(&self.shared), headers.clone(), told.clone());
            let listening =
                async move { shared.listen(headers, told_to, begun.drop_guard()).await };
            talk.listening = Some(self.runtime.spawn(listening).abort_handle());
            told.drop_guard()
        });
        let task = self.runtime.spawn(async move {
            if let Some(greeting) = greeting {
                greeting.cancelled().await;
            }
            let exchange = shared.exchange(body, headers, is_greeting, id);
            let done = match id {
                Some(_) => exchange.await,
                // A request ends with the call that waits for its answer; no call waits for these.
                None => tokio::time::timeout(NOTICE_PATIENCE, exchange).await.unwrap_or(Ok(())),
            };
            drop(told);
            let mut talk = locked(&shared.talk);
            match id {
                Some(id) => _ = talk.under_way.remove(&id),
                None => talk.others -= 1,
            }
            drop(talk);
            match (done, id, shared.peer.upgrade()) {
                (Err(NoAnswer::SessionOver), Some(id), Some(peer)) => {
                    peer.forgotten(id, "the session is over");
                }
                (Err(NoAnswer::Failed { code, why }), Some(id), Some(peer)) => {
                    // If the answer came before, this one has no request to go to.
                    let error = json!({"code": code, "message": why});
                    peer.take_message(json!({"id": id, "error": error}));
                }
                _ => {}
            }
        });
        match id {
            Some(id) => _ = talk.under_way.insert(id, task.abort_handle()),
            None => talk.others += 1,
        }
        Ok(SentAt::default())
    }

    fn listed(&self, tools: &[Value]) {
        let headers = tools.iter().filter_map(|tool| {
            let designated = param_headers::of_schema(&tool["inputSchema"]).ok()?;
            let is_any = !designated.is_empty();
            is_any.then_some((tool["name"].as_str()?.to_owned(), designated))
        });
        locked(&self.shared.talk).param_headers = headers.collect();
    }

    fn stop(&self) {
        let mut talk = locked(&self.shared.talk);
        let listening = talk.listening.take();
        let under_way = std::mem::take(&mut talk.under_way).into_values();
        under_way.chain(listening).for_each(|task| task.abort());
    }
}

impl SharedHttp {
    fn headers(&self, message: &Value, talk: &Talk) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let agent = concat!("toolkiln/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        let params = &message["params"];
        let said = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let mut put = |name: &'static str, value: Option<&str>| {
            if let Some(value) = value.map(header_text) {
                headers.insert(name, value);
            }
        };
        if said.is_string() {
            put("mcp-protocol-version", Some(MODERN));
            put("mcp-method", message["method"].as_str());
            put("mcp-name", params["name"].as_str());
            let designated = params["name"].as_str().and_then(|tool| talk.param_headers.get(tool));
            for ParamHeader { argument, header } in designated.into_iter().flatten() {
                let name = HeaderName::try_from(format!("mcp-param-{header}"));
                let value = param_headers::text_of(params["arguments"].get(argument));
                if let (Ok(name), Some(value)) = (name, value) {
                    headers.insert(name, header_text(&value));
                }
            }
            return headers;
        }
        let known = [("mcp-session-id", &talk.session), ("mcp-protocol-version", &talk.version)];
        for (name, value) in known {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        headers
    }

    /// The header with which the server is asked.
    async fn shown(&self) -> Result<Option<HeaderValue>, NotAdmitted> {
        match &self.credentials {
            Some(credentials) => credentials.header().await,
            None => Ok(None),
        }
    }

    /// Takes a stream to its end, and takes it up again where the server offers that, as long as the answer has not
    /// come. Nothing is sent a second time.
    async fn followed(
        &self,
        response: Response<Incoming>,
        headers: &HeaderMap,
        is_greeting: bool,
        id: Option<u64>,
    ) -> NoAnswer {
        let mut place = StreamPlace::default();
        let mut why = self.streamed(response, is_greeting, &mut place).await;
        let is_open = || id.zip(self.peer.upgrade()).is_some_and(|(id, peer)| peer.waits_for(id));
        let (mut tried, mut last) = (0, None);
        // Requests of the modern era have no such places.
        while !headers.contains_key("mcp-method") && is_open() {
            let Some(event) = place.event.as_deref().and_then(|id| HeaderValue::from_str(id).ok())
            else {
                break;
            };
            tried = if last.as_ref() == Some(&event) { tried + 1 } else { 0 };
            if tried == MOST_RESUMPTIONS {
                break;
            }
            tokio::time::sleep(place.pause.unwrap_or(PAUSE).min(LONGEST_PAUSE)).await;
            let mut again = headers.clone();
            again.insert("last-event-id", event.clone());
            last = Some(event);
            why = match self.opened(again).await {
                Ok(response) => self.streamed(response, is_greeting, &mut place).await,
                Err(why) => format!("its answer broke off and cannot be taken up again: {why}"),
            };
        }
        why.into()
    }

    /// Sends one message and takes what comes back.
    async fn exchange(
        &self,
        body: Vec<u8>,
        headers: HeaderMap,
        is_greeting: bool,
        id: Option<u64>,
    ) -> Result<(), NoAnswer> {
        let body = Bytes::from(body);
        let shown = self.shown().await?;
        let response = self.posted(&body, &headers, shown.clone()).await?;
        let refused = self.credentials.as_deref().zip(refusal(&response, shown));
        let Some((credentials, refusal)) = refused else {
            return self.answered(response, &headers, is_greeting, id).await;
        };
        let status = refusal.status;
        let shown = credentials.refused(refusal).await?;
        // A message that was refused was not read, so it can be sent again.
        let response = self.posted(&body, &headers, Some(shown)).await?;
        if response.status() == status && status == StatusCode::UNAUTHORIZED {
            let why = "it refuses the login that it was shown";
            return Err(NotAdmitted::NeedsLogin(why.to_owned()).into());
        }
        self.answered(response, &headers, is_greeting, id).await
    }

    async fn posted(
        &self,
        body: &Bytes,
        headers: &HeaderMap,
        shown: Option<HeaderValue>,
    ) -> Result<Response<Incoming>, String> {
        let mut request = Request::new(RequestBody::from(body.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers.clone();
        request.headers_mut().extend(shown.map(|shown| (AUTHORIZATION, shown)));
        self.transport.send(request).await.map_err(|error| error.why)
    }

    /// Takes the answer to a message that was sent with these headers.
    async fn answered(
        &self,
        response: Response<Incoming>,
        headers: &HeaderMap,
        is_greeting: bool,
        id: Option<u64>,
    ) -> Result<(), NoAnswer> {
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).cloned();
        let kind = kind.as_ref().and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if is_greeting && status.is_success() {
            locked(&self.talk).session = response.headers().get("mcp-session-id").cloned();
        }
        if status == StatusCode::ACCEPTED || status == StatusCode::NO_CONTENT {
            return Ok(());
        }
        if kind.starts_with("text/event-stream") && status.is_success() {
            return Err(self.followed(response, headers, is_greeting, id).await);
        }
        if status == StatusCode::NOT_FOUND && headers.contains_key("mcp-session-id") {
            return Err(NoAnswer::SessionOver);
        }
        let bytes = whole(response).await?;
        match Received::from(Line::Whole(&bytes)) {
            // A refusal can hold a message that says why.
            Received::Message(message)
                if message.get("jsonrpc").is_some()
                    && message.get("id").is_some_and(Value::is_number) =>
            {
                self.take(Received::Message(message), is_greeting);
                return Ok(());
            }
            Received::TooLong => return Err(TOO_LARGE.to_owned().into()),
            _ => {}
        }
        if status.is_success() {
            return Err("it answers with something that is not a message".to_owned().into());
        }
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_REFUSAL)]).into_owned();
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "; name the variable with its token as `token_env`"
            }
            _ => "",
        };
        let text = protocol::visible(&text);
        Err(format!("it refuses with the status {status}{hint}: {text}").into())
    }

    /// Takes the messages of a stream; says how it ended, and notes where.
    async fn streamed(
        &self,
        response: Response<Incoming>,
        is_greeting: bool,
        place: &mut StreamPlace,
    ) -> String {
        let mut events = EventSplitter::new(MAX_LINE);
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let frame = match frame {
                Ok(frame) => frame,
                Err(error) => return format!("its answer broke off: {error}"),
            };
            let Some(bytes) = frame.data_ref() else { continue };
            events.feed(bytes, |line| self.take(line.into(), is_greeting));
            let StreamPlace { event, pause } = events.place().clone();
            place.event = event.or(place.event.take());
            place.pause = pause.or(place.pause);
        }
        "its answer ended before the result".to_owned()
    }

    fn take(&self, received: Received, is_greeting: bool) {
        if is_greeting
            && let Received::Message(message) = &received
            && let Some(version) = message["result"]["protocolVersion"].as_str()
        {
            locked(&self.talk).version = Some(header_text(version));
        }
        if let Some(peer) = self.peer.upgrade() {
            peer.take(received);
        }
    }
}

/// How a server refuses a request because of who asks; none if it does not.
fn refusal(response: &Response<Incoming>, shown: Option<HeaderValue>) -> Option<HttpRefusal> {
    let status = response.status();
    let said = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let challenges: Vec<String> =
        said.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
    let is_refused = status == StatusCode::UNAUTHORIZED
        || (status == StatusCode::FORBIDDEN
            && challenges.iter().any(|challenge| challenge.contains(INSUFFICIENT)));
    is_refused.then_some(HttpRefusal { status, challenges, shown })
}

/// The body of an answer, which is not larger than a message may be.
async fn whole(response: Response<Incoming>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("its answer broke off: {error}"))?;
        let Some(piece) = frame.data_ref() else { continue };
        if bytes.len() + piece.len() > MAX_LINE {
            return Err(TOO_LARGE.to_owned());
        }
        bytes.extend_from_slice(piece);
    }
    Ok(bytes)
}

/// A value for a header; what does not fit into one is written in Base64, as the protocol says.
fn header_text(value: &str) -> HeaderValue {
    use base64::Engine as _;
    let is_plain = !value.is_empty()
        && value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && value.trim() == value
        && !value.starts_with("=?base64?");
    let plain = HeaderValue::from_str(value).ok().filter(|_| is_plain);
    plain.unwrap_or_else(|| {
        let coded = base64::engine::general_purpose::STANDARD.encode(value);
        HeaderValue::from_str(&format!("=?base64?{coded}?="))
            .unwrap_or_else(|_| HeaderValue::from_static(""))
    })
}

/// Whether a host is this machine and nothing else.
pub(crate) fn is_loopback(host: &RequestHost) -> bool {
    match host {
        RequestHost::Name(name) => name == "localhost",
        RequestHost::Address(IpAddr::V4(address)) => address.is_loopback(),
        RequestHost::Address(IpAddr::V6(address)) => address.is_loopback(),
    }
}

/// The same without a proxy. What is for this machine, and not encrypted, is not for a proxy to read, which could
/// not reach this machine either.
pub(crate) fn direct(network: &Network) -> Network {
    Network { http_proxy: None, https_proxy: None, ..network.clone() }
}

/// Makes ready what reaches the server; nothing is opened before the first message.
pub(crate) fn start(address: ServerAddress, peer: &Arc<Peer>) -> Result<(), String> {
    let runtime = Handle::try_current().map_err(|error| error.to_string())?;
    let uri: Uri = address.url.parse().map_err(|error| format!("its `url` is invalid: {error}"))?;
    let host = uri.host().and_then(RequestHost::parse);
    let network = match host.is_some_and(|host| is_loopback(&host)) {
        true => direct(&address.network),
        false => address.network,
    };
    let transport = Transport::to_server(&network, &uri, CONNECT);
    let transport = transport.map_err(|error| error.to_string())?;
    let (peer_of, talk, credentials) =
        (Arc::downgrade(peer), Mutex::default(), address.credentials);
    let shared = Arc::new(SharedHttp { transport, uri, credentials, peer: peer_of, talk });
    peer.connect(Box::new(HttpWire { runtime, shared }));
    Ok(())
}
