//! The entry point: serves an executor on a pair of streams until the client closes its side.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tool_system::ToolExecutor;

use crate::approval::ApproverChoice;
use crate::handler::McpHandler;
use crate::resources::ProjectResources;
use crate::traced_call::CallTracer;
use crate::transport::LineTransport;

/// How long calls may run on once the client has closed its side. Clients wait about two seconds
/// before they kill a server, and a call that is cancelled ends more cleanly than one that is
/// killed.
const GRACE: Duration = Duration::from_secs(1);

/// Why serving ended before the client closed its side.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The connection could not be opened.
    #[error("the MCP connection failed: {0}")]
    Connection(#[source] Box<ServerInitializeError>),
    /// The task that serves the connection died.
    #[error("the MCP server stopped: {0}")]
    Stopped(#[from] tokio::task::JoinError),
}

/// What a server is made of.
pub struct ServerParts {
    /// Runs the calls.
    pub executor: Arc<ToolExecutor>,
    /// Decides about what needs approval.
    pub approver: ApproverChoice,
    /// What can be read beside the tools; without it no resources are offered.
    pub resources: Option<Arc<dyn ProjectResources>>,
    /// The project, if it was taken from where the server was started: then a host that names roots
    /// elsewhere is refused. None where the user has named it.
    pub assumed_root: Option<PathBuf>,
    /// Is told of calls that are parts of other programs' traces.
    pub tracer: Option<Arc<dyn CallTracer>>,
}

impl ServerParts {
    /// A server of tools alone.
    pub fn new(executor: Arc<ToolExecutor>, approver: ApproverChoice) -> Self {
        Self { executor, approver, resources: None, assumed_root: None, tracer: None }
    }
}

/// Serves on the standard streams of this process; returns when the client closes
/// standard input.
///
/// Nothing else in the process may write to standard output meanwhile.
///
/// # Panics
///
/// Outside of a Tokio runtime with I/O and time enabled.
pub fn serve_stdio(parts: ServerParts) -> BoxFuture<'static, Result<(), ServeError>> {
    let serving = async {
        let (reader, writer) = rmcp::transport::stdio_pipes();
        serve(parts, reader, writer).await
    };
    // Behind a pointer, so that the server is compiled here and not again where it is started.
    serving.boxed()
}

/// Serves the client that writes to `reader` and reads from `writer`; returns at the
/// end of `reader`.
pub async fn serve<R, W>(parts: ServerParts, reader: R, writer: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let handler = Arc::new(McpHandler::new(parts));
    let transport = LineTransport::new(reader, writer);
    let stop = CancellationToken::new();
    let running = loop {
        let opening =
            serve_server_with_ct(Arc::clone(&handler), transport.clone(), stop.clone()).await;
        match opening {
            Ok(running) => break running,
            // A notification or a stray answer before the first request does not end the connection.
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {}
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Connection(Box::new(error))),
        }
    };
    let overdue = async {
        transport.closed().await;
        tokio::time::sleep(GRACE).await;
        stop.cancel();
        std::future::pending().await
    };
    let end = tokio::select! {
        end = running.waiting() => end?,
        end = overdue => end,
    };
    match end {
        QuitReason::JoinError(error) => Err(ServeError::Stopped(error)),
        _ => Ok(()),
    }
}
