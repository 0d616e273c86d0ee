//! The interfaces of search servers, a type each.

use net::{InvalidWebUrl, WebUrl};
use serde_json::{Value, json};

use super::{BEARER, Recency, SearchHit, SearchQuestion};

/// Bytes of a snippet.
pub(super) const MAX_SNIPPET: usize = 600;

/// What is sent to a server.
#[derive(Clone, Debug)]
pub struct AskedSearch {
    /// Where it is sent.
    pub url: WebUrl,
    /// What is posted there; without it, the address says all.
    pub body: Option<Value>,
}

/// How a kind of server is asked, and how its answer is read.
pub trait SearchFormat: Send + Sync {
    /// What it is called, where it is none of the known ones.
    fn name(&self) -> String {
        String::new()
    }

    /// The address of the service; none for servers that users run themselves.
    fn usual_url(&self) -> Option<&'static str> {
        None
    }

    /// The variable that usually holds its key.
    fn usual_key(&self) -> Option<&'static str> {
        None
    }

    /// The header that holds the key, in small letters, and what stands before it.
    fn key_header(&self) -> (&'static str, &'static str) {
        BEARER
    }

    /// Headers that are sent with each request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Whether it takes longer than a web server, because a model reads what it finds.
    fn takes_its_time(&self) -> bool {
        false
    }

    /// The request for a question, without the key.
    fn request(&self, base: &WebUrl, asked: &SearchQuestion) -> Result<AskedSearch, InvalidWebUrl>;

    /// Why there are no results, if an answer says so.
    fn failure(&self, _answer: &Value) -> Option<String> {
        None
    }

    /// The results; none if this is not an answer of such a server.
    fn hits(&self, answer: &Value) -> Option<Vec<SearchHit>>;
}

/// The results in a list, by the names of their fields.
fn listed(list: &Value, snippet: &str, published: &str) -> Option<Vec<SearchHit>> {
    let text = |item: &Value, key: &str| match &item[key] {
        Value::String(text) => Some(cleaned(text)),
        Value::Array(parts) => {
            let parts = parts.iter().filter_map(Value::as_str);
            Some(cleaned(&parts.collect::<Vec<_>>().join(" … ")))
        }
        _ => None,
    };
    let hit = |item: &Value| SearchHit {
        title: text(item, "title").unwrap_or_default(),
        url: item["url"].as_str().unwrap_or_default().to_owned(),
        snippet: text(item, snippet).unwrap_or_default(),
        published: text(item, published).filter(|date| !date.is_empty()),
    };
    Some(list.as_array()?.iter().map(hit).collect())
}

/// One line without tags and control characters, of moderate length.
pub(super) fn cleaned(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_tag = false;
    for c in text.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            _ if in_tag => {}
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut line = words.join(" ");
    line.truncate(line.floor_char_boundary(MAX_SNIPPET));
    line
}

/// An address below that of the server.
fn below(base: &WebUrl, path: &str) -> Result<WebUrl, InvalidWebUrl> {
    WebUrl::parse(&format!("{}/{path}", base.as_str().trim_end_matches('/')))
}

pub(super) struct SearXngFormat;

impl SearchFormat for SearXngFormat {
    fn request(&self, base: &WebUrl, asked: &SearchQuestion) -> Result<AskedSearch, InvalidWebUrl> {
        let fields = [("q", asked.query.as_str()), ("format", "json")];
        let range = asked.recency.map(|recency| match recency {
            Recency::Day => "day",
            Recency::Week => "week",
            Recency::Month => "month",
            Recency::Year => "year",
        });
        let range = range.map(|range| ("time_range", range));
        let url = below(base, "search")?.with_query(fields.into_iter().chain(range));
        Ok(AskedSearch { url, body: None })
    }

    fn hits(&self, answer: &Value) -> Option<Vec<SearchHit>> {
        listed(&answer["results"], "content", "publishedDate")
    }
}

pub(super) struct BraveFormat;

impl SearchFormat for BraveFormat {
    fn usual_url(&self) -> Option<&'static str> {
        Some("https://api.search.brave.com/res/v1/web")
    }

    fn usual_key(&self) -> Option<&'static str> {
        Some("BRAVE_API_KEY")
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-subscription-token", "")
    }

    fn request(&self, base: &WebUrl, asked: &SearchQuestion) -> Result<AskedSearch, InvalidWebUrl> {
        let count = asked.results.min(20).to_string();
        let fields = [("q", asked.query.as_str()), ("count", count.as_str())];
        let fresh = asked.recency.map(|recency| match recency {
            Recency::Day => "pd",
            Recency::Week => "pw",
            Recency::Month => "pm",
            Recency::Year => "py",
        });
        let fresh = fresh.map(|fresh| ("freshness", fresh));
        let url = below(base, "search")?.with_query(fields.into_iter().chain(fresh));
        Ok(AskedSearch { url, body: None })
    }

    fn hits(&self, answer: &Value) -> Option<Vec<SearchHit>> {
        match answer["web"]["results"].is_null() && answer["type"] == "search" {
            true => Some(Vec::new()),
            false => listed(&answer["web"]["results"], "description", "page_age"),
        }
    }
}

pub(super) struct TavilyFormat;

impl SearchFormat for TavilyFormat {
    fn usual_url(&self) -> Option<&'static str> {
        Some("https://api.tavily.com")
    }

    fn usual_key(&self) -> Option<&'static str> {
        Some("TAVILY_API_KEY")
    }

    fn request(&self, base: &WebUrl, asked: &SearchQuestion) -> Result<AskedSearch, InvalidWebUrl> {
        let mut body = json!({"query": asked.query, "max_results": asked.results.min(20)});
        if let Some(recency) = asked.recency {
            body["time_range"] = json!(recency);
        }
        Ok(AskedSearch { url: below(base, "search")?, body: Some(body) })
    }

    fn hits(&self, answer: &Value) -> Option<Vec<SearchHit>> {
        listed(&answer["results"], "content", "published_date")
    }
}

pub(super) struct ExaFormat;

impl SearchFormat for ExaFormat {
    fn usual_url(&self) -> Option<&'static str> {
        Some("https://api.exa.ai")
    }

    fn usual_key(&self) -> Option<&'static str> {
        Some("EXA_API_KEY")
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("x-api-key", "")
    }

    fn request(&self, base: &WebUrl, asked: &SearchQuestion) -> Result<AskedSearch, InvalidWebUrl> {
        let mut body = json!({
            "query": asked.query,
            "numResults": asked.results.min(100),
            "contents": {"highlights": true},
        });
        if let Some(since) = &asked.since {
            body["startPublishedDate"] = json!(since);
        }
        Ok(AskedSearch { url: below(base, "search")?, body: Some(body) })
    }

    fn hits(&self, answer: &Value) -> Option<Vec<SearchHit>> {
        listed(&answer["results"], "highlights", "publishedDate")
    }
}

pub(super) struct KagiFormat;

impl SearchFormat for KagiFormat {
    fn usual_url(&self) -> Option<&'static str> {
        Some("https://kagi.com/api/v0")
    }

    fn usual_key(&self) -> Option<&'static str> {
        Some("KAGI_API_KEY")
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("authorization", "Bot ")
    }

    fn request(&self, base: &WebUrl, asked: &SearchQuestion) -> Result<AskedSearch, InvalidWebUrl> {
        let limit = asked.results.to_string();
        // This interface has no field for it; the search itself understands the word.
        let query = match &asked.since {
            Some(since) => format!("{} after:{since}", asked.query),
            None => asked.query.clone(),
        };
        let fields = [("q", query.as_str()), ("limit", limit.as_str())];
        let url = below(base, "search")?.with_query(fields);
        Ok(AskedSearch { url, body: None })
    }

    fn hits(&self, answer: &Value) -> Option<Vec<SearchHit>> {
        // Entries of another kind are related searches, without an address.
        listed(&answer["data"], "snippet", "published")
    }
}
