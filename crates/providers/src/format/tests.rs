use context_manager::CacheHint;
use futures_util::FutureExt as _;
use http_body_util::BodyExt as _;
use proptest::prelude::*;
use protocol::{Content, Speaker, ToolCall};
use serde_json::json;

use super::*;
use crate::testing::{empty_request, full_request, image, request_with_found_tools};
use crate::{Api, Quirks};

/// Any message, as little sensible as it may be.
fn message() -> impl Strategy<Value = Arc<Message>> {
    let content = prop_oneof![
        3 => "[a-z \n\"]{0,12}".prop_map(|text| Content::Text { text: text.into() }),
        2 => "[a-c]".prop_map(|id| Content::ToolUse(ToolCall::new(id, "grep", Map::new()))),
        2 => "[a-c]".prop_map(|id| Content::ToolResult {
            tool_use_id: id,
            result: Ok(json!({"lines": ["one", "\t\"two\""]})),
            images: vec![image("x")],
            found_tools: vec!["undo".into()],
        }),
        1 => "[a-c]".prop_map(|name| Content::Image(image(&name))),
        1 => Just(Content::Opaque { provider: "anthropic".into(), block: json!({"type": "thinking"}) }),
    ];
    let role = prop_oneof![Just(Speaker::User), Just(Speaker::Assistant), Just(Speaker::System)];
    let message = (role, prop::collection::vec(content, 0..4));
    message.prop_map(|(role, content)| Arc::new(Message { role, content }))
}

fn assert_same(api: Api, request: &ModelRequest, quirks: &Quirks, written: &WrittenCache) {
    let body = api.written_body(request, quirks, written).unwrap();
    let bytes: Vec<u8> = body.collect().now_or_never().unwrap().unwrap().to_bytes().into();
    let read: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(read, api.request_body(request, quirks), "{api:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_written_before_changes_nothing_about_what_is_sent(
        one in prop::collection::vec(message(), 1..14),
        other in prop::collection::vec(message(), 1..10),
        left_out in 0_usize..14,
    ) {
        let quirks = Quirks::compatible();
        for api in Api::ALL {
            let written = WrittenCache::default();
            let base = full_request("anthropic", json!({}));
            let request = |messages: &[Arc<Message>]| ModelRequest {
                messages: messages.to_vec(),
                cache: CacheHint::Conversation,
                ..base.clone()
            };
            // Two conversations take turns, and each grows.
            for end in 0..=one.len().max(other.len()) {
                assert_same(api, &request(&one[..end.min(one.len())]), &quirks, &written);
                assert_same(api, &request(&other[..end.min(other.len())]), &quirks, &written);
            }
            // One of them is made shorter.
            let shorter = &one[left_out.min(one.len())..];
            assert_same(api, &request(shorter), &quirks, &written);
            // The provider has refused images.
            let described = ModelRequest { shows_images: false, ..request(&one) };
            assert_same(api, &described, &quirks, &written);
            assert_same(api, &request(&one), &quirks, &written);
            // The model is told of a tool that was not listed.
            let tools = request_with_found_tools().tools;
            let told = ModelRequest { tools, ..request(&one) };
            assert_same(api, &told, &quirks, &written);
            assert_same(api, &request(&one), &quirks, &written);
        }
    }
}

#[test]
fn a_request_without_anything_is_the_same_too() {
    for api in Api::ALL {
        assert_same(api, &empty_request(), &Quirks::openai(), &WrittenCache::default());
    }
}

#[test]
fn a_long_conversation_is_written_once() {
    let said = |text: String, role| {
        Arc::new(Message { role, content: vec![Content::Text { text: text.into() }] })
    };
    let messages: Vec<_> = (0..50)
        .flat_map(|n| {
            [said(format!("q{n}"), Speaker::User), said(format!("a{n}"), Speaker::Assistant)]
        })
        .collect();
    let request = ModelRequest { messages, ..empty_request() };
    let written = WrittenCache::default();
    assert_same(Api::Anthropic, &request, &Quirks::openai(), &written);
    let known = written.beginnings.lock().unwrap();
    assert_eq!(known[0].messages.len(), 100 - FRESH_TURNS);
}

#[test]
fn tools_are_written_once_for_requests_that_are_alike() {
    for api in Api::ALL {
        let written = WrittenCache::default();
        let quirks = Quirks::openai();
        let request = full_request("anthropic", json!({}));
        for cache in [CacheHint::Conversation, CacheHint::Nothing] {
            for system in ["", "Be brief.", "Be quick."] {
                let request = ModelRequest { cache, system: system.into(), ..request.clone() };
                assert_same(api, &request, &quirks, &written);
                assert_same(api, &request, &quirks, &written);
            }
        }
        assert_eq!(written.tools.lock().unwrap().len(), 4);
        // Others that say the same are written anew, and the oldest are forgotten.
        assert_same(api, &full_request("anthropic", json!({})), &quirks, &written);
        assert_eq!(written.tools.lock().unwrap().len(), REMEMBERED);
    }
}
