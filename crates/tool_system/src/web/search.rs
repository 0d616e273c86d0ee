//! Search servers: how each is asked, and how its answer is read.

mod formats;

use std::fmt;
use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use net::WebUrl;
use protocol::{ErrorCode, ToolError, UnknownName, WebRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::formats::cleaned;

pub use self::formats::{AskedSearch, SearchFormat};

/// How recent results shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recency {
    Day,
    Week,
    Month,
    Year,
}

/// What is searched for.
#[derive(Clone, Debug)]
pub struct SearchQuestion {
    /// The words.
    pub query: String,
    /// How many results are wanted.
    pub results: u64,
    /// How recent they shall be.
    pub recency: Option<Recency>,
    /// The first day of that time, as `2026-11-16`: some servers want dates.
    pub since: Option<String>,
}

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchHit {
    pub title: String,
    pub url: String,
    pub snippet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
}

impl SearchHit {
    /// Without markup and control characters, and of moderate length.
    fn cleaned(self) -> Self {
        let Self { title, url, snippet, published } = self;
        let published = published.as_deref().map(cleaned);
        Self { title: cleaned(&title), url, snippet: cleaned(&snippet), published }
    }
}

/// A kind of search server.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(
    serialize_all = "lowercase",
    parse_err_ty = UnknownName,
    parse_err_fn = SearchProvider::unknown
)]
pub enum SearchProvider {
    /// A SearXNG or searx server, usually the user's own.
    SearXng,
    /// Brave Search.
    Brave,
    Tavily,
    Exa,
    Kagi,
}

protocol::names_of!(SearchProvider, "search provider");

impl SearchProvider {
    /// The address of the service; none for servers that users run themselves.
    pub fn usual_url(self) -> Option<&'static str> {
        self.format().usual_url()
    }

    /// The variable that usually holds its key; none if it needs none.
    pub fn usual_key(self) -> Option<&'static str> {
        self.format().usual_key()
    }

    fn format(self) -> &'static dyn SearchFormat {
        match self {
            SearchProvider::SearXng => &formats::SearXngFormat,
            SearchProvider::Brave => &formats::BraveFormat,
            SearchProvider::Tavily => &formats::TavilyFormat,
            SearchProvider::Exa => &formats::ExaFormat,
            SearchProvider::Kagi => &formats::KagiFormat,
        }
    }
}

/// The search server of the user's configuration.
#[derive(Clone)]
pub struct SearchServer {
    /// What it is.
    pub kind: SearchKind,
    /// Where it is.
    pub url: WebUrl,
    /// Its key, which is sent and never shown.
    pub key: Option<String>,
}

/// A search server of a known kind, or another one.
#[derive(Clone)]
pub enum SearchKind {
    /// One of those that are known here.
    Known(SearchProvider),
    /// One that the program brings along, such as the provider of a model.
    Other(Arc<dyn SearchFormat>),
}

impl SearchKind {
    fn format(&self) -> &dyn SearchFormat {
        match self {
            Self::Known(provider) => provider.format(),
            Self::Other(format) => &**format,
        }
    }

    /// What it is called.
    fn name(&self) -> String {
        match self {
            Self::Known(provider) => provider.to_string(),
            Self::Other(format) => format.name(),
        }
    }
}

impl fmt::Debug for SearchServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SearchServer({} at {})", self.kind.name(), self.url)
    }
}

impl SearchServer {
    /// Whether it takes longer than a web server.
    pub(crate) fn takes_its_time(&self) -> bool {
        self.kind.format().takes_its_time()
    }

    /// The request for a question, without the key.
    pub(crate) fn request(
        &self,
        question: &SearchQuestion,
        timeout_ms: u64,
    ) -> Result<WebRequest, ToolError> {
        let format = self.kind.format();
        let asked = format.request(&self.url, question);
        let asked = asked.map_err(|error| {
            let message = format!("the address of the search server cannot be used: {error}");
            ToolError::new(ErrorCode::ExecutionError, message)
        })?;
        Ok(WebRequest {
            method: if asked.body.is_some() { "POST" } else { "GET" }.into(),
            url: asked.url.to_string(),
            headers: asked
                .body
                .iter()
                .map(|_| ("content-type", "application/json"))
                .chain(format.headers().iter().copied())
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: asked.body.map(|body| body.to_string()),
            timeout_ms,
            search: Some(self.kind.name()),
            unnamed: false,
        })
    }

    /// Adds the key to the headers of a request, which must go to this very server.
    pub(super) fn sign(&self, url: &WebUrl, headers: &mut HeaderMap) -> Result<(), ToolError> {
        if url.origin() != self.url.origin() {
            let message = format!("{} is not the configured search server", url.origin());
            return Err(ToolError::new(ErrorCode::PermissionDenied, message));
        }
        let Some(key) = &self.key else { return Ok(()) };
        let (name, before) = self.kind.format().key_header();
        let mut value = HeaderValue::from_str(&format!("{before}{key}")).map_err(|_| {
            let message = format!("the key of {} cannot be sent", self.kind.name());
            ToolError::new(ErrorCode::ExecutionError, message)
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
        Ok(())
    }

    /// What a server says about a failure; none if it repeats the key, of which a line could hold a part.
    fn without_key(&self, said: &str) -> Option<String> {
        let line = cleaned(said);
        let repeats = |key: &String| [said, &line].iter().any(|text| text.contains(key.as_str()));
        let is_told = !self.key.as_ref().filter(|key| !key.is_empty()).is_some_and(repeats);
        is_told.then_some(line)
    }

    /// The results in an answer; an error says what the server refused.
    pub(super) fn results(
        &self,
        status: u16,
        body: &[u8],
        most: usize,
    ) -> Result<Vec<SearchHit>, ToolError> {
        let (provider, format) = (self.kind.name(), self.kind.format());
        let failed = |message: String| ToolError::new(ErrorCode::ExecutionError, message);
        let value: Option<Value> = serde_json::from_slice(body).ok();
        if !(200..300).contains(&status) {
            let said = value.and_then(|value| format.failure(&value));
            let said = said.and_then(|said| self.without_key(&said));
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            let error = failed(format!("{provider} answered with status {status}{said}"));
            return Err(match (status, &self.kind) {
                (403, SearchKind::Known(SearchProvider::SearXng)) => error.suggest(
                    "A SearXNG server answers programs only if its settings list `json` under \
                     `search.formats`. Ask the user to add it.",
                ),
                (401 | 403, _) => {
                    error.suggest("Ask the user to check the key of the search server.")
                }
                (429, _) => error.suggest("Too many searches: wait, or search less often."),
                _ => error.suggest("Try again later, or fetch an address that you know."),
            });
        }
        let unreadable = || failed(format!("{provider} did not answer with results in JSON"));
        let value = value.ok_or_else(unreadable)?;
        if let Some(why) = format.failure(&value) {
            let why = self.without_key(&why);
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            return Err(failed(format!("{provider} found nothing out{why}"))
                .suggest("Search for something else, or fetch an address that you know."));
        }
        let hits = format.hits(&value).ok_or_else(unreadable)?;
        let hits = hits.into_iter().filter(|hit| WebUrl::parse(&hit.url).is_ok()).take(most);
        Ok(hits.map(SearchHit::cleaned).collect())
    }
}

/// A header with a bearer token.
const BEARER: (&str, &str) = ("authorization", "Bearer ");

#[cfg(test)]
mod tests;
