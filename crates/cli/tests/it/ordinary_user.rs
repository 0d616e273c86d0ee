//! `toolkiln mcp` by an ordinary user, in a project of that user. Tests are often run by root, whose
//! rights hide mistakes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Fixture, StdioServer};

/// The user and group id without rights that every Linux system has.
const ORDINARY_USER: &str = "65534";
/// How long a test waits for what must come.
const WATCHDOG: Duration = Duration::from_secs(60);

fn run(program: &str, arguments: &[&str], paths: &[&Path]) {
    let output = Command::new(program).args(arguments).args(paths).output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
}

/// The binary, to be run by the ordinary user in a project; none where nothing can be run as one. Its home is
/// `home` beside the project.
pub(crate) fn program(project: &Fixture) -> Option<Command> {
    let base = project.root().parent().unwrap();
    let is_root = base.metadata().unwrap().uid() == 0;
    let (binary, home) = (base.join("toolkiln"), base.join("home"));
    let mut command = match is_root {
        true => {
            if Command::new("setpriv").arg("--version").output().is_err() {
                testkit::left_out("there is no setpriv");
                return None;
            }
            fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
            fs::create_dir(&home).unwrap();
            // The directory of the build may be one that only root can enter.
            run("cp", &[], &[Path::new(env!("CARGO_BIN_EXE_toolkiln")), &binary]);
            let owner = format!("{ORDINARY_USER}:{ORDINARY_USER}");
            run("chown", &["-R", &owner], &[project.root(), &home]);
            let mut command = Command::new("setpriv");
            command.args(["--reuid", ORDINARY_USER, "--regid", ORDINARY_USER, "--clear-groups"]);
            command.arg(&binary);
            command
        }
        false => Command::new(env!("CARGO_BIN_EXE_toolkiln")),
    };
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &home);
    command.current_dir(project.root());
    Some(command)
}

fn start(project: &Fixture) -> Option<StdioServer> {
    let mut command = program(project)?;
    command.arg("mcp");
    Some(StdioServer::start(command))
}

struct Host {
    server: StdioServer,
    calls: u64,
}

impl Host {
    fn open(project: &Fixture) -> Option<Host> {
        let mut server = start(project)?;
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = server.request("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "toolkiln", "{answer}");
        server.notify("notifications/initialized", json!({}));
        Some(Host { server, calls: 0 })
    }

    /// The result of a call, and the questions on the way to it, each of which gets this answer.
    fn call(&mut self, name: &str, arguments: Value, reply: &Value) -> (Value, Vec<String>) {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let params = json!({"name": name, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        let mut questions = Vec::new();
        loop {
            let message = self.server.read_message(WATCHDOG).expect("the server answers");
            if message["method"] == "elicitation/create" {
                let text = message["params"]["message"].as_str().expect("a message");
                questions.push(text.to_owned());
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": reply}));
            } else if message["id"] == id {
                return (message["result"].clone(), questions);
            }
        }
    }

    fn send(&mut self, message: &Value) {
        self.server.send_raw_line(message.to_string().as_bytes());
    }
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "once"}})
}

#[test]
fn tools_are_listed_edits_are_made_and_commands_run() {
    let project = Fixture::new("//- /a.txt\nhello\n//- /src/main.rs\nfn main() {}\n");
    let Some(mut host) = Host::open(&project) else { return };
    let owner = |path: &str| fs::metadata(project.path(path)).unwrap().uid();
    let user = owner("a.txt");

    let listed = host.server.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert!(tools.iter().any(|tool| tool["name"] == "bash"), "{listed}");
    let (read, asked) = host.call("read_file", json!({"path": "a.txt"}), &yes());
    assert_eq!((read["structuredContent"]["size"].as_u64(), asked.len()), (Some(6), 0), "{read}");

    let edit = json!({"path": "a.txt", "content": "hello you\n"});
    let no = json!({"action": "decline"});
    let (refused, asked) = host.call("update_file", edit.clone(), &no);
    assert_eq!((refused["isError"].as_bool(), asked.len()), (Some(true), 1), "{refused}");
    assert_eq!(project.read("a.txt"), "hello\n");
    let (edited, asked) = host.call("update_file", edit, &yes());
    assert_eq!((edited["isError"].as_bool(), asked.len()), (Some(false), 1), "{edited}");
    assert_eq!((project.read("a.txt").as_str(), owner("a.txt")), ("hello you\n", user));
    let new = json!({"path": "deep/new.txt", "content": "new\n"});
    let (created, _) = host.call("create_file", new, &yes());
    assert_eq!(created["isError"], false, "{created}");
    assert_eq!((project.read("deep/new.txt").as_str(), owner("deep")), ("new\n", user));
    let (undone, _) = host.call("undo", json!({}), &yes());
    assert_eq!(undone["isError"], false, "{undone}");
    assert!(!project.path("deep").exists());

    let (ran, _) = host.call("bash", json!({"command": "id -u; cat a.txt"}), &yes());
    if ran.to_string().contains("SANDBOX_UNAVAILABLE") {
        testkit::left_out("commands of an ordinary user cannot be confined here");
        return;
    }
    let printed = ran["structuredContent"].to_string();
    assert!(ran["isError"] == false && printed.contains("hello you"), "{ran}");
    // What a command would leave behind is asked about, and stays out without a yes.
    let write = json!({"command": "echo changed > a.txt; echo made > made.txt"});
    let (kept_out, asked) = host.call("bash", write.clone(), &no);
    assert!(!asked.is_empty(), "{kept_out}");
    assert_eq!(project.read("a.txt"), "hello you\n");
    assert!(!project.path("made.txt").exists());
    let (kept, asked) = host.call("bash", write, &yes());
    assert!(kept["isError"] == false && asked.concat().contains("+changed"), "{kept} {asked:?}");
    assert_eq!((project.read("a.txt").as_str(), owner("made.txt")), ("changed\n", user));
    assert!(host.server.finish().success());
}
