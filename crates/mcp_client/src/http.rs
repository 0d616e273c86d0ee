//! A server that is reached over HTTP: each message is a request of its own, and what comes back is one
//! message or a stream of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use net::{Network, Transport};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::event_stream::EventSplitter;
use crate::handshake::MODERN;
use crate::lines::{Line, MAX_LINE};
use crate::locked::locked;
use crate::param_headers::{self, ParamHeader};
use crate::peer::Peer;
use crate::wire::{NotSent, Wire};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// Requests that are under way; more are not sent.
const MOST_REQUESTS: usize = 64;
/// Bytes of what a server says about a failure.
const MAX_REFUSAL: usize = 2000;
/// The connection broke or the server refused. Chosen outside of what the protocol reserves.
const HTTP_FAILED: i64 = -31000;

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct ServerAddress {
    /// Its address.
    pub url: String,
    /// The token that it is shown, if it wants one.
    pub token: Option<String>,
    /// How the network is reached.
    pub network: Network,
}

/// Requests to one address.
struct HttpWire {
    runtime: Handle,
    shared: Arc<SharedHttp>,
}

struct SharedHttp {
    transport: Transport<Full<Bytes>>,
    uri: Uri,
    token: Option<HeaderValue>,
    peer: Weak<Peer>,
    talk: Mutex<Talk>,
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
    /// Hears what a server of the legacy era says by itself.
    listening: Option<AbortHandle>,
    /// Arguments of tools that travel in the head too, by tool.
    param_headers: BTreeMap<String, Vec<ParamHeader>>,
}

impl Wire for HttpWire {
    fn send(&self, message: &Value) -> Result<(), NotSent> {
        let body = serde_json::to_vec(message).map_err(|_| NotSent)?;
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
            return Err(NotSent);
        }
        let headers = self.shared.headers(message, &talk);
        let shared = Arc::clone(&self.shared);
        let is_greeting = message["method"] == "initialize";
        if message["method"] == "notifications/initialized" {
            let (shared, headers) = (Arc::clone(&self.shared), headers.clone());
            let listening = self.runtime.spawn(async move { shared.listen(headers).await });
            talk.listening = Some(listening.abort_handle());
        }
        let task = self.runtime.spawn(async move {
            let done = shared.exchange(body, headers, is_greeting).await;
            let mut talk = locked(&shared.talk);
            match id {
                Some(id) => _ = talk.under_way.remove(&id),
                None => talk.others -= 1,
            }
            drop(talk);
            if let (Err(why), Some(id), Some(peer)) = (done, id, shared.peer.upgrade()) {
                // If the answer came before, this one has no request to go to.
                let error = json!({"code": HTTP_FAILED, "message": why});
                peer.take_message(json!({"id": id, "error": error}));
            }
        });
        match id {
            Some(id) => _ = talk.under_way.insert(id, task.abort_handle()),
            None => talk.others += 1,
        }
        Ok(())
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
        headers.extend(self.token.clone().map(|token| (AUTHORIZATION, token)));
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

    /// Takes what a server of the legacy era sends outside of answers, if it offers that.
    async fn listen(&self, mut headers: HeaderMap) {
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        if let Ok(response) = self.transport.send(request).await
            && response.status().is_success()
        {
            // It ends when the server wants; calls do not depend on it.
            let _ = self.streamed(response, false).await;
        }
    }

    /// Sends one message and takes what comes back.
    async fn exchange(
        &self,
        body: Vec<u8>,
        headers: HeaderMap,
        is_greeting: bool,
    ) -> Result<(), String> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = headers;
        let response = self.transport.send(request).await.map_err(|error| error.why)?;
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
            return self.streamed(response, is_greeting).await;
        }
        let bytes = whole(response).await?;
        // A refusal can hold a message that says why.
        if let Ok(message) = serde_json::from_slice::<Value>(&bytes)
            && message.get("jsonrpc").is_some()
            && message.get("id").is_some_and(Value::is_number)
        {
            self.take(message, is_greeting);
            return Ok(());
        }
        if status.is_success() {
            return Err("it answers with something that is not a message".to_owned());
        }
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_REFUSAL)]).into_owned();
        let hint = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                "; name the variable with its token as `token_env`"
            }
            _ => "",
        };
        Err(format!("it refuses with the status {status}{hint}: {}", protocol::visible(&text)))
    }

    async fn streamed(
        &self,
        response: Response<Incoming>,
        is_greeting: bool,
    ) -> Result<(), String> {
        let mut events = EventSplitter::new(MAX_LINE);
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| format!("its answer broke off: {error}"))?;
            let Some(bytes) = frame.data_ref() else { continue };
            let mut taken = Vec::new();
            events.feed(bytes, |line| match line {
                Line::Whole(data) => taken.push(serde_json::from_slice::<Value>(data).ok()),
                Line::TooLong => {
                    if let Some(peer) = self.peer.upgrade() {
                        peer.take(Line::TooLong);
                    }
                }
            });
            for message in taken.into_iter().flatten() {
                self.take(message, is_greeting);
            }
        }
        Err("its answer ended before the result".to_owned())
    }

    fn take(&self, message: Value, is_greeting: bool) {
        if is_greeting && let Some(version) = message["result"]["protocolVersion"].as_str() {
            locked(&self.talk).version = Some(header_text(version));
        }
        for tool in message["result"]["tools"].as_array().into_iter().flatten() {
            if let (Some(name), Ok(designated)) =
                (tool["name"].as_str(), param_headers::of_schema(&tool["inputSchema"]))
                && !designated.is_empty()
            {
                locked(&self.talk).param_headers.insert(name.to_owned(), designated);
            }
        }
        if let Some(peer) = self.peer.upgrade() {
            peer.take_message(message);
        }
    }
}

/// The body of an answer, which is not larger than a message may be.
async fn whole(response: Response<Incoming>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("its answer broke off: {error}"))?;
        let Some(piece) = frame.data_ref() else { continue };
        if bytes.len() + piece.len() > MAX_LINE {
            return Err("its answer is too large to be read".to_owned());
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

/// Makes ready what reaches the server; nothing is opened before the first message.
pub(crate) fn start(address: ServerAddress, peer: &Arc<Peer>) -> Result<(), String> {
    let runtime = Handle::try_current().map_err(|error| error.to_string())?;
    let uri: Uri = address.url.parse().map_err(|error| format!("its `url` is invalid: {error}"))?;
    let transport = Transport::to_server(&address.network, &uri, CONNECT);
    let transport = transport.map_err(|error| error.to_string())?;
    let token = match &address.token {
        None => None,
        Some(token) => {
            let value = HeaderValue::from_str(&format!("Bearer {token}"));
            let mut value = value.map_err(|_| "its token cannot be sent in a header".to_owned())?;
            value.set_sensitive(true);
            Some(value)
        }
    };
    let (peer_of, talk) = (Arc::downgrade(peer), Mutex::default());
    let shared = Arc::new(SharedHttp { transport, uri, token, peer: peer_of, talk });
    peer.connect(Box::new(HttpWire { runtime, shared }));
    Ok(())
}
