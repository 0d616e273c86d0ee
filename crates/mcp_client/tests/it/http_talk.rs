//! Both eras of the protocol, with answers in both forms.

use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::http_server::{Answer, AnswerKind, HttpServer, Seen, echoed, legacy, modern};
use crate::tools::{Tools, unknown};

/// How long a test waits for what must come; a healthy program never needs it.
const WATCHDOG: Duration = Duration::from_secs(60);
/// The method of requests that only take their time.
const ROUND_TRIP: &str = "HEAD";
const ROUND_TRIPS: usize = 20;

/// Asks a server some times, one after the other, in the runtime of the client: what the client has begun before
/// has reached the server when this is over.
async fn round_trips(url: &str) {
    let address = url.trim_start_matches("http://").split('/').next().unwrap();
    for _ in 0..ROUND_TRIPS {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("{ROUND_TRIP} / HTTP/1.1\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
    }
}

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
    // Answers that are held back until whatever does not wait for them has come.
    let (noted, mut held) = mpsc::unbounded_channel();
    let (go_on, gate) = std::sync::mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let hold = move |seen: &Seen| {
        // The test has failed if it does not listen any more.
        let _ = noted.send(seen.what().to_owned());
        let _ = gate.lock().unwrap().recv();
    };
    let server = HttpServer::start(move |seen| match seen.what() {
        "notifications/initialized" => {
            hold(seen);
            Answer::status(202, "")
        }
        "GET" => {
            hold(seen);
            Answer::events(": hello\n\n")
        }
        _ => legacy(AnswerKind::Json, "s1", seen).unwrap_or_else(|| Answer::json(&echoed(seen))),
    });
    let asked = || {
        let seen = server.seen().into_iter().map(|seen| seen.what().to_owned());
        seen.filter(|what| what != ROUND_TRIP).collect::<Vec<_>>()
    };
    let letting_go = async {
        for (what, count) in [("notifications/initialized", 3), ("GET", 4)] {
            assert_eq!(held.recv().await.unwrap(), what);
            round_trips(&server.url).await;
            assert_eq!(asked().len(), count, "asked too early: {:?}", asked());
            go_on.send(()).unwrap();
        }
    };
    let both = async { tokio::join!(Tools::of(&server), letting_go) };
    let (tools, ()) = tokio::time::timeout(WATCHDOG, both).await.expect("the server is greeted");
    assert_eq!(tools.echo("hello").await.unwrap(), "hello");
    let asked = asked();
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
