//! Names and texts that a terminal would obey, through every command that prints them.

use std::os::unix::ffi::OsStrExt as _;
use std::process::Stdio;

use serde_json::json;
use testkit::{Fixture, ModelServer, Reply};

use crate::pty::{Output, Session};
use crate::run::{command, finish, run_with_state, run_with_state_and_input};

/// Clears the screen in two ways, sets the title, turns the line around, hides what follows.
const EVIL: &str = "e\u{1b}[2J\u{9b}2J\u{1b}]0;t\u{7}\u{202e}\u{200b}\u{2066}\u{feff}\u{8}x";

fn is_harmful(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// That the text shows the name, and nothing in it is obeyed. A terminal ends lines with `\r\n`.
fn assert_harmless(what: &str, text: &str) {
    let harmful: String = text.chars().filter(|c| is_harmful(*c)).collect();
    assert!(harmful.is_empty(), "{what}: {harmful:?} in {text}");
    assert!(!text.replace("\r\n", "\n").contains('\r'), "{what}: {text:?}");
    let shows = text.contains("[2J") || text.contains("\\x1B") || text.contains("\\u001b");
    assert!(shows, "{what} does not show the name: {text}");
}

fn project() -> Fixture {
    let project = Fixture::new("//- /a.txt\none\n");
    project.write(EVIL, format!("TODO: {EVIL}\n"));
    project
}

/// What a command prints into a pipe.
fn piped(project: &Fixture, arguments: &[&str]) {
    let ran = run_with_state(project, arguments);
    assert_harmless(&arguments.join(" "), &format!("{}{}", ran.stdout, ran.stderr));
}

/// What a command prints on a terminal, with everything until its end.
fn on_terminal(project: &Fixture, arguments: &[&str], end: &str) {
    let mut session = Session::start(project, arguments, Output::Terminal);
    session.wait_for(end);
    assert_harmless(&arguments.join(" "), &session.seen);
    session.end();
}

#[test]
fn calls_and_their_errors() {
    let project = project();
    let evil = |key: &str| json!({key: EVIL}).to_string();
    on_terminal(&project, &["call", "list_directory", "{}"], "a.txt");
    on_terminal(&project, &["call", "read_file", &evil("path")], "size");
    piped(&project, &["call", "read_file", &json!({"path": format!("no{EVIL}")}).to_string()]);
    piped(&project, &["call", EVIL, "{}"]);
    piped(&project, &["call", "read_file", &evil(EVIL)]);
    piped(&project, &[EVIL]);
    piped(
        &project,
        &["policy", "explain", "append_file", &json!({"path": EVIL, "content": "x"}).to_string()],
    );
    piped(&project, &["policy", "list", "--deny", &format!("append_file:{EVIL}")]);
    piped(&project, &["policy", "revoke", EVIL]);
    piped(&project, &["sessions", "show", EVIL]);
}

#[test]
fn questions_and_the_history_of_changes() {
    let project = project();
    let arguments = json!({"path": EVIL, "content": format!("{EVIL}\n"), "description": EVIL});
    let call = ["call", "update_file", &arguments.to_string()];
    let mut session = Session::start(&project, &call, Output::Terminal);
    session.answer("Do it?", "h");
    session.answer("which of 1-1", "1");
    session.answer("Do it?", "y");
    session.wait_for("change_id");
    assert_harmless("the question", &session.seen);
    session.end();
    piped(&project, &["history"]);
    piped(&project, &["history", "--json"]);
    piped(&project, &["doctor"]);
    on_terminal(&project, &["history"], "edit");
    let mut session = Session::start(&project, &["undo"], Output::Terminal);
    session.answer("Do it?", "u");
    session.answer("[y/n/e/h/a/?]", "n");
    session.wait_for("Nothing was undone.");
    session.answer("Do it?", "n");
    session.wait_for("REJECTED");
    assert_harmless("undo", &session.seen);
    session.end();
}

#[test]
fn conversations_with_a_hostile_model_and_their_statistics() {
    let project = project();
    let read = |path: &str| Reply::call("read_file", json!({"path": path}));
    let unknown = Reply::call(EVIL, json!({EVIL: EVIL}));
    let replies = [
        unknown,
        read(EVIL),
        Reply::call(
            "bash",
            json!({"command": format!("printf '{EVIL}\\n\\033[31mred\\r\\302\\233\\n'; exit 1")}),
        ),
        Reply::text(&format!("# {EVIL}\n`{EVIL}` *{EVIL}*\n|{EVIL}|\n|-|\n|x|\n")),
    ];
    let server = ModelServer::start(replies);
    let url = server.base_url();
    let run = ["run", EVIL, "--provider", "ollama", "--model", EVIL, "--base-url", &url, "--yes"];
    on_terminal(&project, &run, "out");
    let id = run_with_state(&project, &["sessions", "list", "--json"]).json()[0]["id"].clone();
    let id = id.as_str().unwrap();
    for arguments in [&["sessions", "list"][..], &["sessions", "show", id], &["stats"]] {
        piped(&project, arguments);
        on_terminal(&project, arguments, "[2J");
    }
    piped(&project, &["stats", "--json"]);
    piped(&project, &["stats", "--favourites"]);
    assert_eq!(run_with_state(&project, &["sessions", "rename", id, EVIL]).code, 0);
    piped(&project, &["sessions", "list"]);
    // An export is safe to look at and makes the same conversation.
    let export = run_with_state(&project, &["sessions", "export", id]);
    assert_harmless("export", &export.stdout);
    let imported = run_with_state_and_input(&project, &["sessions", "import"], &export.stdout);
    assert_eq!((imported.code, imported.stderr.as_str()), (0, ""));
    let titles = run_with_state(&project, &["sessions", "list", "--json"]).json();
    assert_eq!(titles[0]["title"], titles[1]["title"]);
}

#[test]
fn tools_and_configuration() {
    let project = project();
    let text = json!(EVIL).to_string().replace("\u{9b}", "\\u009b").replace("\\b", "\\u0008");
    let tool = format!("name = \"greet\"\ndescription = {text}\ncommand = [\"echo\", {text}]\n");
    project.write(format!(".toolkiln/tools/{EVIL}.toml"), tool);
    piped(&project, &["tools"]);
    piped(&project, &["tools", "trust", &format!(".toolkiln/tools/{EVIL}.toml")]);
    piped(&project, &["tools"]);
    piped(&project, &["tools", "--format", "mcp"]);
    let config = Fixture::new("");
    config
        .write("toolkiln/config.toml", format!("[model]\nname = {text}\nprovider = \"ollama\"\n"));
    for arguments in
        [&["config", "show"][..], &["config", "show", "--json"], &["doctor"], &["config", "path"]]
    {
        let root = project.root().with_file_name(std::ffi::OsStr::from_bytes(EVIL.as_bytes()));
        std::fs::create_dir_all(&root).unwrap();
        let mut command = command(Some(&config));
        let ran = finish(command.args(arguments).arg("--root").arg(root).stdin(Stdio::null()));
        assert_harmless(&arguments.join(" "), &format!("{}{}", ran.stdout, ran.stderr));
    }
    config.write("toolkiln/config.toml", format!("{text} = 1\n"));
    let mut command = command(Some(&config));
    let ran = finish(command.arg("tools").arg("--root").arg(project.root()).stdin(Stdio::null()));
    assert_harmless("a mistake in the configuration", &ran.stderr);
}

/// The rule that makes all of this hold: one file writes to the standard streams.
#[test]
fn nothing_writes_to_a_standard_stream_but_the_printing_layer() {
    let mut directories =
        vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if !path.ends_with("src/output.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for name in [
                    "io::stdout",
                    "io::stderr",
                    " stdout(",
                    " stderr(",
                    "(stdout(",
                    "(stderr(",
                    "Stdout",
                    "print!(",
                    "println!(",
                ] {
                    assert!(!text.contains(name), "{} uses {name}", path.display());
                }
            }
        }
    }
}
