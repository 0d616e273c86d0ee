//! What the tests of all formats share: a request with every kind of content, and reading streams
//! in every way they can be chunked.

use std::sync::Arc;

use context_manager::{
    CacheHint, Effort, ModelError, ModelEvent, ModelRequest, StopReason, ToolListing, ToolSpec,
};
use proptest::prelude::*;
use protocol::{Content, ErrorCode, Image, ImageFormat, Message, Speaker, ToolCall, ToolError};
use serde_json::{Value, json};

use crate::{AnswerReader, Dialect, SseDecoder};

/// A request without anything in it.
pub(crate) fn empty_request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: String::new(),
        messages: Vec::new(),
        tools: Arc::default(),
        max_tokens: 100,
        effort: None,
        cache: CacheHint::Nothing,
        shows_images: true,
    }
}

/// A request with every kind of content, and with all that has to be put in order.
pub(crate) fn full_request(provider: &str, block: Value) -> ModelRequest {
    let text = |text: &str| Content::Text { text: text.into() };
    let call = |id: &str, arguments: Value| {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        Content::ToolUse(ToolCall::new(id, "grep", arguments))
    };
    let opaque = |provider: &str, block| Content::Opaque { provider: provider.to_owned(), block };
    let answer = |id: &str, result| Content::ToolResult {
        tool_use_id: id.into(),
        result,
        images: Vec::new(),
        found_tools: Vec::new(),
    };
    let denied = ToolError::new(ErrorCode::Timeout, "too slow").suggest("narrow it");
    let message = |role, content| Arc::new(Message { role, content });
    ModelRequest {
        system: "Be brief.".into(),
        messages: vec![
            message(Speaker::User, vec![text("find x"), text(" ")]),
            message(Speaker::System, vec![text("mode: reading")]),
            message(
                Speaker::Assistant,
                vec![
                    opaque(provider, block),
                    opaque("another_provider", json!({"secret": true})),
                    text("I look."),
                    call("1", json!({"pattern": "x"})),
                    call("2", json!({})),
                ],
            ),
            message(Speaker::User, vec![answer("1", Ok(json!({"found": 0})))]),
            message(Speaker::User, vec![text("hurry"), answer("2", Err(denied))]),
            message(Speaker::Assistant, vec![text("")]),
        ],
        tools: Arc::new([ToolSpec {
            name: "grep".into(),
            description: "Finds text.".into(),
            parameters: json!({"type": "object"}),
            listing: ToolListing::Always,
        }]),
        effort: Some(Effort::High),
        cache: CacheHint::Conversation,
        ..empty_request()
    }
}

/// A small image.
pub(crate) fn image(name: &str) -> Image {
    Image::new(name, ImageFormat::Png, (2, 1), name.as_bytes())
}

/// A request with an image of the user, one of a result, and one whose bytes are gone.
pub(crate) fn request_with_images(shows_images: bool) -> ModelRequest {
    let text = |text: &str| Content::Text { text: text.into() };
    let message = |role, content| Arc::new(Message { role, content });
    let call = |id: &str| Content::ToolUse(ToolCall::new(id, "read_file", serde_json::Map::new()));
    let answer = |id: &str, images| Content::ToolResult {
        tool_use_id: id.into(),
        result: Ok(json!({"size": 1})),
        images,
        found_tools: Vec::new(),
    };
    ModelRequest {
        messages: vec![
            message(Speaker::User, vec![text("look"), Content::Image(image("a"))]),
            message(Speaker::Assistant, vec![call("c"), call("d")]),
            message(Speaker::User, vec![answer("c", vec![image("b")]), answer("d", Vec::new())]),
            message(Speaker::User, vec![Content::Image(image("gone").without_data())]),
        ],
        shows_images,
        ..empty_request()
    }
}

/// A body with a line for each field, and for each member of a list of messages or items.
pub(crate) fn lines(body: &Value) -> String {
    let mut lines = String::new();
    for (key, value) in body.as_object().expect("a body is an object") {
        match value {
            Value::Array(members) if members.len() > 1 => {
                let members = members.iter().map(|member| format!("  {member}\n"));
                lines += &format!("{key}:\n{}", members.collect::<String>());
            }
            _ => lines += &format!("{key}: {value}\n"),
        }
    }
    lines
}

/// A stream with these objects as data.
pub(crate) fn stream_of(data: &[Value]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

type Read = Vec<Result<ModelEvent, ModelError>>;

fn read<D: Dialect>(mut reader: AnswerReader<D>, stream: &[u8], chunk: usize) -> Read {
    let mut decoder = SseDecoder::new();
    let mut all = Vec::new();
    for bytes in stream.chunks(chunk) {
        for event in decoder.push(bytes) {
            all.extend(reader.push(event.expect("the test's streams are small")));
        }
    }
    all.extend(reader.finish());
    assert!(reader.is_ended() && reader.finish().is_empty());
    all
}

/// What a stream means, one line for each event, however it is chunked.
pub(crate) fn meaning<D: Dialect>(new: impl Fn() -> AnswerReader<D>, stream: &str) -> String {
    let whole = read(new(), stream.as_bytes(), stream.len().max(1));
    assert_eq!(read(new(), stream.as_bytes(), 1), whole);
    for border in 0..stream.len() {
        let (mut decoder, mut reader) = (SseDecoder::new(), new());
        let (first, second) = stream.as_bytes().split_at(border);
        let mut events = decoder.push(first);
        events.extend(decoder.push(second));
        let mut all: Read =
            events.into_iter().flat_map(|event| reader.push(event.unwrap())).collect();
        all.extend(reader.finish());
        assert_eq!(all, whole, "chunked at {border}");
    }
    whole.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(event: Result<ModelEvent, ModelError>) -> String {
    match event {
        Ok(ModelEvent::Text(text)) => format!("text {text:?}"),
        Ok(ModelEvent::Thinking(text)) => format!("thinking {text:?}"),
        Ok(ModelEvent::ToolCallStarted { id, name }) => format!("started {id} {name}"),
        Ok(ModelEvent::ToolCall(call)) => {
            format!("call {} {} {}", call.id, call.name, Value::Object(call.arguments))
        }
        Ok(ModelEvent::BrokenToolCall { id, name, arguments, reason }) => {
            format!("broken {id} {name} {arguments:?}: {reason}")
        }
        Ok(ModelEvent::Kept(Content::Opaque { provider, block })) => {
            format!("kept {provider} {block}")
        }
        Ok(ModelEvent::Kept(other)) => panic!("only opaque blocks are kept, not {other:?}"),
        Ok(ModelEvent::Usage(usage)) => {
            let [input, output] = [usage.input, usage.output];
            format!("usage {input} {output} {} {}", usage.cache_read, usage.cache_write)
        }
        Ok(ModelEvent::Done(reason)) => format!("done {reason:?}"),
        Err(error) => format!("error {:?}: {error}", error.kind),
    }
}

/// Any sequence of these objects, some of them spoilt.
pub(crate) fn any_of(vocabulary: Vec<Value>) -> impl Strategy<Value = Vec<String>> {
    let known = prop::sample::select(vocabulary).prop_map(|data| data.to_string());
    let cut = (known.clone(), any::<prop::sample::Index>())
        .prop_map(|(data, at)| data.chars().take(at.index(data.len())).collect());
    let piece = prop_oneof![40 => known, 1 => cut, 1 => "[\\[\\]{}\":,a1]{0,8}", 1 => Just("[DONE]".into())];
    prop::collection::vec(piece, 0..25)
}

/// Reads events one by one and checks what holds for all formats: the end is one and the last, each
/// call that began ends once, and is complete only if `may_complete` says so of the event that was read.
pub(crate) fn check<D: Dialect>(
    mut reader: AnswerReader<D>,
    events: &[String],
    may_complete: impl Fn(usize) -> bool,
) -> Result<(), TestCaseError> {
    let (mut started, mut ids, mut ends) = (Vec::new(), Vec::new(), 0);
    for at in 0..=events.len() {
        let found = match events.get(at) {
            Some(data) => reader.push(crate::SseEvent { event: String::new(), data: data.clone() }),
            None => reader.finish(),
        };
        for event in found {
            prop_assert_eq!(ends, 0, "nothing follows the end");
            match event {
                Ok(ModelEvent::ToolCall(call)) => {
                    prop_assert!(at < events.len() && may_complete(at), "{:?} at {}", call, at);
                    ids.push(call.id);
                }
                Ok(ModelEvent::BrokenToolCall { id, .. }) => ids.push(id),
                Ok(ModelEvent::Done(reason)) => {
                    started.sort();
                    ids.sort();
                    prop_assert_eq!(&started, &ids, "each call that began is complete or broken");
                    prop_assert!(reason != StopReason::ToolUse || !ids.is_empty());
                    ends += 1;
                }
                Ok(ModelEvent::ToolCallStarted { id, .. }) => started.push(id),
                Err(_) => ends += 1,
                Ok(_) => {}
            }
        }
    }
    prop_assert_eq!(ends, 1);
    Ok(())
}

/// A request in which the model has asked for tools twice: once it was told of `undo`, and once nothing
/// was found.
pub(crate) fn request_with_found_tools() -> ModelRequest {
    let tool = |name: &str, listing| ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        parameters: json!({"type": "object"}),
        listing,
    };
    let search = |id: &str| Content::ToolUse(ToolCall::new(id, "find_tools", Default::default()));
    let found = |id: &str, names: &[&str]| Content::ToolResult {
        tool_use_id: id.into(),
        result: Ok("Found.".into()),
        images: Vec::new(),
        found_tools: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let message = |role, content| Arc::new(Message { role, content });
    ModelRequest {
        messages: vec![
            message(Speaker::User, vec![Content::Text { text: "undo".into() }]),
            message(Speaker::Assistant, vec![search("1"), search("2")]),
            message(Speaker::User, vec![found("1", &["undo", "gone"]), found("2", &[])]),
        ],
        tools: Arc::new([
            tool("read", ToolListing::Always),
            tool("find_tools", ToolListing::Finder),
            tool("undo", ToolListing::OnDemand),
        ]),
        cache: CacheHint::Conversation,
        ..empty_request()
    }
}
