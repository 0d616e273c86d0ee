//! What a page shows beside conversations: configuration, custom tools, days.

use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Reply};

use super::conversation::{question, until_idle};
use super::service::Service;
use crate::custom_tools::{self, TOOL};
use crate::run::run_with_state;

#[test]
fn the_overview_says_what_is_configured_and_never_a_key() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let model = ModelServer::start([]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let overview = service.get(&format!("/api/overview?session={session}"));
    let first = &overview["projects"][0];
    assert_eq!((&first["provider"], &first["mode"]), (&json!("anthropic"), &json!("strict")));
    assert_eq!(first["models"][0], first["model"]);
    let keys = first["keys"].as_array().unwrap();
    let anthropic = json!({"provider": "anthropic", "found": true, "source": "ANTHROPIC_API_KEY"});
    assert!(keys.contains(&anthropic), "{keys:?}");
    assert!(keys.contains(&json!({"provider": "openai", "found": false})), "{keys:?}");
    assert!(!overview.to_string().contains("test-key"));
    assert_eq!(overview["sessions"][0]["id"], session);
    assert_eq!(overview["timeline"]["items"], json!([]));
    assert_eq!(overview["questions"], json!([]));
    // No provider was asked for anything.
    assert_eq!(model.calls().len(), 0);
}

#[test]
fn a_custom_tool_is_trusted_by_the_hash_of_the_text_that_was_read() {
    let project = custom_tools::project();
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let listed = service.get("/api/custom-tools")["tools"][0].clone();
    assert_eq!((&listed["tool"], &listed["text"]), (&json!("greet"), &json!(TOOL)));
    assert_eq!((&listed["trusted"], &listed["mistakes"]), (&json!(false), &json!([])));
    let trust = |file: &str, hash: &Value| json!({"file": file, "hash": hash});
    let file = listed["file"].as_str().unwrap();
    let path = "/api/custom-tools/trust";
    let tools = service.token("tools");
    let body = trust(file, &listed["hash"]).to_string();
    let refused = service.request(&format!("POST {path}"), &[&tools], &body);
    assert_eq!(refused.refusal(), "403 PERMISSION_DENIED");
    let other = service.try_post(path, trust(file, &json!("0".repeat(64))));
    assert_eq!(other.refusal(), "409 CONFLICT");
    for outside in ["a.txt", "../state", "/etc/passwd"] {
        let refused = service.try_post(path, trust(outside, &listed["hash"]));
        assert_eq!(refused.refusal(), "400 INVALID_ARGUMENTS", "{outside}");
    }
    // Another text under the same name is not what was read.
    let changed = TOOL.replace("hello", "bye");
    std::fs::write(project.path(file), &changed).unwrap();
    assert_eq!(service.try_post(path, trust(file, &listed["hash"])).refusal(), "409 CONFLICT");
    assert_eq!(service.get("/api/custom-tools")["tools"][0]["trusted"], false);
    std::fs::write(project.path(file), TOOL).unwrap();
    let trusted = service.post(path, trust(file, &listed["hash"]));
    assert!(trusted["message"].as_str().unwrap().starts_with("`greet` is trusted"), "{trusted}");
    assert_eq!(service.get("/api/custom-tools")["tools"][0]["trusted"], true);
    // The command line sees the same trust.
    let tools = run_with_state(&project, &["tools"]).stdout;
    assert!(tools.contains("Greet a user"), "{tools}");
}

#[test]
fn days_count_calls_approvals_tokens_and_forks_once() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let write = |name: &str| Reply::call("create_file", json!({"path": name, "content": "x\n"}));
    let model = ModelServer::start([
        write("a.txt"),
        write("b.txt"),
        Reply::call("read_file", json!({"path": "absent.txt"})),
        Reply::text("Done."),
    ]);
    let service = Service::start(&project, &model);
    assert_eq!(service.get("/api/stats/days"), json!({"days": []}));
    let session = service.begin();
    let mut watcher = service.watch(&session);
    service.say(&session, "Work");
    let first = question(&mut watcher);
    service.post(&first, json!({"approve": true}));
    watcher.until("the other question", |seen| {
        seen.questions
            .first()
            .is_some_and(|asked| !first.ends_with(asked["question"].as_str().unwrap()))
    });
    let second = question(&mut watcher);
    service.post(&second, json!({"approve": false}));
    until_idle(&mut watcher, &session);
    service.post(&format!("/api/sessions/{session}/fork"), json!({}));

    let days = service.get("/api/stats/days")["days"].as_array().unwrap().clone();
    // A test that runs at midnight sees two days.
    let sum = |pointer: &str| -> u64 {
        days.iter().filter_map(|day| day.pointer(pointer)?.as_u64()).sum()
    };
    let names = ["calls", "successes", "failures", "refusals", "approvals", "denials", "answers"];
    let of = |group: &str| names.map(|name| sum(&format!("{group}/{name}")));
    assert_eq!(of("/all"), [3, 1, 1, 1, 1, 1, 4]);
    assert_eq!(of("/tools/create_file"), [2, 1, 0, 1, 1, 1, 0]);
    assert_eq!(of("/tools/read_file"), [1, 0, 1, 0, 0, 0, 0]);
    assert_eq!(of("/projects/project"), of("/all"));
    let model = service.get("/api/projects")["projects"][0]["model"].as_str().unwrap().to_owned();
    assert_eq!(sum(&format!("/models/{model}/answers")), 4);
    assert_eq!((sum("/all/tokens_in"), sum("/all/tokens_out")), (4 * 13, 4 * 5));
    assert_eq!(days[0]["date"].as_str().unwrap().len(), "2026-11-16".len());
    assert_eq!(service.get("/api/stats/days?since=32503680000000"), json!({"days": []}));
    let all = service.token("all");
    let odd = service.request("GET /api/stats/days?ahead_minutes=99999", &[&all], "");
    assert_eq!(odd.refusal(), "400 INVALID_ARGUMENTS");
}
