//! From a message to a changed file, over HTTP.

use std::thread;

use serde_json::{Value, json};
use testkit::model_server::{Gate, ModelCall};
use testkit::{Fixture, ModelServer, Reply};

use super::service::{Service, Watcher};

const PROJECT: &str = "//- /notes.txt\nfirst\nsecond\n";

fn writing() -> Reply {
    let file = json!({"path": "copy.txt", "content": "first\n"});
    Reply::text("I write a copy. ").and_call("create_file", file)
}

/// The address of the only open question, once the watcher knows of it.
pub(super) fn question(watcher: &mut Watcher) -> String {
    watcher.until("a question", |seen| seen.questions.len() == 1);
    let question = &watcher.seen.questions[0];
    let part = |name: &str| question[name].as_str().unwrap().to_owned();
    format!("/api/approvals/{}/{}", part("owner"), part("question"))
}

pub(super) fn until_idle(watcher: &mut Watcher, session: &str) {
    watcher.until("the end of the turn", |seen| {
        let is_over = seen.items_of(session).last().is_some_and(|item| item["kind"] == "turn");
        is_over && seen.states.get(session).is_some_and(|state| state == "idle")
    });
}

#[test]
fn a_prompt_leads_to_an_approval_and_the_file_is_written() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([writing(), Reply::text("It is written.")]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    let sent = service.say(&session, "Copy the notes");
    assert!(sent["sequence"].as_u64().is_some(), "{sent}");
    let question = question(&mut watcher);
    assert_eq!(watcher.seen.states[&session], "waiting");

    let asked = service.get(&question);
    assert_eq!(asked["files"], json!([{"path": "copy.txt", "added": 1, "removed": 0}]));
    assert_eq!(asked["diffs"][0]["hunks"][0]["lines"][0]["text"], "first");
    assert!(asked["always"].as_str().unwrap().contains("copy.txt"), "{asked}");
    assert!(!project.path("copy.txt").exists());

    // The client that asks is not the one that approves.
    let yes = json!({"approve": true}).to_string();
    let post = format!("POST {question}");
    assert_eq!(
        service.request(&post, &[&service.token("chat")], &yes).refusal(),
        "403 PERMISSION_DENIED"
    );
    // What is kept as a rule is what was read.
    let other_rule = json!({"approve": true, "remember": {"scope": "project", "rule": "anything"}});
    assert_eq!(service.try_post(&question, other_rule).refusal(), "409 CONFLICT");
    assert!(!project.path("copy.txt").exists());

    assert_eq!(service.request(&post, &[&service.token("approve")], &yes).status, 200);
    until_idle(&mut watcher, &session);
    assert_eq!(project.read("copy.txt"), "first\n");
    assert_eq!(watcher.seen.questions, Vec::<Value>::new());
    assert_eq!(watcher.seen.items_of(&session), service.items(&session));
    assert_eq!(service.try_post(&question, json!({"approve": true})).refusal(), "409 CONFLICT");
}

#[test]
fn two_watchers_see_the_same_and_the_first_answer_counts() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([writing(), Reply::text("I leave it.")]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let (mut one, mut other) = (service.watch(&session), service.watch("*"));
    service.say(&session, "Copy the notes");
    let address = question(&mut one);
    assert_eq!(question(&mut other), address);
    let statuses = thread::scope(|scope| {
        let no =
            || service.try_post(&address, json!({"approve": false, "reason": "not now"})).status;
        let answers = [scope.spawn(no), scope.spawn(no), scope.spawn(no)];
        let mut statuses = answers.map(|answer| answer.join().unwrap());
        statuses.sort_unstable();
        statuses
    });
    assert_eq!(statuses, [200, 409, 409]);
    until_idle(&mut one, &session);
    until_idle(&mut other, &session);
    assert_eq!(one.seen.items_of(&session), other.seen.items_of(&session));
    assert!(one.seen.questions.is_empty() && other.seen.questions.is_empty());
    assert!(!project.path("copy.txt").exists());
    assert!(model.calls()[1].body.to_string().contains("not now"));
}

#[test]
fn hunks_comments_and_edited_files_are_asked_about_again() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([writing(), Reply::text("As you like.")]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    service.say(&session, "Copy the notes");
    let first = question(&mut watcher);
    service.post(&first, json!({"approve": true, "files": {"copy.txt": "edited\n"}}));
    watcher.until("the other question", |seen| {
        seen.questions
            .first()
            .is_some_and(|asked| !first.ends_with(asked["question"].as_str().unwrap()))
    });
    let second = question(&mut watcher);
    assert!(!project.path("copy.txt").exists());
    assert_eq!(service.get(&second)["diffs"][0]["hunks"][0]["lines"][0]["text"], "edited");
    let comment = json!({"path": "copy.txt", "line": 1, "text": "better so"});
    service.post(&second, json!({"approve": true, "comments": [comment]}));
    until_idle(&mut watcher, &session);
    assert_eq!(project.read("copy.txt"), "edited\n");
    assert!(model.calls()[1].body.to_string().contains("better so"));
}

#[test]
fn a_message_behind_one_that_waited_is_told_so_and_both_are_said() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let endless = Reply::pieces(["never ", "ending "]).through(&Gate::new());
    let model = ModelServer::start([endless, Reply::text("Both."), Reply::text("And more.")]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&format!("{session}:0"));
    service.say(&session, "Go on for ever");
    model.watch().wait_for_calls(1);
    assert!(service.say(&session, "One")["queued"].is_u64());
    service.post(&format!("/api/sessions/{session}/interrupt"), json!({}));
    watcher.until("the end of the turn", |seen| {
        seen.items_of(&session).iter().any(|item| item["kind"] == "turn")
            && seen.states.get(&session).is_some_and(|state| state == "idle")
    });
    let told = service.say(&session, "Two");
    assert!(told["queued"].is_u64(), "{told}");
    watcher.until("both", |seen| {
        let items = seen.items_of(&session);
        ["One", "Two"].iter().all(|said| items.iter().any(|item| item["text"] == *said))
    });
}

#[test]
fn a_message_during_a_turn_waits_and_an_interrupted_turn_ends() {
    let project = Fixture::new(PROJECT);
    let gate = Gate::new();
    let model = ModelServer::start([
        Reply::pieces(["one ", "two "]).through(&gate),
        Reply::text("That too."),
        Reply::pieces(["never ", "ending "]).through(&Gate::new()),
    ]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    service.say(&session, "Count");
    model.watch().wait_for_calls(1);
    let waiting = service.say(&session, "And greet");
    let queue = service.get(&format!("/api/sessions/{session}/queue"));
    assert_eq!(queue["messages"], json!([{"id": waiting["queued"], "text": "And greet"}]));
    let taken_back = service.say(&session, "Not this");
    let path = format!("DELETE /api/sessions/{session}/queue/{}", taken_back["queued"]);
    assert_eq!(service.request(&path, &[&service.token("chat")], "").json()["text"], "Not this");
    // Going back has to wait for the turn.
    let rewind = format!("/api/sessions/{session}/rewind");
    assert_eq!(service.try_post(&rewind, json!({"to": 2})).refusal(), "409 WORKING");
    gate.open();
    model.watch().wait_for_calls(2);
    until_idle(&mut watcher, &session);
    let second = model.calls()[1].user_texts();
    assert_eq!(second.last().map(String::as_str), Some("And greet"), "{second:?}");

    service.say(&session, "Go on for ever");
    model.watch().wait_for_calls(3);
    let interrupt = format!("/api/sessions/{session}/interrupt");
    assert_eq!(service.post(&interrupt, json!({})), json!({"interrupted": true}));
    watcher.until("the interruption", |seen| {
        let items = seen.items_of(&session);
        let is_told = items.iter().any(|item| item["topic"] == "turn_end");
        let is_over = items.last().is_some_and(|item| item["kind"] == "turn");
        is_told && is_over && seen.states[&session] == "idle"
    });
    assert_eq!(service.post(&interrupt, json!({})), json!({"interrupted": false}));
    assert_eq!(watcher.seen.items_of(&session), service.items(&session));
}

#[test]
fn a_session_is_named_forked_rewound_exported_and_deleted() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::answering(|call: &ModelCall| match call.tool_answers().is_empty() {
        true => writing(),
        false => Reply::text("Done."),
    });
    let service = Service::start(&project, &model);
    let session = service.begin();
    let mut watcher = service.watch(&session);
    let sent = service.say(&session, "Copy the notes");
    let question = question(&mut watcher);
    service.post(&question, json!({"approve": true}));
    until_idle(&mut watcher, &session);
    let path = format!("/api/sessions/{session}");
    let all = service.token("all");
    let named = service.request(&format!("PATCH {path}"), &[&all], r#"{"title": "Copying"}"#);
    assert_eq!(named.json()["title"], "Copying");
    watcher.until("the name", |seen| {
        seen.items_of(&session).iter().any(|item| item["topic"] == "renamed")
    });

    let fork = service.post(&format!("{path}/fork"), json!({}))["id"].as_str().unwrap().to_owned();
    let listed = service.get("/api/sessions");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);

    let back = json!({"to": sent["sequence"], "files": "restore"});
    let rewound = service.post(&format!("{path}/rewind"), back);
    assert_eq!(rewound, json!({"text": "Copy the notes", "restored": ["copy.txt"], "kept": []}));
    assert!(!project.path("copy.txt").exists());
    watcher.until("the return", |seen| {
        seen.items_of(&session).iter().any(|item| item["topic"] == "rewound")
    });
    assert_eq!(watcher.seen.items_of(&session), service.items(&session));

    for (format, expected) in
        [("jsonl", "\"toolkiln\""), ("markdown", "# Copying"), ("html", "<html")]
    {
        let export = format!("GET {path}/export?format={format}");
        let exported = service.request(&export, &[&all], "");
        assert!(exported.body.contains(expected), "{format}: {}", exported.body);
        assert!(exported.head.contains("content-type: text/plain"), "{}", exported.head);
    }
    for id in [&session, &fork] {
        let delete = format!("DELETE /api/sessions/{id}");
        assert_eq!(service.request(&delete, &[&all], "").status, 200);
        assert_eq!(service.request(&delete, &[&all], "").refusal(), "404 NOT_FOUND");
    }
    assert_eq!(service.get("/api/sessions"), json!({"sessions": []}));
}

#[test]
fn always_holds_in_all_sessions_of_the_project_and_settles_their_questions() {
    let project = Fixture::new(PROJECT);
    let add = |line: &str| {
        let change = json!({"path": "notes.txt", "content": format!("{line}\n")});
        Reply::call("append_file", change)
    };
    // A file that another session has changed since has to be read before it is changed again.
    let model = ModelServer::answering(move |call: &ModelCall| {
        let (said, answers) = (call.user_texts(), call.tool_answers());
        let added = answers.iter().filter(|answer| answer.text.contains("Appended"));
        match answers.last() {
            _ if added.count() == said.len() => Reply::text("Added."),
            Some(last) if last.is_error => Reply::call("read_file", json!({"path": "notes.txt"})),
            _ => add(said.last().map(String::as_str).unwrap_or_default()),
        }
    });
    let service = Service::start(&project, &model);
    let (one, other) = (service.begin(), service.begin());
    let mut watcher = service.watch("*");
    service.say(&one, "from one");
    service.say(&other, "from the other");
    watcher.until("both questions", |seen| seen.questions.len() == 2);
    let asked = watcher.seen.questions[0].clone();
    let part = |name: &str| asked[name].as_str().unwrap();
    let address = format!("/api/approvals/{}/{}", part("owner"), part("question"));
    let remember = json!({"scope": "project", "rule": part("always")});
    service.post(&address, json!({"approve": true, "remember": remember}));
    until_idle(&mut watcher, &one);
    until_idle(&mut watcher, &other);
    assert_eq!(watcher.seen.questions, Vec::<Value>::new());
    for session in [&one, &other] {
        service.say(session, "once more");
        watcher.until("a change without a question", |seen| {
            let ended = seen.items_of(session).into_iter().filter(|item| item["kind"] == "turn");
            ended.count() == 2
        });
    }
    for session in [&one, &other] {
        let items = watcher.seen.items_of(session);
        let calls: Vec<&Value> = items.iter().filter(|item| item["kind"] == "call").collect();
        assert!(calls.len() >= 2, "{calls:?}");
        assert!(calls[0].get("questions").is_some(), "{}", calls[0]);
        assert!(calls.last().unwrap().get("questions").is_none(), "{calls:?}");
    }
    let written = project.read("notes.txt");
    let mut lines: Vec<&str> = written.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["first", "from one", "from the other", "once more", "once more", "second"]);
}

#[test]
fn tools_by_hand_pass_the_same_gate() {
    let project = Fixture::new(PROJECT);
    let model = ModelServer::start([]);
    let service = Service::start(&project, &model);
    let read = service.post("/api/tools/read_file", json!({"arguments": {"path": "notes.txt"}}));
    assert_eq!(read["ok"], true, "{read}");
    let outside = service.post("/api/tools/read_file", json!({"arguments": {"path": "../state"}}));
    assert_eq!(
        (&outside["ok"], &outside["error"]["code"]),
        (&json!(false), &json!("INVALID_PATH"))
    );
    assert_eq!(service.try_post("/api/tools/no_such", json!({})).refusal(), "404 UNKNOWN_TOOL");
    let mut watcher = service.watch("");
    let written = thread::scope(|scope| {
        let arguments = json!({"arguments": {"path": "by_hand.txt", "content": "x\n"}});
        let call = scope.spawn(|| service.post("/api/tools/create_file", arguments));
        let question = question(&mut watcher);
        assert!(!project.path("by_hand.txt").exists());
        let rule = service.get(&question)["always"].clone();
        service.post(
            &question,
            json!({"approve": true, "remember": {"scope": "project", "rule": rule}}),
        );
        call.join().unwrap()
    });
    assert_eq!(written["ok"], true, "{written}");
    assert_eq!(project.read("by_hand.txt"), "x\n");
    // The rule is kept, counts, is taken back, and does not count any more.
    let explain = || {
        let arguments = json!({"path": "by_hand.txt", "content": "y\n"});
        let call = json!({"tool": "update_file", "arguments": arguments});
        service.post("/api/policy/explain", call)["decision"].clone()
    };
    let rules = service.get("/api/policy")["rules"].as_array().unwrap().clone();
    let kept: Vec<&Value> =
        rules.iter().filter(|rule| rule["text"].as_str().unwrap().contains("by_hand")).collect();
    assert_eq!(kept.len(), 1, "{rules:?}");
    let (approve, tools) = (service.token("approve"), service.token("tools"));
    let revoke = format!("DELETE /api/policy/{}", kept[0]["id"].as_str().unwrap());
    assert_eq!(service.request(&revoke, &[&tools], "").refusal(), "403 PERMISSION_DENIED");
    assert_eq!(service.get("/api/policy")["rules"].as_array().unwrap().len(), rules.len());
    assert_eq!(service.request(&revoke, &[&approve], "").status, 200);
    assert_eq!(service.get("/api/policy")["rules"].as_array().unwrap().len(), rules.len() - 1);
    assert_eq!(service.request(&revoke, &[&approve], "").refusal(), "404 NOT_FOUND");
    assert_eq!(explain(), "ask");

    let found = service.get("/api/search?query=second");
    assert!(found.to_string().contains("notes.txt"), "{found}");
    let listed = service.get("/api/files");
    assert!(listed.to_string().contains("notes.txt"), "{listed}");
    let file = service.get("/api/files/content?path=notes.txt&offset=2&limit=1");
    assert!(file["file"].to_string().contains("second"), "{file}");
    let outside =
        service.request("GET /api/files/content?path=..%2Fstate", &[&service.token("all")], "");
    assert_eq!(outside.refusal(), "400 INVALID_PATH");
    assert!(service.get("/api/stats")["tools"].is_array());
    assert!(!service.get("/api/models")["models"].as_array().unwrap().is_empty());
}
