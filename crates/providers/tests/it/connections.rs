//! Connections are used again, and end with whoever listens.

use context_manager::ModelEvent;
use futures_util::StreamExt as _;
use providers::Api;
use serde_json::json;
use testkit::{Fault, ModelServer, Reply};

use crate::stage::Stage;
use crate::talk::{format, provider, stream, told};

#[tokio::test]
async fn one_connection_serves_one_request_after_the_other() {
    for api in Api::ALL {
        let refused = || Reply::fault(Fault::status(400, "no"));
        let text = || Reply::text("fine");
        let server = ModelServer::start([text(), refused(), text(), refused(), text()]);
        let provider = provider(api, &server);
        for _ in 0..5 {
            told(&provider).await;
            settle().await;
        }
        assert_eq!((server.unused(), server.connections()), (0, 1), "{api:?}");
    }
}

/// Lets the task of the connection put it back among the free ones.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced() {
    let server = ModelServer::start([
        Reply::text("one"),
        Reply::fault(Fault::CloseBefore),
        Reply::text("two"),
    ]);
    let provider = provider(Api::OpenAiChat, &server);
    told(&provider).await;
    settle().await;
    let mut stage = Stage::impatient();
    stage.send("go", &provider).await;
    assert!(stage.attempts().ends_with("\ndone EndOfTurn"), "{}", stage.attempts());
}

#[tokio::test]
async fn a_stream_that_is_dropped_closes_its_connection() {
    for api in Api::ALL {
        let reply = Reply::text("I look. ").and_call("grep", json!({"pattern": "x"}));
        let before = Reply::fault(Fault::HangBefore);
        // Far enough into the stream that text has come, in every way to talk.
        let middle =
            reply.clone().with_fault(Fault::HangAfter(reply.render(format(api), 0).len() - 1));
        let server = ModelServer::start([before, middle, Reply::text("fine")]);
        let provider = provider(api, &server);

        let mut silent = stream(&provider).await;
        tokio::select! {
            event = silent.next() => panic!("{api:?}: nothing was answered, and yet {event:?}"),
            () = asked(&server, 1) => {}
        }
        drop(silent);
        abandoned(&server, 1).await;

        let mut begun = stream(&provider).await;
        while !matches!(begun.next().await, Some(Ok(ModelEvent::Text(_)))) {}
        drop(begun);
        abandoned(&server, 2).await;

        assert_eq!(told(&provider).await, "text \"fine\"\ndone EndOfTurn", "{api:?}");
    }
}

/// Waits on another thread, since the tasks of connections run on this one.
async fn asked(server: &ModelServer, count: usize) {
    let server = server.watch();
    tokio::task::spawn_blocking(move || server.wait_for_calls(count)).await.expect("it comes");
}

async fn abandoned(server: &ModelServer, count: usize) {
    let server = server.watch();
    tokio::task::spawn_blocking(move || server.wait_for_abandoned(count)).await.expect("it comes");
}
