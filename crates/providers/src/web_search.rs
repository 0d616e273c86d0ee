//! The searches that providers of models offer: a request of its own, in which a model is told to search
//! and nothing else. What it found is read from its citations; what it says about it is not believed.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

/// Searches that one question may lead to.
const MOST_SEARCHES: u32 = 1;
/// Tokens of an answer: enough to name what was found.
const ANSWER_TOKENS: u32 = 1500;
/// The same where thoughts count too.
const ANSWER_AND_THOUGHTS: u32 = 4000;
/// Characters before a citation that are taken for what it stands for.
const BEFORE_CITATION: usize = 400;
/// The models that are asked where none is configured.
const ANTHROPIC_MODEL: &str = "claude-sonnet-5-5";
const OPENAI_MODEL: &str = "gpt-5.5";
const GEMINI_MODEL: &str = "gemini-flash-latest";

/// What a model is asked to search for. Nothing of the conversation is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelQuestion<'q> {
    /// What is searched for.
    pub query: &'q str,
    /// Pages that are wanted.
    pub results: u64,
    /// The day since which pages were published, such as `2026-11-16`.
    pub since: Option<&'q str>,
    /// The model that is asked.
    pub model: &'q str,
}

impl ModelQuestion<'_> {
    fn instruction(&self) -> String {
        let since = self.since.map(|since| format!(" Only what was published since {since}."));
        format!(
            "Search the web once for the text between the lines. Then name at most {} of the pages that \
             you found, each with one sentence from it, and cite each.{}\n---\n{}\n---",
            self.results,
            since.unwrap_or_default(),
            self.query
        )
    }
}

/// A page that a model has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPage {
    /// Its title, or its address if it has none.
    pub title: String,
    /// Its address, as the model's provider writes it.
    pub url: String,
    /// What is cited of it, or what it is cited for.
    pub snippet: String,
    /// How old it is, as the provider says it.
    pub published: Option<String>,
}

/// A search of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSearch {
    /// Anthropic's `web_search`, which runs at its server.
    Anthropic,
    /// OpenAI's `web_search` in the Responses interface.
    OpenAi,
    /// Gemini's grounding with Google Search.
    Gemini,
}

impl ModelSearch {
    /// Every one.
    pub const ALL: [ModelSearch; 3] = [Self::Anthropic, Self::OpenAi, Self::Gemini];

    /// The name in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }

    pub fn named(name: &str) -> Option<ModelSearch> {
        Self::ALL.into_iter().find(|search| search.as_str() == name)
    }

    /// The address of the service.
    pub fn usual_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        }
    }

    /// The variable that usually holds its key.
    pub fn usual_key(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
        }
    }

    /// The model that is asked if none is configured.
    pub fn usual_model(self) -> &'static str {
        match self {
            Self::Anthropic => ANTHROPIC_MODEL,
            Self::OpenAi => OPENAI_MODEL,
            Self::Gemini => GEMINI_MODEL,
        }
    }

    /// The header that holds the key, and what stands before it.
    pub fn key_header(self) -> (&'static str, &'static str) {
        match self {
            Self::Anthropic => ("x-api-key", ""),
            Self::OpenAi => ("authorization", "Bearer "),
            Self::Gemini => ("x-goog-api-key", ""),
        }
    }

    /// Headers that each request has.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenAi | Self::Gemini => &[],
        }
    }

    /// The path below the address, and the body that is sent there.
    pub fn request(self, asked: &ModelQuestion<'_>) -> (String, Value) {
        let (model, instruction) = (asked.model, asked.instruction());
        match self {
            Self::Anthropic => {
                let search = json!({
                    "type": "web_search_20250305", "name": "web_search", "max_uses": MOST_SEARCHES
                });
                let body = json!({
                    "model": model,
                    "max_tokens": ANSWER_TOKENS,
                    "tools": [search],
                    "messages": [{"role": "user", "content": instruction}],
                });
                ("v1/messages".to_owned(), body)
            }
            Self::OpenAi => {
                let body = json!({
                    "model": model,
                    "input": instruction,
                    "tools": [{"type": "web_search"}],
                    "tool_choice": "required",
                    "max_tool_calls": MOST_SEARCHES,
                    "max_output_tokens": ANSWER_AND_THOUGHTS,
                    "include": ["web_search_call.action.sources"],
                    "store": false,
                });
                ("responses".to_owned(), body)
            }
            Self::Gemini => {
                let body = json!({
                    "contents": [{"role": "user", "parts": [{"text": instruction}]}],
                    "tools": [{"google_search": {}}],
                    "generationConfig": {"maxOutputTokens": ANSWER_AND_THOUGHTS},
                });
                let model = model.trim_start_matches("models/");
                (format!("models/{model}:generateContent"), body)
            }
        }
    }

    /// Why there is nothing to read in an answer, if that is so.
    pub fn failure(self, answer: &Value) -> Option<String> {
        let why = match self {
            Self::Anthropic => {
                let is_result = |it: &&Value| it["type"] == "web_search_tool_result";
                let results = list(&answer["content"]).filter(is_result);
                let codes: Vec<Option<&str>> =
                    results.map(|result| result["content"]["error_code"].as_str()).collect();
                // A second search can fail after the first one has found something.
                match codes.first() {
                    Some(first) if codes.iter().all(Option::is_some) => first.map(str::to_owned),
                    Some(_) => return None,
                    None => None,
                }
            }
            Self::OpenAi => {
                if list(&answer["output"]).any(|item| item["type"] == "web_search_call") {
                    return None;
                }
                None
            }
            Self::Gemini => {
                if answer["candidates"][0]["groundingMetadata"].is_object() {
                    return None;
                }
                answer["promptFeedback"]["blockReason"].as_str().map(str::to_owned)
            }
        };
        let told = || answer["error"]["message"].as_str().map(str::to_owned);
        why.or_else(told).or_else(|| Some("the model did not search".to_owned()))
    }

    /// The pages in an answer, in the order in which they are first named.
    pub fn pages(self, answer: &Value) -> Vec<FoundPage> {
        let mut found = FoundPages::default();
        match self {
            Self::Anthropic => of_blocks(answer, &mut found),
            Self::OpenAi => of_output(answer, &mut found),
            Self::Gemini => of_grounding(answer, &mut found),
        }
        found.in_order()
    }
}

/// Pages in the order in which they are first named.
#[derive(Default)]
struct FoundPages {
    order: Vec<String>,
    pages: BTreeMap<String, FoundPage>,
}

impl FoundPages {
    /// Adds what is known of a page. The first title counts, and all snippets do.
    fn add(&mut self, url: &str, title: &str, snippet: &str, published: Option<&str>) {
        if url.is_empty() {
            return;
        }
        if !self.pages.contains_key(url) {
            self.order.push(url.to_owned());
        }
        let page = self.pages.entry(url.to_owned()).or_default();
        url.clone_into(&mut page.url);
        if page.title.is_empty() {
            title.clone_into(&mut page.title);
        }
        if !snippet.is_empty() && !page.snippet.contains(snippet) {
            page.snippet = format!("{} {snippet}", page.snippet).trim().to_owned();
        }
        page.published = page.published.take().or(published.map(str::to_owned));
    }

    fn in_order(mut self) -> Vec<FoundPage> {
        let pages = self.order.iter().filter_map(|url| self.pages.remove(url));
        pages.map(|page| FoundPage { title: titled(&page), ..page }).collect()
    }
}

/// A page without a title is called by its address.
fn titled(page: &FoundPage) -> String {
    match page.title.is_empty() {
        true => page.url.clone(),
        false => page.title.clone(),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl fmt::Display for ModelSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn of_blocks(answer: &Value, found: &mut FoundPages) {
    for block in list(&answer["content"]) {
        for result in list(&block["content"]).filter(|it| it["type"] == "web_search_result") {
            let published = result["page_age"].as_str();
            found.add(text(result, "url"), text(result, "title"), "", published);
        }
        for cited in list(&block["citations"]) {
            let (url, title) = (text(cited, "url"), text(cited, "title"));
            found.add(url, title, text(cited, "cited_text"), None);
        }
    }
}

fn of_output(answer: &Value, found: &mut FoundPages) {
    for part in list(&answer["output"]).flat_map(|item| list(&item["content"])) {
        let letters: Vec<char> = text(part, "text").chars().collect();
        let mut last_end = 0;
        for note in list(&part["annotations"]).filter(|it| it["type"] == "url_citation") {
            let at = |key: &str| usize::try_from(note[key].as_u64().unwrap_or(0)).unwrap_or(0);
            let start = at("start_index").min(letters.len());
            // What stands before the citation and after the one before is what it stands for.
            let from = last_end.max(start.saturating_sub(BEFORE_CITATION)).min(start);
            let said: String = letters[from..start].iter().collect();
            let said = said.trim_matches(|c: char| " ([)]-*\n".contains(c));
            last_end = at("end_index").min(letters.len());
            found.add(text(note, "url"), text(note, "title"), said, None);
        }
    }
    for source in list(&answer["output"]).flat_map(|item| list(&item["action"]["sources"])) {
        found.add(text(source, "url"), text(source, "title"), "", None);
    }
}

fn of_grounding(answer: &Value, found: &mut FoundPages) {
    let grounding = &answer["candidates"][0]["groundingMetadata"];
    let pages: Vec<&Value> =
        list(&grounding["groundingChunks"]).map(|chunk| &chunk["web"]).collect();
    for page in &pages {
        found.add(text(page, "uri"), text(page, "title"), "", None);
    }
    for support in list(&grounding["groundingSupports"]) {
        let numbers = list(&support["groundingChunkIndices"]).filter_map(Value::as_u64);
        for page in numbers.filter_map(|number| pages.get(usize::try_from(number).ok()?)) {
            found.add(text(page, "uri"), "", text(&support["segment"], "text"), None);
        }
    }
}

#[cfg(test)]
mod tests;
