//! A rolling restart: a replica that is asked to end lets its turns end, and others go on.

use rustix::process::Signal;
use testkit::Reply;
use testkit::model_server::Gate;

use super::{Replicas, has_all, has_ended, is_in, texts};

#[test]
fn a_replica_that_is_asked_to_end_lets_its_turn_end_and_leaves_the_rest_to_others() {
    let gate = Gate::new();
    let replies = [Reply::pieces(["one ", "two "]).through(&gate), Reply::text("Next.")];
    let Some(replicas) = Replicas::new(replies) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let session = first.begin();
    let mut watcher = second.watch(&format!("{session}:0"));
    first.say(&session, "Count");
    watcher.until("the turn", |seen| is_in(seen, &session, "working"));
    replicas.model.watch().wait_for_calls(1);
    assert!(second.say(&session, "Then this")["queued"].is_u64());
    first.signal(Signal::TERM);
    gate.open();
    watcher.until("both answers", |seen| {
        let items = seen.items_of(&session);
        texts(&items).contains(&"one two ")
            && texts(&items).contains(&"Next.")
            && has_ended(seen, &session)
    });
    assert_eq!(first.terminate(), Some(143));
    has_all(&watcher, &session, &[&second]);
}

#[test]
fn a_turn_that_takes_too_long_is_interrupted_and_the_session_is_free_at_once() {
    let replies = [Reply::pieces(["never ", "ending"]).through(&Gate::new()), Reply::text("Next.")];
    let Some(replicas) = Replicas::new(replies) else { return };
    let (first, second) = (replicas.start_with(&["--drain-seconds", "0"]), replicas.start());
    let session = first.begin();
    let mut watcher = second.watch(&format!("{session}:0"));
    first.say(&session, "Go on for ever");
    watcher.until("the turn", |seen| is_in(seen, &session, "working"));
    replicas.model.watch().wait_for_calls(1);
    assert_eq!(first.terminate(), Some(143));
    second.say(&session, "Next");
    watcher.until("the answer", |seen| {
        texts(&seen.items_of(&session)).contains(&"Next.") && has_ended(seen, &session)
    });
    has_all(&watcher, &session, &[&second]);
}
