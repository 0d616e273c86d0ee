//! The connection loop: who may connect, how many, and how slowly.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::WebApp;
use crate::guard::{InvalidFrontProxy, Site};
use crate::operation::enter;
use crate::router::router;
use crate::strangers::{ClientConnection, Strangers};

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
    Proxy(#[from] InvalidFrontProxy),
    /// The system refuses.
    #[error("cannot listen at {address}: {error}")]
    System {
        /// Where.
        address: SocketAddr,
        /// What it says.
        error: io::Error,
    },
}

/// Where connections come from.
#[derive(Debug)]
pub struct Listeners {
    first: TcpListener,
    /// The other address of this machine that `localhost` leads to.
    second: Option<TcpListener>,
}

impl Listeners {
    /// Where the first of them listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.first.local_addr()
    }

    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let second = async {
            match &self.second {
                Some(second) => second.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = self.first.accept() => accepted,
            accepted = second => accepted,
        }
    }
}

/// Listens at an address, if it is safe to. Answers also with the addresses that browsers use.
pub async fn listen(
    address: SocketAddr,
    proxy: Option<&str>,
) -> Result<(Listeners, Site), ListenError> {
    if proxy.is_none() && !address.ip().is_loopback() {
        return Err(ListenError::NotLoopback(address.ip()));
    }
    let proxy = proxy.map(Site::proxy).transpose()?;
    let system = |error| ListenError::System { address, error };
    let first = TcpListener::bind(address).await.map_err(system)?;
    if let Some(site) = proxy {
        return Ok((Listeners { first, second: None }, site));
    }
    let own = first.local_addr().map_err(system)?;
    let (second, names) = beside(own).await;
    Ok((Listeners { first, second }, Site::loopback(own, names)))
}

/// The other address that `localhost` leads to, and the names that are good because no other program listens there.
async fn beside(own: SocketAddr) -> (Option<TcpListener>, &'static [&'static str]) {
    let (other, names): (IpAddr, _) = match own.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => (Ipv6Addr::LOCALHOST.into(), &["localhost", "[::1]"]),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => {
            (Ipv4Addr::LOCALHOST.into(), &["localhost", "127.0.0.1"])
        }
        // No name leads to any other.
        _ => return (None, &[]),
    };
    match TcpListener::bind((other, own.port())).await {
        Ok(listener) => (Some(listener), names),
        // Another program has the address.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => (None, &[]),
        // No program can have it.
        Err(_) => (None, &names[..1]),
    }
}

/// Serves until `stop`, then ends all turns and releases all sessions. A replica of a shared service goes on to answer
/// while its turns end.
pub fn serve(
    listeners: Listeners,
    app: Arc<WebApp>,
    stop: CancellationToken,
) -> BoxFuture<'static, ()> {
    // Behind a pointer, so that the service is compiled here and not again where it is started.
    serve_until(listeners, app, stop).boxed()
}

async fn serve_until(listeners: Listeners, app: Arc<WebApp>, stop: CancellationToken) {
    let router = router(Arc::clone(&app), app.routes());
    let drained = drained(Arc::clone(&app), stop.clone());
    let mut drained = std::pin::pin!(drained);
    let connections = TaskTracker::new();
    let mut strangers = Strangers::default();
    loop {
        let accepting = async {
            let room = app.operation().room.connection().await;
            (room, listeners.accept().await)
        };
        let (room, accepted) = tokio::select! {
            biased;
            () = &mut drained => break,
            accepted = accepting => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let room = app.operation().room.better(room);
                let client = Arc::new(ClientConnection::new(peer.ip(), room.is_spare));
                strangers.add(&client);
                let serving = connection(stream, client, router.clone(), Arc::clone(&app));
                connections.spawn(async move {
                    serving.await;
                    drop(room);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
    drop(listeners);
    app.closing.cancel();
    app.close_sessions().await;
    connections.close();
    // A client that does not read its answer does not hold up the end.
    let _ = tokio::time::timeout(CLOSING_TIME, connections.wait()).await;
}

/// Returns when the service is to end and, if there are other replicas, its turns have ended.
async fn drained(app: Arc<WebApp>, stop: CancellationToken) {
    stop.cancelled().await;
    app.drain().await;
}

async fn connection(
    stream: TcpStream,
    client: Arc<ClientConnection>,
    router: Router,
    app: Arc<WebApp>,
) {
    // Events are small and wanted at once.
    let _ = stream.set_nodelay(true);
    let (cut, closing) = (client.cut.clone(), app.closing.clone());
    let answering = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        enter(Arc::clone(&app), router.clone(), Arc::clone(&client), request.map(Body::new))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{RequestParts, judge_page};

    /// Ports of both addresses are given away independently, and seldom differ in who has them.
    const MOST_PORTS: usize = 100;

    fn is_ours(site: &Site, host: &str) -> bool {
        let (method, uri) = (axum::http::Method::GET, "/".parse().unwrap());
        let headers = [(axum::http::header::HOST, host.parse().unwrap())].into_iter().collect();
        judge_page(RequestParts { method: &method, uri: &uri, headers: &headers }, site).is_ok()
    }

    #[tokio::test]
    async fn localhost_is_ours_unless_another_program_has_its_other_address() {
        let mut taken = None;
        for _ in testkit::at_most(MOST_PORTS, "the ports of the other address that are taken here")
        {
            let other = match TcpListener::bind("[::1]:0").await {
                Ok(other) => other,
                Err(error) => return testkit::left_out(&format!("there is no [::1]: {error}")),
            };
            let port = other.local_addr().unwrap().port();
            if let Ok(ours) = listen(([127, 0, 0, 1], port).into(), None).await {
                taken = Some((other, port, ours));
                break;
            }
        }
        let (other, port, (ours, site)) = taken.unwrap();
        let names =
            [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        assert_eq!(names.each_ref().map(|name| is_ours(&site, name)), [true, false, false]);
        drop((other, ours));
        let mut free = None;
        for _ in testkit::at_most(MOST_PORTS, "the ports that are taken at the other address") {
            let (listeners, site) = listen(([127, 0, 0, 1], 0).into(), None).await.unwrap();
            if listeners.second.is_some() {
                free = Some((listeners, site));
                break;
            }
        }
        let free = free.unwrap();
        let port = free.0.first.local_addr().unwrap().port();
        let names =
            [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")];
        assert_eq!(names.each_ref().map(|name| is_ours(&free.1, name)), [true; 3]);
    }
}
