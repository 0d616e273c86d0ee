//! Sending requests: HTTP/1.1 over connections that are kept open, with TLS only where
//! the address asks for it.

mod connect;
mod tls;

use std::error::Error;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use connect::{ConnectError, Connector};

use crate::Secret;
use crate::request_body::RequestBody;

pub(crate) use connect::InvalidProxy;

/// How long an idle connection is kept. Servers commonly close theirs after one to two minutes.
const IDLE: Duration = Duration::from_secs(60);

/// How servers are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// The address of a proxy for `https` addresses, such as `http://user:password@proxy:3128`.
    /// It may hold a password, so it is kept like a key.
    pub proxy: Option<Secret>,
    /// Which certificates are trusted.
    pub roots: Roots,
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

/// A pool of connections. Cloning it shares them.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    client: Client<Connector, RequestBody>,
}

/// Why there is no answer, not even a refusal.
#[derive(Debug)]
pub(crate) struct SendError {
    /// What went wrong, as a part of a sentence.
    pub(crate) why: String,
    /// Whether it can be worth trying again.
    pub(crate) may_pass: bool,
}

impl Transport {
    /// Nothing is opened and no certificate is read before it is needed.
    pub(crate) fn new(network: &Network, connect: Duration) -> Result<Self, InvalidProxy> {
        let connector = Connector::new(network, connect)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { client })
    }

    /// Sends a request. Dropping the future, or later the answer's body, closes the connection.
    pub(crate) async fn send(
        &self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, SendError> {
        let origin = origin(request.uri());
        self.client.request(request).await.map_err(|error| {
            let connect = error.source().and_then(|source| source.downcast_ref::<ConnectError>());
            let may_pass = connect.is_none_or(ConnectError::may_pass);
            let why = match connect {
                Some(error) => format!("cannot connect to {origin}: {error}"),
                None => {
                    let why = innermost(&error);
                    format!("the connection to {origin} broke before an answer came ({why})")
                }
            };
            SendError { why, may_pass }
        })
    }
}

/// Scheme, host and port of an address: what is connected to. No path, no password.
pub(crate) fn origin(uri: &Uri) -> String {
    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
    let scheme = uri.scheme_str().unwrap_or_default();
    format!("{scheme}://{}{port}", uri.host().unwrap_or_default())
}

/// The innermost cause of an error; the layers above it only say that something failed.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// A time limit in words.
pub(crate) fn spoken(limit: Duration) -> String {
    match limit.as_secs() {
        0 => format!("{} ms", limit.as_millis()),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
