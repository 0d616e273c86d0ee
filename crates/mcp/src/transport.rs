//! JSON-RPC messages as lines on a pair of streams.
//!
//! rmcp brings such a transport, but it drops a line above its limit without a word, so that the
//! client waits for ever; it may be interrupted in the middle of writing a refusal, which would break
//! the stream; and it reads however much a client sends.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, JsonRpcRequest, ProtocolVersion,
    RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::backlog::Backlog;
use crate::batch::{MAX_BATCH, OpenBatch, OpenBatches, Outgoing};
use crate::line_reader::{InputLine, LineReader};
use crate::message::{self, LineContent};

/// The longest line that is taken in, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// A connection; clones are the same connection.
pub(crate) struct LineTransport<R, W> {
    reader: Arc<Mutex<InputState<R>>>,
    writer: Arc<Mutex<W>>,
    closed: CancellationToken,
    backlog: Backlog,
    batches: OpenBatches,
    /// Whether the revision that was agreed on has batches.
    has_batches: Arc<AtomicBool>,
}

struct InputState<R> {
    lines: LineReader<R>,
    ended: bool,
    /// Messages of a batch that are not requests.
    ready: VecDeque<ClientJsonRpcMessage>,
    /// The reply that is being written without the service: a refusal, or a batch that is complete.
    /// Nothing is read before it is out, so that a client that sends nonsense and never reads cannot
    /// fill the memory.
    reply: Option<JoinHandle<io::Result<()>>>,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    pub(crate) fn new(reader: R, writer: W) -> Self {
        let lines = LineReader::new(reader, MAX_LINE_BYTES);
        let input = InputState { lines, ended: false, ready: VecDeque::new(), reply: None };
        Self {
            reader: Arc::new(Mutex::new(input)),
            writer: Arc::new(Mutex::new(writer)),
            closed: CancellationToken::new(),
            backlog: Backlog::default(),
            batches: OpenBatches::default(),
            has_batches: Arc::default(),
        }
    }

    /// Waits until the other side has sent its last message.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

impl<R, W> Clone for LineTransport<R, W> {
    fn clone(&self) -> Self {
        Self {
            reader: Arc::clone(&self.reader),
            writer: Arc::clone(&self.writer),
            closed: self.closed.clone(),
            backlog: self.backlog.clone(),
            batches: self.batches.clone(),
            has_batches: Arc::clone(&self.has_batches),
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.note_outgoing(&message);
        let answered = answered_id(&message).cloned();
        let outgoing = match &answered {
            Some(id) => self.batches.answer(id, message),
            None => Outgoing::One(Box::new(message)),
        };
        let (writer, backlog) = (Arc::clone(&self.writer), self.backlog.clone());
        async move {
            let written = write_outgoing(writer, outgoing).await;
            answered.iter().for_each(|id| backlog.end(id));
            written
        }
    }

    /// The service drops this future whenever something else happens first, so all that must not
    /// be lost lives in [`InputState`] and [`Backlog`].
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let reader = Arc::clone(&self.reader);
        let mut input = reader.lock().await;
        loop {
            if let Some(message) = input.ready.pop_front().or_else(|| self.backlog.start_next()) {
                return Some(message);
            }
            if let Some(reply) = &mut input.reply {
                // A client that no longer reads may still have something to say.
                let _ = reply.await;
                input.reply = None;
            }
            if input.ended {
                if self.backlog.is_empty() {
                    return None;
                }
                self.backlog.changed().await;
                continue;
            }
            if self.backlog.is_full() && !self.backlog.expects_answers() {
                self.backlog.changed().await;
                continue;
            }
            let line = tokio::select! {
                biased;
                () = self.backlog.changed() => continue,
                line = input.lines.next() => line,
            };
            let (content, bytes) = match line {
                Ok(Some(InputLine::Whole(line))) => (message::read(&line), line.len()),
                Ok(Some(InputLine::TooLong(envelope))) => {
                    (message::too_long(&envelope, MAX_LINE_BYTES), 0)
                }
                Ok(None) | Err(_) => {
                    input.ended = true;
                    self.closed.cancel();
                    continue;
                }
            };
            match content {
                LineContent::Message(message) => self.take(*message, bytes, &mut input),
                LineContent::Batch(messages) => self.take_batch(messages, bytes, &mut input),
                LineContent::Refused(reply) => self.reply(Outgoing::One(reply), &mut input),
                LineContent::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.shutdown().await
    }
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Takes in a message that stands alone on a line of so many bytes.
    fn take(&self, message: ClientJsonRpcMessage, bytes: usize, input: &mut InputState<R>) {
        match message {
            JsonRpcMessage::Request(request) if self.backlog.is_full() => {
                let reply = Box::new(message::too_many(request.id));
                self.reply(Outgoing::One(reply), input);
            }
            JsonRpcMessage::Request(request) if self.backlog.has(&request.id) => {
                let reply = Box::new(message::id_in_use(request.id));
                self.reply(Outgoing::One(reply), input);
            }
            JsonRpcMessage::Request(JsonRpcRequest { id, request, .. }) => {
                self.backlog.push(id, request, bytes);
            }
            other => self.pass_on(other, input),
        }
    }

    /// Hands over what is not a request at once, however many requests wait.
    fn pass_on(&self, message: ClientJsonRpcMessage, input: &mut InputState<R>) {
        if let Some(id) = withdrawn_request(&message) {
            self.backlog.cancel(id);
            let outgoing = self.batches.cancel(id);
            self.reply(outgoing, input);
        }
        if let Some(id) = client_answer(&message) {
            self.backlog.answered(id);
        }
        input.ready.push_back(message);
    }

    /// Takes in the messages of a line of so many bytes.
    fn take_batch(&self, messages: Vec<Value>, bytes: usize, input: &mut InputState<R>) {
        let refusal = match messages.len() {
            _ if !self.has_batches.load(Ordering::Relaxed) => {
                Some("only revision 2025-03-26 has batches; send one message a line".to_owned())
            }
            0 => Some("the batch is empty".to_owned()),
            1..=MAX_BATCH => None,
            count => Some(format!("the batch holds {count} messages; {MAX_BATCH} are the most")),
        };
        if let Some(why) = refusal {
            let error = JsonRpcMessage::error(ErrorData::invalid_request(why, None), None);
            return self.reply(Outgoing::One(Box::new(error)), input);
        }
        let mut batch = OpenBatch { unanswered: HashSet::new(), answers: Vec::new() };
        let share = bytes / messages.len();
        let mut requests = Vec::new();
        for content in messages.into_iter().map(message::of_value) {
            match content {
                LineContent::Message(message) => match *message {
                    JsonRpcMessage::Request(request) if self.backlog.is_full() => {
                        batch.answers.push(message::too_many(request.id));
                    }
                    JsonRpcMessage::Request(request)
                        if self.backlog.has(&request.id)
                            || !batch.unanswered.insert(request.id.clone()) =>
                    {
                        batch.answers.push(message::id_in_use(request.id));
                    }
                    JsonRpcMessage::Request(request) => requests.push(request),
                    other => self.pass_on(other, input),
                },
                LineContent::Refused(reply) => batch.answers.push(*reply),
                LineContent::Batch(_) | LineContent::Nothing => {}
            }
        }
        let outgoing = self.batches.open(batch);
        self.reply(outgoing, input);
        for JsonRpcRequest { id, request, .. } in requests {
            self.backlog.push(id, request, share);
        }
    }

    /// Begins to write what the service does not know of.
    fn reply(&self, outgoing: Outgoing, input: &mut InputState<R>) {
        if matches!(outgoing, Outgoing::Nothing) {
            return;
        }
        let (before, writer) = (input.reply.take(), Arc::clone(&self.writer));
        input.reply = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            write_outgoing(writer, outgoing).await
        }));
    }

    /// Remembers what outgoing messages say about those that come.
    fn note_outgoing(&self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => self.backlog.asked(request.id.clone()),
            JsonRpcMessage::Notification(sent) => {
                if let ServerNotification::CancelledNotification(cancelled) = &sent.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.backlog.answered(id);
                }
            }
            JsonRpcMessage::Response(response) => {
                if let ServerResult::InitializeResult(agreed) = &response.result {
                    let has_batches = agreed.protocol_version == ProtocolVersion::V_2025_03_26;
                    self.has_batches.store(has_batches, Ordering::Relaxed);
                }
            }
            JsonRpcMessage::Error(_) => {}
        }
    }
}

/// The request that an outgoing message answers.
fn answered_id(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// The server's own request that a message answers.
fn client_answer(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// The request that a client withdraws.
fn withdrawn_request(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    let JsonRpcMessage::Notification(received) = message else { return None };
    match &received.notification {
        ClientNotification::CancelledNotification(cancelled) => {
            cancelled.params.request_id.as_ref()
        }
        _ => None,
    }
}

/// Writes one message, or several as a batch, as one line in one piece.
async fn write_outgoing<W>(writer: Arc<Mutex<W>>, outgoing: Outgoing) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut line = match outgoing {
        Outgoing::One(message) => serde_json::to_vec(&message)?,
        Outgoing::All(messages) => serde_json::to_vec(&messages)?,
        Outgoing::Nothing => return Ok(()),
    };
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}
