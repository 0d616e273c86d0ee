//! Whether an Ollama runs on this machine, and what it has.

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

async fn models(base_url: &str, patience: Duration) -> Option<Vec<String>> {
    let base = base_url.trim_end_matches('/');
    let root = base.strip_suffix("/v1").unwrap_or(base);
    let uri: Uri = format!("{root}/api/tags").parse().ok()?;
    uri.host()?;
    let mut request = Request::new(RequestBody::default());
    *request.uri_mut() = uri;
    let transport = Transport::new(&Network::default(), patience).ok()?;
    let response = transport.send(request).await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let body = Limited::new(response.into_body(), MAX_LIST).collect().await.ok()?.to_bytes();
    let list: Value = serde_json::from_slice(&body).ok()?;
    let names = list.get("models")?.as_array()?.iter();
    Some(names.filter_map(|model| model["name"].as_str().map(str::to_owned)).collect())
}
