//! Whether a model answers: one tiny request, as a conversation would send it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail};
use context_manager::{CacheHint, ModelEvent, ModelRequest, ToolListing, ToolSpec};
use futures_util::StreamExt as _;
use protocol::{Content, Message, ModelErrorKind, Speaker};
use serde_json::json;
use session::Model;
use tool_system::extensions::reading::read_file;

/// How long an answer may take. A server on this machine may have to load the model first.
const PATIENCE: Duration = Duration::from_secs(120);
/// Enough for a word, also from a model that thinks before it answers.
const MAX_TOKENS: u32 = 256;

/// Asks for a word. Answers how long that took, or says in words why there was no answer.
pub(super) async fn test(model: &Model) -> anyhow::Result<Duration> {
    let started = Instant::now();
    match tokio::time::timeout(PATIENCE, answered(model)).await {
        Ok(Ok(())) => Ok(started.elapsed()),
        Ok(Err(error)) => Err(error),
        Err(_) => bail!("there was no answer within {} s", PATIENCE.as_secs()),
    }
}

async fn answered(model: &Model) -> anyhow::Result<()> {
    let failed = |kind, why: &str| anyhow!("{why}{}", advice(kind, model.calls_tools));
    let request = request(model);
    let mut events = match model.provider.stream(&request).await {
        Ok(events) => events,
        Err(error) => return Err(failed(error.kind, &error.message)),
    };
    while let Some(event) = events.next().await {
        match event {
            Ok(ModelEvent::Done(_)) => return Ok(()),
            Ok(_) => {}
            // A conversation would wait and ask again; here the reason is what the user wants.
            Err(error) => return Err(failed(error.kind, &error.message)),
        }
    }
    bail!("the answer has no end")
}

/// A request with a tool, because some servers refuse models that cannot call one.
fn request(model: &Model) -> ModelRequest {
    let text = "This tests the connection. Answer with the word: ok".into();
    let message = Message { role: Speaker::User, content: vec![Content::Text { text }] };
    let tool = ToolSpec {
        name: read_file::NAME.into(),
        description: "Reads a file. Not needed to test the connection.".into(),
        parameters: json!({
            "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]
        }),
        listing: ToolListing::Always,
    };
    ModelRequest {
        model: model.name.clone(),
        system: String::new(),
        messages: vec![Arc::new(message)],
        tools: if model.calls_tools { [tool].into() } else { [].into() },
        max_tokens: model.max_tokens.min(MAX_TOKENS),
        effort: None,
        cache: CacheHint::Nothing,
        shows_images: false,
    }
}

/// What usually helps.
fn advice(kind: ModelErrorKind, calls_tools: bool) -> &'static str {
    match kind {
        ModelErrorKind::Unauthorized => ". Check the key.",
        ModelErrorKind::UnknownModel => ". Check the name of the model.",
        ModelErrorKind::Connection => ". Is the server running, and the address right?",
        ModelErrorKind::InvalidRequest if calls_tools => {
            ". If the server refuses tools, choose a model that can call them, or set model.tools to false."
        }
        ModelErrorKind::RateLimited | ModelErrorKind::Overloaded => ". Try again later.",
        _ => "",
    }
}
