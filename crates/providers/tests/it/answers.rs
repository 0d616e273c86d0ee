//! What a server answers is what is passed on, in every way to talk and wherever chunks end.

use context_manager::{ModelEvent, Usage};
use insta::assert_snapshot;
use providers::Api;
use serde_json::{Value, json};
use testkit::model_server::{ReplyUsage, Stop};
use testkit::{ModelServer, Reply};

use crate::talk::{KEY, ask, lines, provider, told};

fn rich() -> Reply {
    Reply::text("Ich öffne 🦀 beide. ")
        .and_call("read_file", json!({"path": "ä.txt"}))
        .and_call("grep", json!({}))
}

#[tokio::test]
async fn text_and_parallel_calls_arrive_whole() {
    for api in Api::ALL {
        let server = ModelServer::start([rich()]);
        let told = in_order(&told(&provider(api, &server)).await);
        insta::allow_duplicates! {
            assert_snapshot!(told, @r#"
            call call_0_1 read_file {"path":"ä.txt"}
            call call_0_2 grep {}
            done ToolUse
            started call_0_1 read_file
            started call_0_2 grep
            text "Ich öffne 🦀 beide. "
            "#);
        }
    }
}

/// Formats differ in when a call is said to have begun.
fn in_order(lines: &str) -> String {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[tokio::test]
async fn borders_between_chunks_change_nothing() {
    for api in Api::ALL {
        let whole = ask(&provider(api, &ModelServer::start([rich()]))).await;
        for size in [1, 2, 3, 7, 64] {
            let server = ModelServer::start([rich()]).in_pieces_of(size);
            assert_eq!(ask(&provider(api, &server)).await, whole, "{api:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn usage_is_counted_the_same_way_everywhere() {
    let used = ReplyUsage { input: 100, output: 20, cache_read: 30 };
    for api in Api::ALL {
        let server =
            ModelServer::start([Reply::text("x").using(Some(used)), Reply::text("x").using(None)]);
        let provider = provider(api, &server);
        let last = |events: Vec<Result<ModelEvent, _>>| {
            events.into_iter().rev().find_map(|event| match event {
                Ok(ModelEvent::Usage(usage)) => Some(usage),
                _ => None,
            })
        };
        let expected = Usage { input: 100, output: 20, cache_read: 30, cache_write: 0 };
        assert_eq!(last(ask(&provider).await), Some(expected), "{api:?}");
        // Silence about usage is no failure.
        let silent = ask(&provider).await;
        assert!(lines(&silent).ends_with("done EndOfTurn"), "{api:?}");
    }
}

#[tokio::test]
async fn a_limit_and_a_refusal_are_told() {
    for api in Api::ALL {
        let replies = [Stop::Limit, Stop::Refusal].map(|stop| Reply::text("x").stopped(stop));
        let server = ModelServer::start(replies);
        let provider = provider(api, &server);
        assert_eq!(told(&provider).await, "text \"x\"\ndone MaxTokens", "{api:?}");
        assert_eq!(told(&provider).await, "text \"x\"\ndone Refusal", "{api:?}");
    }
}

#[tokio::test]
async fn a_thousand_calls_come_in_order_and_with_their_ids() {
    for api in Api::ALL {
        let mut reply = Reply::text("go ");
        for at in 0..1000 {
            reply = reply.and_raw_call("same", "grep", &format!("{{\"at\":{at}}}"));
        }
        let events = ask(&provider(api, &ModelServer::start([reply]))).await;
        let calls: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                Ok(ModelEvent::ToolCall(call)) => Some((call.id.as_str(), &call.arguments["at"])),
                _ => None,
            })
            .collect();
        let in_order = |(at, (id, told)): (usize, &(&str, &Value))| *id == "same" && **told == at;
        assert!(calls.len() == 1000 && calls.iter().enumerate().all(in_order), "{api:?}");
    }
}

#[tokio::test]
async fn a_request_is_signed_and_has_a_length() {
    for api in Api::ALL {
        let server = ModelServer::start([Reply::text("x")]);
        ask(&provider(api, &server)).await;
        let call = &server.calls()[0];
        assert_eq!(call.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(call.header("content-type"), Some("application/json"));
        assert!(call.header("content-length").is_some_and(|length| length != "0"));
        assert_eq!(call.header("transfer-encoding"), None);
        let version = (api == Api::Anthropic).then_some("2026-10-21");
        assert_eq!(call.header("anthropic-version"), version);
        assert_eq!((call.system(), call.user_texts()), ("Be brief.".into(), vec!["Do it.".into()]));
    }
}
