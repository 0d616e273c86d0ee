//! Answers that hold for more than one question, several questions at once, and how the user is called to them.

use std::process::Command;

use serde_json::json;
use testkit::{Fixture, ModelServer, Reply};

use super::LiveChat;
use super::live_chat::{NEW_DB, config_home, project};
use crate::run::run_with_state;

/// A model that wants a line added to the same file in so many turns.
fn wants_lines(count: usize) -> ModelServer {
    let turn = |_| {
        let line = json!({"path": "src/db.js", "content": "// more\n"});
        [Reply::call("append_file", line), Reply::text("I am done.")]
    };
    ModelServer::start((0..count).flat_map(turn))
}

/// How many of them were added.
fn lines(project: &Fixture) -> usize {
    project.read("src/db.js").matches("// more").count()
}

#[test]
fn a_rule_for_the_session_is_shown_and_ends_with_the_process() {
    let (project, server) = (project(), wants_lines(3));
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.answers("Edit src/db.js", "a");
    chat.asks("from now on append_file may create and change `src/db.js`, with any content");
    chat.press("s");
    chat.sees("I am done.");
    chat.is_idle();
    assert_eq!(lines(&project), 1);
    chat.say("again");
    server.watch().wait_for_calls(4);
    assert_eq!(lines(&project), 2, "no question was asked");
    chat.is_idle();
    assert_eq!(chat.screen.bells(), 1);
    chat.leave();
    let listed = run_with_state(&project, &["policy", "list"]).stdout;
    assert!(!listed.contains("a remembered answer"), "{listed}");
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.asks("Edit src/db.js");
    assert_eq!(lines(&project), 2);
}

#[test]
fn a_rule_for_good_is_listed_and_holds_in_the_next_process() {
    let (project, server) = (project(), wants_lines(2));
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.answers("Edit src/db.js", "a");
    chat.asks("for good");
    chat.press("g");
    chat.sees("I am done.");
    chat.is_idle();
    chat.leave();
    let listed = run_with_state(&project, &["policy", "list"]).stdout;
    let rule = listed.lines().find(|line| line.contains("a remembered answer"));
    assert!(rule.is_some_and(|rule| rule.contains("src/db.js")), "{listed}");
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.sees("I am done.");
    assert_eq!(lines(&project), 2);
    assert_eq!(chat.screen.bells(), 0);
}

#[test]
fn each_of_several_questions_calls_the_user_once_and_a_rule_answers_the_equal_ones() {
    let project = project();
    let line = json!({"path": "src/db.js", "content": "// more\n"});
    let reply = Reply::call("append_file", line.clone())
        .and_call("append_file", line)
        .and_call("create_file", json!({"path": "other.txt", "content": "x\n"}));
    let server = ModelServer::start([reply, Reply::text("I am done.")]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.answers("Edit src/db.js", "a");
    chat.asks("for this session");
    chat.press("s");
    chat.answers("Create other.txt", "y");
    chat.sees("I am done.");
    assert_eq!(lines(&project), 2);
    assert!(project.path("other.txt").exists());
    assert_eq!(chat.screen.bells(), 2);
}

#[test]
fn one_answer_for_always_is_enough_for_three_equal_calls() {
    let project = project();
    let line = json!({"path": "src/db.js", "content": "// more\n"});
    let reply = Reply::call("append_file", line.clone())
        .and_call("append_file", line.clone())
        .and_call("append_file", line);
    let server = ModelServer::start([reply, Reply::text("I am done.")]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.answers("Edit src/db.js", "a");
    chat.asks("for this session");
    assert_eq!(lines(&project), 0);
    chat.press("s");
    chat.sees("I am done.");
    chat.is_idle();
    assert_eq!(lines(&project), 3);
    assert_eq!(chat.screen.bells(), 1);
    chat.leave();
}

#[test]
fn the_bell_can_be_switched_off() {
    let (project, server) = (project(), wants_lines(1));
    let directory = config_home(&project).join("toolkiln");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("config.toml"), "[terminal]\nnotify = \"off\"\n").unwrap();
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("go");
    chat.answers("Edit src/db.js", "y");
    chat.sees("I am done.");
    assert_eq!(chat.screen.bells(), 0);
}

fn git(project: &Fixture, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Kiln", "-c", "user.email=kiln@example.org"]);
    let output = command.current_dir(project.root()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_question_about_a_commit_shows_the_commit_and_no_shell() {
    let project = project();
    git(&project, &["init", "--quiet"]);
    git(&project, &["config", "user.name", "Kiln"]);
    git(&project, &["config", "user.email", "kiln@example.org"]);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message", "begin"]);
    project.write("src/db.js", NEW_DB);
    git(&project, &["add", "--all"]);
    let commit = json!({"message": "db: two is right"});
    let server = ModelServer::start([Reply::call("git_commit", commit), Reply::text("I am done.")]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("commit it");
    chat.asks("db: two is right");
    let shown = chat.screen.text();
    for internal in ["sh -c", "/bin/sh", "GIT_", "core.hooksPath", "set -e", "&&"] {
        assert!(!shown.contains(internal), "{internal}: {shown}");
    }
    chat.press("y");
    chat.sees("I am done.");
    assert!(git(&project, &["log", "--oneline"]).contains("db: two is right"));
}
