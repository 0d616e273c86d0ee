//! `toolkiln setup`: from a machine without configuration to a model that answers.

use std::process::{Command, Stdio};

use testkit::{Fault, Fixture, ModelServer, Reply};

use crate::live::LiveChat;
use crate::pty::{Output, Session};
use crate::run::{Ran, command, finish};

/// A user's configuration directory.
fn home(config: &str) -> Fixture {
    Fixture::new(&format!("//- /toolkiln/config.toml\n{config}"))
}

fn setup(home: &Fixture, arguments: &[&str]) -> Command {
    let mut command = command(Some(home));
    command.arg("setup").args(arguments);
    command
}

fn set_up(home: &Fixture, arguments: &[&str]) -> Ran {
    finish(setup(home, arguments).stdin(Stdio::null()))
}

fn written(home: &Fixture) -> String {
    home.read("toolkiln/config.toml")
}

#[test]
fn options_choose_a_model_which_is_tested_and_written() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = home("# mine\n[agent]\nturn_limit = 20\n");
    let url = server.base_url();
    let ran = set_up(&home, &["--provider", "ollama", "--model", "qwen3:8b", "--base-url", &url]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("qwen3:8b answers"), "{}", ran.stderr);
    assert_eq!(server.calls().len(), 1);
    let expected = format!(
        "# mine\n[agent]\nturn_limit = 20\n\n[model]\nprovider = \"ollama\"\nname = \"qwen3:8b\"\nbase_url = \"{url}\"\n"
    );
    assert_eq!(written(&home), expected);
    // What was written is what a conversation begins with.
    let shown = finish(command(Some(&home)).args(["config", "show"]));
    assert!(shown.stdout.contains("qwen3:8b"), "{}", shown.stdout);
}

#[test]
fn a_configuration_is_made_where_there_is_none() {
    let server = ModelServer::start([Reply::text("ok")]).with_models(&["qwen3"]);
    let home = Fixture::new("//- /a.txt\n\n");
    let ran = set_up(&home, &["--base-url", &server.base_url()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = format!("[model]\nname = \"qwen3\"\nbase_url = \"{}\"\n", server.base_url());
    assert_eq!(written(&home), expected);
}

#[test]
fn a_key_goes_to_the_server_and_only_its_variable_into_the_file() {
    let server = ModelServer::start([Reply::text("ok")]);
    let home = home("");
    let url = server.base_url();
    let arguments = ["--base-url", &url, "--model", "m", "--key-env", "MY_KEY"];
    let ran = finish(setup(&home, &arguments).env("MY_KEY", "sk-secret").stdin(Stdio::null()));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(server.calls()[0].header("authorization"), Some("Bearer sk-secret"));
    assert!(written(&home).contains("key_env = \"MY_KEY\""), "{}", written(&home));
    assert!(!written(&home).contains("secret") && !ran.stderr.contains("secret"));
}

#[test]
fn a_failed_test_is_told_in_words_and_nothing_is_written() {
    let cases: [(Reply, &str); 3] = [
        (Reply::fault(Fault::status(401, "bad key")), "Check the key."),
        (Reply::fault(Fault::status(404, "model not found")), "Check the name of the model."),
        (Reply::fault(Fault::status(503, "busy")), "Try again later."),
    ];
    for (reply, words) in cases {
        let server = ModelServer::start([reply]);
        let home = home("");
        let ran = set_up(&home, &["--base-url", &server.base_url(), "--model", "m"]);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        let told = ran.stderr;
        assert!(told.contains("The test failed") && told.contains(words), "{told}");
        assert!(told.contains("Nothing was written"), "{told}");
        assert_eq!((written(&home).as_str(), server.calls().len()), ("", 1));
    }
}

#[test]
fn with_yes_a_choice_is_written_although_its_test_fails() {
    let home = home("");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let ran = set_up(&home, &["--base-url", &url, "--model", "m", "--yes"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("Is the server running"), "{}", ran.stderr);
    assert!(written(&home).contains(&url), "{}", written(&home));
}

#[test]
fn what_is_missing_or_wrong_is_said() {
    let table: &[(&[&str], i32, &str)] = &[
        (&["--provider", "antropic"], 2, "did you mean `anthropic`?"),
        (&["--provider", "openai"], 1, "export OPENAI_API_KEY=…"),
        (&["--provider", "openai", "--key-env", "MY_KEY"], 1, "MY_KEY is not set"),
        (&["--base-url", "localhost"], 2, "--model"),
        (&[], 2, "--provider"),
    ];
    for (arguments, code, words) in table {
        let home = home("");
        let ran = set_up(&home, arguments);
        assert_eq!(ran.code, *code, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
        assert_eq!(written(&home), "", "{arguments:?}");
    }
}

#[test]
fn a_file_that_cannot_be_edited_is_left_alone_with_what_to_put_into_it() {
    let server = ModelServer::start([Reply::text("ok")]);
    let config = "model.effort = \"low\"\n";
    let home = home(config);
    let ran = set_up(&home, &["--base-url", &server.base_url(), "--model", "m"]);
    assert_eq!((ran.code, written(&home).as_str()), (2, config));
    assert!(ran.stderr.contains("put this into it:\n\n[model]\nname = \"m\"\n"), "{}", ran.stderr);
}

#[test]
fn a_configuration_that_is_a_link_is_read_and_its_target_written() {
    let home = Fixture::new("//- /dotfiles/config.toml\n# mine\n//- /toolkiln/a.txt\n\n");
    let path = home.path("toolkiln/config.toml");
    std::os::unix::fs::symlink("../dotfiles/config.toml", &path).unwrap();
    let ran = set_up(&home, &["--provider", "offline"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = "# mine\n\n[model]\nprovider = \"offline\"\n";
    assert_eq!((home.read("dotfiles/config.toml").as_str(), path.is_symlink()), (expected, true));
    let shown = finish(command(Some(&home)).args(["config", "show"]));
    assert!(shown.stdout.contains("\"offline\""), "{}{}", shown.stdout, shown.stderr);
    let named = finish(command(Some(&home)).args(["config", "path"]));
    let user = named.stdout.lines().find(|line| line.starts_with("user")).unwrap();
    assert!(user.ends_with("config.toml"), "{user}");
    std::fs::remove_file(home.path("dotfiles/config.toml")).unwrap();
    let ran = set_up(&home, &["--provider", "offline"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("a link to a file that does not exist"),
        "{}",
        ran.stderr
    );
}

#[test]
fn at_a_terminal_the_user_chooses_among_what_is_found() {
    let server = ModelServer::start([Reply::text("ok")]).with_models(&["llama3", "qwen3:8b"]);
    let home = home("");
    let mut setup = setup(&home, &[]);
    setup.env("OLLAMA_HOST", server.address());
    let mut terminal = Session::spawn(setup, Output::Piped);
    terminal.wait_for("1) ollama: llama3, qwen3:8b at");
    terminal.answer("Which one? [1] ", "0");
    terminal.wait_for("A number from 1 to");
    terminal.answer("Which one? [1] ", "");
    terminal.wait_for("2) qwen3:8b");
    terminal.answer("[1] ", "2");
    terminal.wait_for("qwen3:8b answers");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(written(&home), "[model]\nprovider = \"ollama\"\nname = \"qwen3:8b\"\n");
}

#[test]
fn at_a_terminal_a_failed_test_asks_whether_to_write() {
    let server = ModelServer::start([Reply::fault(Fault::status(401, "bad key"))]);
    let home = home("");
    let command = setup(&home, &["--base-url", &server.base_url(), "--model", "m"]);
    let mut terminal = Session::spawn(command, Output::Piped);
    terminal.answer("Write it all the same? [y/N] ", "n");
    terminal.wait_for("Nothing was written");
    assert_eq!(terminal.end().0, 1);
    assert_eq!(written(&home), "");
}

#[test]
fn a_chat_without_a_model_points_to_setup() {
    let project = Fixture::new("//- /a.txt\nx\n");
    let mut chat = Command::new(env!("CARGO_BIN_EXE_toolkiln"));
    chat.env_clear().env("XDG_STATE_HOME", project.root().with_file_name("state"));
    // An address at which nothing can listen.
    chat.env("OLLAMA_HOST", "127.0.0.1:1").arg("chat").arg("--root").arg(project.root());
    let mut chat = LiveChat::start(&chat);
    chat.sees("`toolkiln setup` finds and tests a model");
    chat.leave();
}
