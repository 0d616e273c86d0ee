//! Rules that were made with "always", and are taken back at another replica.

use serde_json::json;
use testkit::Reply;

use super::{Replicas, adding, question};

#[test]
fn a_rule_that_is_taken_back_at_one_replica_holds_at_no_other() {
    let turns = (0..3).flat_map(|_| [adding(), Reply::text("Added.")]);
    let Some(replicas) = Replicas::new(turns) else { return };
    let (first, second) = (replicas.start(), replicas.start());
    let session = second.begin();
    let mut watcher = second.watch(&format!("{session}:0"));
    second.say(&session, "Add one");
    watcher.until("the question", |seen| !seen.questions.is_empty());
    let asked = format!("/api/approvals/{session}/{}", question(&watcher));
    let remember = json!({"scope": "project", "rule": watcher.seen.questions[0]["always"]});
    second.post(&asked, json!({"approve": true, "remember": remember}));
    let ends = |turns: usize| {
        move |seen: &crate::web::service::Seen, session: &str| {
            let items = seen.items_of(session);
            items.iter().filter(|item| item["kind"] == "turn").count() == turns
        }
    };
    watcher.until("the end of the first turn", |seen| ends(1)(seen, &session));
    second.say(&session, "Add another");
    watcher.until("the end of the second turn", |seen| ends(2)(seen, &session));
    let notes = || std::fs::read_to_string(replicas.project.root().join("notes.txt")).unwrap();
    assert_eq!(notes(), "zero\none\none\n", "the rule lets it pass");
    let rules = first.get("/api/policy")["rules"].take();
    let is_made = |rule: &&serde_json::Value| rule["source"] == "remembered";
    let rule = rules.as_array().unwrap().iter().find(is_made).unwrap()["id"].clone();
    let target = format!("DELETE /api/policy/{}", rule.as_str().unwrap());
    let gone = first.request(&target, &[&first.token("all")], "");
    assert_eq!(gone.status, 200, "{}", gone.body);
    for replica in [&first, &second] {
        let rules = replica.get("/api/policy")["rules"].to_string();
        assert!(!rules.contains(rule.as_str().unwrap()), "{rules}");
    }
    // The session has made the rule itself, and is open all the time.
    second.say(&session, "Add a third");
    watcher.until("the question", |seen| !seen.questions.is_empty());
    assert_eq!(notes(), "zero\none\none\n");
}
