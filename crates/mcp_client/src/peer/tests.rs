use super::*;
use crate::lines::Line;
use crate::wire::{NotSent, SentAt};

/// Keeps what was sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<String>>>);

impl Wire for Sent {
    fn send(&self, message: &Value) -> Result<SentAt, NotSent> {
        let mut sent = locked(&self.0);
        sent.push(message.to_string());
        Ok(SentAt(sent.len() as u64))
    }

    fn may_be_read(&self, at: SentAt) -> bool {
        at <= SentAt(1)
    }

    fn stop(&self) {}
}

impl Sent {
    fn take(&self) -> String {
        std::mem::take(&mut *locked(&self.0)).join("\n")
    }
}

fn peer() -> (Arc<Peer>, Sent) {
    let (peer, sent) = (Peer::new(), Sent::default());
    peer.connect(Box::new(sent.clone()));
    (peer, sent)
}

fn call(peer: &Arc<Peer>) -> OpenRequest {
    peer.request("tools/call", |id| json!({"token": id}), true).unwrap()
}

fn say(peer: &Peer, line: &str) {
    peer.take(Line::Whole(line.as_bytes()).into());
}

#[tokio::test]
async fn an_answer_goes_to_its_request_once_and_others_go_nowhere() {
    let (peer, sent) = peer();
    let (one, two) = (call(&peer), call(&peer));
    say(&peer, "not a message");
    say(&peer, "[1,2]");
    say(&peer, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    say(&peer, r#"{"jsonrpc":"2.0","id":"2","result":{"by":"text"}}"#);
    say(&peer, r#"{"jsonrpc":"2.0","id":2,"result":{"by":"number"}}"#);
    say(&peer, r#"{"jsonrpc":"2.0","id":2,"result":{"by":"again"}}"#);
    say(&peer, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no"}}"#);
    insta::assert_debug_snapshot!((one.reply().await, two.reply().await), @r#"
    (
        Ok(
            Error {
                code: -5,
                message: "no",
                data: Null,
            },
        ),
        Ok(
            Result(
                Object {
                    "by": String("number"),
                },
            ),
        ),
    )
    "#);
    insta::assert_snapshot!(sent.take(), @r#"
    {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"token":1}}
    {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"token":2}}
    "#);
}

#[tokio::test]
async fn when_the_server_ends_every_request_ends_and_no_other_begins() {
    let (peer, _) = peer();
    let open = call(&peer);
    peer.ended("it ended with exit code 3".into());
    assert_eq!(open.reply().await.unwrap_err(), Lost::Ended("it ended with exit code 3".into()));
    let unsent = peer.request("ping", |_| json!({}), false).err();
    assert_eq!(unsent, Some(Lost::Unsent("it ended with exit code 3".into())));
}

#[tokio::test]
async fn a_flood_of_news_is_dropped_and_the_answer_arrives() {
    let (peer, _) = peer();
    let mut open = call(&peer);
    for at in 0..10_000 {
        say(
            &peer,
            &format!(
                r#"{{"method":"notifications/progress","params":{{"progressToken":1,"progress":{at},"total":9,"message":"m"}}}}"#
            ),
        );
        say(&peer, r#"{"method":"notifications/message","params":{"data":"x"}}"#);
    }
    say(&peer, r#"{"id":1,"result":"done"}"#);
    let mut news = 0;
    let reply = loop {
        match open.next().await.unwrap() {
            Heard::News(_) => news += 1,
            Heard::Reply(reply) => break reply,
        }
    };
    assert_eq!(news, WAITING_NEWS);
    assert!(matches!(reply, PeerReply::Result(value) if value == "done"));
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_what_may_have_waited_for_it() {
    let (peer, _) = peer();
    let open = call(&peer);
    peer.take(Received::TooLong);
    assert!(matches!(open.reply().await, Ok(PeerReply::TooLong)));
    let open = call(&peer);
    let many = format!(r#"{{"id":2,"result":[{}0]}}"#, "0,".repeat(500_000));
    say(&peer, &many);
    assert!(matches!(open.reply().await, Ok(PeerReply::TooLong)));
    let open = call(&peer);
    let text = format!(r#"{{"id":3,"result":"{}\""}}"#, "[,".repeat(500_000));
    say(&peer, &text);
    assert!(matches!(open.reply().await, Ok(PeerReply::Result(_))));
}

#[tokio::test]
async fn a_withdrawn_request_is_told_to_the_server_and_an_answered_one_is_not() {
    let (peer, sent) = peer();
    drop(call(&peer));
    let open = call(&peer);
    say(&peer, r#"{"id":2,"result":1}"#);
    drop(open);
    insta::assert_snapshot!(sent.take(), @r#"
    {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"token":1}}
    {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the call was withdrawn"}}
    {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"token":2}}
    "#);
}

#[tokio::test]
async fn requests_of_a_server_are_answered_or_refused() {
    let (peer, sent) = peer();
    say(&peer, r#"{"id":"a","method":"ping"}"#);
    say(&peer, r#"{"id":"b","method":"sampling/createMessage","params":{}}"#);
    say(&peer, r#"{"id":"c","method":"roots/list"}"#);
    say(&peer, r#"{"id":"d","method":"elicitation/create","params":{"message":"x"}}"#);
    insta::assert_snapshot!(sent.take(), @r#"
    {"jsonrpc":"2.0","id":"a","result":{}}
    {"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"not offered"}}
    {"jsonrpc":"2.0","id":"c","error":{"code":-32601,"message":"not offered"}}
    {"jsonrpc":"2.0","id":"d","result":{"action":"decline"}}
    "#);
    let mut open = call(&peer);
    sent.take();
    for _ in 0..100 {
        say(&peer, r#"{"id":"e","method":"elicitation/create","params":{"message":"x"}}"#);
    }
    assert!(matches!(open.next().await, Ok(Heard::News(News::Asks { .. }))));
    assert_eq!(sent.take().matches("decline").count(), 100 - WAITING_NEWS);
}

#[tokio::test]
async fn what_a_server_says_before_its_answer_is_small_when_it_waits() {
    let (peer, sent) = peer();
    let mut open = call(&peer);
    sent.take();
    let (progress, long) = ("notifications/progress", "x".repeat(1_000_000));
    let told = json!({"method": progress, "params": {"progressToken": 1, "message": long}});
    say(&peer, &told.to_string());
    let Ok(Heard::News(News::Progress(Some(words)))) = open.next().await else { panic!() };
    assert_eq!(words.len(), PROGRESS_CHARS);
    let asked = json!({"id": "q", "method": "elicitation/create", "params": {"message": long}});
    say(&peer, &asked.to_string());
    assert_eq!(sent.take(), r#"{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}"#);
}

#[test]
fn only_the_end_of_what_a_server_writes_beside_is_kept() {
    let (peer, _) = peer();
    for _ in 0..1000 {
        peer.note_stderr(&[b'x'; 5000]);
    }
    peer.note_stderr(b"\nlast words\n");
    let words = peer.last_words();
    assert!(words.ends_with("\nlast words") && words.len() <= STDERR_BYTES);
}

#[tokio::test]
async fn what_a_server_cannot_have_read_before_it_ended_was_not_sent() {
    let (peer, _) = peer();
    let (read, unread) = (call(&peer), call(&peer));
    peer.ended("it fell over".to_owned());
    insta::assert_debug_snapshot!((read.reply().await, unread.reply().await), @r#"
    (
        Err(
            Ended(
                "it fell over",
            ),
        ),
        Err(
            Unsent(
                "it fell over",
            ),
        ),
    )
    "#);
}
