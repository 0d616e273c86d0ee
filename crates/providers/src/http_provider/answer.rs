//! One answer: asked for once, then read piece by piece.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use context_manager::{ModelError, ModelErrorKind, ModelEvent};
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use net::{Decoding, RequestBody, SLICE, SendError, innermost, spoken};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::ProviderState;
use crate::{ApiReader, SseDecoder, error_of};

/// The most of a refusal that is read.
const MAX_REFUSAL: usize = 64 * 1024;
/// How long the rest of a refusal is waited for; what it says so far is shown in any case.
const REFUSAL_WAIT: Duration = Duration::from_secs(5);
/// How long the end of a complete answer is waited for, so that its connection can be used again.
const DRAIN_WAIT: Duration = Duration::from_secs(2);
/// How much of that the caller waits for, so that its next request finds the connection free.
const SETTLE_WAIT: Duration = Duration::from_millis(50);

type Item = Result<ModelEvent, ModelError>;

/// An answer on its way. Dropping it, wherever it is, drops its connection.
pub(super) struct Answer {
    shared: Arc<ProviderState>,
    ready: VecDeque<Item>,
    phase: Phase,
}

enum Phase {
    Asking(RequestBody, Box<ApiReader>),
    Reading(Box<Reading>),
    /// The answer is complete; the connection is being made ready for the next request.
    Settling(JoinHandle<()>),
    Ended,
}

struct Reading {
    body: Incoming,
    decoding: Decoding,
    decoder: SseDecoder,
    reader: ApiReader,
    /// When the first piece has to be there; none once it is.
    first_byte: Option<Instant>,
}

impl Answer {
    pub(super) fn new(shared: Arc<ProviderState>, body: RequestBody, reader: ApiReader) -> Self {
        let phase = Phase::Asking(body, Box::new(reader));
        Self { shared, ready: VecDeque::new(), phase }
    }

    /// The next event; none after the end.
    pub(super) async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::Ended => return None,
                Phase::Settling(drained) => {
                    let _ = timeout(SETTLE_WAIT, drained).await;
                }
                Phase::Asking(body, reader) => match self.ask(body, *reader).await {
                    Ok(reading) => self.phase = Phase::Reading(Box::new(reading)),
                    Err(error) => self.fail(error),
                },
                Phase::Reading(reading) => self.read(reading).await,
            }
        }
    }

    async fn ask(&self, body: RequestBody, reader: ApiReader) -> Result<Reading, ModelError> {
        let limit = self.shared.config.timeouts.first_byte;
        let deadline = Instant::now() + limit;
        let sending = self.shared.transport.send(self.shared.request(body));
        let sent = timeout_at(deadline, sending).await.map_err(|_| silent_before(limit))?;
        let response = sent.map_err(|error| self.shared.unreachable(error))?;
        let encoding = header(&response, CONTENT_ENCODING.as_str());
        let decoding = Decoding::of(encoding).ok_or_else(|| unknown_encoding(encoding))?;
        if !response.status().is_success() || !may_be_stream(&response) {
            return Err(refusal(response, decoding).await);
        }
        Ok(Reading {
            body: response.into_body(),
            decoding,
            decoder: SseDecoder::new(),
            reader,
            first_byte: Some(deadline),
        })
    }

    async fn read(&mut self, mut reading: Box<Reading>) {
        let timeouts = self.shared.config.timeouts;
        let frame = match reading.first_byte {
            Some(deadline) => timeout_at(deadline, reading.body.frame()).await,
            None => timeout(timeouts.between_bytes, reading.body.frame()).await,
        };
        let items = match frame {
            Err(_) if reading.first_byte.is_some() => {
                return self.fail(silent_before(timeouts.first_byte));
            }
            Err(_) => {
                let silence = spoken(timeouts.between_bytes);
                let message =
                    format!("the provider sent nothing for {silence} in the middle of the answer");
                vec![Err(ModelError::new(ModelErrorKind::Connection, message))]
            }
            Ok(None) => reading.reader.finish(),
            Ok(Some(Err(error))) => {
                let why = innermost(&error);
                let message = format!("the connection broke in the middle of the answer ({why})");
                vec![Err(ModelError::new(ModelErrorKind::Cut, message))]
            }
            Ok(Some(Ok(frame))) => {
                let bytes = frame.into_data().unwrap_or_default();
                if !bytes.is_empty() {
                    reading.first_byte = None;
                }
                reading.events(&bytes)
            }
        };
        self.pass_on(items, reading);
    }

    fn pass_on(&mut self, items: Vec<Item>, reading: Box<Reading>) {
        for item in items {
            match item {
                Ok(event) => self.ready.push_back(Ok(event)),
                Err(error) => return self.fail(error),
            }
        }
        self.phase = if reading.reader.is_ended() {
            // A task of its own: callers that stop listening here keep the connection, too.
            Phase::Settling(tokio::spawn(drain(reading.body)))
        } else {
            Phase::Reading(reading)
        };
    }

    /// Nothing follows an error.
    fn fail(&mut self, error: ModelError) {
        self.ready.push_back(Err(self.shared.told(error)));
        self.phase = Phase::Ended;
    }
}

impl Reading {
    fn events(&mut self, bytes: &[u8]) -> Vec<Item> {
        let mut items = Vec::new();
        for slice in bytes.chunks(SLICE) {
            let events = match self.decoding.decode(slice) {
                Ok(text) => self.decoder.push(&text),
                Err(error) => vec![Err(unreadable(&error))],
            };
            for event in events {
                match event {
                    Ok(event) => items.extend(self.reader.push(event)),
                    Err(error) => items.push(Err(error)),
                }
            }
            if items.last().is_some_and(Result::is_err) || self.reader.is_ended() {
                break;
            }
        }
        items
    }
}

fn unknown_encoding(encoding: &str) -> ModelError {
    let message = format!(
        "the provider sent its answer in the encoding `{encoding}`, which was not asked for; only gzip \
         and deflate are understood"
    );
    ModelError::new(ModelErrorKind::Malformed, message)
}

fn unreadable(error: &std::io::Error) -> ModelError {
    let message = format!("the answer is compressed, and cannot be read: {error}");
    ModelError::new(ModelErrorKind::Malformed, message)
}

/// Reads what little follows a complete answer. A connection with something unread is closed.
async fn drain(mut body: Incoming) {
    let rest = async { while body.frame().await.is_some_and(|frame| frame.is_ok()) {} };
    // If it takes too long, the connection is given up.
    let _ = timeout(DRAIN_WAIT, rest).await;
}

fn silent_before(limit: Duration) -> ModelError {
    let limit = spoken(limit);
    let message = format!("the provider did not answer within {limit}; it may be overloaded");
    ModelError::new(ModelErrorKind::Connection, message)
}

/// Servers are careless about the type of a stream, but these are never one.
fn may_be_stream(response: &Response<Incoming>) -> bool {
    let kind = header(response, CONTENT_TYPE.as_str());
    !["text/html", "application/json"].iter().any(|other| kind.starts_with(other))
}

fn header<'a>(response: &'a Response<Incoming>, name: &str) -> &'a str {
    response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// What a server says instead of an answer.
async fn refusal(response: Response<Incoming>, decoding: Decoding) -> ModelError {
    let status = response.status();
    let headers: Vec<(String, String)> = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let kind = header(&response, CONTENT_TYPE.as_str()).to_owned();
    let id = ["request-id", "x-request-id"].map(|name| header(&response, name).to_owned());
    let body = beginning(response.into_body(), decoding).await;
    let says_error = serde_json::from_slice::<serde_json::Value>(&body)
        .is_ok_and(|body| body.get("error").is_some());
    let mut error = match status.is_success() && !says_error {
        true => ModelError::new(
            ModelErrorKind::Malformed,
            format!("the provider answered with `{kind}` instead of a stream of events"),
        ),
        false => error_of(status.as_u16(), &headers, &body),
    };
    if let Some(id) = id.iter().find(|id| !id.is_empty()) {
        error.message = format!("{} (request {id})", error.message);
    }
    error
}

/// As much of a body as is worth reading.
async fn beginning(mut body: Incoming, mut decoding: Decoding) -> Vec<u8> {
    let mut bytes = Vec::new();
    let reading = async {
        while let Some(Ok(frame)) = body.frame().await {
            for slice in frame.into_data().unwrap_or_default().chunks(SLICE) {
                let Ok(text) = decoding.decode(slice) else { return };
                bytes.extend_from_slice(&text);
                if bytes.len() >= MAX_REFUSAL {
                    return;
                }
            }
        }
    };
    let _ = timeout(REFUSAL_WAIT, reading).await;
    bytes.truncate(MAX_REFUSAL);
    bytes
}

impl ProviderState {
    /// An error as the user sees it: which provider, what went wrong, and what to do.
    fn told(&self, mut error: ModelError) -> ModelError {
        let name = &self.config.name;
        // Most messages have the provider as their subject.
        let message = match error.message.strip_prefix("the provider ") {
            Some(rest) => format!("{name} {rest}"),
            None => format!("{name}: {}", error.message),
        };
        let message = match self.advice(error.kind) {
            Some(advice) => format!("{message}; {advice}"),
            None => message,
        };
        error.message = match &self.config.key {
            Some(key) => key.hide_in(&message),
            None => message,
        };
        error
    }

    fn advice(&self, kind: ModelErrorKind) -> Option<String> {
        let config = &self.config;
        Some(match kind {
            ModelErrorKind::Unauthorized => match (&config.key, &config.key_source) {
                (Some(_), Some(source)) => format!("check the key in {source} and its account"),
                (Some(_), None) => "check the key and its account".to_owned(),
                (None, Some(source)) => format!("put a key into {source}"),
                (None, None) => "it needs a key".to_owned(),
            },
            ModelErrorKind::UnknownModel => "choose another model, or check the address".to_owned(),
            ModelErrorKind::Malformed => {
                format!("check that {} speaks {}", config.base_url, config.api.title())
            }
            _ => return None,
        })
    }

    fn unreachable(&self, error: SendError) -> ModelError {
        let SendError { why, may_pass, .. } = error;
        let is_local = matches!(self.url.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
        let message = match is_local {
            true => format!("{why}; check that a server is running there"),
            false => format!("{why}; check the address and the network"),
        };
        ModelError {
            should_retry: (!may_pass).then_some(false),
            may_be_charged: false,
            ..ModelError::new(ModelErrorKind::Connection, message)
        }
    }
}
