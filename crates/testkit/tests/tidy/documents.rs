//! The documents say what is true.

use crate::crates::{packages, text};
use crate::repository::{assert_none, files_ending, read, root};
use crate::rust_text;

const MOST_LINES_OF_ARCHITECTURE: usize = 150;
const EXTENSIONS: &str = "crates/tool_system/src/extensions/";

#[test]
fn the_architecture_is_short_and_names_every_crate() {
    let document = read("ARCHITECTURE.md")
        .expect("To repair it: write ARCHITECTURE.md, the map for newcomers");
    let mut problems = Vec::new();
    let count = document.lines().count();
    if count > MOST_LINES_OF_ARCHITECTURE {
        problems.push(format!("{count} lines, more than {MOST_LINES_OF_ARCHITECTURE}"));
    }
    for package in packages() {
        let name = text(&package["name"]);
        if !names(&document, name) {
            problems.push(format!("{name} has no row in the table of the code map"));
        }
    }
    assert_none(&problems, "keep ARCHITECTURE.md a map: one entry a crate, details in the crates");
}

#[test]
fn the_read_me_tells_how_to_run_and_to_test() {
    let document = read("README.md").expect("To repair it: write README.md, the front page");
    for command in ["cargo run --release --", "cargo xtask test"] {
        assert!(document.contains(command), "To repair it: show `{command}` in README.md");
    }
    read("CONTRIBUTING.md").expect("To repair it: write CONTRIBUTING.md");
}

#[test]
fn every_command_of_the_house_is_explained() {
    let contributing = read("CONTRIBUTING.md").expect("To repair it: write CONTRIBUTING.md");
    let source = read("xtask/src/main.rs").expect("xtask has a main file");
    let usage = source.split("Commands:\n").nth(1).and_then(|text| text.split("\";").next());
    let usage = usage.expect("xtask says how it is used");
    let commands: Vec<String> = usage.lines().filter_map(command_in_usage).collect();
    assert!(commands.iter().any(|command| command == "bench answers"), "{commands:?}");
    let calls = |text: &str, command: &str| {
        let call = format!("cargo xtask {command}");
        let ends = text.match_indices(&call).map(|(at, _)| &text[at + call.len()..]);
        ends.into_iter().any(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let missing = commands.iter().filter(|command| !calls(&contributing, command));
    assert_none(
        &missing.cloned().collect::<Vec<_>>(),
        "explain the command of `cargo xtask` in CONTRIBUTING.md",
    );
    let shown = contributing.lines().filter_map(|line| line.strip_prefix("cargo xtask "));
    let unknown = shown.filter(|line| {
        let call = line.split(" #").next().unwrap_or_default().trim();
        let is_known = |command: &String| {
            call.strip_prefix(command.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        !commands.iter().any(is_known)
    });
    assert_none(
        &unknown.map(str::to_owned).collect::<Vec<_>>(),
        "CONTRIBUTING.md names a command that xtask does not have",
    );
}

/// `bench agent` in a line such as `  bench agent [--quick]   Costs of …`; none in a line that goes on.
fn command_in_usage(line: &str) -> Option<String> {
    let line = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?;
    let end = line.find("  ").unwrap_or(line.len());
    let words = line[..end].split(' ').take_while(|word| !word.starts_with('['));
    Some(words.collect::<Vec<_>>().join(" "))
}

#[test]
fn every_tool_is_one_file_and_stands_in_the_read_me() {
    let read_me = read("README.md").unwrap_or_default();
    let mut problems = Vec::new();
    for path in files_ending(&[".rs"]).iter().filter(|path| path.starts_with(EXTENSIONS)) {
        let source = read(path).expect("a source file is UTF-8");
        let count = rust_text::split(&source).code.matches("auto_register_tool!").count();
        if count != 1 {
            problems.push(format!("{path}: {count} times `auto_register_tool!`, not once"));
        }
        let tool = path.rsplit('/').next().and_then(|file| file.strip_suffix(".rs"));
        let tool = tool.expect("the path ends with `.rs`");
        if !names(&read_me, tool) {
            problems.push(format!("{path}: README.md does not name `{tool}`"));
        }
    }
    assert_none(
        &problems,
        "a file in extensions/ is one tool and bears its name; what tools share lives elsewhere in \
         tool_system; add the tool to its category in the table \
         of README.md",
    );
}

/// Whether `name` occurs as a whole word.
fn names(document: &str, name: &str) -> bool {
    document.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[test]
fn a_name_counts_only_as_a_whole_word() {
    assert!(names("| `read` | many |", "read"));
    assert!(!names("`read_file`, reading", "read"));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let documents = files_ending(&[".md"]);
    let mut problems = Vec::new();
    for path in &documents {
        let document = read(path).expect("a document is UTF-8");
        for link in links(&document).into_iter().filter(|link| !link.contains("://")) {
            let (target, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if target.is_empty() { path.clone() } else { beside(path, target) };
            // Pictures are no text.
            let is_there = match heading.is_empty() {
                true => root().join(&target).is_file(),
                false => read(&target).is_ok_and(|text| anchors(&text).any(|it| it == heading)),
            };
            if !is_there {
                problems.push(format!("{path}: `{link}`"));
            }
        }
    }
    assert_none(&problems, "name a file, or a heading in it, that exists");
}

fn links(document: &str) -> Vec<&str> {
    let is_code = |line: &&str| line.starts_with("    ");
    let lines = document.lines().filter(|line| !is_code(line));
    let ends = lines.flat_map(|line| line.split("](").skip(1));
    ends.filter_map(|rest| rest.split_once(')')).map(|(link, _)| link).collect()
}

/// A relative path, as seen from the directory of `document`.
fn beside(document: &str, target: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The names that GitHub gives to headings.
fn anchors(document: &str) -> impl Iterator<Item = String> {
    let headings = document.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|&c| c.is_alphanumeric() || c == '-' || c == '_').collect()
    })
}

#[test]
fn links_are_found_and_followed() {
    assert_eq!(links("[a](b.md#c) ![d](e.svg)"), ["b.md#c", "e.svg"]);
    assert_eq!(beside("docs/a.md", "../README.md"), "README.md");
    assert_eq!(anchors("## The stranger's `test`").collect::<Vec<_>>(), ["the-strangers-test"]);
}

/// Put together here so that no rule about paths finds them in this file.
const FOREIGN: [&str; 9] = [
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/wo", "rk/"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs"),
    concat!("pypi.", "org"),
    concat!("python", "hosted"),
    concat!("arti", "factory"),
];

#[test]
fn documents_hold_nothing_of_one_machine() {
    let mut problems = Vec::new();
    for path in files_ending(&[".md"]) {
        let document = read(&path).expect("a document is UTF-8");
        for (at, line) in document.lines().enumerate() {
            for word in FOREIGN.iter().filter(|word| line.contains(*word)) {
                problems.push(format!("{path}:{}: `{word}`", at + 1));
            }
        }
    }
    assert_none(&problems, "write `~`, a relative path or the name of the package instead");
}

#[test]
fn continuous_integration_runs_what_developers_run() {
    let script = read(".ci/run").expect("To repair it: restore .ci/run");
    let calls: Vec<&str> = script.lines().filter(|line| line.contains("cargo")).collect();
    assert_eq!(
        calls,
        ["exec cargo xtask test"],
        "To repair it: put the step into `cargo xtask test`, so that everybody can run it"
    );
    let last = script.lines().last();
    assert_eq!(last, Some("exec cargo xtask test"), "nothing may follow it in .ci/run");
}
