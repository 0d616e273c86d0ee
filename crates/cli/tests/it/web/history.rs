//! What was changed, and taking it back.

use std::thread;

use serde_json::{Value, json};
use testkit::Fixture;

use super::conversation::question;
use super::service::Service;

/// Makes a call by hand and approves it.
fn approved(service: &Service, path: &str, body: Value) -> Value {
    let mut watcher = service.watch("");
    thread::scope(|scope| {
        let call = scope.spawn(|| service.post(path, body));
        let question = question(&mut watcher);
        service.post(&question, json!({"approve": true}));
        call.join().unwrap()
    })
}

#[test]
fn changes_are_listed_undone_and_made_again_through_the_gate() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    assert_eq!(service.get("/api/history"), json!({"changes": [], "more": false}));
    for name in ["a.txt", "b.txt", "c.txt"] {
        let arguments = json!({"path": name, "content": "x\n"});
        let made = approved(&service, "/api/tools/create_file", json!({"arguments": arguments}));
        assert_eq!(made["ok"], true, "{made}");
    }
    let listed = |query: &str| -> Vec<(u64, String, bool)> {
        let changes = service.get(&format!("/api/history{query}"))["changes"].clone();
        let row = |change: &Value| {
            let path = change["paths"][0].as_str().unwrap().to_owned();
            (change["id"].as_u64().unwrap(), path, change["undone_by"].is_u64())
        };
        changes.as_array().unwrap().iter().map(row).collect()
    };
    let all = listed("");
    let paths: Vec<&str> = all.iter().map(|(_, path, _)| path.as_str()).collect();
    assert_eq!(paths, ["c.txt", "b.txt", "a.txt"]);
    let first = service.get("/api/history?limit=2");
    assert_eq!((first["changes"].as_array().unwrap().len(), &first["more"]), (2, &json!(true)));
    let row = &first["changes"][0];
    assert_eq!((&row["tool"], &row["files"]), (&json!("create_file"), &json!(1)));
    assert_eq!(listed(&format!("?limit=2&before={}", all[1].0)), all[2..]);

    let b = all[1].0;
    // The token that approves cannot undo by itself, nor the one that chats.
    for scope in ["approve", "chat"] {
        let refused = service.request("POST /api/history/undo", &[&service.token(scope)], "{}");
        assert_eq!(refused.refusal(), "403 PERMISSION_DENIED");
    }
    let undone = approved(&service, "/api/history/undo", json!({"id": b}));
    assert_eq!(undone["ok"], true, "{undone}");
    assert!(!project.path("b.txt").exists() && project.path("c.txt").exists());
    assert!(listed("").contains(&(b, "b.txt".to_owned(), true)));
    let newest = approved(&service, "/api/history/undo", json!({"id": all[0].0}));
    assert_eq!(newest["ok"], true, "{newest}");
    let made_again = approved(&service, "/api/history/redo", json!({"id": b}));
    assert_eq!(made_again["ok"], true, "{made_again}");
    assert!(project.path("b.txt").exists() && !project.path("c.txt").exists());
    let made_again = approved(&service, "/api/history/redo", json!({}));
    assert_eq!(made_again["ok"], true, "{made_again}");
    assert!(project.path("c.txt").exists());
    let nothing = service.post("/api/history/undo", json!({"id": 4711}));
    assert_eq!(nothing["ok"], false, "{nothing}");
}
