//! Both eras of the protocol, with answers in both forms.

use std::time::Duration;

use crate::http_server::{Answer, AnswerKind, HttpServer, echoed, legacy, modern};
use crate::tools::{Tools, unknown};

#[tokio::test]
async fn requests_of_the_modern_era_stand_for_themselves() {
    for kind in AnswerKind::BOTH {
        let server = HttpServer::start(move |seen| {
            modern(kind, seen).unwrap_or_else(|| Answer::message(kind, &echoed(seen)))
        });
        let tools = Tools::of(&server).await;
        assert_eq!(tools.echo("hello").await.unwrap(), "hello", "{kind:?}");
        let seen = server.seen();
        let asked: Vec<&str> = seen.iter().map(|seen| seen.what()).collect();
        assert_eq!(asked, ["server/discover", "tools/list", "tools/call"]);
        for seen in &seen {
            assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
            assert_eq!(seen.header("mcp-method"), Some(seen.what()));
            assert_eq!(seen.header("mcp-session-id"), None);
            let accepted = seen.header("accept").unwrap();
            assert!(accepted.contains("json") && accepted.contains("event-stream"), "{accepted}");
        }
        assert_eq!(seen[2].header("mcp-name"), Some("echo"));
    }
}

#[tokio::test]
async fn requests_of_the_legacy_era_are_those_of_a_session() {
    for kind in AnswerKind::BOTH {
        let server = HttpServer::start(move |seen| {
            legacy(kind, "s1", seen).unwrap_or_else(|| Answer::message(kind, &echoed(seen)))
        });
        let tools = Tools::of(&server).await;
        assert_eq!(tools.echo("hello").await.unwrap(), "hello", "{kind:?}");
        assert_eq!(tools.echo("again").await.unwrap(), "again", "{kind:?}");
        assert_eq!(server.asked("initialize").len(), 1);
        for what in ["notifications/initialized", "tools/list", "tools/call"] {
            for seen in server.asked(what) {
                assert_eq!(seen.header("mcp-session-id"), Some("s1"), "{what}");
                assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"), "{what}");
                assert_eq!(seen.header("mcp-method"), None, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn a_server_of_the_legacy_era_is_asked_only_once_it_has_been_greeted() {
    // Slow, so that whatever does not wait for its answers comes too early.
    let slowly = |answer: Answer| {
        std::thread::sleep(Duration::from_millis(100));
        answer
    };
    let server = HttpServer::start(move |seen| match seen.what() {
        "notifications/initialized" => slowly(Answer::status(202, "")),
        "GET" => slowly(Answer::events(": hello\n\n")),
        _ => legacy(AnswerKind::Json, "s1", seen).unwrap_or_else(|| Answer::json(&echoed(seen))),
    });
    let tools = Tools::of(&server).await;
    assert_eq!(tools.echo("hello").await.unwrap(), "hello");
    let seen = server.seen();
    let asked: Vec<&str> = seen.iter().map(|seen| seen.what()).collect();
    assert_eq!(
        asked,
        [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "GET",
            "tools/list",
            "tools/call"
        ]
    );
}

#[tokio::test]
async fn news_before_the_result_do_not_disturb_it() {
    let server = HttpServer::start(|seen| {
        modern(AnswerKind::Events, seen).unwrap_or_else(|| {
            let token = &seen.message["params"]["_meta"]["progressToken"];
            let news = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
            );
            let stray = r#"{"jsonrpc":"2.0","id":999,"result":{}}"#;
            let result = echoed(seen);
            Answer::events(&format!("data: {news}\n\ndata: {stray}\n\ndata: nonsense\n\ndata: {result}\n\n"))
        })
    });
    let tools = Tools::of(&server).await;
    assert_eq!(tools.echo("hello").await.unwrap(), "hello");
}

#[tokio::test]
async fn a_server_that_was_never_asked_does_not_keep_the_beginning_of_a_session_waiting() {
    let (arrived, mut arrivals) = tokio::sync::mpsc::unbounded_channel();
    let server = HttpServer::start(move |seen| {
        arrived.send(seen.what().to_owned()).unwrap();
        modern(AnswerKind::Json, seen).unwrap_or_else(|| Answer::status(400, "no"))
    });
    let servers = unknown(&server);
    tokio::time::pause();
    servers.learn_unknown();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(arrivals.is_empty());
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    assert_eq!(arrivals.recv().await.as_deref(), Some("server/discover"));
    assert_eq!(arrivals.recv().await.as_deref(), Some("tools/list"));
}
