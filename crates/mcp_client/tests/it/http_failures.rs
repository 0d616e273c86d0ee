//! Sessions that end, streams that break, and servers that fail.

use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::ErrorCode;
use serde_json::json;

use crate::http_server::{Answer, AnswerKind, HttpServer, Seen, echoed, legacy, modern};
use crate::tools::Tools;

/// A server of the legacy era whose first session ends with the first call.
fn forgetful() -> HttpServer {
    let session = AtomicUsize::new(0);
    let has_forgotten = AtomicUsize::new(0);
    HttpServer::start(move |seen| {
        if seen.what() == "initialize" {
            session.fetch_add(1, Ordering::SeqCst);
        }
        let now = format!("s{}", session.load(Ordering::SeqCst));
        legacy(AnswerKind::Json, &now, seen).unwrap_or_else(|| {
            match has_forgotten.swap(1, Ordering::SeqCst) {
                0 => Answer::status(404, "no such session"),
                _ => Answer::json(&echoed(seen)),
            }
        })
    })
}

#[tokio::test]
async fn a_session_that_is_over_is_begun_again_and_the_call_made_in_it() {
    let server = forgetful();
    let tools = Tools::of(&server).await;
    assert_eq!(tools.echo("hello").await.unwrap(), "hello");
    let sessions: Vec<_> = server
        .asked("tools/call")
        .iter()
        .map(|seen| seen.header("mcp-session-id").unwrap().to_owned())
        .collect();
    assert_eq!(sessions, ["s1", "s2"]);
    assert_eq!(server.asked("initialize").len(), 2);
    for seen in server.asked("initialize") {
        assert_eq!(seen.header("mcp-session-id"), None);
    }
    assert_eq!(tools.echo("again").await.unwrap(), "again");
    assert_eq!(server.asked("initialize").len(), 2);
}

#[tokio::test]
async fn a_server_that_forgets_every_session_is_tried_twice() {
    let server = HttpServer::start(|seen| {
        legacy(AnswerKind::Json, "s1", seen)
            .unwrap_or_else(|| Answer::status(404, "no such session"))
    });
    let tools = Tools::of(&server).await;
    let error = tools.echo("hello").await.unwrap_err();
    assert!(error.message.contains("the session is over"), "{error:?}");
    assert_eq!(server.asked("tools/call").len(), 2);
}

/// A server of the legacy era that answers a call by a stream which ends before the result, and this when the
/// stream is taken up again.
fn interrupted(first: fn() -> Answer, then: fn(&Seen, usize) -> Answer) -> HttpServer {
    let calls: std::sync::Mutex<Option<Seen>> = Default::default();
    let resumed = AtomicUsize::new(0);
    HttpServer::start(move |seen| {
        legacy(AnswerKind::Json, "s1", seen).unwrap_or_else(|| {
            if seen.what() == "tools/call" {
                *calls.lock().unwrap() = Some(seen.clone());
                return first();
            }
            let call = calls.lock().unwrap().clone().expect("a call comes first");
            then(&call, resumed.fetch_add(1, Ordering::SeqCst))
        })
    })
}

fn primed() -> Answer {
    Answer::events("id: e1\nretry: 5\ndata: \n\n")
}

fn result_event(call: &Seen) -> Answer {
    Answer::events(&format!("id: e9\ndata: {}\n\n", echoed(call)))
}

#[tokio::test]
async fn a_stream_that_ends_or_breaks_is_taken_up_where_it_was() {
    for first in [primed, || primed().broken()] {
        let server = interrupted(first, |call, _| result_event(call));
        let tools = Tools::of(&server).await;
        assert_eq!(tools.echo("hello").await.unwrap(), "hello");
        assert_eq!(server.asked("tools/call").len(), 1, "a call is made once");
        let resumed = last_events(&server);
        assert_eq!(resumed, ["e1"]);
        let seen = server.asked("GET");
        assert_eq!(seen.last().unwrap().header("mcp-session-id"), Some("s1"));
    }
}

/// What the streams that were taken up again began behind.
fn last_events(server: &HttpServer) -> Vec<String> {
    let asked = server.asked("GET");
    asked.iter().filter_map(|seen| seen.header("last-event-id")).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_stream_is_taken_up_as_often_as_it_gets_further() {
    let server = interrupted(primed, |call, count| match count {
        0..8 => Answer::events(&format!("id: n{count}\nretry: 1\ndata:\n\n")).broken(),
        _ => result_event(call),
    });
    let tools = Tools::of(&server).await;
    assert_eq!(tools.echo("hello").await.unwrap(), "hello");
    let places = ["e1", "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"];
    assert_eq!(last_events(&server), places);
}

#[tokio::test]
async fn a_stream_that_gets_no_further_is_given_up() {
    let broken = |_: &Seen, _: usize| Answer::events(": nothing\n\n").broken();
    let server = interrupted(primed, broken);
    let tools = Tools::of(&server).await;
    let error = tools.echo("hello").await.unwrap_err();
    assert!(error.message.contains("broke off"), "{error:?}");
    assert_eq!(last_events(&server), ["e1", "e1", "e1"]);
    assert_eq!(server.asked("tools/call").len(), 1);
}

#[tokio::test]
async fn a_stream_that_cannot_be_taken_up_fails_at_once() {
    // One without ids, in the legacy era.
    let server = interrupted(|| Answer::events(": hello\n\n"), |call, _| result_event(call));
    let tools = Tools::of(&server).await;
    let error = tools.echo("hello").await.unwrap_err();
    assert!(error.message.contains("ended before the result"), "{error:?}");
    assert_eq!(last_events(&server), Vec::<String>::new());
    // The modern era has no such places, whatever is sent.
    let server = HttpServer::start(|seen| modern(AnswerKind::Json, seen).unwrap_or_else(primed));
    let tools = Tools::of(&server).await;
    assert!(tools.echo("hello").await.is_err());
    assert_eq!(server.asked("GET").len(), 0);
    assert_eq!(server.asked("tools/call").len(), 1);
}

#[tokio::test]
async fn a_failure_of_the_server_is_told_and_the_next_call_made() {
    let failures: [fn(&Seen) -> Answer; 3] = [
        |_| Answer::status(503, "try later"),
        |_| Answer::status(502, "").broken(),
        |seen| {
            let error = json!({"code": -32603, "message": "out of cheese"});
            let told = json!({"jsonrpc": "2.0", "id": seen.message["id"], "error": error});
            Answer::status(500, &told.to_string()).with("content-type", "application/json")
        },
    ];
    for (failure, expected) in failures.into_iter().zip(["503", "broke off", "out of cheese"]) {
        let count = AtomicUsize::new(0);
        let server = HttpServer::start(move |seen| {
            modern(AnswerKind::Json, seen).unwrap_or_else(|| {
                match count.fetch_add(1, Ordering::SeqCst) {
                    0 => failure(seen),
                    _ => Answer::json(&echoed(seen)),
                }
            })
        });
        let tools = Tools::of(&server).await;
        let error = tools.echo("hello").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ExecutionError, "{error:?}");
        assert!(error.message.contains(expected), "{error:?}");
        assert_eq!(tools.echo("again").await.unwrap(), "again");
        assert_eq!(server.asked("tools/call").len(), 2, "nothing is sent twice by itself");
    }
}
