//! Many sessions at once.

use std::thread;

use serde_json::Value;
use testkit::model_server::ModelCall;
use testkit::{Fixture, ModelServer, Reply};

use super::service::Service;

const SESSIONS: usize = 200;
/// Clients that talk at the same time.
const CLIENTS: usize = 8;

#[test]
fn two_hundred_sessions_run_and_one_watcher_misses_nothing() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let model = ModelServer::answering(|call: &ModelCall| {
        Reply::text(&format!("You said: {}", call.user_texts().last().unwrap()))
    });
    let service = Service::start(&project, &model);
    let mut watcher = service.watch("*");
    let sessions: Vec<String> = thread::scope(|scope| {
        let clients = [(); CLIENTS].map(|()| {
            scope.spawn(|| {
                let begun = (0..SESSIONS / CLIENTS).map(|_| {
                    let session = service.begin();
                    service.say(&session, &format!("I am {session}"));
                    session
                });
                begun.collect::<Vec<_>>()
            })
        });
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    watcher.until("the end of all turns", |seen| {
        let is_over =
            |session: &String| seen.states.get(session).is_some_and(|state| state == "idle");
        let ended = seen.items.values().filter(|item| item["kind"] == "turn").count();
        ended == SESSIONS && sessions.iter().all(is_over)
    });
    for session in &sessions {
        let items = watcher.seen.items_of(session);
        let texts: Vec<&str> = items.iter().filter_map(|item| item["text"].as_str()).collect();
        let said = format!("I am {session}");
        assert_eq!(texts, [said.clone(), format!("You said: {said}")]);
        assert_eq!(items, service.items(session));
    }
    let listed: Value = service.get("/api/sessions?limit=1000");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), SESSIONS);
}

/// Pieces of an answer, each of which changes an item, and their length: more than any buffer between.
const PIECES: usize = 400;
const PIECE_BYTES: usize = 20_000;

#[test]
fn a_watcher_that_does_not_read_for_long_still_gets_everything() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let piece = "x".repeat(PIECE_BYTES - 1) + " ";
    let model = ModelServer::start([Reply::pieces(vec![piece.clone(); PIECES])]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut slow = service.watch(&session);
    let mut quick = service.watch(&session);
    service.say(&session, "Tell me much");
    let is_over = |seen: &super::service::Seen| {
        seen.items_of(&session).last().is_some_and(|item| item["kind"] == "turn")
    };
    quick.until("the end", is_over);
    // The slow one has not read anything yet, and held up neither the turn nor the other.
    slow.until("the end", is_over);
    let items = service.items(&session);
    let length = items[1]["text"].as_str().unwrap().len();
    assert!(length + 1 >= PIECES * PIECE_BYTES, "{length}");
    assert!(slow.seen.items_of(&session) == items && quick.seen.items_of(&session) == items);
}
