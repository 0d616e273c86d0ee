//! The connection loop: who may connect, how many, and how slowly.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service as _;

use crate::api;
use crate::app::WebApp;
use crate::guard::{InvalidProxy, Site};
use crate::router::router;
use crate::strangers::{ClientConnection, Strangers};

/// Connections at a time. Each costs a task and a few kilobytes; those beyond wait to be accepted.
const MAX_CONNECTIONS: usize = 1024;
/// How long the head of a request may take: a client that sends a byte now and then is cut.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Bytes of a head, which holds at most one cursor and one token.
const HEAD_BYTES: usize = 32 * 1024;
/// Headers of a request.
const MAX_HEADERS: usize = 64;
/// How long requests may go on when the service ends.
const CLOSING_TIME: Duration = Duration::from_secs(5);
/// How long to wait when the system has no descriptor for one more connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why an address is not listened at.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Other machines could connect, and what they send could be read on the way.
    #[error(
        "{0} can be reached by other machines: name the proxy that speaks TLS before this service \
         (--proxy https://HOST), or listen at 127.0.0.1"
    )]
    NotLoopback(IpAddr),
    /// The proxy is not one.
    #[error(transparent)]
    Proxy(#[from] InvalidProxy),
    /// The system refuses.
    #[error("cannot listen at {address}: {error}")]
    System {
        /// Where.
        address: SocketAddr,
        /// What it says.
        error: io::Error,
    },
}

/// Listens at an address, if it is safe to. Answers also with the addresses that browsers use.
pub async fn listen(
    address: SocketAddr,
    proxy: Option<&str>,
) -> Result<(TcpListener, Site), ListenError> {
    if proxy.is_none() && !address.ip().is_loopback() {
        return Err(ListenError::NotLoopback(address.ip()));
    }
    let proxy = proxy.map(Site::proxy).transpose()?;
    let system = |error| ListenError::System { address, error };
    let listener = TcpListener::bind(address).await.map_err(system)?;
    let port = listener.local_addr().map_err(system)?.port();
    Ok((listener, proxy.unwrap_or_else(|| Site::loopback(port))))
}

/// Serves until `stop`, then ends all turns and releases all sessions.
pub async fn serve(listener: TcpListener, app: Arc<WebApp>, stop: CancellationToken) {
    let router = router(Arc::clone(&app), api::routes());
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let connections = TaskTracker::new();
    let mut strangers = Strangers::default();
    loop {
        let accepting = async {
            let permit = Arc::clone(&room).acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = accepting => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let client = Arc::new(ClientConnection::default());
                strangers.add(&client);
                let serving = connection(stream, client, router.clone(), app.closing.clone());
                connections.spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
    drop(listener);
    app.closing.cancel();
    app.hub.close().await;
    connections.close();
    // A client that does not read its answer does not hold up the end.
    let _ = tokio::time::timeout(CLOSING_TIME, connections.wait()).await;
}

async fn connection(
    stream: TcpStream,
    client: Arc<ClientConnection>,
    router: Router,
    closing: CancellationToken,
) {
    // Events are small and wanted at once.
    let _ = stream.set_nodelay(true);
    let cut = client.cut.clone();
    let answering = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        let mut router = router.clone();
        request.extensions_mut().insert(Arc::clone(&client));
        async move { router.call(request.map(Body::new)).await }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES)
        .max_headers(MAX_HEADERS);
    let serving = builder.serve_connection(TokioIo::new(stream), answering);
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        // A connection that breaks is the client's affair.
        _ = serving.as_mut() => return,
        () = cut.cancelled() => return,
        () = closing.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}
