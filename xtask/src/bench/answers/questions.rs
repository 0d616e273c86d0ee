//! The everyday questions, and what other agents' answers to them cost.

use std::fmt;

use serde_json::{Value, json};

/// Whose figures stand beside ours: Claude Code 2.1.197, Codex 0.166.0, opencode 1.18.33, gemini-cli
/// 0.61.0 and server-filesystem, measured on 2026-11-15 with a scripted model that asks the same.
pub(super) const PEERS: [&str; 5] = ["Claude Code", "Codex", "opencode", "gemini-cli", "fs-MCP"];

/// What a peer's answer costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// It shows the same as ours, or nearly.
    Same(u64),
    /// It shows less, or something else: no line numbers, other parts, no name that is near.
    Other(u64),
    Unknown,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Same(tokens) => write!(f, "{tokens}"),
            Figure::Other(tokens) => write!(f, "({tokens})"),
            Figure::Unknown => f.write_str("–"),
        }
    }
}

pub(super) struct Question {
    /// Its number; those with a `b` are not part of the sum.
    pub(super) row: &'static str,
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    /// Words that show that the question was answered.
    pub(super) expects: Option<&'static str>,
    pub(super) peers: [Figure; 5],
}

impl Question {
    pub(super) fn is_extra(&self) -> bool {
        self.row.ends_with('b')
    }

    /// The cheapest answer that shows the same.
    pub(super) fn best_peer(&self) -> Option<u64> {
        let same = self.peers.iter().filter_map(|figure| match figure {
            Figure::Same(tokens) => Some(*tokens),
            Figure::Other(_) | Figure::Unknown => None,
        });
        same.min()
    }
}

/// The file that is read and changed.
const FILE: &str = "crates/code_index/src/lookup/near_names.rs";
/// The file of 495 lines.
const LONG_FILE: &str = "crates/tool_system/src/executor.rs";

/// All questions, in the order in which they are asked: those about edits build on each other.
pub(super) fn questions() -> Vec<Question> {
    let mut all = looking();
    all.extend(changing_and_running());
    all
}

fn looking() -> Vec<Question> {
    use Figure::{Other, Same, Unknown};
    let ask = |row, name, tool, arguments, expects, peers| Question {
        row,
        name,
        tool,
        arguments,
        expects: Some(expects),
        peers,
    };
    let directory = "crates/tool_system/src";
    let three =
        ["activity.rs", "rendering.rs", "tool.rs"].map(|name| format!("{directory}/{name}"));
    vec![
        ask(
            "1",
            "read 200 lines",
            "read_file",
            json!({"path": FILE}),
            "MAX_NAMES",
            [Same(2088), Other(1866), Same(2304), Other(1830), Other(1830)],
        ),
        ask(
            "2",
            "read lines 100 to 150 of 495",
            "read_file",
            json!({"path": LONG_FILE, "offset": 100, "limit": 51}),
            "registry",
            [Same(438), Other(412), Same(537), Other(461), Other(1295)],
        ),
        ask(
            "3",
            "read three files",
            "read",
            json!({"file_paths": three}),
            "ActivityStream",
            [Same(4775), Other(4142), Same(5329), Other(4106), Other(4154)],
        ),
        ask(
            "4",
            "grep, 62 lines in 32 files",
            "grep",
            json!({"pattern": "deadline"}),
            "deadline",
            [Same(1611), Same(1647), Same(1743), Same(1459), Unknown],
        ),
        ask(
            "5",
            "grep, nothing",
            "grep",
            json!({"pattern": "no_such_name_anywhere"}),
            "No matches",
            [Same(3), Same(34), Same(3), Same(19), Unknown],
        ),
        ask(
            "6",
            "glob, 100 of 823 files",
            "glob",
            json!({"pattern": "**/*.rs"}),
            "823",
            [Same(1073), Other(8522), Same(1649), Other(13485), Other(13455)],
        ),
        ask(
            "7",
            "list 52 entries",
            "list_directory",
            json!({"path": directory}),
            "executor.rs",
            [Same(173), Same(208), Same(208), Other(387), Same(326)],
        ),
        ask(
            "8",
            "find a definition",
            "find_definition",
            json!({"symbol": "LineWindow"}),
            "pub struct LineWindow",
            [Same(17), Same(53), Same(31), Other(949), Unknown],
        ),
    ]
}

fn changing_and_running() -> Vec<Question> {
    use Figure::{Other, Same, Unknown};
    let ask = |row, name, tool, arguments, peers| Question {
        row,
        name,
        tool,
        arguments,
        expects: None,
        peers,
    };
    let replace =
        |find: &str, replace: &str| json!({"path": FILE, "find": find, "replace": replace});
    let print = |lines: u32| {
        let command =
            format!("for i in $(seq {lines}); do echo \"line $i of a long output\"; done");
        json!({"command": command})
    };
    let line = |number: u32| format!("const MAX_NAMES: usize = {number};");
    vec![
        ask(
            "9",
            "edit a line",
            "replace_in_file",
            replace(&line(5), &line(8)),
            [Same(41), Same(34), Other(4), Other(130), Other(173)],
        ),
        ask(
            "10",
            "edit, text absent",
            "replace_in_file",
            replace("fn nothing_like_this_is_there(x: &mut Zebra) {", "fn something() {"),
            [Same(34), Same(44), Same(23), Same(61), Same(22)],
        ),
        ask(
            "10b",
            "edit, text nearly there",
            "replace_in_file",
            replace(&line(6), &line(9)),
            [Other(28), Other(39), Other(23), Other(131), Other(17)],
        ),
        ask(
            "11",
            "git log, 20 commits",
            "bash",
            json!({"command": "git log --oneline -20"}),
            [Same(367), Same(402), Same(368), Same(390), Unknown],
        ),
        ask(
            "12",
            "a command that prints 5,000 lines",
            "bash",
            print(5000),
            [Same(729), Other(12915), Other(17108), Other(13248), Unknown],
        ),
        ask(
            "12b",
            "a command that prints 600 lines",
            "bash",
            print(600),
            [Same(4799), Same(4836), Same(4800), Same(4821), Unknown],
        ),
        ask(
            "13",
            "read a file that is missing",
            "read_file",
            json!({"path": "crates/tool_system/src/executer.rs"}),
            [Same(20), Same(54), Same(22), Same(22), Same(29)],
        ),
        ask(
            "14",
            "outline of 495 lines",
            "outline",
            json!({"path": LONG_FILE}),
            [Same(630), Same(664), Same(774), Same(731), Unknown],
        ),
    ]
}
