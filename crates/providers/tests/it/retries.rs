//! A provider sends a request once and says what is known about sending it again; a conversation does
//! so over the same connection code.

use std::time::Duration;

use context_manager::{AgentOptions, RetryPolicy, TurnOutcome};
use insta::assert_snapshot;
use protocol::{SessionEvent, TurnEnd};
use providers::Api;
use serde_json::json;
use testkit::{Fault, ModelServer, Reply};
use tokio_util::sync::CancellationToken;

use crate::stage::Stage;
use crate::talk::{format, plain, provider, told};

/// How long a turn that was cancelled may take.
const WATCHDOG: Duration = Duration::from_secs(60);

async fn after(faults: &[Fault]) -> String {
    let mut all = Vec::new();
    for api in Api::ALL {
        let faults = faults.iter().cloned().map(Reply::fault);
        let server = ModelServer::start(faults.chain([Reply::text("fine")]));
        let mut stage = Stage::impatient();
        stage.send("go", &provider(api, &server)).await;
        all.push(plain(&stage.attempts(), api, &server));
    }
    assert!(all.iter().all(|lines| *lines == all[0]), "{all:#?}");
    all.remove(0)
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_seen() {
    assert_snapshot!(after(&[Fault::status(529, "Overloaded"), Fault::CloseBefore]).await, @"
    again in 0 ms: scripted answered with status 529: Overloaded
    again in 0 ms: scripted: the connection to http://ADDRESS broke before an answer came (connection closed before message completed); check that a server is running there
    done EndOfTurn
    ");
    assert_snapshot!(after(&[Fault::status(429, "slow down").header("retry-after-ms", "1")]).await, @"
    again in 1 ms: scripted answered with status 429: slow down
    done EndOfTurn
    ");
    for status in [408, 409, 500, 502, 503, 504] {
        let told = after(&[Fault::status(status, "x")]).await;
        assert!(told.ends_with("\ndone EndOfTurn"), "{status}: {told}");
    }
}

#[tokio::test]
async fn attempts_and_waits_are_limited() {
    let busy = || Fault::status(503, "busy");
    assert_snapshot!(after(&[busy(), busy(), busy()]).await, @"
    again in 0 ms: scripted answered with status 503: busy
    again in 0 ms: scripted answered with status 503: busy
    Overloaded: scripted answered with status 503: busy; tried 3 times; try again later
    ");
    assert_snapshot!(after(&[Fault::status(429, "x").header("retry-after", "300")]).await, @"RateLimited: scripted answered with status 429: x; it asks to wait for 5 min");
}

#[tokio::test]
async fn what_will_not_pass_is_not_tried_again() {
    for status in [400, 401, 403, 404, 422] {
        let told = after(&[Fault::status(status, "x")]).await;
        assert!(!told.contains("again in"), "{status}: {told}");
    }
    let told = after(&[Fault::status(500, "x").header("x-should-retry", "false")]).await;
    assert!(!told.contains("again in"), "{told}");
    let told = after(&[Fault::status(400, "x").header("x-should-retry", "true")]).await;
    assert!(told.ends_with("done EndOfTurn"), "{told}");
}

#[tokio::test]
async fn a_stream_that_breaks_before_it_says_anything_is_asked_for_again() {
    let broken =
        Fault::ErrorEvent { after: 0, kind: "overloaded_error".into(), message: "x".into() };
    assert_snapshot!(after(&[broken, Fault::CutAfter(0)]).await, @"
    again in 0 ms: scripted broke off: x
    again in 0 ms: scripted: the connection broke in the middle of the answer (unexpected EOF during chunk size line)
    done EndOfTurn
    ");
}

#[tokio::test]
async fn an_answer_that_broke_off_is_asked_for_again_and_its_call_is_not_run() {
    for api in Api::ALL {
        let reply = Reply::text("I look. ").and_call("look", json!({"pattern": "x"}));
        let stream = String::from_utf8(reply.render(format(api), 0)).expect("a stream is text");
        let cut = stream.find("\"look\"").expect("the call is there");
        let server =
            ModelServer::start([reply.with_fault(Fault::CutAfter(cut)), Reply::text("fine")]);
        let mut stage = Stage::impatient();
        let outcome = stage.send("go", &provider(api, &server)).await;
        assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::Done), "{api:?}");
        assert_eq!((server.unused(), stage.calls().len()), (0, 0), "{api:?}");
        let paid = stage.events().iter().any(
            |event| matches!(event, SessionEvent::ModelFailed { usage, .. } if !usage.is_zero()),
        );
        assert!(paid, "{api:?}: {}", stage.attempts());
    }
}

#[tokio::test]
async fn a_provider_sends_a_request_once() {
    for fault in [Fault::status(503, "busy"), Fault::CloseBefore, Fault::CutAfter(0)] {
        for api in Api::ALL {
            let server = ModelServer::start([Reply::fault(fault.clone()), Reply::text("spare")]);
            let told = told(&provider(api, &server)).await;
            assert_eq!((told.lines().count(), server.unused()), (1, 1), "{api:?}: {told}");
        }
    }
}

#[tokio::test]
async fn the_same_bytes_are_sent_each_time() {
    let server = ModelServer::start([Reply::fault(Fault::status(500, "x")), Reply::text("fine")]);
    Stage::impatient().send("go", &provider(Api::Anthropic, &server)).await;
    let calls = server.calls();
    assert_eq!((calls.len(), &calls[0].body), (2, &calls[1].body));
}

#[tokio::test]
async fn waiting_ends_with_the_turn() {
    let server = ModelServer::start([Reply::fault(Fault::status(500, "x"))]);
    let hour = Duration::from_secs(3600);
    let retry = RetryPolicy { base: hour, max: hour, ..RetryPolicy::default() };
    let mut stage = Stage::new(AgentOptions { retry, ..AgentOptions::default() });
    let (provider, cancel) = (provider(Api::Anthropic, &server), CancellationToken::new());
    let waiting = stage.waiting_to_retry();
    let turn = async {
        tokio::join!(stage.send_until("go", &provider, &cancel), async {
            waiting.await;
            cancel.cancel();
        })
    };
    let (outcome, ()) = tokio::time::timeout(WATCHDOG, turn).await.expect("the turn ends");
    assert_eq!(outcome, TurnOutcome::Ended(TurnEnd::Cancelled));
    assert_eq!(server.calls().len(), 1);
}
