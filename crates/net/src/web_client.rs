//! One exchange with a web server: every redirect judged, everything bounded.

use std::pin::Pin;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE,
    HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHORIZATION,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::{Instant, timeout_at};

use crate::decoding::{Decoding, SLICE};
use crate::reach::Reach;
use crate::request_body::RequestBody;
use crate::transport::{
    HEAD_BYTES, HttpVersions, InvalidProxy, Network, Transport, innermost, spoken,
};
use crate::web_url::WebUrl;

/// Redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;
/// How long a connection may take, within the time of the exchange.
const CONNECT: Duration = Duration::from_secs(10);

/// Fetches from web servers. A clone shares the connections.
#[derive(Clone, Debug)]
pub struct WebClient {
    transport: Transport,
}

/// What is asked of a server.
#[derive(Clone, Debug)]
pub struct WebCall {
    /// The method; others than `GET` and `HEAD` are not repeated at another origin.
    pub method: Method,
    /// The first address.
    pub url: WebUrl,
    /// The caller's headers. Those that are marked as sensitive, and the usual ones for credentials,
    /// are only sent to the origin of the first address.
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    /// Limit for the whole exchange, redirects included.
    pub timeout: Duration,
    /// The most bytes that are read of the answer's body, after decompression.
    pub max_body: usize,
}

/// What a server said.
#[derive(Clone, Debug)]
pub struct WebReply {
    /// Where the answer came from, after redirects.
    pub url: WebUrl,
    /// The status of HTTP.
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// The body, as far as it was read.
    pub body: Vec<u8>,
    /// Whether there was more of it.
    pub is_cut: bool,
    /// The redirect that this answer is, if it was not followed, and why not.
    pub not_followed: Option<NotFollowed>,
}

/// A redirect that was not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFollowed {
    /// Where it leads.
    pub to: WebUrl,
    /// Why it was not followed, as a part of a sentence.
    pub why: String,
}

/// Why there is no answer. The texts are whole sentences without a final dot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The server must not be reached.
    #[error("{url} is not fetched: {why}")]
    Refused {
        /// The address that was refused, which can be that of a redirect.
        url: String,
        /// Names the address that the host stands for, if that was the reason.
        why: String,
    },
    /// It could not be reached, or broke off.
    #[error("{0}")]
    Failed(String),
    /// It took too long.
    #[error("there was no complete answer within {}", spoken(*.0))]
    TimedOut(Duration),
}

/// What becomes of a fetch, behind a pointer for the reason that [`crate::Sending`] is.
pub type Fetching<'a> = Pin<Box<dyn Future<Output = Result<WebReply, WebError>> + Send + 'a>>;

/// Whether a redirect may be followed; if not, why, as a part of a sentence.
pub type MayFollow<'f> = dyn Fn(&WebUrl) -> Result<(), String> + Send + Sync + 'f;

impl WebClient {
    /// Nothing is opened and no certificate is read before it is needed.
    pub fn new(network: &Network, reach: Reach) -> Result<WebClient, InvalidProxy> {
        let transport = Transport::new(network, reach, HttpVersions::OneAndTwo, CONNECT)?;
        Ok(WebClient { transport })
    }

    /// Sends the request and reads the answer. A redirect to another origin is followed only if
    /// `may_follow` says so; one to the same origin always is.
    pub fn fetch<'a>(&'a self, call: WebCall, may_follow: &'a MayFollow<'_>) -> Fetching<'a> {
        let timeout = call.timeout;
        let fetching = timeout_at(Instant::now() + timeout, self.followed(call, may_follow));
        Box::pin(async move { fetching.await.unwrap_or(Err(WebError::TimedOut(timeout))) })
    }

    async fn followed(
        &self,
        mut call: WebCall,
        may_follow: &MayFollow<'_>,
    ) -> Result<WebReply, WebError> {
        let mut redirects = 0;
        loop {
            let response = self.sent(&call).await?;
            check_head(&call, &response)?;
            let Some(next) = redirect(&call, &response)? else {
                return read(call, response, None).await;
            };
            if let Err(why) = may_go_on(&call, &next, may_follow) {
                let not_followed = NotFollowed { to: next.url, why };
                return read(call, response, Some(not_followed)).await;
            }
            redirects += 1;
            if redirects > MAX_REDIRECTS {
                let message = format!("{} redirects more than {MAX_REDIRECTS} times", call.url);
                return Err(WebError::Failed(message));
            }
            call = next;
        }
    }

    async fn sent(&self, call: &WebCall) -> Result<Response<Incoming>, WebError> {
        let mut request = Request::new(RequestBody::from(call.body.clone().unwrap_or_default()));
        *request.method_mut() = call.method.clone();
        let address = call.url.as_str().parse();
        *request.uri_mut() = address.map_err(|_| WebError::Refused {
            url: call.url.to_string(),
            why: "it cannot be written in a request".into(),
        })?;
        *request.headers_mut() = call.headers.clone();
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        self.transport.send(request).await.map_err(|error| match error.refused {
            Some(why) => WebError::Refused { url: call.url.to_string(), why },
            None => WebError::Failed(error.why),
        })
    }
}

fn check_head(call: &WebCall, response: &Response<Incoming>) -> Result<(), WebError> {
    let headers = response.headers().iter();
    let size: usize = headers.map(|(name, value)| name.as_str().len() + value.len()).sum();
    if size <= HEAD_BYTES {
        return Ok(());
    }
    Err(WebError::Failed(format!("the head of the answer of {} is too long", call.url.origin())))
}

/// The next request, if the answer is a redirect.
fn redirect(call: &WebCall, response: &Response<Incoming>) -> Result<Option<WebCall>, WebError> {
    let status = response.status();
    let is_redirect = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else {
        return Ok(None);
    };
    let refused =
        |why: String| WebError::Refused { url: format!("a redirect of {}", call.url), why };
    let location = std::str::from_utf8(location.as_bytes());
    let location = location.map_err(|_| refused("its address is not UTF-8".into()))?;
    let url = call.url.join(location).map_err(|error| refused(error.to_string()))?;
    let mut next = WebCall { url, ..call.clone() };
    let becomes_get = match status.as_u16() {
        303 => call.method != Method::HEAD,
        301 | 302 => call.method == Method::POST,
        _ => false,
    };
    if becomes_get {
        (next.method, next.body) = (Method::GET, None);
        for name in [CONTENT_TYPE, CONTENT_LENGTH] {
            next.headers.remove(name);
        }
    }
    if next.url.origin() != call.url.origin() {
        next.headers = without_credentials(&call.headers);
    }
    Ok(Some(next))
}

/// The headers that may be sent to another origin.
fn without_credentials(headers: &HeaderMap) -> HeaderMap {
    let is_credential = |name: &HeaderName, value: &HeaderValue| {
        value.is_sensitive() || [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION].contains(name)
    };
    let kept = headers.iter().filter(|(name, value)| !is_credential(name, value));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn may_go_on(from: &WebCall, to: &WebCall, may_follow: &MayFollow<'_>) -> Result<(), String> {
    if from.url.is_encrypted() && !to.url.is_encrypted() {
        return Err("it leads from https to http".into());
    }
    if from.url.origin() == to.url.origin() {
        return Ok(());
    }
    if !matches!(to.method, Method::GET | Method::HEAD) || to.body.is_some() {
        return Err("what was sent is not sent to another server".into());
    }
    // The same server, encrypted.
    let (one, other) = (from.url.authority(), to.url.authority());
    if one.host == other.host && (one.port, other.port) == (80, 443) && to.url.is_encrypted() {
        return Ok(());
    }
    may_follow(&to.url)
}

/// Reads the body, up to the limit.
async fn read(
    call: WebCall,
    response: Response<Incoming>,
    not_followed: Option<NotFollowed>,
) -> Result<WebReply, WebError> {
    let (parts, mut incoming) = response.into_parts();
    let origin = call.url.origin();
    let encodings = parts.headers.get_all(CONTENT_ENCODING);
    let encodings: Vec<String> = encodings
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    let mut decoding = match encodings.as_slice() {
        [] => Decoding::Plain,
        [one]
            if ["", "identity", "gzip", "x-gzip"].contains(&one.trim().to_lowercase().as_str()) =>
        {
            Decoding::of(one).unwrap_or(Decoding::Plain)
        }
        _ => {
            let message = format!(
                "{origin} sent its answer in the encoding `{}`; only gzip is understood",
                encodings.join(", ").escape_debug()
            );
            return Err(WebError::Failed(message));
        }
    };
    let (mut body, mut is_cut) = (Vec::new(), false);
    'frames: while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| {
            WebError::Failed(format!("the answer of {origin} broke off ({})", innermost(&error)))
        })?;
        let Some(bytes) = frame.data_ref() else { continue };
        for slice in bytes.chunks(SLICE) {
            let decoded = decoding.decode(slice).map_err(|error| {
                WebError::Failed(format!("the answer of {origin} cannot be unpacked: {error}"))
            })?;
            let room = call.max_body - body.len();
            body.extend_from_slice(&decoded[..decoded.len().min(room)]);
            if decoded.len() > room {
                is_cut = true;
                break 'frames;
            }
        }
    }
    let (status, headers) = (parts.status, parts.headers);
    Ok(WebReply { url: call.url, status, headers, body, is_cut, not_followed })
}

#[cfg(test)]
mod tests;
