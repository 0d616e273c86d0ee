//! A request is sent again while nothing was answered, and only then.

use std::time::Duration;

use insta::assert_snapshot;
use providers::{Api, HttpProvider};
use serde_json::json;
use testkit::{Fault, ModelServer, Reply};

use crate::talk::{config, format, plain, provider, told};

async fn after(faults: &[Fault]) -> String {
    let mut all = Vec::new();
    for api in Api::ALL {
        let faults = faults.iter().cloned().map(Reply::fault);
        let server = ModelServer::start(faults.chain([Reply::text("fine")]));
        all.push(plain(&told(&provider(api, &server)).await, api, &server));
    }
    assert!(all.iter().all(|lines| *lines == all[0]), "{all:#?}");
    all.remove(0)
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_seen() {
    assert_snapshot!(after(&[Fault::status(529, "Overloaded"), Fault::CloseBefore]).await, @r#"
    again after 0ns: scripted answered with status 529: Overloaded
    again after 0ns: scripted: the connection to http://ADDRESS broke before an answer came (connection closed before message completed); check that a server is running there
    text "fine"
    done EndOfTurn
    "#);
    assert_snapshot!(after(&[Fault::status(429, "slow down").header("retry-after-ms", "1")]).await, @r#"
    again after 1ms: scripted answered with status 429: slow down
    text "fine"
    done EndOfTurn
    "#);
    for status in [408, 409, 500, 502, 503, 504] {
        let told = after(&[Fault::status(status, "x")]).await;
        assert!(told.ends_with("text \"fine\"\ndone EndOfTurn"), "{status}: {told}");
    }
}

#[tokio::test]
async fn patience_has_an_end() {
    let busy = || Fault::status(503, "busy");
    assert_snapshot!(after(&[busy(), busy(), busy()]).await, @"
    again after 0ns: scripted answered with status 503: busy
    again after 0ns: scripted answered with status 503: busy
    Overloaded: scripted answered with status 503: busy; tried 3 times; try again later
    ");
    assert_snapshot!(after(&[Fault::status(429, "x").header("retry-after", "300")]).await, @"RateLimited: scripted answered with status 429: x; it asks to be left alone for 5 min");
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    for status in [400, 401, 403, 404, 413, 422] {
        let told = after(&[Fault::status(status, "x")]).await;
        assert!(!told.contains("again after"), "{status}: {told}");
    }
    let told = after(&[Fault::status(500, "x").header("x-should-retry", "false")]).await;
    assert!(!told.contains("again after"), "{told}");
    let told = after(&[Fault::status(400, "x").header("x-should-retry", "true")]).await;
    assert!(told.ends_with("done EndOfTurn"), "{told}");
}

#[tokio::test]
async fn a_stream_that_breaks_before_it_says_anything_is_asked_for_again() {
    let broken =
        Fault::ErrorEvent { after: 0, kind: "overloaded_error".into(), message: "x".into() };
    assert_snapshot!(after(&[broken, Fault::CutAfter(0)]).await, @r#"
    again after 0ns: scripted broke off: x
    again after 0ns: scripted: the connection broke in the middle of the answer (unexpected EOF during chunk size line)
    text "fine"
    done EndOfTurn
    "#);
}

#[tokio::test]
async fn an_answer_that_has_begun_is_never_asked_for_again() {
    for api in Api::ALL {
        let reply = Reply::text("I look. ").and_call("grep", json!({"pattern": "x"}));
        let stream = String::from_utf8(reply.render(format(api), 0)).expect("a stream is text");
        let cut = stream.find("\"grep\"").expect("the call is there");
        let server = ModelServer::start([
            reply.with_fault(Fault::CutAfter(cut)),
            Reply::text("never asked for"),
        ]);
        let told = told(&provider(api, &server)).await;
        assert!(told.contains("\nCut: ") && !told.contains("again after"), "{api:?}: {told}");
        assert_eq!(server.unused(), 1, "{api:?}");
    }
}

#[tokio::test]
async fn the_same_bytes_are_sent_each_time() {
    let server = ModelServer::start([Reply::fault(Fault::status(500, "x")), Reply::text("fine")]);
    told(&provider(Api::Anthropic, &server)).await;
    let calls = server.calls();
    assert_eq!((calls.len(), &calls[0].body), (2, &calls[1].body));
}

#[tokio::test]
async fn waiting_ends_with_the_stream() {
    let server = ModelServer::start([Reply::fault(Fault::status(500, "x"))]);
    let mut config = config(Api::Anthropic, &server.base_url());
    config.retry.base = Duration::from_secs(3600);
    config.retry.max = Duration::from_secs(3600);
    let provider = HttpProvider::new(config).expect("a good configuration");
    let mut stream = crate::talk::stream(&provider).await;
    let first = futures_util::StreamExt::next(&mut stream).await;
    assert!(matches!(first, Some(Ok(context_manager::ModelEvent::Retrying { .. }))), "{first:?}");
    drop(stream);
    assert_eq!(server.calls().len(), 1);
}
