//! Clients that watch resources hear of every change, and of nothing else.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use mcp::{FileVersion, ProjectResources, ResourceFile};
use protocol::{ContentHash, ErrorCode, ToolError};
use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};

const NOTES: &str = "file:///project/notes.txt";
const OTHER: &str = "file:///project/other.txt";
const CHANGES: &str = "toolkiln://changes";
const JOB: &str = "toolkiln://jobs/j1";

/// A project whose files and jobs are numbers that a test counts up.
struct Counters {
    notes: Mutex<(u32, SystemTime)>,
    job: Mutex<u32>,
}

impl Counters {
    fn touch(&self) {
        let mut notes = self.notes.lock().unwrap();
        *notes = (notes.0 + 1, SystemTime::now());
    }
}

fn missing(what: &str) -> ToolError {
    ToolError::new(ErrorCode::FileNotFound, format!("there is no {what}"))
}

#[async_trait]
impl ProjectResources for Counters {
    fn root(&self) -> &str {
        "/project"
    }

    async fn files(&self, _: Option<&str>, _: usize) -> Result<Vec<ResourceFile>, ToolError> {
        Ok(Vec::new())
    }

    async fn file(&self, path: &str) -> Result<Vec<u8>, ToolError> {
        Err(missing(path))
    }

    async fn file_version(&self, path: &str) -> Option<FileVersion> {
        let (count, changed) = *self.notes.lock().unwrap();
        let hash = ContentHash::of(count.to_string().as_bytes());
        (path == "notes.txt").then_some(FileVersion { hash, changed })
    }

    async fn changes(&self) -> Result<String, ToolError> {
        Ok(String::new())
    }

    async fn job(&self, id: &str) -> Result<String, ToolError> {
        match (*self.job.lock().unwrap(), id) {
            (0, _) => Err(missing(id)),
            (printed, _) => Ok(printed.to_string()),
        }
    }
}

async fn client(era: Era) -> (Client, Arc<Counters>) {
    let notes = Mutex::new((0, SystemTime::UNIX_EPOCH));
    let counters = Arc::new(Counters { notes, job: Mutex::default() });
    let resources: Option<Arc<dyn ProjectResources>> = Some(counters.clone());
    (Client::open(Setup { resources, ..Setup::new(era) }).await, counters)
}

/// Begins to watch, in the way of the era; gives the id of a stream.
async fn watch(client: &mut Client, uris: &[&str]) -> Option<i64> {
    if client.era() == Era::Handshake {
        for uri in uris {
            let answer = client.request("resources/subscribe", json!({"uri": uri})).await;
            assert_eq!(answer["result"], json!({}), "{answer}");
        }
        return None;
    }
    let wish = json!({"notifications": {"resourceSubscriptions": uris, "toolsListChanged": true}});
    let id = client.send_request("subscriptions/listen", wish).await;
    let granted = client.notification("notifications/subscriptions/acknowledged").await;
    let granted = &granted["params"]["notifications"];
    assert_eq!(granted, &json!({"resourceSubscriptions": uris}));
    Some(id)
}

/// The resource that the next news is about.
async fn news(client: &mut Client, stream: Option<i64>) -> String {
    let news = client.notification("notifications/resources/updated").await;
    let of = &news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(of, &json!(stream), "{news}");
    news["params"]["uri"].as_str().unwrap().to_owned()
}

/// The clock is stopped and moves when nothing else is to be done.
#[tokio::test(start_paused = true)]
async fn news_come_for_what_is_watched_and_has_changed() {
    for era in Era::BOTH {
        let (mut client, counters) = client(era).await;
        let stream = watch(&mut client, &[NOTES, CHANGES, JOB, OTHER]).await;
        counters.touch();
        assert_eq!(news(&mut client, stream).await, NOTES);
        // A job that begins, and one that goes on.
        for printed in 1..3 {
            *counters.job.lock().unwrap() = printed;
            assert_eq!(news(&mut client, stream).await, JOB);
        }
        tokio::time::advance(Duration::from_secs(30)).await;
        counters.touch();
        assert_eq!(news(&mut client, stream).await, NOTES, "and none in between");
        client.assert_alive().await;
    }
}

/// A client that begins to listen cannot know when it was first looked.
#[tokio::test(start_paused = true)]
async fn what_changed_just_before_the_first_look_is_told() {
    let (mut client, counters) = client(Era::Stateless).await;
    counters.touch();
    let stream = watch(&mut client, &[NOTES]).await;
    assert_eq!(news(&mut client, stream).await, NOTES);
}

#[tokio::test(start_paused = true)]
async fn no_news_come_when_they_are_not_wanted_any_more() {
    for era in Era::BOTH {
        let (mut client, counters) = client(era).await;
        match watch(&mut client, &[NOTES]).await {
            None => {
                let answer = client.request("resources/unsubscribe", json!({"uri": NOTES})).await;
                assert_eq!(answer["result"], json!({}), "{answer}");
            }
            Some(id) => {
                let params = json!({"requestId": id});
                let method = "notifications/cancelled";
                client.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
            }
        }
        client.assert_alive().await;
        counters.touch();
        tokio::time::advance(Duration::from_secs(30)).await;
        client.assert_alive().await;
        assert_eq!(client.unclaimed(), Vec::<Value>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_while_it_watches_ends_the_server() {
    for era in Era::BOTH {
        let (mut client, counters) = client(era).await;
        watch(&mut client, &[NOTES]).await;
        client.assert_alive().await;
        counters.touch();
        client.finish().await;
    }
}

#[tokio::test]
async fn what_is_not_ours_cannot_be_watched() {
    let (mut client, _) = client(Era::Handshake).await;
    for uri in ["file:///etc/passwd", "http://example.org/", "toolkiln://", "x"] {
        let answer = client.request("resources/subscribe", json!({"uri": uri})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = client.request("resources/subscribe", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let listen = client.request("subscriptions/listen", json!({"notifications": {}})).await;
    assert_eq!(listen["error"]["code"], -32601, "{listen}");
}

#[tokio::test]
async fn a_stream_is_told_what_of_its_wish_is_granted() {
    let (mut client, _) = client(Era::Stateless).await;
    let many: Vec<String> = (0..100).map(|n| format!("file:///project/{n}.txt")).collect();
    let mut wished: Vec<&str> = vec!["file:///etc/passwd", NOTES, NOTES];
    wished.extend(many.iter().map(String::as_str));
    let wish = json!({"notifications": {"resourceSubscriptions": wished}});
    client.send_request("subscriptions/listen", wish).await;
    let granted = client.notification("notifications/subscriptions/acknowledged").await;
    let granted = granted["params"]["notifications"]["resourceSubscriptions"].as_array().unwrap();
    assert_eq!(granted.len(), 65, "one of them twice");
    assert_eq!(granted[..2], [NOTES, NOTES]);
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        for params in [json!({"uri": NOTES}), json!({})] {
            let answer = client.request(method, params).await;
            assert_eq!(answer["error"]["code"], -32601, "{answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_wished_for_twice_is_heard_once() {
    let (mut client, counters) = client(Era::Stateless).await;
    let stream = watch(&mut client, &[NOTES, NOTES]).await;
    counters.touch();
    assert_eq!(news(&mut client, stream).await, NOTES);
    tokio::time::advance(Duration::from_secs(30)).await;
    client.assert_alive().await;
    assert_eq!(client.unclaimed(), Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn a_session_watches_a_bounded_number() {
    let (mut client, _) = client(Era::Handshake).await;
    let mut refused = 0;
    for n in 0..70 {
        let params = json!({"uri": format!("file:///project/{n}.txt")});
        let answer = client.request("resources/subscribe", params).await;
        refused += u32::from(answer["error"]["code"] == -32600);
    }
    assert_eq!(refused, 6);
    // What is watched already is no more.
    let again = json!({"uri": "file:///project/1.txt"});
    assert_eq!(client.request("resources/subscribe", again).await["result"], json!({}));
}

#[tokio::test]
async fn without_resources_nothing_can_be_watched() {
    for era in Era::BOTH {
        let mut client = Client::new(era).await;
        let method = match era {
            Era::Handshake => "resources/subscribe",
            Era::Stateless => "subscriptions/listen",
        };
        let wish = json!({"uri": NOTES, "notifications": {"resourceSubscriptions": [NOTES]}});
        let answer = client.request(method, wish).await;
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
}
