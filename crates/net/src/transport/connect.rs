//! Opening a connection: plain, encrypted, or either through a proxy.
//!
//! `hyper-rustls` does the encryption. What is here is what it leaves to its callers: where a
//! connection may lead, encryption that is set up when it is first needed, one time limit for all
//! steps, and errors that say which step failed and whether trying again can help.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::InvalidDnsNameError;
use tokio::net::TcpStream;
use tower_service::Service;

use super::tls::LazyTls;
use super::{HttpVersions, Network, innermost, spoken};
use crate::authority::{Authority, RequestHost};
use crate::dial::{Dialer, NotReached};
use crate::reach::Reach;
use crate::upstream::Upstream;
use crate::waiting::Stop;

/// How often the system asks a silent peer whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("no connection within {}", spoken(*.0))]
    Timeout(Duration),
    #[error("{0}")]
    Tcp(String),
    /// The address must not be reached.
    #[error("{0}")]
    Refused(String),
    #[error("the proxy refused the connection: {0}")]
    Proxy(String),
    #[error("TLS failed: {0}")]
    Tls(String),
}

impl ConnectError {
    /// A certificate that is not trusted will not be in a second either.
    pub(super) fn may_pass(&self) -> bool {
        !matches!(self, Self::Tls(_) | Self::Refused(_))
    }
}

/// The address of the proxy cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the proxy address is not valid: write it as http://host:port")]
pub struct InvalidProxy;

/// A socket, and whether a proxy reads what is written to it.
#[derive(Debug)]
pub(super) struct Plain {
    io: TokioIo<TcpStream>,
    to_proxy: bool,
}

impl Connection for Plain {
    fn connected(&self) -> Connected {
        self.io.inner().connected().proxy(self.to_proxy)
    }
}

impl Read for Plain {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl Write for Plain {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bytes)
    }
}

type OpenConnection = MaybeHttpsStream<Plain>;

/// Dials the host of an address, if it may be reached.
#[derive(Clone, Debug)]
struct Reaching {
    dialer: Dialer,
    reach: Arc<Reach>,
    deadline: Instant,
    to_proxy: bool,
}

impl Reaching {
    async fn open(self, uri: Uri) -> Result<Plain, ConnectError> {
        let authority = authority_of(&uri)?;
        // An address that stands in the message already is not repeated.
        let named = format!("{authority}: ");
        let dialled = self.dialer.dial_async(authority, self.reach, self.deadline).await;
        let socket = dialled.map_err(|error| match error {
            NotReached::Refused(why) => ConnectError::Refused(why),
            NotReached::Failed(why) => {
                ConnectError::Tcp(why.strip_prefix(&named).map_or(why.clone(), str::to_owned))
            }
            NotReached::Stopped(Stop::Broken) => ConnectError::Tcp("waiting failed".into()),
            NotReached::Stopped(_) => ConnectError::Tcp("it took too long".into()),
        })?;
        let tuned = socket.set_nodelay(true).and_then(|()| {
            rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
            Ok(rustix::net::sockopt::set_tcp_keepidle(&socket, KEEP_ALIVE)?)
        });
        tuned.map_err(|error| ConnectError::Tcp(error.to_string()))?;
        Ok(Plain { io: TokioIo::new(socket), to_proxy: self.to_proxy })
    }
}

impl Service<Uri> for Reaching {
    type Response = Plain;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Plain, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().open(uri))
    }
}

/// Host and port of an address, in the one spelling that is judged.
pub(super) fn authority_of(uri: &Uri) -> Result<Authority, ConnectError> {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().unwrap_or(usual);
    let invalid = || ConnectError::Refused(format!("`{host}` is not a valid host"));
    let host = RequestHost::parse(host).filter(|_| port != 0).ok_or_else(invalid)?;
    Ok(Authority { host, port })
}

/// A proxy that can be used.
#[derive(Clone, Debug)]
struct ProxyServer {
    upstream: Upstream,
    authority: Authority,
}

impl ProxyServer {
    fn of(upstream: Option<&Upstream>) -> Result<Option<Self>, InvalidProxy> {
        let Some(upstream) = upstream.cloned() else { return Ok(None) };
        let authority = upstream.authority().map_err(|_| InvalidProxy)?.clone();
        Ok(Some(Self { upstream, authority }))
    }

    fn uri(&self) -> Result<Uri, ConnectError> {
        let uri = format!("http://{}", self.authority).parse();
        uri.map_err(|_| ConnectError::Proxy(InvalidProxy.to_string()))
    }

    fn authorization(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(self.upstream.authorization()?).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Opens connections for the pool.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    dialer: Dialer,
    reach: Arc<Reach>,
    https_proxy: Option<ProxyServer>,
    http_proxy: Option<ProxyServer>,
    tls: Arc<LazyTls>,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(
        network: &Network,
        reach: Reach,
        versions: HttpVersions,
        timeout: Duration,
    ) -> Result<Self, InvalidProxy> {
        Ok(Self {
            dialer: network.dialer.clone(),
            reach: Arc::new(reach),
            https_proxy: ProxyServer::of(network.https_proxy.as_ref())?,
            http_proxy: ProxyServer::of(network.http_proxy.as_ref())?,
            tls: Arc::new(LazyTls::new(network.roots.clone(), versions)),
            timeout,
        })
    }

    /// The proxy for an address, if there is one, and where it may lead.
    fn proxy(&self, uri: &Uri) -> Result<Option<&ProxyServer>, ConnectError> {
        let proxy = match uri.scheme_str() {
            Some("https") => &self.https_proxy,
            _ => &self.http_proxy,
        };
        let Some(proxy) = proxy else { return Ok(None) };
        let Authority { host, port } = authority_of(uri)?;
        if !proxy.upstream.serves(&host) {
            return Ok(None);
        }
        self.reach.judge_unresolved(&host, port).map_err(ConnectError::Refused)?;
        Ok(Some(proxy))
    }

    /// The credentials that a plain request to this address needs, because a proxy reads it.
    pub(super) fn proxy_authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        if uri.scheme_str() == Some("https") {
            return None;
        }
        self.proxy(uri).ok().flatten()?.authorization()
    }

    async fn connect(self, uri: Uri) -> Result<OpenConnection, ConnectError> {
        let deadline = Instant::now() + self.timeout;
        let (dialer, reach) = (self.dialer.clone(), Arc::clone(&self.reach));
        let direct = Reaching { dialer, reach, deadline, to_proxy: false };
        let proxy = self.proxy(&uri)?;
        let to_proxy = proxy.map(|proxy| Reaching {
            // The user named it.
            reach: Arc::new(Reach::Named(vec![proxy.authority.clone()])),
            ..direct.clone()
        });
        if uri.scheme_str() != Some("https") {
            let opened = match (proxy, to_proxy) {
                (Some(proxy), Some(to_proxy)) => {
                    Reaching { to_proxy: true, ..to_proxy }.open(proxy.uri()?).await
                }
                _ => direct.open(uri).await,
            };
            return opened.map(MaybeHttpsStream::Http);
        }
        let config = self.tls.config().map_err(ConnectError::Tls)?;
        match (proxy, to_proxy) {
            (Some(proxy), Some(to_proxy)) => {
                let tunnel = Tunnel::new(proxy.uri()?, to_proxy);
                let tunnel = match proxy.authorization() {
                    Some(value) => tunnel.with_auth(value),
                    None => tunnel,
                };
                let encrypted = HttpsConnector::from((tunnel, config)).call(uri).await;
                encrypted.map_err(|error| reason(error, ConnectError::Proxy))
            }
            _ => {
                let encrypted = HttpsConnector::from((direct, config)).call(uri).await;
                encrypted.map_err(|error| reason(error, ConnectError::Tcp))
            }
        }
    }
}

/// Tells a failed encryption from a connection that was not opened. An I/O error at the top is how
/// `hyper-rustls` wraps what went wrong in the handshake; connectors have their own
/// error types.
fn reason(
    error: Box<dyn Error + Send + Sync + 'static>,
    not_opened: fn(String) -> ConnectError,
) -> ConnectError {
    let error = match error.downcast::<ConnectError>() {
        Ok(known) => return *known,
        Err(other) => other,
    };
    let error = &*error;
    if error.is::<InvalidDnsNameError>() {
        return ConnectError::Tls(error.to_string());
    }
    let handshake = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let kind = handshake.and_then(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::InvalidData) => ConnectError::Tls(innermost(error)),
        Some(_) => ConnectError::Tcp(innermost(error)),
        None => not_opened(innermost(error)),
    }
}

impl Service<Uri> for Connector {
    type Response = OpenConnection;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<OpenConnection, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (connector, timeout) = (self.clone(), self.timeout);
        Box::pin(async move {
            let connected = tokio::time::timeout(timeout, connector.connect(uri)).await;
            connected.unwrap_or(Err(ConnectError::Timeout(timeout)))
        })
    }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;

    use super::*;

    #[test]
    fn errors_say_which_step_failed() {
        let in_handshake = |kind| io::Error::other(io::Error::new(kind, "why")).into();
        let bad_name = ServerName::try_from("a b").expect_err("not a name");
        let refused = ConnectError::Refused("10.0.0.1 is private".into());
        let cases: [(Box<dyn Error + Send + Sync>, &str); 5] = [
            (in_handshake(io::ErrorKind::InvalidData), "TLS failed: why"),
            (in_handshake(io::ErrorKind::UnexpectedEof), "why"),
            (bad_name.into(), "TLS failed: invalid dns name"),
            ("closed".into(), "the proxy refused the connection: closed"),
            (refused.into(), "10.0.0.1 is private"),
        ];
        for (error, expected) in cases {
            assert_eq!(reason(error, ConnectError::Proxy).to_string(), expected);
        }
    }
}
