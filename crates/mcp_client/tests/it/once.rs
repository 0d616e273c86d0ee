//! No call is made twice, and none ends because of another.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use protocol::ErrorCode;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use crate::http_server::{Answer, AnswerKind, HttpServer, Seen, echoed, legacy, modern};
use crate::tools::Tools;

/// Requests that our side has under way at once at most.
const AT_ONCE: usize = 64;

/// What a call waits for before it is answered.
#[derive(Clone, Default)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let is_open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_while(is_open, |is_open| !*is_open).unwrap());
    }
}

fn word(seen: &Seen) -> &str {
    seen.message["params"]["arguments"]["word"].as_str().unwrap_or_default()
}

/// A server whose calls with the word `slow` wait at a gate, and whose others are answered by `others`. Tells of each slow
/// call that has arrived.
fn with_slow_calls(
    first: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static,
    others: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
) -> (HttpServer, Gate, UnboundedReceiver<()>) {
    let (arrived, arrivals) = unbounded_channel();
    let gate = Gate::default();
    let closed = gate.clone();
    let server = HttpServer::start(move |seen| {
        if word(seen) == "slow" {
            arrived.send(()).unwrap();
            closed.pass();
            return Answer::json(&echoed(seen));
        }
        first(seen).unwrap_or_else(|| others(seen))
    });
    (server, gate, arrivals)
}

#[tokio::test]
async fn a_call_that_the_server_has_begun_is_not_made_again_when_its_session_ends() {
    let server = HttpServer::start(|seen| {
        legacy(AnswerKind::Json, "s1", seen).unwrap_or_else(|| {
            match seen.message["params"].get("inputResponses") {
                None => Answer::json(&seen.result(json!({"resultType": "input_required"}))),
                Some(_) => Answer::status(404, "no such session"),
            }
        })
    });
    let tools = Tools::of(&server).await;
    let error = tools.echo("hello").await.unwrap_err();
    assert!(error.message.contains("the session is over"), "{error:?}");
    let calls = server.asked("tools/call");
    let begun = calls.iter().filter(|seen| seen.message["params"].get("inputResponses").is_none());
    assert_eq!((begun.count(), calls.len()), (1, 2));
}

#[tokio::test]
async fn a_session_that_is_over_for_one_call_leaves_the_others_to_their_answers() {
    let sessions = Mutex::new(0);
    let first = move |seen: &Seen| {
        let mut session = sessions.lock().unwrap();
        *session += usize::from(seen.what() == "initialize");
        legacy(AnswerKind::Json, &format!("s{session}"), seen)
    };
    let others = |seen: &Seen| match seen.header("mcp-session-id") {
        Some("s1") => Answer::status(404, "no such session"),
        _ => Answer::json(&echoed(seen)),
    };
    let (server, gate, mut arrivals) = with_slow_calls(first, others);
    let tools = Tools::of(&server).await;
    let quick = async {
        arrivals.recv().await.expect("the slow call arrives");
        let answer = tools.echo("quick").await;
        gate.open();
        answer
    };
    let both = tokio::time::timeout(Duration::from_secs(30), async {
        tokio::join!(tools.echo("slow"), quick)
    });
    let (slow, quick) = both.await.expect("no call waits for its time to be over");
    assert_eq!((slow.unwrap(), quick.unwrap()), ("slow".to_owned(), "quick".to_owned()));
    assert_eq!(server.asked("initialize").len(), 2);
    assert_eq!(server.asked("tools/call").len(), 3);
}

#[tokio::test]
async fn one_call_too_many_is_refused_and_costs_the_others_nothing() {
    let (server, gate, mut arrivals) =
        with_slow_calls(|seen| modern(AnswerKind::Json, seen), |seen| Answer::json(&echoed(seen)));
    let tools = Arc::new(Tools::of(&server).await);
    let mut many = JoinSet::new();
    for _ in 0..AT_ONCE {
        let tools = Arc::clone(&tools);
        many.spawn(async move { tools.echo("slow").await });
    }
    let one_more = async {
        for _ in 0..AT_ONCE {
            arrivals.recv().await.expect("each arrives");
        }
        let refused = tools.echo("quick").await.unwrap_err();
        gate.open();
        refused
    };
    let both = tokio::time::timeout(Duration::from_secs(60), async {
        tokio::join!(many.join_all(), one_more)
    });
    let (many, refused) = both.await.expect("no call waits for its time to be over");
    assert!(many.into_iter().all(|answer| answer.is_ok_and(|text| text == "slow")));
    assert_eq!(refused.code, ErrorCode::ExecutionError);
    assert!(refused.message.contains("too many requests"), "{refused:?}");
    assert_eq!(server.asked("server/discover").len(), 1, "it is not begun anew");
    assert_eq!(tools.echo("again").await.unwrap(), "again");
}
