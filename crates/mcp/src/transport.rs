//! JSON-RPC messages as lines on a pair of streams.
//!
//! rmcp brings such a transport, but it drops a line above its limit without a word, so that the
//! client waits for ever; it may also be interrupted in the middle of writing a refusal, which
//! would break the stream.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::line_reader::{Line, LineReader};
use crate::message::{self, Received};

/// The longest line that is taken in, in bytes.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// A connection; clones are the same connection.
pub(crate) struct LineTransport<R, W> {
    reader: Arc<Mutex<Input<R>>>,
    writer: Arc<Mutex<W>>,
    closed: CancellationToken,
}

struct Input<R> {
    lines: LineReader<R>,
    /// The refusal that is being written. Nothing is read before it is out, so that a client that
    /// sends nonsense and never reads cannot fill the memory.
    refusal: Option<JoinHandle<io::Result<()>>>,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    pub(crate) fn new(reader: R, writer: W) -> Self {
        let input = Input { lines: LineReader::new(reader, MAX_LINE_BYTES), refusal: None };
        Self {
            reader: Arc::new(Mutex::new(input)),
            writer: Arc::new(Mutex::new(writer)),
            closed: CancellationToken::new(),
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
        write(Arc::clone(&self.writer), message)
    }

    /// The service drops this future whenever something else happens first, so all that must not
    /// be lost lives in [`Input`].
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut input = self.reader.lock().await;
        loop {
            if let Some(refusal) = &mut input.refusal {
                // A client that no longer reads may still have something to say.
                let _ = refusal.await;
                input.refusal = None;
            }
            let received = match input.lines.next().await {
                Ok(Some(Line::Whole(line))) => message::read(&line),
                Ok(Some(Line::TooLong(envelope))) => message::too_long(&envelope, MAX_LINE_BYTES),
                Ok(None) | Err(_) => {
                    self.closed.cancel();
                    return None;
                }
            };
            match received {
                Received::Message(message) => return Some(*message),
                Received::Refused(reply) => {
                    let writing = write(Arc::clone(&self.writer), *reply);
                    input.refusal = Some(tokio::spawn(writing));
                }
                Received::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.shutdown().await
    }
}

/// Writes a message as one line in one piece.
async fn write<W>(writer: Arc<Mutex<W>>, message: ServerJsonRpcMessage) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut line = serde_json::to_vec(&message)?;
    drop(message);
    line.push(b'\n');
    let mut writer = writer.lock().await;
    writer.write_all(&line).await?;
    writer.flush().await
}
