//! Which models a server has: by Ollama's own API, or by the list that Anthropic, OpenAI and servers
//! like theirs have.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::{Request, Uri};
use net::{Network, RequestBody, Transport, spoken};
use serde_json::Value;

use crate::HttpConfig;
use crate::http_provider::headers;

/// No list of models is longer.
const MAX_LIST: usize = 1024 * 1024;

/// Why there is no list, as a part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoModelList {
    /// The server cannot be reached, or is too slow.
    #[error("{0}")]
    NoAnswer(String),
    /// It answered with something else than a list.
    #[error("{0} does not list its models")]
    NoList(String),
}

/// The models that a provider offers, in its own order, asked for with its key. It takes no longer than
/// `patience`.
pub async fn offered_models(
    config: &HttpConfig,
    patience: Duration,
) -> Result<Vec<String>, NoModelList> {
    let answered = tokio::time::timeout(patience, asked(config, patience)).await;
    answered.unwrap_or_else(|_| {
        let (name, time) = (&config.name, spoken(patience));
        Err(NoModelList::NoAnswer(format!("{name} does not answer within {time}")))
    })
}

async fn asked(config: &HttpConfig, patience: Duration) -> Result<Vec<String>, NoModelList> {
    let no_list = || NoModelList::NoList(config.name.clone());
    let is_ollama = config.name == "ollama";
    let (address, key, name) = match is_ollama {
        true => (tags_address(&config.base_url), "models", "name"),
        false => (config.api.models_url(config.base_url.trim()), "data", "id"),
    };
    let mut request = Request::new(RequestBody::default());
    *request.uri_mut() = address.parse().map_err(|_| no_list())?;
    *request.headers_mut() = headers(config).map_err(|_| no_list())?;
    let transport =
        Transport::to_server(&config.network, request.uri(), patience).map_err(|_| no_list())?;
    let response = transport.send(request).await;
    let response = response.map_err(|error| NoModelList::NoAnswer(error.why))?;
    if !response.status().is_success() {
        return Err(no_list());
    }
    let body = Limited::new(response.into_body(), MAX_LIST).collect().await;
    let list = serde_json::from_slice(&body.map_err(|_| no_list())?.to_bytes());
    list.ok().and_then(|list: Value| names(&list, key, name)).ok_or_else(no_list)
}

/// The models that the Ollama at this address has, such as `http://localhost:11434/v1`. None if it
/// does not answer within `patience`, or something else does.
pub async fn probe_ollama(base_url: &str, patience: Duration) -> Option<Vec<String>> {
    tokio::time::timeout(patience, models(base_url, patience)).await.ok().flatten()
}

/// The models that a server like OpenAI's lists, such as llama.cpp or LM Studio. None if it does not
/// answer within `patience`, wants a key, or is another kind of server.
pub async fn probe_models(base_url: &str, patience: Duration) -> Option<Vec<String>> {
    let address = format!("{}/models", base_url.trim_end_matches('/'));
    let list = tokio::time::timeout(patience, fetched(&address, patience)).await.ok()??;
    names(&list, "data", "id")
}

async fn models(base_url: &str, patience: Duration) -> Option<Vec<String>> {
    names(&fetched(&tags_address(base_url), patience).await?, "models", "name")
}

fn tags_address(base_url: &str) -> String {
    let base = base_url.trim().trim_end_matches('/');
    format!("{}/api/tags", base.strip_suffix("/v1").unwrap_or(base))
}

fn names(list: &Value, key: &str, name: &str) -> Option<Vec<String>> {
    let models = list.get(key)?.as_array()?.iter();
    Some(models.filter_map(|model| model[name].as_str().map(str::to_owned)).collect())
}

/// What is found at an address, if it is JSON.
async fn fetched(address: &str, patience: Duration) -> Option<Value> {
    let uri: Uri = address.parse().ok()?;
    uri.host()?;
    let mut request = Request::new(RequestBody::default());
    *request.uri_mut() = uri;
    let transport = Transport::to_server(&Network::default(), request.uri(), patience).ok()?;
    let response = transport.send(request).await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let body = Limited::new(response.into_body(), MAX_LIST).collect().await.ok()?.to_bytes();
    serde_json::from_slice(&body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Api;

    #[test]
    fn lists_are_found_beside_the_messages() {
        let table = [
            (
                Api::Anthropic,
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/models?limit=1000",
            ),
            (
                Api::OpenAiResponses,
                "https://api.openai.com/v1/",
                "https://api.openai.com/v1/models",
            ),
            (
                Api::OpenAiChat,
                "https://openrouter.ai/api/v1",
                "https://openrouter.ai/api/v1/models",
            ),
            (Api::OpenAiChat, "http://box:8080", "http://box:8080/v1/models"),
            (Api::OpenAiChat, "http://box/own", "http://box/own/models"),
        ];
        for (api, base, expected) in table {
            assert_eq!(api.models_url(base), expected);
        }
        assert_eq!(tags_address("http://box:11434/v1/"), "http://box:11434/api/tags");
    }
}
