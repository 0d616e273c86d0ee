//! Another model or role in a session that is open.

use serde_json::json;
use testkit::model_server::Gate;
use testkit::{Fixture, ModelServer, Reply};

use super::conversation::{question, until_idle};
use super::service::Service;

#[test]
fn a_session_goes_on_with_another_model_and_role() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let gate = Gate::new();
    let file = json!({"path": "copy.txt", "content": "first\n"});
    let model = ModelServer::start([
        Reply::pieces(["One."]).through(&gate),
        Reply::call("create_file", file.clone()),
        Reply::text("I may not."),
        Reply::call("create_file", file),
        Reply::text("Done."),
    ]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let path = format!("/api/sessions/{session}");
    let mut watcher = service.watch(&session);
    service.say(&session, "Count");
    model.watch().wait_for_calls(1);
    let planner = json!({"role": "planner", "model": "claude-other", "title": "Counting"});
    assert_eq!(service.patch(&path, planner.clone()).refusal(), "409 WORKING");
    gate.open();
    until_idle(&mut watcher, &session);

    let chat = service.token("approve");
    let refused = service.request(&format!("PATCH {path}"), &[&chat], &planner.to_string());
    assert_eq!(refused.refusal(), "403 PERMISSION_DENIED");
    let wrong = service.patch(&path, json!({"role": "emperor", "title": "No"}));
    assert_eq!(wrong.refusal(), "400 INVALID_ARGUMENTS");
    let changed = service.patch(&path, planner).json();
    assert_eq!(
        (&changed["model"], &changed["role"], &changed["title"], &changed["state"]),
        (&json!("claude-other"), &json!("planner"), &json!("Counting"), &json!("idle"))
    );
    watcher.until("the change", |seen| {
        seen.items_of(&session).iter().any(|item| item["topic"] == "settings")
    });
    service.say(&session, "Copy the notes");
    watcher.until("the refusal", |seen| {
        seen.items_of(&session).iter().filter(|item| item["kind"] == "turn").count() == 2
    });
    assert_eq!(model.calls()[1].body["model"], "claude-other");
    assert!(!project.path("copy.txt").exists());

    // Questions and calls are told by the session as it is after the change.
    service.patch(&path, json!({"role": "actor"}));
    service.say(&session, "Once more");
    let question = question(&mut watcher);
    assert_eq!(watcher.seen.states[&session], "waiting");
    service.post(&question, json!({"approve": true}));
    watcher.until("the copy", |seen| {
        seen.items_of(&session).iter().filter(|item| item["kind"] == "turn").count() == 3
    });
    assert_eq!(project.read("copy.txt"), "first\n");
    assert_eq!(model.calls()[3].body["model"], "claude-other");
    assert_eq!(watcher.seen.items_of(&session), service.items(&session));
}
