//! Which models a server has: by Ollama's own API or by OpenAI's.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::{Request, Uri};
use serde_json::Value;

use crate::request_body::RequestBody;
use crate::transport::{Network, Transport};

/// No list of models is longer.
const MAX_LIST: usize = 1024 * 1024;

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
    let base = base_url.trim_end_matches('/');
    let root = base.strip_suffix("/v1").unwrap_or(base);
    names(&fetched(&format!("{root}/api/tags"), patience).await?, "models", "name")
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
    let transport = Transport::new(&Network::default(), patience).ok()?;
    let response = transport.send(request).await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let body = Limited::new(response.into_body(), MAX_LIST).collect().await.ok()?.to_bytes();
    serde_json::from_slice(&body).ok()
}
