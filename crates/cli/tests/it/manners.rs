//! How the program behaves towards shells: where it starts, and when the output is not read any more.

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

/// What was only to be shown has been shown; what was to be done has not been done.
#[test]
fn a_run_whose_reader_leaves_does_not_claim_to_be_done() {
    for json in [&["--json"][..], &[]] {
        let project = Fixture::new("//- /a.txt\nx\n");
        let (reading, writing) = std::io::pipe().unwrap();
        drop(reading);
        let mut command = command(None);
        command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
        command.args(["run", "find all TODO comments", "--provider", "offline"]).args(json);
        command.arg("--root").arg(project.root()).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.stdout(writing).spawn().unwrap();
        // Else this end of the pipe stays open here.
        drop(command);
        assert_eq!(child.wait().unwrap().code(), Some(141), "{json:?}");
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

#[test]
fn a_key_that_would_travel_unencrypted_is_warned_about_once() {
    let project = Fixture::new("//- /a.txt\nx\n");
    let told = |url: &str, key: Option<&str>| {
        let mut command = command(None);
        command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
        command.envs(key.map(|key| ("OPENAI_API_KEY", key)));
        command.args([
            "run",
            "hello",
            "--provider",
            "openai-chat",
            "--model",
            "m",
            "--base-url",
            url,
        ]);
        // It is told before anything is sent.
        command.args(["--time-limit", "1s", "--root"]).arg(project.root());
        let ran = finish(command.stdin(Stdio::null()));
        assert!(!ran.stderr.contains("sk-hidden"), "{}", ran.stderr);
        ran.stderr
            .lines()
            .filter(|line| line.contains("unencrypted"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let lines = told("http://model.invalid:9/v1", Some("sk-hidden"));
    assert_eq!(
        lines,
        [
            "toolkiln: the key from OPENAI_API_KEY goes to model.invalid unencrypted, so that others on the \
          network can read it; use https:// in model.base_url (--base-url)"
        ]
    );
    assert!(told("http://127.0.0.1:9/v1", Some("sk-hidden")).is_empty());
}

/// Everything under the state directory, made with a mask that hides nothing, and what an older
/// version left.
#[test]
fn state_is_for_no_other_user_to_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Fixture::new(
        "//- /a.txt\nx\n//- /.toolkiln/tools/g.toml\nname = 'g'\ndescription = 'd'\ncommand = ['true']\n",
    );
    let state = project.root().with_file_name("state");
    let run = |arguments: &[&str]| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "umask 000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_toolkiln")]);
        shell
            .env_clear()
            .env("XDG_STATE_HOME", &state)
            .args(arguments)
            .arg("--root")
            .arg(project.root());
        finish(shell.stdin(Stdio::null()))
    };
    let all = || {
        run(&["call", "write_file", "{\"path\": \"b.txt\", \"content\": \"b\"}", "--yes"]);
        run(&["run", "read a.txt", "--provider", "offline"]);
        run(&["tools", "trust", ".toolkiln/tools/g.toml"]);
    };
    fn each(path: &std::path::Path, work: &mut dyn FnMut(&std::path::Path, u32)) {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            work(&path, meta.permissions().mode() & 0o777);
            if meta.is_dir() {
                each(&path, work);
            }
        }
    }
    let check = || {
        let mut seen = 0;
        each(&state, &mut |path, mode| {
            seen += 1;
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{}", path.display());
        });
        assert!(seen > 5, "{seen}");
    };
    all();
    check();
    each(&state, &mut |path, mode| {
        let wide = if path.is_dir() { 0o755 } else { mode | 0o044 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(wide)).unwrap();
    });
    all();
    check();
}
