//! A user and an agent work in the same project.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::StdioServer;

use super::made::{Kind, Place};
use super::snapshot::Snapshot;
use crate::fetch::output;
use crate::step::say;

/// How long a build of the agent may take, in seconds.
const BUILD_SECONDS: u64 = 300;
const PROTOCOL_VERSION: &str = "2025-11-25";

/// Plays all of it. `state` is where the agent keeps its things.
pub(super) fn play(place: &Place, binary: &Path, state: &Path) -> Result<()> {
    let story = Story { kind: place.kind, root: &place.root, binary, state };
    let user = user_name();
    story.all().with_context(|| format!("{}, as {user}", place.root.display()))?;
    say(&format!("{}: as {user}, all is as it must be", place.root.display()));
    Ok(())
}

struct Story<'a> {
    kind: Kind,
    root: &'a Path,
    binary: &'a Path,
    state: &'a Path,
}

/// Whether a run has to build something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Build {
    /// Everything is there.
    Nothing,
    /// What was edited.
    Edited,
}

impl Story<'_> {
    fn all(&self) -> Result<()> {
        self.user_builds()?;
        let tests = self.agent_tests(self.kind.tests())?;
        self.agent_runs(Build::Nothing, "the first run")?;
        self.agent_runs(Build::Nothing, "the second run")?;

        self.user_edits(1)?;
        self.agent_runs(Build::Edited, "after an edit that only the agent has built")?;
        self.agent_runs(Build::Nothing, "again after that edit")?;
        self.agent_tests(tests + 1)?;
        self.user_builds()?;
        self.agent_runs(Build::Nothing, "after the user has built the same")?;

        self.user_edits(2)?;
        self.user_builds()?;
        self.agent_runs(Build::Edited, "after an edit that the user has built")?;
        self.agent_runs(Build::Nothing, "again after the second edit")?;
        self.agent_tests(tests + 2)?;
        let built = self.user_builds()?;
        let rebuilt = self.kind.rebuilt(&built);
        ensure!(rebuilt.is_none_or(|count| count == 0), "the user has to build again: {built}");

        self.edit_without_approver(tests + 2)?;
        self.edit_with_approver()?;
        self.agent_tests(tests + 2).map(drop)
    }

    /// The user builds and tests, outside. Returns what is printed.
    fn user_builds(&self) -> Result<String> {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{} 2>&1", self.kind.command())]).current_dir(self.root);
        shell.env_remove("CARGO_TARGET_DIR").env("CARGO_NET_OFFLINE", "true");
        shell.env_remove("PYTHONDONTWRITEBYTECODE");
        Ok(String::from_utf8_lossy(&output(&mut shell)?).into_owned())
    }

    fn user_edits(&self, number: usize) -> Result<()> {
        for (file, text) in self.kind.edit(number) {
            let mut file = fs::OpenOptions::new().append(true).open(self.root.join(file))?;
            file.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// The agent runs the tests by the tool for that; so many at least must pass. Returns how many did.
    fn agent_tests(&self, least: u64) -> Result<u64> {
        let before = self.tree()?;
        let ran = self.call("run_tests", &json!({}))?;
        let passed = ran["passed"].as_u64().unwrap_or(0);
        let is_right = ran["ok"] == true && passed >= least && ran.get("changes").is_none();
        ensure!(is_right, "run_tests, which must find {least} tests, answers {ran}");
        self.tree()?.must_be(&before, "run_tests")?;
        Ok(passed)
    }

    /// The agent runs the user's own command, without an approver.
    fn agent_runs(&self, build: Build, when: &str) -> Result<()> {
        let (before, layer) = (self.tree()?, self.layer()?);
        let command = self.kind.command();
        let ran = self.call("bash", &json!({"command": command, "timeout": BUILD_SECONDS}))?;
        let is_quiet =
            ran["return_code"] == 0 && ran["ran"] == "look" && ran.get("changes").is_none();
        ensure!(is_quiet, "{when}: `{command}` answers {ran}");
        self.tree()?.must_be(&before, when)?;
        let printed = format!("{}{}", ran["output"], ran["error"]);
        let expected = usize::from(build == Build::Edited);
        let rebuilt = self.kind.rebuilt(&printed);
        let is_expected = rebuilt.is_none_or(|count| count == expected);
        ensure!(is_expected, "{when}: {expected} expected to be built: {printed}");
        if build == Build::Nothing {
            self.layer()?.must_be(&layer, &format!("{when}, what the agent has built"))?;
        }
        Ok(())
    }

    /// An edit by a command is dropped and said to be, and so is what was built from it.
    fn edit_without_approver(&self, tests: u64) -> Result<()> {
        let before = self.tree()?;
        let (file, broken, _) = self.kind.lines();
        let command = format!("sed -i '$a {broken}' {file} && {}", self.kind.command());
        let ran = self.call("bash", &json!({"command": command, "timeout": BUILD_SECONDS}))?;
        let dropped = ran["changes"]["dropped"].as_str().unwrap_or_default();
        let is_right = ran["return_code"] != 0
            && ran["changes"]["paths"] == json!([file])
            && dropped.contains("there is no approver to ask");
        ensure!(is_right, "`{command}` answers {ran}");
        self.tree()?.must_be(&before, "an edit without an approver")?;
        self.agent_tests(tests).map(drop).context("after an edit that was dropped")
    }

    /// An edit by a command is asked about once, with its diff, and then made.
    fn edit_with_approver(&self) -> Result<()> {
        let (file, _, line) = self.kind.lines();
        let old = fs::read_to_string(self.root.join(file))?;
        let command = format!("sed -i '1i {line}' {file}");
        let mut host = Host::start(self.command("mcp"))?;
        let ran = host.call("bash", &json!({"command": command}))?;
        let [question] = host.questions.as_slice() else {
            bail!("{} questions about `{command}`: {:?}", host.questions.len(), host.questions);
        };
        let shows_diff = question.contains(&format!("+{line}")) && question.contains(file);
        ensure!(shows_diff, "the question has no diff: {question}");
        let new = fs::read_to_string(self.root.join(file))?;
        let is_made = new == format!("{line}\n{old}");
        ensure!(is_made, "`{command}` answers {ran} and leaves {new}");
        Ok(())
    }

    fn call(&self, tool: &str, arguments: &Value) -> Result<Value> {
        let mut command = self.command("call");
        command.args([tool, &arguments.to_string()]).stdin(Stdio::null());
        let printed = command.output().context("cannot start toolkiln")?;
        let said = String::from_utf8_lossy(&printed.stderr);
        serde_json::from_slice(&printed.stdout).with_context(|| format!("{tool} says {said}"))
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.binary);
        command.arg(name).current_dir(self.root);
        for name in ["STATE", "CONFIG", "CACHE"] {
            let place = self.state.join(name.to_lowercase());
            command.env(format!("XDG_{name}_HOME"), place);
        }
        // The target directory of our own build must not become that of the project.
        command.env_remove("CARGO_TARGET_DIR");
        command
    }

    fn tree(&self) -> Result<Snapshot> {
        Snapshot::of(self.root, |_| true)
    }

    /// What the agent has built.
    fn layer(&self) -> Result<Snapshot> {
        let layers = directories_in(&self.state.join("state/toolkiln"))
            .flat_map(|project| directories_in(&project.join("layer")).collect::<Vec<_>>());
        let mut kept = layers.map(|layer| layer.join("kept")).filter(|kept| kept.is_dir());
        let kept = kept.next().context("the agent has no private layer")?;
        Snapshot::of(&kept, |path| self.kind.is_built(path))
    }
}

fn directories_in(place: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir())
}

/// A host of the MCP server that shows questions to a user, who says yes.
struct Host {
    server: StdioServer,
    questions: Vec<String>,
}

impl Host {
    fn start(command: Command) -> Result<Host> {
        let mut server = StdioServer::start(command);
        let info = json!({"name": "host", "version": "1"});
        let params = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {"elicitation": {}},
            "clientInfo": info,
        });
        let answer = server.request("initialize", params);
        ensure!(answer.get("result").is_some(), "initialize: {answer}");
        server.notify("notifications/initialized", json!({}));
        Ok(Host { server, questions: Vec::new() })
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Result<Value> {
        const CALL: &str = "the call";
        let params = json!({"name": name, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": CALL, "method": "tools/call", "params": params}));
        loop {
            let message = self.server.read_message(Duration::from_secs(BUILD_SECONDS));
            let message = message.context("the server is silent")?;
            if message["method"] == "elicitation/create" {
                self.questions.push(message["params"]["message"].as_str().unwrap_or("").to_owned());
                let answer = json!({"action": "accept", "content": {"decision": "once"}});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}));
            } else if message["id"] == CALL {
                return Ok(message);
            }
        }
    }

    fn send(&mut self, message: &Value) {
        self.server.send_raw_line(message.to_string().as_bytes());
    }
}

fn user_name() -> String {
    let id = Command::new("id").arg("-un").output();
    id.map_or_else(|_| "a user".into(), |id| String::from_utf8_lossy(&id.stdout).trim().to_owned())
}
