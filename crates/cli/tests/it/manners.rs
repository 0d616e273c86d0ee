//! How the program behaves towards shells: where it starts, and when nobody reads any more.

use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::model_server::Reply;
use testkit::{Fixture, ModelServer};

use crate::run::{command, finish};

const COMMANDS: [&[&str]; 4] = [
    &["mcp"],
    &["run", "hello", "--provider", "offline"],
    &["chat", "--provider", "offline"],
    &["call", "glob", "{\"pattern\": \"*\"}"],
];

fn at(directory: &std::path::Path, home: &std::path::Path, arguments: &[&str]) -> Command {
    let mut command = command(None);
    command
        .current_dir(directory)
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.with_file_name("state"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn a_directory_that_is_too_large_has_to_be_named() {
    let home = Fixture::new("//- /project/a.txt\nx\n");
    let project = home.path("project");
    let places = [home.root(), std::path::Path::new("/"), "/usr".as_ref(), "/tmp".as_ref()];
    for place in places {
        for arguments in COMMANDS.into_iter().chain([&[] as &[&str]]) {
            let ran = finish(&mut at(place, home.root(), arguments));
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("--root ."), "{}", ran.stderr);
        }
    }
    let told = finish(&mut at(home.root(), home.root(), &[])).stderr;
    let told = told.replace(&home.root().display().to_string(), "HOME");
    insta::assert_snapshot!(told, @r"
    toolkiln: HOME is your home directory, not a project: everything in it could be searched, read and changed.
    Go to the directory of a project (cd DIR), or name one: --root DIR. If you mean this one, say --root .
    ");
    for arguments in COMMANDS {
        let ran = finish(&mut at(&project, home.root(), arguments));
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.stderr);
    }
    let named = finish(at(home.root(), home.root(), COMMANDS[3]).args(["--root", "."]));
    assert_eq!(named.code, 0, "{}", named.stderr);
}

/// Every command that prints, with a reader that leaves at once.
#[test]
fn a_reader_that_has_had_enough_is_not_complained_about() {
    let project = Fixture::new("//- /a.txt\nx\n");
    let state = project.root().with_file_name("state");
    let start = |arguments: &[&str]| {
        let mut command = command(None);
        command.env("XDG_STATE_HOME", &state).args(arguments).arg("--root").arg(project.root());
        command.stdin(Stdio::null());
        command
    };
    let said = finish(&mut start(&["run", "read a.txt", "--provider", "offline"]));
    assert_eq!(said.code, 0, "{}", said.stderr);
    let sessions = finish(&mut start(&["sessions", "list", "--json"]));
    let id = sessions.json()[0]["id"].as_str().map(str::to_owned).unwrap_or_default();
    let commands: [&[&str]; 15] = [
        &["run", "read a.txt", "--provider", "offline"],
        &["run", "read a.txt", "--provider", "offline", "--json"],
        &["sessions", "list"],
        &["sessions", "show", &id],
        &["sessions", "export", &id],
        &["sessions", "check"],
        &["stats"],
        &["tools"],
        &["tools", "--format", "mcp"],
        &["call", "read_file", "{\"path\": \"a.txt\"}"],
        &["index", "--status"],
        &["history"],
        &["policy", "list"],
        &["config", "show"],
        &["doctor"],
    ];
    for arguments in commands {
        // A pipe whose reading end is closed before anything is written.
        let (reading, writing) = std::io::pipe().unwrap();
        drop(reading);
        let mut child = start(arguments).stdout(writing).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = child.wait().unwrap();
        assert!(status.code().is_some(), "{arguments:?}: {status:?}");
        for word in ["panicked", "roken pipe", "os error"] {
            assert!(!stderr.contains(word), "{arguments:?}: {stderr}");
        }
    }
}

#[test]
fn a_run_that_stops_at_a_limit_says_how_to_raise_it_and_how_to_go_on() {
    let project = Fixture::new("//- /a.txt\nx\n");
    let stopped = |more: &[&str], replies: Vec<Reply>| {
        let server = ModelServer::start(replies);
        let mut command = command(None);
        command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
        command.args(["run", "read", "--provider", "ollama", "--model", "scripted", "--base-url"]);
        command.arg(server.base_url()).args(more).arg("--root").arg(project.root());
        let ran = finish(command.stdin(Stdio::null()));
        assert_eq!(ran.code, 4, "{}", ran.stderr);
        let line = ran.stderr.lines().find(|line| line.starts_with("toolkiln: it stopped"));
        let line = line.unwrap_or_else(|| panic!("{}", ran.stderr)).to_owned();
        let (_, after) = line.split_once("--resume ").unwrap();
        let id = after.split(' ').next().unwrap().to_owned();
        (line.replace(&id, "ID"), id)
    };
    let read = |path: &str| Reply::call("read_file", json!({"path": path}));
    let (line, id) = stopped(&["--max-turns", "1"], vec![read("a.txt")]);
    assert_eq!(
        line,
        "toolkiln: it stopped at the limit of rounds; --max-turns NUMBER allows more. \
         Go on with: toolkiln run --resume ID \"go on\""
    );
    let (line, _) =
        stopped(&["--budget-tokens", "1", "--json"], vec![read("a.txt"), read("b.txt")]);
    assert!(line.contains("--budget-tokens NUMBER"), "{line}");
    // What it says works.
    let server = ModelServer::start([Reply::text("Done.")]);
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.args(["run", "--resume", &id, "go on", "--provider", "ollama", "--model", "scripted"]);
    command.arg("--base-url").arg(server.base_url()).arg("--root").arg(project.root());
    let ran = finish(command.stdin(Stdio::null()));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
}
