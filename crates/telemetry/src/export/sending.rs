//! One request to a server of OTLP, and the same again where that can help.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Method, Request, StatusCode, Uri};
use net::{Network, RequestBody, Transport};

use super::InvalidEndpoint;
use crate::otlp::rejected;

/// How long a connection may take.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Bytes of an answer that are looked at: it says at most what was not taken.
const ANSWER_BYTES: usize = 64 * 1024;
/// How long is waited before each further attempt. Meanwhile the queue fills, and then drops.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];
/// The longest that a server may have us wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");

/// What became of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    Taken {
        /// How much of it the server did not want.
        rejected: u64,
        /// Attempts that failed before.
        failures: u64,
    },
    Lost {
        failures: u64,
    },
}

impl SendOutcome {
    pub(super) fn failures(&self) -> u64 {
        match self {
            Self::Taken { failures, .. } | Self::Lost { failures } => *failures,
        }
    }
}

/// Why an attempt failed.
enum SendFailure {
    /// The same request would fail again.
    ForGood,
    /// It can be tried again, after so long if the server says.
    MayPass(Option<Duration>),
}

/// A server, and how requests to it look.
pub(super) struct Destination {
    uri: Uri,
    headers: HeaderMap,
    timeout: Duration,
    transport: Transport,
}

impl Destination {
    pub(super) fn new(
        uri: Uri,
        given: &[(String, String)],
        timeout: Duration,
        network: &Network,
    ) -> Result<Self, InvalidEndpoint> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, PROTOBUF);
        for (name, value) in given {
            let invalid = || InvalidEndpoint::Header(name.clone());
            let key = HeaderName::try_from(name.as_str()).map_err(|_| invalid())?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| invalid())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        let transport = Transport::to_server(network, &uri, CONNECT_TIME)?;
        Ok(Self { uri, headers, timeout, transport })
    }

    pub(super) async fn send(&self, body: Vec<u8>) -> SendOutcome {
        let body = Bytes::from(body);
        let mut pauses = PAUSES.into_iter();
        let mut failures = 0;
        loop {
            let failure = match self.attempt(body.clone()).await {
                Ok(rejected) => return SendOutcome::Taken { rejected, failures },
                Err(failure) => failure,
            };
            failures += 1;
            let (SendFailure::MayPass(wanted), Some(pause)) = (failure, pauses.next()) else {
                return SendOutcome::Lost { failures };
            };
            tokio::time::sleep(wanted.unwrap_or(pause).min(LONGEST_PAUSE)).await;
        }
    }

    async fn attempt(&self, body: Bytes) -> Result<u64, SendFailure> {
        let mut request = Request::new(RequestBody::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let answered = tokio::time::timeout(self.timeout, async {
            let response = self.transport.send(request).await.map_err(|error| {
                if error.may_pass { SendFailure::MayPass(None) } else { SendFailure::ForGood }
            })?;
            let (head, body) = response.into_parts();
            judged(head.status, &head.headers)?;
            // An answer that cannot be read says nothing of what was not taken.
            let body = Limited::new(body, ANSWER_BYTES).collect().await;
            Ok(body.map_or(0, |body| rejected(&body.to_bytes())))
        });
        answered.await.unwrap_or(Err(SendFailure::MayPass(None)))
    }
}

/// Which answers mean that it can be tried again is fixed by the protocol.
fn judged(status: StatusCode, headers: &HeaderMap) -> Result<(), SendFailure> {
    match status {
        status if status.is_success() => Ok(()),
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let told = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            Err(SendFailure::MayPass(told.map(Duration::from_secs)))
        }
        _ => Err(SendFailure::ForGood),
    }
}
