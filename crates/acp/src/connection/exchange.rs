//! The exchange of messages: a loop that reads, one that writes, and what ends both.

use std::io;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent_client_protocol_schema::v1::{CancelRequestNotification, RequestId};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{CANCEL_REQUEST, EditorConnection, MessageHandler, TheirRequest};
use crate::bounded_lines::next_line;
use crate::incoming::{IncomingMessage, parsed_bytes};
use crate::responder::IncomingRequest;
use crate::wire::failed;

/// Requests that the editor waits for; more are refused. An editor has a few for each session.
pub(super) const MOST_UNANSWERED: usize = 1024;
/// Bytes of these requests, as parsed: a few of the longest.
pub(super) const MOST_UNANSWERED_BYTES: usize = 256 * 1024 * 1024;
/// How long requests may take, once the editor says no more, until they are answered, and the editor until it has read that.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(5);

impl EditorConnection {
    /// Exchanges messages until the editor leaves, `stop` fires or the connection breaks.
    pub(crate) async fn run(
        &self,
        written: UnboundedReceiver<String>,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
        stop: &CancellationToken,
        handler: &dyn MessageHandler,
    ) -> io::Result<()> {
        let mut writing = pin!(self.write(written, output));
        let mut input = BufReader::new(input);
        let reading = async {
            while let Some(line) = next_line(&mut input).await? {
                self.take(IncomingMessage::read(&line), parsed_bytes(&line), handler);
            }
            Ok(())
        };
        let ended = tokio::select! {
            ended = reading => ended,
            () = stop.cancelled() => Ok(()),
            () = self.0.is_stuck.cancelled() => Err(io::Error::other("the editor does not read")),
            written = &mut writing => {
                self.close();
                return written;
            }
        };
        let last = Instant::now() + LAST_WORDS;
        if ended.is_ok() && !stop.is_cancelled() {
            handler.left();
            tokio::select! {
                _ = timeout_at(last, self.all_answered()) => {}
                () = stop.cancelled() => {}
                () = self.0.is_stuck.cancelled() => {}
                // It has closed both sides.
                _ = &mut writing => {
                    self.close();
                    return ended;
                }
            }
        }
        self.close();
        // An editor that has left does not have to read them.
        let _ = timeout_at(last, writing).await;
        ended
    }

    /// Waits until every request of the editor is answered.
    async fn all_answered(&self) {
        loop {
            let mut answered = pin!(self.0.all_answered.notified());
            answered.as_mut().enable();
            if self.open().theirs.is_empty() {
                return;
            }
            answered.await;
        }
    }

    fn take(&self, message: IncomingMessage, bytes: usize, handler: &dyn MessageHandler) {
        match message {
            IncomingMessage::Request { id, method, params } => match self.arrive(&id, bytes) {
                Some(arrived) => {
                    handler.request(IncomingRequest::new(
                        self.clone(),
                        id,
                        method,
                        params,
                        arrived,
                    ));
                }
                None => {
                    let why = failed("too many requests wait for their answers");
                    self.send_answer(&id, Err(why));
                }
            },
            IncomingMessage::Notification { method, params } if method == CANCEL_REQUEST => {
                // What cannot be understood cancels nothing.
                if let Ok(withdrawn) = serde_json::from_value::<CancelRequestNotification>(params) {
                    self.cancel(&withdrawn.request_id);
                }
            }
            IncomingMessage::Notification { method, params } => {
                handler.notification(&method, params)
            }
            IncomingMessage::Answer { id: RequestId::Number(id), result } => {
                // A second answer, or one to nothing, has no request to go to.
                let asked = self.open().ours.remove(&id);
                if let Some(asked) = asked {
                    let _ = asked.send(result);
                }
            }
            IncomingMessage::Answer { .. } | IncomingMessage::Nothing => {}
            IncomingMessage::Invalid(error) => self.send_answer(&RequestId::Null, Err(error)),
        }
    }

    /// Notes a request of the editor, unless too many wait.
    pub(super) fn arrive(&self, id: &RequestId, bytes: usize) -> Option<(u64, CancellationToken)> {
        let mut open = self.open();
        let waiting: usize = open.theirs.values().map(|theirs| theirs.bytes).sum();
        if open.theirs.len() >= MOST_UNANSWERED || waiting + bytes > MOST_UNANSWERED_BYTES {
            return None;
        }
        open.arrivals += 1;
        let (arrival, cancellation) = (open.arrivals, CancellationToken::new());
        let theirs = TheirRequest { id: id.clone(), bytes, cancellation: cancellation.clone() };
        open.theirs.insert(arrival, theirs);
        Some((arrival, cancellation))
    }

    /// The editor takes back the last request that it gave this id.
    fn cancel(&self, id: &RequestId) {
        let open = self.open();
        let found = open.theirs.values().rev().find(|theirs| theirs.id == *id);
        let found = found.map(|theirs| theirs.cancellation.clone());
        // What waits for it may look at the open requests.
        drop(open);
        found.iter().for_each(CancellationToken::cancel);
    }

    /// Writes what is said, and after the end what was said before.
    async fn write(
        &self,
        mut lines: UnboundedReceiver<String>,
        mut output: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let mut is_ending = false;
        loop {
            let line = tokio::select! {
                biased;
                line = lines.recv() => line,
                () = self.0.closed.cancelled(), if !is_ending => {
                    lines.close();
                    is_ending = true;
                    continue;
                }
            };
            let Some(line) = line else { return Ok(()) };
            output.write_all(line.as_bytes()).await?;
            self.0.unread.fetch_sub(line.len(), Ordering::Relaxed);
            self.0.read.notify_waiters();
            if lines.is_empty() {
                output.flush().await?;
            }
        }
    }
}
