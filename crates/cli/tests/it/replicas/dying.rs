//! A replica is killed, or stopped for longer than its leases last. Another one takes its sessions up.

use rustix::process::Signal;
use serde_json::json;
use testkit::Reply;
use testkit::model_server::{Gate, validity};

use super::{Replicas, adding, answered, has_all, has_ended, is_in, question, texts};

#[test]
fn a_replica_killed_in_mid_turn_leaves_a_turn_that_ends_elsewhere_and_goes_on_there() {
    let gate = Gate::new();
    let replies = [Reply::pieces(["one ", "two "]).through(&gate), Reply::text("Three.")];
    let Some(replicas) = Replicas::new(replies) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let session = first.begin();
    let mut watcher = second.watch(&format!("{session}:0"));
    first.say(&session, "Count");
    gate.pass(1);
    watcher.until("the first piece", |seen| {
        texts(&seen.items_of(&session)).iter().any(|text| text.contains("one"))
    });
    first.kill();
    watcher.until("the end of the turn", |seen| has_ended(seen, &session));
    assert!(second.items(&session).last().unwrap().to_string().contains("interrupted"));
    second.say(&session, "Go on");
    watcher.until("the answer", |seen| {
        texts(&seen.items_of(&session)).contains(&"Three.") && has_ended(seen, &session)
    });
    has_all(&watcher, &session, &[&second]);
    replicas.model.calls().iter().for_each(validity::check);
}

#[test]
fn a_replica_killed_in_mid_approval_leaves_nothing_done() {
    let Some(replicas) = Replicas::new([adding(), Reply::text("I see.")]) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let session = first.begin();
    let mut watcher = second.watch("*");
    first.say(&session, "Add one");
    watcher.until("the question", |seen| seen.questions.len() == 1);
    let question = question(&watcher);
    first.kill();
    // The answer waits for whoever takes the session up, who does not ask any more.
    assert_eq!(answered(&second, &session, &question, true).status, 409);
    watcher.until("the end of the turn", |seen| {
        seen.questions.is_empty() && is_in(seen, &session, "idle")
    });
    assert_eq!(replicas.project.read("notes.txt"), "zero\n");
    second.say(&session, "Go on");
    watcher.until("the answer", |seen| texts(&seen.items_of(&session)).contains(&"I see."));
    let told = replicas.model.calls()[1].tool_answers();
    assert!(told.len() == 1 && told[0].is_error, "{told:?}");
}

#[test]
fn a_message_that_waits_at_a_replica_that_is_killed_is_worked_on_by_another() {
    let replies = [Reply::pieces(["never ", "ending"]).through(&Gate::new()), Reply::text("Done.")];
    let Some(replicas) = Replicas::new(replies) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let session = first.begin();
    let mut watcher = second.watch(&format!("{session}:0"));
    first.say(&session, "Go on for ever");
    replicas.model.watch().wait_for_calls(1);
    assert!(first.say(&session, "Then this")["queued"].is_u64());
    first.kill();
    watcher.until("the answer", |seen| {
        let items = seen.items_of(&session);
        texts(&items).contains(&"Done.") && has_ended(seen, &session)
    });
    let items = second.items(&session);
    assert_eq!(texts(&items).iter().filter(|text| **text == "Then this").count(), 1);
    has_all(&watcher, &session, &[&second]);
}

#[test]
fn a_replica_that_was_stopped_for_too_long_writes_nothing_more_and_runs_nothing() {
    let gate = Gate::new();
    let write = json!({"path": "late.txt", "content": "late\n"});
    let late = Reply::pieces(["one ", "two "]).and_call("create_file", write).through(&gate);
    let Some(replicas) = Replicas::new([late, Reply::text("Three.")]) else { return };
    let (first, second) = (replicas.start_with(&["--yes"]), replicas.start());
    let session = first.begin();
    let mut watcher = second.watch(&format!("{session}:0"));
    first.say(&session, "Count and write");
    gate.pass(1);
    watcher.until("the first piece", |seen| {
        texts(&seen.items_of(&session)).iter().any(|text| text.contains("one"))
    });
    first.signal(Signal::STOP);
    watcher.until("the end of the turn", |seen| has_ended(seen, &session));
    let before = second.items(&session);
    // The rest of the answer, with the call, lies ready for the replica that comes back.
    gate.open();
    first.signal(Signal::CONT);
    // It knows by now that another replica has the session, and asks that one.
    let sent = first.say(&session, "Go on");
    assert!(sent["sequence"].is_u64(), "{sent}");
    watcher.until("the answer", |seen| {
        texts(&seen.items_of(&session)).contains(&"Three.") && has_ended(seen, &session)
    });
    has_all(&watcher, &session, &[&first, &second]);
    assert_eq!(second.items(&session)[..before.len()], before[..]);
    assert!(!replicas.project.path("late.txt").exists());
    replicas.model.calls().iter().for_each(validity::check);
}
