//! The connection to an editor: messages are taken one after the other, and sent in the order in which they are said.
//!
//! Whatever the editor does, what is held for it is bounded: one message of its own, requests that it waits for, and what it
//! has not read yet. What a session shows, and requests with long texts, wait for [`room`](EditorConnection::room); answers
//! do not.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{CancelRequestNotification, Error, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, OwnedMutexGuard, oneshot};
use tokio_util::sync::CancellationToken;

use crate::responder::IncomingRequest;
use crate::wire::failed;

/// Bytes that wait for the editor to read them. What can wait for room does not come near it: an editor that leaves this
/// much of the rest has stopped reading and is treated as gone.
const MOST_UNREAD: usize = 256 * 1024 * 1024;
/// There is room while less than this part of it is unread: enough to keep an editor busy that reads.
const ROOM_PART: usize = 32;
/// Takes back a request, in both directions.
const CANCEL_REQUEST: &str = "$/cancel_request";

/// What becomes of the messages of an editor. Nothing in here may wait: the next message is read when it returns.
pub(crate) trait MessageHandler: Sync {
    fn request(&self, request: IncomingRequest);
    fn notification(&self, method: &str, params: Value);
    /// The editor says no more. What is under way has a moment to answer.
    fn left(&self);
}

/// A request that the editor answers.
pub(crate) trait OutgoingRequest: Serialize {
    const METHOD: &'static str;
    type Answer: DeserializeOwned;
}

/// A handle to the connection.
#[derive(Clone)]
pub(crate) struct EditorConnection(Arc<Shared>);

struct Shared {
    lines: UnboundedSender<String>,
    /// Bytes that wait for the editor, and how many may.
    unread: AtomicUsize,
    most_unread: usize,
    /// The bytes below which there is room, who may use it next, and what tells that the editor has read something.
    room: usize,
    turn: Arc<tokio::sync::Mutex<()>>,
    read: Notify,
    /// Fires when too much is unread.
    is_stuck: CancellationToken,
    closed: CancellationToken,
    open: Mutex<OpenCalls>,
    /// Tells that the last request of the editor was answered.
    all_answered: Notify,
}

#[derive(Default)]
struct OpenCalls {
    last_id: i64,
    /// Requests of ours that wait for their answers.
    ours: BTreeMap<i64, oneshot::Sender<Result<Value, Error>>>,
    arrivals: u64,
    /// Requests of the editor, by their arrival: it may give the same id to several.
    theirs: BTreeMap<u64, TheirRequest>,
}

/// There is room for one message, which may be long, while this is held.
pub(crate) struct Room(#[expect(dead_code, reason = "held for its lock")] OwnedMutexGuard<()>);

/// A request of the editor that is not answered yet.
struct TheirRequest {
    id: RequestId,
    bytes: usize,
    cancellation: CancellationToken,
}

impl EditorConnection {
    /// A connection, and what is to be written.
    pub(crate) fn new() -> (Self, UnboundedReceiver<String>) {
        Self::bounded(MOST_UNREAD)
    }

    fn bounded(most_unread: usize) -> (Self, UnboundedReceiver<String>) {
        let (lines, written) = unbounded_channel();
        let shared = Shared {
            lines,
            unread: AtomicUsize::new(0),
            most_unread,
            room: most_unread / ROOM_PART,
            turn: Arc::default(),
            read: Notify::new(),
            is_stuck: CancellationToken::new(),
            closed: CancellationToken::new(),
            open: Mutex::default(),
            all_answered: Notify::new(),
        };
        (Self(Arc::new(shared)), written)
    }

    /// Whether the editor has gone away, or the connection was ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.is_cancelled()
    }

    /// Tells the editor something. It may have gone away, which the connection notices by itself.
    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) {
        if let Ok(params) = serde_json::to_string(params) {
            self.send(format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#));
        }
    }

    /// Asks the editor. To drop the future takes the request back.
    pub(crate) fn request<R: OutgoingRequest>(
        &self,
        request: &R,
    ) -> impl Future<Output = Result<R::Answer, Error>> + use<R> {
        let asked = serde_json::to_string(request).map_err(Error::into_internal_error);
        let asked = asked.and_then(|params| self.ask(R::METHOD, &params));
        async move {
            let answer = asked?.answer().await?;
            serde_json::from_value(answer)
                .map_err(|error| failed(format!("its answer is not valid: {error}")))
        }
    }

    fn ask(&self, method: &str, params: &str) -> Result<SentRequest, Error> {
        let (told, answer) = oneshot::channel();
        let id = {
            let mut open = self.open();
            // The requests that are open when it closes are ended behind the same lock.
            if self.is_closed() {
                return Err(gone());
            }
            open.last_id += 1;
            let id = open.last_id;
            open.ours.insert(id, told);
            id
        };
        self.send(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        Ok(SentRequest { connection: self.clone(), id, answer })
    }

    /// Answers a request of the editor with a result, as JSON, or an error.
    pub(crate) fn answer(&self, id: &RequestId, arrival: u64, result: Result<String, Error>) {
        self.send_answer(id, result);
        let mut open = self.open();
        open.theirs.remove(&arrival);
        if open.theirs.is_empty() {
            self.0.all_answered.notify_waiters();
        }
    }

    fn send_answer(&self, id: &RequestId, result: Result<String, Error>) {
        let (key, body) = match result {
            Ok(result) => ("result", result),
            Err(error) => ("error", json!(error).to_string()),
        };
        let id = json!(id);
        self.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{body}}}"#));
    }

    fn send(&self, mut line: String) {
        let shared = &*self.0;
        if shared.closed.is_cancelled() || shared.is_stuck.is_cancelled() {
            return;
        }
        line.push('\n');
        let before = shared.unread.fetch_add(line.len(), Ordering::Relaxed);
        // One long line says nothing about whether the editor reads.
        if before > 0 && before + line.len() > shared.most_unread {
            shared.is_stuck.cancel();
        } else {
            let _ = shared.lines.send(line);
        }
    }

    /// Waits until the editor has read enough. One at a time, so that many sessions that show something do not all find
    /// the same room. Once the connection has ended there is room for everything, since nothing is kept.
    pub(crate) async fn room(&self) -> Room {
        let shared = &*self.0;
        let turn = Arc::clone(&shared.turn).lock_owned().await;
        loop {
            let mut read = pin!(shared.read.notified());
            // What is read from here on is not missed.
            read.as_mut().enable();
            if self.has_room() {
                return Room(turn);
            }
            tokio::select! {
                () = read => {}
                () = shared.closed.cancelled() => {}
            }
        }
    }

    /// Whether something can be said that could be left out as well.
    pub(crate) fn has_room(&self) -> bool {
        self.is_closed() || self.0.unread.load(Ordering::Relaxed) < self.0.room
    }

    fn open(&self) -> MutexGuard<'_, OpenCalls> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is said from here on, and what was asked has no answer.
    fn close(&self) {
        self.0.closed.cancel();
        let ours = std::mem::take(&mut self.open().ours);
        ours.into_values().for_each(|asked| _ = asked.send(Err(gone())));
    }
}

fn gone() -> Error {
    failed("the editor has gone away")
}

/// A request of ours that was sent.
struct SentRequest {
    connection: EditorConnection,
    id: i64,
    answer: oneshot::Receiver<Result<Value, Error>>,
}

impl SentRequest {
    async fn answer(mut self) -> Result<Value, Error> {
        (&mut self.answer).await.unwrap_or_else(|_| Err(gone()))
    }
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        if self.connection.open().ours.remove(&self.id).is_some() {
            let withdrawn = CancelRequestNotification::new(self.id);
            self.connection.notify(CANCEL_REQUEST, &withdrawn);
        }
    }
}

mod exchange;
#[cfg(test)]
mod tests;
