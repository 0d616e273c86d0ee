//! A provider behind HTTP: one way to send, whichever format it uses.

mod answer;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_manager::{
    Deferral, ModelError, ModelErrorKind, ModelProvider, ModelRequest, ModelStream,
};
use futures_util::stream;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Request, Uri};
use net::{InvalidProxy, Network, RequestBody, Transport};

use crate::catalogue::model_info;
use crate::format::WrittenCache;
use crate::{Api, Quirks, Secret};
use answer::Answer;

/// Everything that makes one provider differ from another.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// The name in messages, such as `anthropic`.
    pub name: String,
    /// The format of its requests and answers.
    pub api: Api,
    /// Its address, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key, if it needs one.
    pub key: Option<Secret>,
    /// Where the key comes from, to name it when it is refused.
    pub key_source: Option<String>,
    /// Headers besides those that are always sent.
    pub headers: Vec<(String, String)>,
    /// How it differs from others with this format.
    pub quirks: Quirks,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// How it is reached.
    pub network: Network,
    /// How models there learn of tools that are not listed, if they know the way.
    pub deferral: Deferral,
}

/// How long nothing may come from the server. There is no limit on a whole answer: a long one is not a broken one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection is there, encryption included.
    pub connect: Duration,
    /// From sending a request to the first piece of the answer.
    pub first_byte: Duration,
    /// From one piece of the answer to the next.
    pub between_bytes: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(180),
            between_bytes: Duration::from_secs(120),
        }
    }
}

impl Timeouts {
    /// For a server on the same machine, which loads its model when it is first asked.
    pub fn local() -> Self {
        Self { first_byte: Duration::from_secs(900), ..Self::default() }
    }
}

/// The configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpConfigError {
    /// The address of the provider.
    #[error(
        "`{url}` is not a valid provider address: write it as http://host:port or https://host"
    )]
    Address {
        /// As it was given.
        url: String,
    },
    /// The address of the proxy. It is not repeated, since it may hold a password.
    #[error("the proxy address is not valid: write it as http://host:port")]
    Proxy,
    #[error("the header `{name}` has an invalid name or value")]
    Header { name: String },
}

impl From<InvalidProxy> for HttpConfigError {
    fn from(InvalidProxy: InvalidProxy) -> Self {
        Self::Proxy
    }
}

/// A provider behind HTTP. Connections are kept open between requests; none is opened before the
/// first one. Needs a tokio runtime with I/O and time.
#[derive(Clone, Debug)]
pub struct HttpProvider {
    shared: Arc<ProviderState>,
}

/// What a running answer needs of its provider.
#[derive(Debug)]
struct ProviderState {
    config: HttpConfig,
    url: Uri,
    headers: HeaderMap,
    transport: Transport,
    written: WrittenCache,
}

impl HttpProvider {
    /// Checks the configuration; nothing is opened and nothing is read.
    pub fn new(config: HttpConfig) -> Result<Self, HttpConfigError> {
        let url = address(&config)?;
        let headers = headers(&config)?;
        let transport = Transport::to_server(&config.network, &url, config.timeouts.connect)?;
        Ok(Self {
            shared: Arc::new(ProviderState {
                config,
                url,
                headers,
                transport,
                written: WrittenCache::default(),
            }),
        })
    }

    /// What it was made from.
    pub fn config(&self) -> &HttpConfig {
        &self.shared.config
    }
}

#[async_trait]
impl ModelProvider for HttpProvider {
    fn name(&self) -> &str {
        &self.shared.config.name
    }

    fn deferral(&self, model: &str) -> Deferral {
        match self.shared.config.deferral {
            Deferral::Native if !model_info(model).finds_tools => Deferral::Append,
            deferral => deferral,
        }
    }

    /// One attempt: the request is sent when the stream is first polled, and never again. The caller
    /// decides about the next attempt, because only it knows what became of the pieces of an answer
    /// and what its budget allows.
    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let config = &self.shared.config;
        let body = config.api.written_body(request, &config.quirks, &self.shared.written);
        let body = body.map_err(|error| {
            let message =
                format!("{}: the request cannot be written as JSON: {error}", config.name);
            ModelError::new(ModelErrorKind::InvalidRequest, message)
        })?;
        let reader = config.api.reader(&config.quirks, &request.tools);
        let answer = Answer::new(self.shared.clone(), body, reader);
        let items = stream::unfold(answer, |mut answer| async move {
            let item = answer.next().await?;
            Some((item, answer))
        });
        Ok(Box::pin(items))
    }
}

fn address(config: &HttpConfig) -> Result<Uri, HttpConfigError> {
    let invalid = || HttpConfigError::Address { url: config.base_url.clone() };
    let url: Uri = config.api.url(config.base_url.trim()).parse().map_err(|_| invalid())?;
    let known = matches!(url.scheme_str(), Some("http" | "https"));
    if !known || url.host().is_none_or(str::is_empty) {
        return Err(invalid());
    }
    Ok(url)
}

/// The headers of every request, the key among them.
pub(crate) fn headers(config: &HttpConfig) -> Result<HeaderMap, HttpConfigError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let agent = concat!("toolkiln/", env!("CARGO_PKG_VERSION"));
    headers.insert(USER_AGENT, HeaderValue::from_static(agent));
    for (name, value) in config.api.headers() {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    for (name, value) in &config.headers {
        let invalid = || HttpConfigError::Header { name: name.clone() };
        let key: HeaderName = name.parse().map_err(|_| invalid())?;
        let mut value: HeaderValue = value.parse().map_err(|_| invalid())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    if let Some(key) = &config.key {
        let invalid = |_| HttpConfigError::Header { name: AUTHORIZATION.to_string() };
        let mut value: HeaderValue = format!("Bearer {}", key.expose()).parse().map_err(invalid)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

impl ProviderState {
    fn request(&self, body: RequestBody) -> Request<RequestBody> {
        let mut request = Request::new(body);
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

#[cfg(test)]
mod tests;
