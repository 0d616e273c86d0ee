//! A server that answers with JSON and with streams of events, over the same connections as providers.

use std::collections::VecDeque;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response};
use net::{Network, RequestBody, Transport, innermost};
use serde_json::Value;

use crate::{Secret, SseDecoder, SseEvent};

/// The longest answer that is not a stream, and the longest event of one: an entry of a log holds whole messages.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// A stream of events goes on for as long as the server does.
const ENDLESS: usize = usize::MAX;
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// A server and the token it wants.
#[derive(Clone, Debug)]
pub struct JsonServer {
    transport: Transport,
    base_url: String,
    token: Option<Secret>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JsonAnswer {
    /// The status of HTTP.
    pub status: u16,
    /// The body; null if it is not JSON.
    pub body: Value,
}

impl JsonAnswer {
    /// Whether the server did what it was asked for.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why there is no answer, as a part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoJsonAnswer(String);

impl JsonServer {
    /// The server at an address such as `http://127.0.0.1:4747`. Nothing is sent yet.
    pub fn new(base_url: &str, network: &Network) -> Result<Self, NoJsonAnswer> {
        let base_url = base_url.trim_end_matches('/').to_owned();
        let server = base_url.parse().map_err(|_| not_an_address(&base_url))?;
        let transport = Transport::to_server(network, &server, CONNECT);
        let transport = transport.map_err(|it| no_answer(it.to_string()))?;
        Ok(Self { transport, base_url, token: None })
    }

    /// The same, with a token in every request.
    #[must_use]
    pub fn with_token(self, token: Secret) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Asks for something.
    pub async fn get(&self, path: &str) -> Result<JsonAnswer, NoJsonAnswer> {
        answer(self.send(Method::GET, path, None).await?).await
    }

    /// Has something done.
    pub async fn post(&self, path: &str, body: &Value) -> Result<JsonAnswer, NoJsonAnswer> {
        answer(self.send(Method::POST, path, Some(body)).await?).await
    }

    /// Opens a stream of events; the answer if there is none.
    pub async fn events(&self, path: &str) -> Result<Result<JsonEvents, JsonAnswer>, NoJsonAnswer> {
        let response = self.send(Method::GET, path, None).await?;
        if !response.status().is_success() {
            return Ok(Err(answer(response).await?));
        }
        let decoder = SseDecoder::with_limits(MAX_ANSWER, ENDLESS);
        Ok(Ok(JsonEvents { body: response.into_body(), decoder, ready: VecDeque::new() }))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, NoJsonAnswer> {
        let mut sent = RequestBody::default();
        body.into_iter().for_each(|body| sent.push(body.to_string()));
        let mut request = Request::new(sent);
        *request.method_mut() = method;
        let address = format!("{}{path}", self.base_url);
        *request.uri_mut() = address.parse().map_err(|_| not_an_address(&address))?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(token) = &self.token {
            let value = HeaderValue::try_from(format!("Bearer {}", token.expose()));
            let mut value = value.map_err(|_| no_answer("the token cannot be sent".into()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.transport.send(request).await.map_err(|error| no_answer(error.why))
    }
}

async fn answer(response: Response<Incoming>) -> Result<JsonAnswer, NoJsonAnswer> {
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    let body = body.map_err(|error| no_answer(format!("the answer broke off ({error})")))?;
    Ok(JsonAnswer { status, body: serde_json::from_slice(&body.to_bytes()).unwrap_or_default() })
}

fn not_an_address(text: &str) -> NoJsonAnswer {
    no_answer(format!("`{text}` is not an address"))
}

fn no_answer(why: String) -> NoJsonAnswer {
    NoJsonAnswer(why)
}

/// Events as they come. Dropping this closes the connection.
#[derive(Debug)]
pub struct JsonEvents {
    body: Incoming,
    decoder: SseDecoder,
    ready: VecDeque<SseEvent>,
}

impl JsonEvents {
    /// The next event; none once the server has ended the stream. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, NoJsonAnswer> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|error| no_answer(innermost(&error)))?;
            let Some(bytes) = frame.data_ref() else { continue };
            for event in self.decoder.push(bytes) {
                self.ready.push_back(event.map_err(|error| no_answer(error.message))?);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// More than an event of a model's answer may have.
    const LONG: usize = 17 * 1024 * 1024;

    #[tokio::test]
    async fn an_event_may_hold_a_whole_message() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: ").await.unwrap();
            stream.write_all(&vec![b'x'; LONG]).await.unwrap();
            stream.write_all(b"\n\n").await.unwrap();
        });
        let server = JsonServer::new(&address, &Network::default()).unwrap();
        let mut events = server.events("/").await.unwrap().unwrap();
        assert_eq!(events.next().await.unwrap().unwrap().data.len(), LONG);
        assert_eq!(events.next().await.unwrap(), None);
        serving.await.unwrap();
    }
}
