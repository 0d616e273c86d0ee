//! Tests never sleep: one that waits for a time and not for an event is slow where it need not be, and wrong where the
//! machine is slow.

use crate::repository::{assert_none, files_ending, read};
use crate::rust_text;

/// What lets time pass and nothing else. Time limits, which only end what fails, are something else.
const SLEEPS: [&str; 6] =
    ["sleep", "sleep_ms", "sleep_until", "park_timeout", "interval", "interval_at"];

/// Test files that sleep: how often, and why they may.
const MAY_SLEEP: [(&str, usize, &str); 5] = [
    ("crates/acp/src/connection/tests.rs", 1, "the clock of these tests is paused"),
    ("crates/context_manager/tests/it/stage.rs", 2, "the clock of these tests is paused"),
    ("crates/mcp/src/slow_answer.rs", 1, "the clock of these tests is paused"),
    ("crates/store/tests/it/history/writer.rs", 1, "a process backs off from a broken database"),
    ("crates/testkit/src/fault_proxy.rs", 1, "slow connections are what it makes"),
];

#[test]
fn tests_never_sleep() {
    let files = files_ending(&[".rs"]);
    let read = |path: &String| (path.clone(), read(path).expect("a source file is UTF-8"));
    let files: Vec<(String, String)> = files.iter().map(read).collect();
    let modules: Vec<String> =
        files.iter().flat_map(|(path, source)| test_modules(path, source)).collect();
    let mut problems = Vec::new();
    for (path, source) in &files {
        let code = test_code(path, source, &modules);
        let found = sleeps(&code);
        let allowed =
            MAY_SLEEP.iter().find(|(of, ..)| of == path).map_or(0, |(_, count, _)| *count);
        if found.len() != allowed {
            problems.push(format!("{path}: {allowed} may, and there are {found:?}"));
        }
    }
    assert_none(
        &problems,
        "wait for what announces itself (an event, a gate, a line of output) with a time limit that fails the test; \
         look for what does not with `testkit::in_time`; let a paused clock pass with `tokio::time::advance`",
    );
}

/// The modules of a file that only tests compile and that have files of their own, as paths without `.rs`.
fn test_modules(path: &str, source: &str) -> Vec<String> {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    let beside = match file {
        "lib.rs" | "main.rs" | "mod.rs" => directory.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0] == "#[cfg(test)]");
    let names = declared.filter_map(|pair| {
        let name = pair[1].strip_suffix(';')?;
        name.strip_prefix("mod ").or_else(|| name.strip_prefix("pub(crate) mod "))
    });
    names.map(|name| format!("{beside}/{name}")).collect()
}

/// What only tests compile, without comments and the content of literals.
fn test_code(path: &str, source: &str, modules: &[String]) -> String {
    let is_in = |module: &String| {
        path.strip_prefix(module.as_str())
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let is_of_tests = path.contains("/tests/")
        || path.starts_with("crates/testkit/")
        || modules.iter().any(is_in);
    let shipped = if is_of_tests { String::new() } else { rust_text::shipped(source) };
    let mut shipped = shipped.lines();
    let lines = source.lines().filter(|line| shipped.next().is_none_or(|kept| kept != *line));
    rust_text::split(&lines.collect::<Vec<_>>().join("\n")).code
}

/// The lines of code that sleep, or import what does.
fn sleeps(code: &str) -> Vec<&str> {
    let is_sleep = |word: &str| SLEEPS.contains(&word);
    let words = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_sleep);
    code.lines().map(str::trim).filter(|line| words(line)).collect()
}

#[test]
fn sleeps_are_found_in_what_tests_compile() {
    let unit = "fn f() { sleep(A); }\n#[cfg(test)]\nmod tests {\n    fn t() {\n        thread::sleep(B); // sleep\n\
                \x20       run(\"sleep 1\");\n    }\n}\n";
    assert_eq!(sleeps(&test_code("crates/a/src/b.rs", unit, &[])), ["thread::sleep(B);"]);
    let declaring = "mod c;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod stage;\n";
    let modules = ["crates/a/src/b.rs", "crates/a/src/lib.rs"]
        .map(|path| test_modules(path, declaring))
        .concat();
    assert_eq!(
        modules,
        [
            "crates/a/src/b/tests",
            "crates/a/src/b/stage",
            "crates/a/src/tests",
            "crates/a/src/stage"
        ]
    );
    let whole =
        "use tokio::time::sleep_until;\nfn t() { tokio::time::sleep (A).await; asleep(); }\n";
    let found = |path: &str| sleeps(&test_code(path, whole, &modules)).len();
    for path in ["crates/a/tests/it/b.rs", "crates/a/src/b/stage.rs", "crates/a/src/tests/c.rs"] {
        assert_eq!(found(path), 2, "{path}");
    }
    for path in ["crates/a/src/b.rs", "crates/a/src/stages.rs", "crates/a/src/b/c.rs"] {
        assert_eq!(found(path), 0, "{path}");
    }
}
