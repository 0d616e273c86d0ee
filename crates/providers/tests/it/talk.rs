//! Asking a scripted server, and writing down what comes back.

use std::time::Duration;

use context_manager::{
    CacheHint, ModelError, ModelEvent, ModelProvider as _, ModelRequest, ModelStream,
};
use futures_util::StreamExt as _;
use net::Network;
use protocol::{Content, Message, Speaker};
use providers::{Api, HttpConfig, HttpProvider, Quirks, Secret, Timeouts};
use serde_json::Value;
use testkit::ModelServer;
use testkit::model_server::WireFormat;

/// The key that every test sends.
pub(crate) const KEY: &str = "sk-test-1234";

/// Nothing is slow on this machine, so whatever takes this long has stopped.
pub(crate) const SILENCE: Duration = Duration::from_millis(500);

pub(crate) fn config(api: Api, base_url: &str) -> HttpConfig {
    HttpConfig {
        name: "scripted".into(),
        api,
        base_url: base_url.into(),
        key: Secret::new(KEY).ok(),
        key_source: Some("SCRIPTED_KEY".into()),
        headers: Vec::new(),
        quirks: Quirks::openai(),
        timeouts: Timeouts::default(),
        network: Network::default(),
        deferral: Default::default(),
    }
}

pub(crate) fn provider(api: Api, server: &ModelServer) -> HttpProvider {
    HttpProvider::new(config(api, &server.base_url())).expect("a good configuration")
}

pub(crate) fn request() -> ModelRequest {
    let content = vec![Content::Text { text: "Do it.".into() }];
    ModelRequest {
        model: "m".into(),
        system: "Be brief.".into(),
        messages: vec![Message { role: Speaker::User, content }.into()],
        tools: Default::default(),
        max_tokens: 100,
        effort: None,
        shows_images: true,
        cache: CacheHint::Nothing,
    }
}

pub(crate) async fn stream(provider: &HttpProvider) -> ModelStream {
    provider.stream(&request()).await.expect("nothing is sent yet")
}

pub(crate) async fn ask(provider: &HttpProvider) -> Vec<Result<ModelEvent, ModelError>> {
    stream(provider).await.collect().await
}

/// What comes back, one line for each event. Usage and pieces of text are left out or joined, since
/// the formats differ in them.
pub(crate) async fn told(provider: &HttpProvider) -> String {
    lines(&ask(provider).await)
}

pub(crate) fn lines(events: &[Result<ModelEvent, ModelError>]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut said = String::new();
    for event in events {
        if let Ok(ModelEvent::Text(text)) = event {
            said += text;
            continue;
        }
        if !said.is_empty() {
            lines.push(format!("text {:?}", std::mem::take(&mut said)));
        }
        lines.extend(line(event));
    }
    lines.join("\n")
}

fn line(event: &Result<ModelEvent, ModelError>) -> Option<String> {
    Some(match event {
        Ok(ModelEvent::ToolCall(call)) => {
            format!("call {} {} {}", call.id, call.name, Value::Object(call.arguments.clone()))
        }
        Ok(ModelEvent::BrokenToolCall { id, name, reason, .. }) => {
            format!("broken {id} {name}: {reason}")
        }
        Ok(ModelEvent::Done(reason)) => format!("done {reason:?}"),
        Ok(ModelEvent::ToolCallStarted { id, name }) => format!("started {id} {name}"),
        Ok(ModelEvent::Thinking(text)) => format!("thinking {text:?}"),
        Ok(ModelEvent::Text(_) | ModelEvent::Kept(_) | ModelEvent::Usage(_)) => return None,
        Err(error) => format!("{:?}: {error}", error.kind),
    })
}

/// `text` without what differs between the ways to talk and between runs.
pub(crate) fn plain(text: &str, api: Api, server: &ModelServer) -> String {
    text.replace(&server.address(), "ADDRESS").replace(api.title(), "API")
}

/// How the scripted server calls a way to talk.
pub(crate) fn format(api: Api) -> WireFormat {
    match api {
        Api::Anthropic => WireFormat::Anthropic,
        Api::OpenAiChat => WireFormat::Chat,
        Api::OpenAiResponses => WireFormat::Responses,
    }
}
