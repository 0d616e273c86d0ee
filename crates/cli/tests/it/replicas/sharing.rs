//! What is asked of one replica is done by the one that has the session, once.

use serde_json::json;
use testkit::Reply;
use testkit::model_server::Gate;

use super::{Replicas, adding, answered, has_all, has_ended, is_in, question, texts};

#[test]
fn a_message_to_any_replica_is_answered_and_every_client_sees_all_of_it() {
    let Some(replicas) = Replicas::new([Reply::text("Hello."), Reply::text("Again.")]) else {
        return;
    };
    let (first, second) = (replicas.start(), replicas.start());
    let session = first.begin();
    let follow = format!("{session}:0");
    let mut watchers = [first.watch(&follow), second.watch(&follow)];
    for text in ["Hi", "Once more"] {
        let sent = second.say(&session, text);
        assert!(sent["sequence"].is_u64(), "{sent}");
        for watcher in &mut watchers {
            watcher.until("the end of the turn", |seen| {
                let items = seen.items_of(&session);
                texts(&items).contains(&text) && has_ended(seen, &session)
            });
        }
    }
    for watcher in &watchers {
        has_all(watcher, &session, &[&first, &second]);
    }
    // It is no session of another process, but one of the service.
    let listed = second.get("/api/sessions")["sessions"][0].clone();
    assert_eq!((&listed["state"], &listed["open_elsewhere"]), (&json!("idle"), &json!(null)));
    assert_eq!(replicas.model.calls().len(), 2);
}

#[test]
fn a_message_with_a_key_is_said_once_however_often_it_is_sent() {
    let Some(replicas) = Replicas::new([Reply::text("Hello.")]) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let session = first.begin();
    let mut watcher = first.watch(&format!("{session}:0"));
    let target = format!("POST /api/sessions/{session}/messages");
    let body = json!({"text": "Hi"}).to_string();
    let send = |replica: &crate::web::service::Service| {
        let headers = [&*replica.token("chat"), "idempotency-key: one"];
        let answer = replica.request(&target, &headers, &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["sequence"].clone()
    };
    assert_eq!(send(&first), send(&second));
    watcher.until("the end of the turn", |seen| has_ended(seen, &session));
    assert_eq!(send(&second), send(&first));
    assert_eq!(replicas.model.calls().len(), 1);
}

#[test]
fn of_answers_to_two_replicas_at_once_one_wins_and_the_file_is_written_once() {
    let Some(replicas) = Replicas::new([adding(), Reply::text("Added.")]) else { return };
    let [first, second, third] = [replicas.start(), replicas.start(), replicas.start()];
    let session = first.begin();
    let mut watchers = [second.watch("*"), third.watch("*")];
    first.say(&session, "Add one");
    for watcher in &mut watchers {
        watcher.until("the question", |seen| seen.questions.len() == 1);
    }
    let question = question(&watchers[0]);
    let statuses = std::thread::scope(|scope| {
        let answers = [&second, &third]
            .map(|replica| scope.spawn(|| answered(replica, &session, &question, true).status));
        answers.map(|answer| answer.join().unwrap())
    });
    assert!(statuses == [200, 409] || statuses == [409, 200], "{statuses:?}");
    for watcher in &mut watchers {
        watcher.until("the end of the turn", |seen| {
            seen.questions.is_empty() && is_in(seen, &session, "idle")
        });
    }
    assert_eq!(replicas.project.read("notes.txt"), "zero\none\n");
    assert_eq!(answered(&third, &session, &question, false).status, 409);
}

#[test]
fn a_turn_is_interrupted_and_a_waiting_message_taken_back_at_another_replica() {
    let replies = [Reply::pieces(["never ", "ending"]).through(&Gate::new())];
    let Some(replicas) = Replicas::new(replies) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let session = first.begin();
    let mut watcher = second.watch("*");
    second.say(&session, "Go on for ever");
    watcher.until("the turn", |seen| is_in(seen, &session, "working"));
    let queued = second.say(&session, "And this")["queued"].as_u64().unwrap();
    let queue = format!("/api/sessions/{session}/queue");
    assert_eq!(second.get(&queue)["messages"], json!([{"id": queued, "text": "And this"}]));
    let token = second.token("all");
    let withdrawn = second.request(&format!("DELETE {queue}/{queued}"), &[&token], "");
    assert_eq!(withdrawn.json(), json!({"id": queued, "text": "And this"}));
    let interrupt = format!("/api/sessions/{session}/interrupt");
    assert_eq!(second.post(&interrupt, json!({})), json!({"interrupted": true}));
    watcher.until("the end of the turn", |seen| is_in(seen, &session, "idle"));
    assert_eq!(second.post(&interrupt, json!({})), json!({"interrupted": false}));
    let deleted = second.request(&format!("DELETE /api/sessions/{session}"), &[&token], "");
    assert_eq!(deleted.status, 200, "{}", deleted.body);
    assert_eq!(first.get("/api/sessions"), json!({"sessions": []}));
}
