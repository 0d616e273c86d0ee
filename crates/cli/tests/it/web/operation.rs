//! The service as those see it who run it: its log, its probes, and what it counts of real sessions.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Reply};

use super::conversation::until_idle;
use super::service::Service;

const PROJECT: &str = "//- /notes.txt\nfirst\n";
/// What must never be in a log.
const SECRET: &str = "s3cr3t-m4rk";

#[test]
fn the_log_has_a_line_of_json_for_each_request_and_nothing_of_what_was_said() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([
        Reply::text(&format!("{SECRET} I look."))
            .and_call("read_file", json!({"path": "notes.txt"})),
        Reply::text(SECRET),
    ]);
    let told = project.root().with_file_name("told.jsonl");
    let log = Stdio::from(fs::File::create(&told).unwrap());
    let base = model.base_url();
    let more = ["--provider", "anthropic", "--base-url", &base, "--log", "json"];
    let service = Service::start_at("127.0.0.1:0", &project, &more, &[], log);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    service.say(&session, SECRET);
    until_idle(&mut watcher, &session);
    let refused = format!("authorization: Bearer {SECRET}");
    service.request(&format!("GET /api/sessions?q={SECRET}"), &[&refused], "");
    let metrics = service.request("GET /metrics", &[], "").body;
    for counted in [
        "toolkiln_sessions{state=\"idle\"} 1\n",
        "toolkiln_turns_total{end=\"done\"} 1\n",
        "toolkiln_tool_calls_total{outcome=\"ok\"} 1\n",
        "toolkiln_model_requests_total{outcome=\"ok\"} 2\n",
        "toolkiln_streams_open 1\n",
    ] {
        assert!(metrics.contains(counted), "{counted} in {metrics}");
    }
    assert_eq!(
        service.request("GET /readyz", &[], "").json(),
        json!({"ready": true, "failed": []})
    );
    let token = service.secrets["all"].as_str().unwrap().to_owned();
    service.terminate();
    let text = fs::read_to_string(&told).unwrap();
    assert!(!text.contains(SECRET) && !text.contains(&token), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let messages = lines.iter().find(|line| line["route"] == "/api/sessions/{session}/messages");
    let mut message = messages.unwrap().clone();
    for varying in ["at", "request", "duration_ms"] {
        assert!(message.as_object_mut().unwrap().remove(varying).is_some(), "{varying}");
    }
    let route = "/api/sessions/{session}/messages";
    let expected = json!({"kind": "request", "user": "token", "method": "POST", "route": route, "status": 200});
    assert_eq!(message, expected);
    assert!(lines.iter().any(|line| line["kind"] == "message"), "a refusal is told");
}

#[test]
fn a_service_whose_project_is_gone_is_well_but_not_ready() {
    let project = Fixture::new(PROJECT);
    let service = Service::start_with(&project, &["--provider", "offline"]);
    fs::rename(project.root(), project.root().with_file_name("moved")).unwrap();
    assert_eq!(service.request("GET /healthz", &[], "").body, "ok\n");
    let answer = service.request("GET /readyz", &[], "");
    assert_eq!(answer.status, 503);
    assert_eq!(answer.json(), json!({"ready": false, "failed": ["projects"]}));
    fs::rename(project.root().with_file_name("moved"), project.root()).unwrap();
}

#[test]
fn as_many_may_watch_as_the_user_says() {
    let project = Fixture::new(PROJECT);
    let service = Service::start_with(&project, &["--provider", "offline", "--max-streams", "2"]);
    let _watching = [service.watch("*"), service.watch("*")];
    let answer = service.request("GET /api/events", &[&service.token("all")], "");
    assert_eq!(answer.refusal(), "503 OVERLOADED");
    assert!(answer.head.contains("retry-after: 2"), "{}", answer.head);
}
