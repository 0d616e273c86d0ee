//! Search servers: how each is asked, and how its answer is read.

mod formats;

use std::fmt;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use net::WebUrl;
use protocol::{ErrorCode, ToolError, UnknownName, WebRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::VariantArray as _;

use self::formats::SearchFormat;

/// How recent results shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Recency {
    Day,
    Week,
    Month,
    Year,
}

/// What is searched for.
#[derive(Clone, Debug)]
pub(crate) struct SearchQuestion {
    pub(crate) query: String,
    pub(crate) results: u64,
    pub(crate) recency: Option<Recency>,
    /// Today, as `2026-11-16`: some servers want dates.
    pub(crate) since: Option<String>,
}

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SearchHit {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) snippet: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<String>,
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
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// Kagi.
    Kagi,
}

impl SearchProvider {
    /// Every kind.
    pub const ALL: &[SearchProvider] = SearchProvider::VARIANTS;

    /// The spelling in configuration.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn unknown(text: &str) -> UnknownName {
        UnknownName::among("search provider", text, Self::ALL)
    }

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
    pub provider: SearchProvider,
    /// Where it is.
    pub url: WebUrl,
    /// Its key, which is sent and never shown.
    pub key: Option<String>,
}

impl fmt::Debug for SearchServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SearchServer({} at {})", self.provider, self.url)
    }
}

impl SearchServer {
    /// The request for a question, without the key.
    pub(crate) fn request(
        &self,
        question: &SearchQuestion,
        timeout_ms: u64,
    ) -> Result<WebRequest, ToolError> {
        let asked = self.provider.format().request(&self.url, question);
        let asked = asked.map_err(|error| {
            let message = format!("the address of the search server cannot be used: {error}");
            ToolError::new(ErrorCode::ExecutionError, message)
        })?;
        Ok(WebRequest {
            method: if asked.body.is_some() { "POST" } else { "GET" }.into(),
            url: asked.url.to_string(),
            headers: match asked.body.is_some() {
                true => [("content-type".to_owned(), "application/json".to_owned())].into(),
                false => Default::default(),
            },
            body: asked.body.map(|body| body.to_string()),
            timeout_ms,
            search: Some(self.provider.to_string()),
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
        let (name, before) = self.provider.format().key_header();
        let mut value = HeaderValue::from_str(&format!("{before}{key}")).map_err(|_| {
            let message = format!("the key of {} cannot be sent", self.provider);
            ToolError::new(ErrorCode::ExecutionError, message)
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    /// The results in an answer; an error says what the server refused.
    pub(super) fn results(
        &self,
        status: u16,
        body: &[u8],
        most: usize,
    ) -> Result<Vec<SearchHit>, ToolError> {
        let provider = self.provider;
        let failed = |message: String| ToolError::new(ErrorCode::ExecutionError, message);
        if !(200..300).contains(&status) {
            let error = failed(format!("{provider} answered with status {status}"));
            return Err(match (status, provider) {
                (403, SearchProvider::SearXng) => error.suggest(
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
        let value: Value = serde_json::from_slice(body).map_err(|_| unreadable())?;
        let hits = provider.format().hits(&value).ok_or_else(unreadable)?;
        Ok(hits.into_iter().filter(|hit| WebUrl::parse(&hit.url).is_ok()).take(most).collect())
    }
}

/// A header with a bearer token.
const BEARER: (HeaderName, &str) = (AUTHORIZATION, "Bearer ");

#[cfg(test)]
mod tests;
