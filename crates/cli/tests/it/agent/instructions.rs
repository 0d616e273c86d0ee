//! Instructions of the user and the project: what the model is told, and that the user sees which files.

use std::process::Command;

use serde_json::{Value, json};
use testkit::model_server::WireFormat;
use testkit::{Fixture, ModelServer, Reply};

use super::bench::{Bench, Model};
use super::validity;
use crate::run::{Ran, finish};

const PROJECT: &str = "//- /AGENTS.md\nRoot words.\n//- /inner/CLAUDE.md\nInner words.\n\
                       //- /inner/a.txt\na\n//- /b.txt\nb\n";

fn script() -> Vec<Reply> {
    let read = |path: &str| Reply::call("read_file", json!({"path": path}));
    vec![read("b.txt"), read("inner/a.txt"), Reply::text("Done.")]
}

fn asking(bench: &Bench, server: &ModelServer, format: WireFormat, home: &Fixture) -> Command {
    let mut command = bench.asking(Model { format, server }, "Work");
    command.env("HOME", home.root()).env("XDG_CONFIG_HOME", home.path(".config"));
    command
}

fn home(files: &str) -> Fixture {
    Fixture::new(&format!("//- /.config/toolkiln/AGENTS.md\nMy words.\n{files}"))
}

/// The lines that name files with instructions.
fn named(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.starts_with("· instructions: ")).collect()
}

#[test]
fn root_and_user_are_told_at_once_and_a_directory_when_a_file_in_it_is_read() {
    for format in WireFormat::ALL {
        let (bench, home) = (Bench::new(PROJECT), home(""));
        let server = ModelServer::start(script());
        let ran = finish(&mut asking(&bench, &server, format, &home));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(
            named(&ran),
            [
                "· instructions: AGENTS.md, ~/.config/toolkiln/AGENTS.md",
                "· instructions: inner/CLAUDE.md"
            ]
        );
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        let system = calls[0].system();
        let (mine, project) = (system.find("My words."), system.find("Root words."));
        assert!(mine.is_some() && mine < project, "{system}");
        assert!(system.contains("The user wants you to know:\nMy words."), "{system}");
        assert!(system.contains("<project_text file=\"AGENTS.md\">\nRoot words."), "{system}");
        let told = |call: usize| calls[call].body.to_string().matches("Inner words.").count();
        assert_eq!([told(0), told(1), told(2)], [0, 0, 1]);
    }
}

#[test]
fn a_program_is_told_which_files_too() {
    let (bench, home) = (Bench::new(PROJECT), home(""));
    let server = ModelServer::start(script());
    let ran = finish(asking(&bench, &server, WireFormat::Chat, &home).arg("--json"));
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let begun = json!([
        {"path": "AGENTS.md", "remark": null},
        {"path": "~/.config/toolkiln/AGENTS.md", "remark": null},
    ]);
    assert_eq!(lines[0]["data"]["instructions"], begun);
    let later = lines.iter().filter(|line| line["type"] == "instructed");
    let paths: Vec<&Value> = later.map(|line| &line["data"]["path"]).collect();
    assert_eq!(paths, ["inner/CLAUDE.md"]);
}

#[test]
fn what_cannot_be_shown_is_said_aloud_and_nothing_waits_for_it() {
    let files = "//- /GEMINI.md symlink=/etc/hostname\n//- /inner/a.txt\na\n//- /b.txt\nb\n";
    let (bench, home) = (Bench::new(files), Fixture::new("//- /a\na\n"));
    for pipe in ["AGENTS.md", "inner/AGENTS.md"] {
        let made = Command::new("mkfifo").arg(bench.project.path(pipe)).status();
        assert!(made.unwrap().success());
    }
    bench.project.write("CLAUDE.md", "Many words.\n".repeat(900_000));
    let server = ModelServer::start(script());
    let ran = finish(&mut asking(&bench, &server, WireFormat::Anthropic, &home));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        named(&ran),
        [
            "· instructions: AGENTS.md (not read: AGENTS.md is a named pipe, not a regular file), CLAUDE.md \
             (cut: 32760 of 10800000 bytes are shown; the rest begins in line 2731)",
            "· instructions: inner/AGENTS.md (not read: inner/AGENTS.md is a named pipe, not a regular file)"
        ]
    );
    assert!(server.calls()[0].system().contains("read CLAUDE.md from line 2731 for the rest]"));
}

#[test]
fn a_user_who_wants_none_of_the_projects_keeps_the_own_ones() {
    let bench = Bench::new(PROJECT);
    let home = home("//- /.config/toolkiln/config.toml\n[agent]\nproject_instructions = false\n");
    let server = ModelServer::start(script());
    let ran = finish(&mut asking(&bench, &server, WireFormat::Responses, &home));
    assert_eq!(named(&ran), ["· instructions: ~/.config/toolkiln/AGENTS.md"], "{}", ran.stderr);
    for call in server.calls() {
        let body = call.body.to_string();
        assert!(body.contains("My words.") && !body.contains("Root words."), "{body}");
        assert!(!body.contains("Inner words."), "{body}");
    }
}
