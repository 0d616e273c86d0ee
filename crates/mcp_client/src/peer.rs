//! A running server as requests see it: which are open, and what comes back for each.
//!
//! Whatever the server sends, this holds no more than what is asked for: answers to nothing, second
//! answers, notifications and requests beyond a few are dropped.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::asking;
use crate::locked::locked;
use crate::received::Received;
use crate::wire::{NotSent, SentAt, Wire};

/// News of a request that wait to be looked at; more are dropped.
const WAITING_NEWS: usize = 16;
/// Bytes that are kept of what the server last wrote to its standard error.
const STDERR_BYTES: usize = 2048;
/// Characters of what a server says about its progress.
const PROGRESS_CHARS: usize = 500;
/// The method is not there.
const METHOD_NOT_FOUND: i64 = -32601;

/// One connection to a server.
pub(crate) struct Peer {
    wire: OnceLock<Box<dyn Wire>>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    last_id: u64,
    open: BTreeMap<u64, WaitingRequest>,
    /// Why there will be no more answers.
    end: Option<String>,
    stderr: VecDeque<u8>,
    /// The server says that its tools are others now.
    is_outdated: bool,
}

/// A request that waits for its answer.
struct WaitingRequest {
    reply: oneshot::Sender<Result<PeerReply, Lost>>,
    news: mpsc::Sender<News>,
    /// Whether the user can be asked for it.
    can_ask: bool,
    /// None while it is being sent.
    sent_at: Option<SentAt>,
}

/// What became of a request.
#[derive(Debug)]
pub(crate) enum PeerReply {
    Result(Value),
    Error { code: i64, message: String, data: Value },
    TooLong,
}

/// What a server sends about a request before its answer.
#[derive(Debug)]
pub(crate) enum News {
    Progress(Option<String>),
    /// It asks the user something, and waits for the answer under this id.
    Asks {
        id: Value,
        params: Value,
    },
}

/// Why a request has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It was never sent, or the server ended before it read any of it.
    Unsent(String),
    /// It was never sent, because too many others wait for the server.
    Busy,
    /// The server ended, or cannot be understood.
    Ended(String),
    /// The server answers only users who have logged in.
    NeedsLogin(String),
}

impl Peer {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { wire: OnceLock::new(), held: Mutex::default() })
    }

    /// Sets how the server is reached, once.
    pub(crate) fn connect(&self, wire: Box<dyn Wire>) {
        if let Err(second) = self.wire.set(wire) {
            second.stop();
        }
    }

    /// Opens a request. Dropping it before the answer withdraws it.
    pub(crate) fn request(
        self: &Arc<Self>,
        method: &str,
        params: impl FnOnce(u64) -> Value,
        can_ask: bool,
    ) -> Result<OpenRequest, Lost> {
        let ((answer, reply), (told, news)) = (oneshot::channel(), mpsc::channel(WAITING_NEWS));
        let id = {
            let mut held = locked(&self.held);
            if let Some(why) = &held.end {
                return Err(Lost::Unsent(why.clone()));
            }
            held.last_id += 1;
            let id = held.last_id;
            held.open
                .insert(id, WaitingRequest { reply: answer, news: told, can_ask, sent_at: None });
            id
        };
        let opened = OpenRequest { peer: Arc::clone(self), id, reply, news, is_done: false };
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params(id)});
        let sent = self.send(&message);
        let mut held = locked(&self.held);
        match sent {
            Ok(sent_at) => {
                // It may be answered already.
                let waiting = held.open.get_mut(&id).into_iter();
                waiting.for_each(|waiting| waiting.sent_at = Some(sent_at));
                drop(held);
                Ok(opened)
            }
            Err(why) => {
                held.open.remove(&id);
                drop(held);
                Err(match why {
                    NotSent::Gone => Lost::Unsent("it reads nothing any more".to_owned()),
                    NotSent::TooMany => Lost::Busy,
                })
            }
        }
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        _ = self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// These are the tools of the server, as it lists them.
    pub(crate) fn listed(&self, tools: &[Value]) {
        if let Some(wire) = self.wire.get() {
            wire.listed(tools);
        }
    }

    /// Answers a request of the server.
    pub(crate) fn respond(&self, id: &Value, result: Value) {
        _ = self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn send(&self, message: &Value) -> Result<SentAt, NotSent> {
        self.wire.get().ok_or(NotSent::Gone)?.send(message)
    }

    pub(crate) fn stop(&self) {
        if let Some(wire) = self.wire.get() {
            wire.stop();
        }
    }

    /// Why the server has ended, if it has.
    pub(crate) fn end(&self) -> Option<String> {
        locked(&self.held).end.clone()
    }

    /// Whether the server has said since the last look that its tools are others now.
    pub(crate) fn take_outdated(&self) -> bool {
        std::mem::take(&mut locked(&self.held).is_outdated)
    }

    /// The last lines of what the server wrote to its standard error.
    pub(crate) fn last_words(&self) -> String {
        let held = locked(&self.held);
        let bytes: Vec<u8> = held.stderr.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    pub(crate) fn note_stderr(&self, bytes: &[u8]) {
        let kept = &mut locked(&self.held).stderr;
        let last = &bytes[bytes.len().saturating_sub(STDERR_BYTES)..];
        let too_many = (kept.len() + last.len()).saturating_sub(STDERR_BYTES);
        kept.drain(..too_many);
        kept.extend(last);
    }

    /// Whether the answer to a request has not come yet.
    pub(crate) fn waits_for(&self, id: u64) -> bool {
        locked(&self.held).open.contains_key(&id)
    }

    /// The server does not know this conversation any more and has not done what was asked. It can be asked in
    /// another; what else is open may still be answered.
    pub(crate) fn forgotten(&self, id: u64, why: &str) {
        let mut held = locked(&self.held);
        held.end.get_or_insert_with(|| why.to_owned());
        let open = held.open.remove(&id);
        drop(held);
        if let Some(open) = open {
            let _ = open.reply.send(Err(Lost::Unsent(why.to_owned())));
        }
    }

    /// There will be no more answers; every open request ends. Those that the server cannot have read can be
    /// made again.
    pub(crate) fn ended(&self, why: String) {
        let mut held = locked(&self.held);
        let open = std::mem::take(&mut held.open);
        let why = held.end.get_or_insert(why).clone();
        drop(held);
        for open in open.into_values() {
            let wire = open.sent_at.zip(self.wire.get());
            let may_be_read = wire.is_none_or(|(at, wire)| wire.may_be_read(at));
            let lost = if may_be_read { Lost::Ended } else { Lost::Unsent };
            let _ = open.reply.send(Err(lost(why.clone())));
        }
    }

    /// Takes what the server sent. What is not a message is passed over.
    pub(crate) fn take(&self, received: Received) {
        match received {
            Received::Message(message) => self.take_message(message),
            Received::Nothing => {}
            Received::TooLong => {
                // Whose answer it was cannot be told.
                let open = std::mem::take(&mut locked(&self.held).open);
                open.into_values().for_each(|open| _ = open.reply.send(Ok(PeerReply::TooLong)));
            }
        }
    }

    pub(crate) fn take_message(&self, mut message: Value) {
        let Some(fields) = message.as_object_mut() else { return };
        let method = fields.get("method").and_then(Value::as_str).map(str::to_owned);
        let id = fields.get("id").filter(|id| id.is_u64() || id.is_i64() || id.is_string());
        let id = id.cloned();
        let mut part = |key: &str| fields.get_mut(key).map(Value::take).unwrap_or_default();
        match (method, id) {
            (Some(method), Some(id)) => self.take_request(&method, id, part("params")),
            (Some(method), None) => self.take_notification(&method, &part("params")),
            (None, Some(id)) => {
                let Some(id) = id.as_u64() else { return };
                let reply = match part("error") {
                    Value::Null => PeerReply::Result(part("result")),
                    error => PeerReply::Error {
                        code: error["code"].as_i64().unwrap_or_default(),
                        message: error["message"].as_str().unwrap_or_default().to_owned(),
                        data: error["data"].clone(),
                    },
                };
                // An answer to nothing, or a second one, has no request to go to.
                let open = locked(&self.held).open.remove(&id);
                if let Some(open) = open {
                    let _ = open.reply.send(Ok(reply));
                }
            }
            (None, None) => {}
        }
    }

    fn take_request(&self, method: &str, id: Value, params: Value) {
        match method {
            "ping" => self.respond(&id, json!({})),
            "elicitation/create" => {
                let asked = asking::fits(&params) && {
                    let held = locked(&self.held);
                    let mut open = held.open.values().rev();
                    let news = News::Asks { id: id.clone(), params };
                    let asking = open.find(|open| open.can_ask);
                    asking.is_some_and(|open| open.news.try_send(news).is_ok())
                };
                if !asked {
                    self.respond(&id, json!({"action": "decline"}));
                }
            }
            // What it may read and which model answers is not a server's business.
            _ => {
                let error = json!({"code": METHOD_NOT_FOUND, "message": "not offered"});
                _ = self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        }
    }

    fn take_notification(&self, method: &str, params: &Value) {
        match method {
            "notifications/progress" => {
                let Some(id) = params["progressToken"].as_u64() else { return };
                let news = News::Progress(progress_words(params));
                if let Some(open) = locked(&self.held).open.get(&id) {
                    let _ = open.news.try_send(news);
                }
            }
            "notifications/tools/list_changed" => locked(&self.held).is_outdated = true,
            _ => {}
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// `3 of 10: reading`, as far as it is told.
fn progress_words(params: &Value) -> Option<String> {
    let message = params["message"].as_str();
    let message = message.map(|words| words.chars().take(PROGRESS_CHARS).collect::<String>());
    let done = match (params["progress"].as_f64(), params["total"].as_f64()) {
        (Some(done), Some(total)) => Some(format!("{done} of {total}")),
        _ => None,
    };
    match (done, message) {
        (Some(done), Some(message)) => Some(format!("{done}: {message}")),
        (done, message) => done.or(message),
    }
}

/// A request that was sent.
pub(crate) struct OpenRequest {
    peer: Arc<Peer>,
    id: u64,
    reply: oneshot::Receiver<Result<PeerReply, Lost>>,
    news: mpsc::Receiver<News>,
    is_done: bool,
}

/// What is heard of a request next.
#[derive(Debug)]
pub(crate) enum Heard {
    Reply(PeerReply),
    News(News),
}

impl OpenRequest {
    /// Waits for the answer, or for news before it.
    pub(crate) async fn next(&mut self) -> Result<Heard, Lost> {
        tokio::select! {
            biased;
            Some(news) = self.news.recv() => Ok(Heard::News(news)),
            reply = &mut self.reply => {
                self.is_done = true;
                let ended = || self.peer.end().unwrap_or_else(|| "the connection ended".to_owned());
                reply.unwrap_or_else(|_| Err(Lost::Ended(ended()))).map(Heard::Reply)
            }
        }
    }

    /// Waits for the answer and for nothing else.
    pub(crate) async fn reply(mut self) -> Result<PeerReply, Lost> {
        loop {
            match self.next().await? {
                Heard::Reply(reply) => return Ok(reply),
                Heard::News(News::Progress(_)) => {}
                Heard::News(News::Asks { id, .. }) => {
                    self.peer.respond(&id, json!({"action": "decline"}));
                }
            }
        }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let was_open = locked(&self.peer.held).open.remove(&self.id).is_some();
        if was_open && !self.is_done {
            let params = json!({"requestId": self.id, "reason": "the call was withdrawn"});
            self.peer.notify("notifications/cancelled", params);
        }
    }
}

#[cfg(test)]
mod tests;
