//! What ARCHITECTURE.md says holds: its files and items exist, its graph is the real one, and its
//! claims about `unsafe`, limits and wire formats are true of the code.

use std::collections::{BTreeMap, BTreeSet};

use crate::crates::{packages, shipping_dependencies, text};
use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// The only files that ship with `unsafe` in them.
const UNSAFE: [&str; 2] = ["crates/sandbox/src/kernel.rs", "crates/workspace/src/cache_file.rs"];

/// Names that the document takes from elsewhere: the kernel, the standard library, other crates.
const FOREIGN: [&str; 5] = ["O_NOFOLLOW", "openat2", "rmcp", "std::fs", "std::process"];

/// Crates that know no wire format, and the words of the formats.
const NO_WIRE: [&str; 13] = [
    "code_index",
    "context_manager",
    "guide",
    "net",
    "protocol",
    "sandbox",
    "session",
    "store",
    "team",
    "terminal",
    "timeline",
    "tool_system",
    "workspace",
];
const WIRE_WORDS: [&str; 6] =
    ["anthropic", "openai", "jsonrpc", "rmcp", "inputschema", "event-stream"];

fn document() -> String {
    read(DOCUMENT).expect("To repair it: write ARCHITECTURE.md, the map for newcomers")
}

/// The words in back quotes, but for patterns such as `<tool>.rs`.
fn quoted(document: &str) -> BTreeSet<&str> {
    let parts = document.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    parts.filter(|word| !word.contains(['<', '*', '…'])).collect()
}

fn is_path(word: &str) -> bool {
    !word.contains(' ') && (word.contains('/') || word.ends_with(".rs") || word.ends_with(".toml"))
}

/// The parts of a name such as `ChatContext::apply` or `auto_register_tool!`; none of another text.
fn parts_of_name(word: &str) -> impl Iterator<Item = &str> {
    let is_name = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '!'))
        && !word.contains(|c: char| c.is_ascii_digit());
    let name = if is_name { word.trim_end_matches('!') } else { "" };
    name.split("::").filter(|part| !part.is_empty())
}

/// Files that CONTRIBUTING.md has a reader make, by their names, one that users have, and what cargo makes.
const TO_BE_MADE: [&str; 5] = ["count_lines.rs", "lua.rs", "lua.scm", "keys.toml", "target"];
/// The module of a provider that CONTRIBUTING.md has a reader make.
const EXAMPLE_PROVIDER: [&str; 2] = ["crates/providers/src/example.rs", "example/stream.rs"];

#[test]
fn every_file_that_the_guides_name_exists() {
    let files = files_ending(&["", "/"]);
    let exists = |word: &str| {
        let word = word.trim_end_matches('/');
        let inside = format!("/{word}/");
        files.iter().any(|file| {
            let file = format!("/{file}");
            file.ends_with(&format!("/{word}")) || file.contains(&inside)
        })
    };
    let is_made = |word: &str| {
        let name = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        TO_BE_MADE.contains(&name) || EXAMPLE_PROVIDER.contains(&word)
    };
    let contributing = read("CONTRIBUTING.md").expect("To repair it: write CONTRIBUTING.md");
    let document = document();
    let steps = quoted(&contributing).into_iter().filter(|word| !is_made(word));
    let words = quoted(&document).into_iter().chain(steps);
    let missing = words.filter(|word| is_path(word) && !exists(word));
    assert_none(
        &missing.map(str::to_owned).collect::<Vec<_>>(),
        "name the file where it is, or remove the sentence about it",
    );
}

#[test]
fn every_item_it_names_exists() {
    let sources: Vec<String> =
        files_ending(&[".rs"]).iter().map(|path| read(path).expect("UTF-8")).collect();
    let crates: Vec<String> =
        packages().iter().map(|package| text(&package["name"]).to_owned()).collect();
    const KEYWORDS: [&str; 8] =
        ["fn", "struct", "enum", "trait", "type", "mod", "const", "macro_rules!"];
    let defined: BTreeSet<&str> = sources
        .iter()
        .flat_map(|source| source.split_whitespace().zip(source.split_whitespace().skip(1)))
        .filter(|(keyword, _)| KEYWORDS.contains(keyword))
        .map(|(_, name)| {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            &name[..end]
        })
        .collect();
    let document = document();
    let words = quoted(&document).into_iter().filter(|word| !is_path(word));
    let missing = words.filter(|word| {
        !FOREIGN.contains(word)
            && parts_of_name(word).any(|name| {
                // The spellings of results, tools and settings are strings in the code.
                let is_text =
                    || sources.iter().any(|source| source.contains(&format!("\"{name}\"")));
                !defined.contains(name) && !crates.iter().any(|other| other == name) && !is_text()
            })
    });
    assert_none(
        &missing.map(str::to_owned).collect::<Vec<_>>(),
        "use the present name, or remove the sentence about it",
    );
}

#[test]
fn unsafe_code_stands_in_the_named_files_only() {
    let mut problems = Vec::new();
    for path in files_ending(&[".rs"]).iter().filter(|path| ships(path)) {
        let source = read(path).expect("a source file is UTF-8");
        let code = rust_text::split(&source).code;
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let has = words.any(|word| word == "unsafe");
        if has != UNSAFE.contains(&path.as_str()) {
            problems.push(path.clone());
        }
    }
    let document = document();
    let names = |path: &str| path.rsplit('/').next().is_some_and(|file| document.contains(file));
    problems.extend(
        UNSAFE.iter().filter(|path| !names(path)).map(|path| format!("{path} in {DOCUMENT}")),
    );
    assert_none(
        &problems,
        "move what needs `unsafe` to the named files, or name another one here and there",
    );
}

#[test]
fn the_drawn_graph_is_the_real_one() {
    let document = document();
    let drawn: BTreeMap<&str, BTreeSet<&str>> = document
        .lines()
        .filter_map(|line| line.split_once(" → "))
        .filter(|(name, _)| !name.trim().is_empty() && !name.trim().contains(' '))
        .map(|(name, used)| (name.trim(), used.split(", ").map(str::trim).collect()))
        .collect();
    let packages = packages();
    let real: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .map(|package| {
            let ours = shipping_dependencies(package).filter(|other| other["path"].is_string());
            let used = ours.map(|other| text(&other["name"])).filter(|name| *name != "protocol");
            (text(&package["name"]), used.collect::<BTreeSet<_>>())
        })
        .filter(|(_, used)| !used.is_empty())
        .collect();
    let line = |(name, used): (&&str, &BTreeSet<&str>)| {
        format!("{name} → {}", used.iter().copied().collect::<Vec<_>>().join(", "))
    };
    let missing = real.iter().filter(|(name, used)| drawn.get(*name) != Some(used)).map(line);
    let wrong = drawn.iter().filter(|(name, used)| real.get(*name) != Some(used)).map(line);
    let missing = missing.map(|line| format!("missing: {line}"));
    let wrong = wrong.map(|line| format!("wrong:   {line}"));
    assert_none(
        &wrong.chain(missing).collect::<Vec<_>>(),
        "put the missing lines into the graph of ARCHITECTURE.md (\"Code map\"), in place of the wrong",
    );
}

#[test]
fn all_but_one_crate_use_the_nouns() {
    let said = "All but `net` use `protocol`";
    assert!(document().contains(said), "To repair it: say again in {DOCUMENT}: {said}");
    let packages = packages();
    let without = packages.iter().filter(|package| {
        !shipping_dependencies(package).any(|other| text(&other["name"]) == "protocol")
    });
    let without: BTreeSet<&str> = without.map(|package| text(&package["name"])).collect();
    // The last two do not ship.
    assert_eq!(without, ["net", "protocol", "testkit", "xtask"].into(), "in {DOCUMENT}: {said}");
}

#[test]
fn wire_formats_are_known_at_the_edges_only() {
    let mut problems = Vec::new();
    for path in files_ending(&[".rs"]).iter().filter(|path| ships(path)) {
        let crate_name = path.split('/').nth(1).unwrap_or_default();
        if !NO_WIRE.contains(&crate_name) || path.ends_with("tests.rs") {
            continue;
        }
        let source = read(path).expect("a source file is UTF-8");
        let shipped = rust_text::shipped(&source).to_lowercase();
        // A comment may say where a limit comes from.
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let shipped: Vec<&str> = shipped.lines().filter(is_code).collect();
        let knows = |word: &&&str| shipped.iter().any(|line| line.contains(**word));
        let words = WIRE_WORDS.iter().filter(knows);
        problems.extend(words.map(|word| format!("{path}: `{word}`")));
    }
    assert_none(&problems, "move it to the crate of that wire: providers, mcp");
}

/// Whether a file is part of the program.
fn ships(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/testkit/")
}
