//! Sending requests: HTTP over connections that are kept open, with TLS only where the address asks
//! for it.

mod connect;
mod tls;

use std::error::Error;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::PROXY_AUTHORIZATION;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use connect::{ConnectError, Connector};

use crate::authority::Authority;
use crate::dial::Dialer;
use crate::reach::Reach;
use crate::request_body::RequestBody;
use crate::upstream::Upstream;

pub use connect::InvalidProxy;

/// How long an idle connection is kept. Servers commonly close theirs after one to two minutes.
const IDLE: Duration = Duration::from_secs(60);
/// The longest head of an answer.
pub(crate) const HEAD_BYTES: usize = 64 * 1024;
/// The same for HTTP/2, which takes another type.
const HEADER_LIST_BYTES: u32 = 64 * 1024;

/// How servers are reached.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The proxy for `https` addresses.
    pub https_proxy: Option<Upstream>,
    /// The proxy for `http` addresses.
    pub http_proxy: Option<Upstream>,
    /// Which certificates are trusted.
    pub roots: Roots,
    /// Resolves names and opens connections.
    pub dialer: Dialer,
}

/// Which certificate authorities are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Roots {
    /// Those that the system trusts, or that its usual variables name.
    #[default]
    System,
    /// Those in this PEM text, and no others.
    Pem(Vec<u8>),
}

/// The versions of HTTP that are offered to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersions {
    /// HTTP/1.1, where dropping an answer closes its connection.
    One,
    /// HTTP/2 where the server chooses it, else HTTP/1.1.
    OneAndTwo,
}

/// A pool of connections. Cloning it shares them.
#[derive(Clone, Debug)]
pub struct Transport {
    client: Client<Connector, RequestBody>,
    connector: Connector,
}

/// What becomes of a request. Behind a pointer, so that HTTP is compiled here and not again in every crate that asks
/// something.
pub type Sending = Pin<Box<dyn Future<Output = Result<Response<Incoming>, SendError>> + Send>>;

/// Why there is no answer, not even a refusal.
#[derive(Debug)]
pub struct SendError {
    /// What went wrong, as a part of a sentence.
    pub why: String,
    /// Whether it can be worth trying again.
    pub may_pass: bool,
    /// Whether the server must not be reached, for the reason in this text.
    pub refused: Option<String>,
}

impl Transport {
    /// Nothing is opened and no certificate is read before it is needed.
    pub fn new(
        network: &Network,
        reach: Reach,
        versions: HttpVersions,
        connect: Duration,
    ) -> Result<Self, InvalidProxy> {
        let connector = Connector::new(network, reach, versions, connect)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(HEAD_BYTES)
            .http2_max_header_list_size(HEADER_LIST_BYTES)
            .build(connector.clone());
        Ok(Self { client, connector })
    }

    /// For requests to this one server, which the user's configuration names.
    pub fn to_server(
        network: &Network,
        server: &Uri,
        connect: Duration,
    ) -> Result<Self, InvalidProxy> {
        // An address that names no host is refused when it is connected to.
        let named = connect::authority_of(server).into_iter().collect::<Vec<Authority>>();
        Self::new(network, Reach::Named(named), HttpVersions::One, connect)
    }

    /// Sends a request. Dropping the future, or later the answer's body, closes the connection.
    pub fn send(&self, mut request: Request<RequestBody>) -> Sending {
        let origin = origin(request.uri());
        if let Some(value) = self.connector.proxy_authorization(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, value);
        }
        let answer = self.client.request(request);
        Box::pin(async move { answer.await.map_err(|error| SendError::new(&error, &origin)) })
    }
}

impl SendError {
    fn new(error: &legacy::Error, origin: &str) -> Self {
        let connect = error.source().and_then(|source| source.downcast_ref::<ConnectError>());
        let may_pass = connect.is_none_or(ConnectError::may_pass);
        let refused = match connect {
            Some(ConnectError::Refused(why)) => Some(why.clone()),
            _ => None,
        };
        let why = match connect {
            Some(error) => format!("cannot connect to {origin}: {error}"),
            None => {
                let why = innermost(error);
                format!("the connection to {origin} broke before an answer came ({why})")
            }
        };
        SendError { why, may_pass, refused }
    }
}

/// Scheme, host and port of an address: what is connected to. No path, no password.
pub fn origin(uri: &Uri) -> String {
    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
    let scheme = uri.scheme_str().unwrap_or_default();
    format!("{scheme}://{}{port}", uri.host().unwrap_or_default())
}

/// The innermost cause of an error; the layers above it only say that something failed.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// A time limit in words.
pub fn spoken(limit: Duration) -> String {
    match limit.as_secs() {
        0 => format!("{} ms", limit.as_millis()),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
