//! `kill -9` in the middle of a turn and of an approval; then a client comes back with the position it
//! had, and the session goes on.

use serde_json::{Value, json};
use testkit::model_server::{Gate, validity};
use testkit::{Fixture, ModelServer, Reply};

use super::service::{Seen, Service};

const PROJECT: &str = "//- /notes.txt\nzero\n";

fn adding() -> Reply {
    let line = json!({"path": "notes.txt", "content": "one\n"});
    Reply::text("I add one. ").and_call("append_file", line)
}

fn texts(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(|item| item["text"].as_str()).collect()
}

#[test]
fn killed_in_the_middle_of_an_answer_nothing_that_was_shown_is_lost() {
    let project = Fixture::new(PROJECT);
    let gate = Gate::new();
    let model = ModelServer::start([Reply::pieces(["one ", "two ", "three "]).through(&gate)]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&format!("{session}:0"));
    service.say(&session, "Count");
    gate.pass(2);
    let has_two =
        |seen: &Seen| texts(&seen.items_of(&session)).iter().any(|text| text.contains("two"));
    watcher.until("the second piece", has_two);
    let seen = watcher.seen.clone();
    service.kill();
    drop(model);

    let model = ModelServer::start([Reply::text("Three.")]);
    let service = Service::start(&project, &model);
    // What was shown is still there before the session is even opened again.
    let items = service.items(&session);
    assert!(texts(&items).iter().any(|text| text.contains("one two")), "{items:?}");
    let state = service.get(&format!("/api/sessions/{session}"))["state"].clone();
    assert_eq!(state, "interrupted");
    let mut watcher = service.resume(&session, seen);
    service.say(&session, "Go on");
    watcher.until("the answer", |seen| {
        let items = seen.items_of(&session);
        texts(&items).contains(&"Three.") && items.last().is_some_and(|item| item["kind"] == "turn")
    });
    assert_eq!(watcher.seen.items_of(&session), service.items(&session));
    model.calls().iter().for_each(validity::check);
}

#[test]
fn killed_in_the_middle_of_an_approval_nothing_is_done_until_it_is_asked_again() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([adding()]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch("*");
    service.say(&session, "Add one");
    watcher.until("a question", |seen| seen.questions.len() == 1 && seen.last_event_id.is_some());
    let (seen, asked) = (watcher.seen.clone(), watcher.seen.questions[0].clone());
    let old = format!("/api/approvals/{session}/{}", asked["question"].as_str().unwrap());
    service.kill();
    drop(model);

    let model = ModelServer::start([adding(), Reply::text("Added.")]);
    let service = Service::start(&project, &model);
    // The old answer comes too late, whatever it says.
    assert_eq!(service.try_post(&old, json!({"approve": true})).refusal(), "409 CONFLICT");
    let mut watcher = service.resume("*", seen);
    watcher.until("no question", |seen| seen.questions.is_empty());
    assert_eq!(project.read("notes.txt"), "zero\n");

    service.say(&session, "Go on");
    watcher.until("the question again", |seen| seen.questions.len() == 1);
    // The model is told that its first call has no result.
    let told = model.calls()[0].tool_answers();
    assert!(told.len() == 1 && told[0].is_error, "{told:?}");
    assert_eq!(project.read("notes.txt"), "zero\n");
    let asked = watcher.seen.questions[0]["question"].as_str().unwrap().to_owned();
    service.post(&format!("/api/approvals/{session}/{asked}"), json!({"approve": true}));
    watcher.until("the answer", |seen| {
        let items = seen.items_of(&session);
        texts(&items).contains(&"Added.") && items.last().is_some_and(|item| item["kind"] == "turn")
    });
    assert_eq!(project.read("notes.txt"), "zero\none\n");
    assert_eq!(watcher.seen.items_of(&session), service.items(&session));
    model.calls().iter().for_each(validity::check);
}

#[test]
fn a_service_that_is_asked_to_end_releases_its_sessions() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([
        Reply::pieces(["never ", "ending "]).through(&Gate::new()),
        Reply::text("Here."),
    ]);
    let first = Service::start(&project, &model);
    let session = first.begin();
    first.say(&session, "Go on for ever");
    model.watch().wait_for_calls(1);
    let second = Service::start(&project, &model);
    let path = format!("/api/sessions/{session}/messages");
    let refused = second.try_post(&path, json!({"text": "Are you there?"}));
    assert_eq!(refused.refusal(), "409 IN_USE");
    assert_eq!(first.terminate(), Some(143));
    let mut watcher = second.watch(&session);
    second.say(&session, "Are you there?");
    watcher.until("an answer", |seen| texts(&seen.items_of(&session)).contains(&"Here."));
}

#[test]
fn a_turn_that_was_paused_can_go_on_after_the_service_was_killed() {
    let project = Fixture::new(PROJECT);
    let reading = Reply::text("I look. ").and_call("read_file", json!({"path": "notes.txt"}));
    let model = ModelServer::start([reading, Reply::text("Zero.")]);
    let address = model.base_url();
    let more = ["--provider", "anthropic", "--base-url", &address, "--max-turns", "1"];
    let service = Service::start_with(&project, &more);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    service.say(&session, "What is in the notes?");
    watcher.until("the pause", |seen| seen.states.get(&session).is_some_and(|it| it == "paused"));
    service.kill();

    let service = Service::start_with(&project, &more);
    let mut watcher = service.watch(&session);
    service.post(&format!("/api/sessions/{session}/continue"), json!({}));
    watcher.until("the end of the turn", |seen| {
        seen.states.get(&session).is_some_and(|state| state == "idle")
    });
    let items = service.items(&session);
    assert!(texts(&items).contains(&"Zero."), "{items:?}");
    assert_eq!(items.iter().filter(|item| item["kind"] == "message").count(), 1);
    let again = service.try_post(&format!("/api/sessions/{session}/continue"), json!({}));
    assert_eq!(again.status, 409);
}
