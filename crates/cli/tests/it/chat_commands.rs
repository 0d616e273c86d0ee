//! What commands at the prompt tell, as a chat that is fed lines shows them.

use std::process::Stdio;

use serde_json::json;
use testkit::{Fixture, ModelServer, Reply};

use crate::run::{Ran, command, run_with_state, run_with_state_and_input};

const PROJECT: &str = "\
//- /src/cart.rs
pub struct Cart;

impl Cart {
    pub fn total(&self) -> u32 {
        7
    }
}

pub fn twice() {}
//- /src/other.rs
pub fn twice() {}
//- /a b.txt
blanks
";

fn offline(project: &Fixture, lines: &str) -> Ran {
    run_with_state_and_input(project, &["chat", "--provider", "offline", "--yes"], lines)
}

/// Goes on with the last conversation.
fn again(project: &Fixture, lines: &str) -> Ran {
    run_with_state_and_input(project, &["-c", "--provider", "offline", "--yes"], lines)
}

fn with_model(project: &Fixture, server: &ModelServer, lines: &str) -> Ran {
    let url = server.base_url();
    let model =
        ["chat", "--yes", "--provider", "ollama", "--model", "scripted", "--base-url", &url];
    run_with_state_and_input(project, &model, lines)
}

#[test]
fn the_diff_of_a_session_is_one_for_each_file() {
    let project = Fixture::new(PROJECT);
    offline(&project, "Replace \"7\" with \"8\" in src/cart.rs\n");
    for line in [
        "Replace \"8\" with \"9\" in src/cart.rs\n",
        "Create file notes.md containing \"x\"\n",
        "Delete notes.md\n",
    ] {
        again(&project, line);
    }
    let ran = again(&project, "/diff\n");
    let diff = &ran.stderr[ran.stderr.rfind("src/cart.rs  +1 −1").expect("a line for the file")..];
    assert!(diff.contains("-        7\n+        9\n"), "{diff}");
    assert!(!diff.contains("notes.md"), "it is gone again: {diff}");
    let ran = offline(&project, "/diff\n");
    assert!(ran.stderr.contains("Nothing has been changed in this session."), "{}", ran.stderr);
}

#[test]
fn cost_context_and_jobs_have_tables() {
    let project = Fixture::new(PROJECT);
    let server = ModelServer::start([Reply::text("Good day.")]);
    let ran = with_model(&project, &server, "hello\n/cost\n/context\n/jobs\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for expected in ["scripted", "this turn", "this session", "system prompt", "tool results"] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains("No background jobs."), "{}", ran.stderr);
}

#[test]
fn the_models_of_a_provider_are_listed_and_a_missing_server_is_said() {
    let project = Fixture::new(PROJECT);
    let server = ModelServer::start([]).with_models(&["qwen3:8b", "scripted"]);
    let ran = with_model(&project, &server, "/model\n");
    assert!(ran.stderr.contains("Models of ollama:\n  qwen3:8b\n* scripted\n"), "{}", ran.stderr);

    let url = server.base_url();
    let any = ["run", "hello", "--provider", "ollama", "--base-url", &url];
    let empty = ModelServer::start([]).with_models(&[]);
    let empty_url = empty.base_url();
    let none = ["run", "hello", "--provider", "ollama", "--base-url", &empty_url];
    let ran = run_with_state(&project, &none);
    assert!(
        ran.stderr.contains("has no models; get one with `ollama pull NAME`"),
        "{}",
        ran.stderr
    );
    drop(server);
    let ran = run_with_state(&project, &any);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("no Ollama answers at http://127.0.0.1:"), "{}", ran.stderr);
}

#[test]
fn a_conversation_in_which_something_was_said_tells_how_to_go_on() {
    let project = Fixture::new(PROJECT);
    let silent = offline(&project, "/tools\n");
    assert!(!silent.stderr.contains("toolkiln resume"), "{}", silent.stderr);
    let said = offline(&project, "grep twice src\n");
    let (_, id) = said.stderr.trim_end().rsplit_once("toolkiln resume ").expect("a hint");
    assert_eq!(id.len(), 6, "{id}");
    for again in [&["resume", id] as &[&str], &["-c"], &["resume"]] {
        let arguments = [again, &["--provider", "offline"]].concat();
        let ran = run_with_state_and_input(&project, &arguments, "");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("twice") || ran.stderr.contains("twice"), "{again:?}");
        assert!(ran.stderr.contains(&format!("toolkiln resume {id}")), "{}", ran.stderr);
    }
}

#[test]
fn a_command_of_the_project_is_used_once_it_is_trusted() {
    let file = ".toolkiln/commands/review.md";
    let text = "---\ndescription: look at a file\nargument-hint: FILE\n---\nLook at $1 closely.";
    let project = Fixture::new(&format!("//- /{file}\n{text}\n//- /src/a.rs\nx\n"));
    let server = ModelServer::start([Reply::text("I did.")]);
    let ran = with_model(&project, &server, "/review src/a.rs\n/help\n");
    assert!(ran.stderr.contains("The command `/review` is not trusted. Look at"), "{}", ran.stderr);
    assert!(server.calls().is_empty());

    let trusted = run_with_state(&project, &["tools", "trust", file]);
    assert_eq!(trusted.code, 0, "{}", trusted.stderr);
    assert_eq!(trusted.stdout, "`/review` is trusted as it is now. It sends:\nLook at  closely.\n");
    let ran = with_model(&project, &server, "/help\n/review src/a.rs\n");
    assert!(ran.stderr.contains("  /review FILE"), "{}", ran.stderr);
    assert_eq!(server.calls()[0].user_texts(), ["Look at src/a.rs closely."]);

    project.write(file, "Something else.");
    let changed = with_model(&project, &server, "/review src/a.rs\n/reviwe\n");
    assert!(changed.stderr.contains("is not trusted"), "{}", changed.stderr);
    assert!(changed.stderr.contains("There is no command `/reviwe`."), "{}", changed.stderr);
}

#[test]
fn a_command_for_the_shell_is_shown_and_told_to_the_model() {
    let project = Fixture::new(PROJECT);
    let server = ModelServer::start([Reply::text("I see.")]);
    let ran = with_model(&project, &server, "!echo kiln-$((40 + 2))\nwell?\n");
    if ran.stderr.contains("SANDBOX_UNAVAILABLE") || ran.stderr.contains("cannot be confined") {
        testkit::left_out("commands cannot be confined here");
        return;
    }
    assert!(ran.stderr.contains("kiln-42"), "{}", ran.stderr);
    let heard = server.calls()[0].user_texts().join("\n");
    assert!(heard.contains("echo kiln-$((40 + 2))") && heard.contains("kiln-42"), "{heard}");
}

#[test]
fn init_asks_the_model_for_the_file() {
    let project = Fixture::new(PROJECT);
    let file = json!({"path": "AGENTS.md", "content": "Run cargo test.\n"});
    let server = ModelServer::start([Reply::call("create_file", file), Reply::text("Written.")]);
    let ran = with_model(&project, &server, "/init\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(server.calls()[0].user_texts()[0].starts_with("Write AGENTS.md in the root"));
    assert_eq!(project.read("AGENTS.md"), "Run cargo test.\n");
}

#[test]
fn directories_symbols_and_quoted_paths_are_attached_to_a_run() {
    let project = Fixture::new(PROJECT);
    let server = ModelServer::start([Reply::text("Seen.")]);
    let url = server.base_url();
    let message = "see @src and @\"a b.txt\", @Cart::total, @twice, @missing_name";
    let model = ["--provider", "ollama", "--model", "scripted", "--base-url", &url];
    let ran = run_with_state(&project, &[&["run", message] as &[&str], &model].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let heard = server.calls()[0].user_texts().join("\n");
    assert!(heard.contains("The user attached the directory src:") && heard.contains("other.rs"));
    assert!(heard.contains("The user attached a b.txt:"), "{heard}");
    assert!(heard.contains("attached Cart::total, from line 4 of src/cart.rs:"), "{heard}");
    assert!(ran.stderr.contains("twice is not attached: it has 2 definitions"), "{}", ran.stderr);
    assert!(ran.stderr.contains("missing_name is not attached"), "{}", ran.stderr);
}

#[test]
fn a_reader_that_leaves_is_not_an_error() {
    let project = Fixture::new(PROJECT);
    for word in ["a", "b", "c"] {
        run_with_state(&project, &["run", &format!("grep {word} src"), "--provider", "offline"]);
    }
    for arguments in [&["sessions", "list"] as &[&str], &["stats"], &["tools"]] {
        let mut toolkiln = command(None);
        toolkiln.env("XDG_STATE_HOME", project.root().with_file_name("state"));
        toolkiln.args(arguments).arg("--root").arg(project.root()).stdin(Stdio::null());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = toolkiln.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop(toolkiln);
        let ended = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!((ended.status.code(), &*told), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn resume_never_takes_up_the_session_that_is_open() {
    let project = Fixture::new(PROJECT);
    offline(&project, "grep total src\n");
    let ran = offline(&project, "grep twice src\n/resume\n");
    let past = ran.stderr.rsplit_once("toolkiln · ").expect("a greeting follows").0;
    assert!(past.contains("› grep total src"), "{}", ran.stderr);
    let alone = Fixture::new(PROJECT);
    let ran = offline(&alone, "grep twice src\n/resume\n");
    assert!(ran.stderr.contains("there are no other sessions"), "{}", ran.stderr);
}

#[test]
fn what_separates_the_fields_of_our_own_git_is_never_shown() {
    let project = Fixture::new(PROJECT);
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-c", "user.name=A", "-c", "user.email=a@b"]).args(arguments);
        assert!(command.current_dir(project.root()).output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "the first"]);
    let ran = offline(&project, "git log\ngit status\n");
    let shown = format!("{}{}", ran.stdout, ran.stderr);
    assert!(shown.contains("the first"), "{shown}");
    assert!(!shown.contains("\\x") && !shown.contains('\0'), "{shown}");
}
