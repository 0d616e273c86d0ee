//! Opening a connection: plain, encrypted, or encrypted through a proxy.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tower_service::Service;

use super::tls::LazyTls;
use super::{Network, innermost};
use crate::retry::spoken;

/// How often the system asks a silent peer whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Why no connection came about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("nothing came back within {}", spoken(*.0))]
    Timeout(Duration),
    #[error("{0}")]
    Tcp(String),
    #[error("the proxy did not let us through: {0}")]
    Proxy(String),
    #[error("no trust could be established: {0}")]
    Tls(String),
}

impl ConnectError {
    /// A certificate that is not trusted will not be in a second either.
    pub(crate) fn may_pass(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }
}

/// The address of the proxy cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the address of the proxy is not one: write it as http://host:port")]
pub(crate) struct InvalidProxy;

/// Opens connections for the pool.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    tcp: HttpConnector,
    tunnel: Option<Tunnel<HttpConnector>>,
    tls: Arc<LazyTls>,
    timeout: Duration,
}

impl Connector {
    pub(super) fn new(network: &Network, timeout: Duration) -> Result<Self, InvalidProxy> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        let tunnel =
            network.proxy.as_ref().map(|proxy| tunnel(proxy.expose(), &tcp)).transpose()?;
        Ok(Self { tcp, tunnel, tls: Arc::new(LazyTls::new(network.roots.clone())), timeout })
    }

    async fn connect(mut self, uri: Uri) -> Result<Wire, ConnectError> {
        let encrypted = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let tcp = match &mut self.tunnel {
            Some(tunnel) if encrypted => {
                tunnel.call(uri).await.map_err(|error| ConnectError::Proxy(innermost(&error)))?
            }
            _ => self.tcp.call(uri).await.map_err(|error| ConnectError::Tcp(innermost(&error)))?,
        };
        let tcp = tcp.into_inner();
        if !encrypted {
            return Ok(Wire::new(tcp));
        }
        let config = self.tls.config().map_err(ConnectError::Tls)?;
        let name = ServerName::try_from(host);
        let name = name.map_err(|error| ConnectError::Tls(error.to_string()))?;
        let stream = TlsConnector::from(config).connect(name, tcp).await;
        let stream = stream.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => ConnectError::Tls(innermost(&error)),
            _ => ConnectError::Tcp(innermost(&error)),
        })?;
        Ok(Wire::new(stream))
    }
}

/// The way through a proxy; its address may hold a name and a password.
fn tunnel(proxy: &str, tcp: &HttpConnector) -> Result<Tunnel<HttpConnector>, InvalidProxy> {
    let anywhere = Uri::from_static("https://example.com");
    let matcher = Matcher::builder().https(proxy).build();
    let found = matcher.intercept(&anywhere).ok_or(InvalidProxy)?;
    let tunnel = Tunnel::new(found.uri().clone(), tcp.clone());
    Ok(match found.basic_auth() {
        Some(password) => tunnel.with_auth(password.clone()),
        None => tunnel,
    })
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, ConnectError>> + Send>>;

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

trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// An open connection, encrypted or not.
pub(crate) struct Wire(TokioIo<Box<dyn Duplex>>);

impl Wire {
    fn new(stream: impl Duplex + 'static) -> Self {
        Self(TokioIo::new(Box::new(stream)))
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
    }

    /// Where it is not, all pieces of a request are copied into one.
    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
