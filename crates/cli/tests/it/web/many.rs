//! Many sessions at once.

use std::thread;

use serde_json::Value;
use testkit::model_server::ModelCall;
use testkit::{Fixture, ModelServer, Reply};

use super::service::{Seen, Service};

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

/// Turns, pieces of each answer, and their length: together more than any buffer between holds.
const TURNS: usize = 14;
const PIECES: usize = 30;
const PIECE_BYTES: usize = 20_000;

#[test]
fn a_watcher_that_does_not_read_for_long_still_gets_everything() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let piece = "x".repeat(PIECE_BYTES - 1) + "y";
    let reply = move |_: &ModelCall| Reply::pieces(vec![piece.clone(); PIECES]);
    let model = ModelServer::answering(reply);
    let more = ["--provider", "anthropic", "--base-url", &model.base_url()];
    let service = Service::start_with(&project, &more);
    let session = service.begin();
    let mut slow = service.watch(&session);
    let mut quick = service.watch(&session);
    let ended =
        |seen: &Seen| seen.items_of(&session).iter().filter(|item| item["kind"] == "turn").count();
    for turn in 1..=TURNS {
        service.say(&session, "Tell me much");
        quick.until("the end of a turn", |seen| ended(seen) == turn);
    }
    // The slow one has not read anything yet, and held up neither the turns nor the other.
    slow.until("the end of all turns", |seen| ended(seen) == TURNS);
    let items = service.items(&session);
    let answers = items.iter().filter(|item| item["kind"] == "answer");
    let length: usize = answers.map(|item| item["text"].as_str().unwrap().len()).sum();
    assert!(length >= TURNS * PIECES * PIECE_BYTES / 2, "{length}");
    assert!(slow.seen.items_of(&session) == items && quick.seen.items_of(&session) == items);
}
