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

/// Sessions that may be open at a time, which is as many as a stream follows.
const MOST_OPEN: usize = 256;

#[test]
fn sessions_beyond_those_that_may_be_open_close_old_ones_and_are_followed_all_the_same() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let model = ModelServer::answering(|_: &ModelCall| Reply::text("Yes."));
    let service = Service::start(&project, &model);
    let mut watcher = service.watch("*");
    let sessions: Vec<String> = (0..MOST_OPEN + 2).map(|_| service.begin()).collect();
    watcher.until("the newest sessions", |seen| {
        seen.states.len() == MOST_OPEN && seen.states.contains_key(&sessions[MOST_OPEN + 1])
    });
    assert!(sessions[..2].iter().all(|old| !watcher.seen.states.contains_key(old)));
    // The newest is followed, and so is one that is opened again.
    for session in [&sessions[MOST_OPEN + 1], &sessions[0]] {
        service.say(session, "Are you there?");
        watcher.until("an answer", |seen| {
            seen.items_of(session).iter().any(|item| item["text"] == "Yes.")
        });
    }
}

/// Turns, pieces of each answer, and their length: together more than any buffer between holds, and no answer longer
/// than a model may write.
const TURNS: usize = 21;
const PIECES: usize = 20;
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
    assert_eq!(length, TURNS * PIECES * PIECE_BYTES);
    // What has changed behind the end of the last turn may still be on its way.
    for watcher in [&mut slow, &mut quick] {
        watcher.until("everything", |seen| seen.items_of(&session) == items);
    }
}

/// Pieces that are together more than any model may write at once.
const ENDLESS_PIECES: usize = 400;

#[test]
fn an_answer_longer_than_a_model_may_write_is_cut_and_every_watcher_is_told() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let piece = "x".repeat(PIECE_BYTES);
    let reply = move |_: &ModelCall| Reply::pieces(vec![piece.clone(); ENDLESS_PIECES]);
    let model = ModelServer::answering(reply);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    service.say(&session, "Tell me everything");
    watcher.until("the end of the turn", |seen| {
        seen.items_of(&session).last().is_some_and(|item| item["kind"] == "turn")
    });
    let items = service.items(&session);
    assert!(watcher.seen.items_of(&session) == items);
    let told: Vec<&Value> = items.iter().filter(|item| item["topic"] == "turn_end").collect();
    assert_eq!(told[0]["text"], "the answer reached its greatest length and was cut");
    let length = items[1]["text"].as_str().unwrap().len();
    assert!(length > PIECE_BYTES && length < ENDLESS_PIECES * PIECE_BYTES, "{length}");
    assert_eq!(model.calls().len(), 1);
}

/// Messages that each of the clients says.
const MESSAGES: usize = 30;

#[test]
fn messages_that_meet_the_end_of_a_turn_are_written_once_and_told_their_own_place() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let model = ModelServer::answering(|_: &ModelCall| Reply::text("Yes."));
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    let told: Vec<(String, Value)> = thread::scope(|scope| {
        let (service, session) = (&service, &session);
        let clients = [0, 1, 2, 3].map(|client| {
            scope.spawn(move || {
                let texts = (0..MESSAGES).map(|number| format!("{client}.{number}"));
                let said = texts.map(|text| (text.clone(), service.say(session, &text)));
                said.collect::<Vec<_>>()
            })
        });
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let messages = |seen: &Seen| -> Vec<Value> {
        let items = seen.items_of(&session).into_iter();
        items.filter(|item| item["kind"] == "message").collect()
    };
    watcher.until("all messages", |seen| messages(seen).len() >= told.len());
    let messages = messages(&watcher.seen);
    assert_eq!(messages.len(), told.len());
    for (text, answer) in told {
        let written = messages.iter().find(|item| item["text"] == text.as_str()).unwrap();
        match answer["sequence"].as_u64() {
            Some(sequence) => assert_eq!(written["sequence"], sequence, "{text}"),
            None => assert!(answer["queued"].is_u64(), "{answer}"),
        }
    }
}
