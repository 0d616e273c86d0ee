//! Opening a connection: plain, encrypted, or encrypted through a proxy.
//!
//! `hyper-rustls` does the encryption. What is here is what it leaves to its callers: encryption that
//! is set up when it is first needed, one time limit for all steps, and errors that say which step
//! failed and whether trying again can help.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use rustls::pki_types::InvalidDnsNameError;
use tokio::net::TcpStream;
use tower_service::Service;

use super::tls::LazyTls;
use super::{Network, innermost, spoken};

/// How often the system asks a silent peer whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("no connection within {}", spoken(*.0))]
    Timeout(Duration),
    #[error("{0}")]
    Tcp(String),
    #[error("the proxy refused the connection: {0}")]
    Proxy(String),
    #[error("TLS failed: {0}")]
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
#[error("the proxy address is not valid: write it as http://host:port")]
pub(crate) struct InvalidProxy;

type OpenConnection = MaybeHttpsStream<TokioIo<TcpStream>>;

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

    async fn connect(mut self, uri: Uri) -> Result<OpenConnection, ConnectError> {
        if uri.scheme_str() != Some("https") {
            let opened = self.tcp.call(uri).await;
            let opened = opened.map_err(|error| ConnectError::Tcp(innermost(&error)))?;
            return Ok(MaybeHttpsStream::Http(opened));
        }
        let config = self.tls.config().map_err(ConnectError::Tls)?;
        match self.tunnel {
            Some(tunnel) => {
                let encrypted = HttpsConnector::from((tunnel, config)).call(uri).await;
                encrypted.map_err(|error| reason(&*error, ConnectError::Proxy))
            }
            None => {
                let encrypted = HttpsConnector::from((self.tcp, config)).call(uri).await;
                encrypted.map_err(|error| reason(&*error, ConnectError::Tcp))
            }
        }
    }
}

/// Tells a failed encryption from a connection that was not opened. An I/O error at the top is how
/// `hyper-rustls` wraps what went wrong in the handshake; connectors have their own
/// error types.
fn reason(
    error: &(dyn Error + Send + Sync + 'static),
    not_opened: fn(String) -> ConnectError,
) -> ConnectError {
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

/// A tunnel through a proxy; its address may hold a name and a password.
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
        let cases: [(Box<dyn Error + Send + Sync>, &str); 4] = [
            (in_handshake(io::ErrorKind::InvalidData), "TLS failed: why"),
            (in_handshake(io::ErrorKind::UnexpectedEof), "why"),
            (bad_name.into(), "TLS failed: invalid dns name"),
            ("closed".into(), "the proxy refused the connection: closed"),
        ];
        for (error, expected) in cases {
            assert_eq!(reason(&*error, ConnectError::Proxy).to_string(), expected);
        }
    }
}
