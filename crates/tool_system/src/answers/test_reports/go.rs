//! `go test`, with `-json` and without.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{FailedTest, TestReport};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    test: Option<String>,
    #[serde(default)]
    output: String,
    #[serde(default)]
    import_path: String,
    failed_build: Option<String>,
}

/// A test by its package and name; a package by itself has no name.
type Key = (String, Option<String>);

pub(super) fn read_json(text: &str) -> Option<TestReport> {
    let mut ends: Vec<(Key, Event)> = Vec::new();
    let mut said: BTreeMap<Key, String> = BTreeMap::new();
    let mut builds: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Event>(line) else { continue };
        let key = (event.package.clone(), event.test.clone());
        match event.action.as_str() {
            "build-output" => builds.entry(event.import_path).or_default().push_str(&event.output),
            "output" if !is_frame(&event.output) => {
                said.entry(key).or_default().push_str(&event.output);
            }
            "pass" | "fail" | "skip" => ends.push((key, event)),
            _ => {}
        }
    }
    // The end of a package tells these events from other JSON.
    ends.iter().find(|((package, test), _)| !package.is_empty() && test.is_none())?;
    let parents = parents(&ends);
    let mut report = TestReport::default();
    for (key, event) in &ends {
        let is_leaf = key.1.is_some() && !parents.contains(key);
        let output = || said.get(key).map_or("", String::as_str);
        match (event.action.as_str(), &key.1) {
            ("pass", _) if is_leaf => report.passed += 1,
            ("skip", _) if is_leaf => report.skipped += 1,
            ("fail", Some(test)) if is_leaf => {
                report.failed += 1;
                report.failures.push(FailedTest::new(format!("{} {test}", key.0), output()));
            }
            ("fail", None) => {
                let build = event.failed_build.as_ref().and_then(|build| builds.get(build));
                let tells = ends.iter().any(|((package, test), end)| {
                    *package == key.0 && test.is_some() && end.action == "fail"
                });
                if let Some(why) = build.map(String::as_str).or((!tells).then(output)) {
                    report.failed += 1;
                    report.failures.push(FailedTest::new(key.0.as_str(), why));
                }
            }
            _ => {}
        }
    }
    Some(report)
}

/// Lines that say no more than the events.
fn is_frame(output: &str) -> bool {
    let text = output.trim_start();
    ["=== ", "--- ", "PASS\n", "FAIL\n", "ok  \t"].iter().any(|frame| text.starts_with(frame))
}

/// Tests that are groups of others, which are counted themselves.
fn parents(ends: &[(Key, Event)]) -> BTreeSet<Key> {
    let names = ends.iter().filter_map(|((package, test), _)| Some((package, test.as_ref()?)));
    let upper = |(package, test): (&String, &String)| {
        let (parent, _) = test.rsplit_once('/')?;
        Some((package.clone(), Some(parent.to_owned())))
    };
    names.filter_map(upper).collect()
}

pattern!(GO_PACKAGE = r"^(ok  |FAIL)\t(\S+)(?:\t| \[)");
pattern!(GO_TEST = r"^( *)--- (PASS|FAIL|SKIP): (\S+) \(");

/// Without `-v` the tests that passed are not named; then packages are counted in their place.
pub(super) fn read_plain(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut tests: Vec<(String, String, String)> = Vec::new();
    let mut packages = 0;
    let mut seen = false;
    for line in text.lines() {
        if let Some(test) = GO_TEST.captures(line) {
            tests.push((test[2].to_owned(), test[3].to_owned(), String::new()));
        } else if let Some(package) = GO_PACKAGE.captures(line) {
            seen = true;
            packages += usize::from(&package[1] == "ok  ");
            let tells = tests.iter().any(|(how, ..)| how == "FAIL");
            if &package[1] == "FAIL" && (!tells || line.ends_with("[build failed]")) {
                report.failed += 1;
                report
                    .failures
                    .push(FailedTest::new(&package[2], &compiler_says(text, &package[2])));
            }
            take_tests(&mut report, &mut tests);
        } else if let (Some((_, _, said)), true) = (tests.last_mut(), line.starts_with("    ")) {
            said.push_str(line);
            said.push('\n');
        }
    }
    if report.passed == 0 {
        report.passed = packages;
    }
    seen.then_some(report)
}

fn take_tests(report: &mut TestReport, tests: &mut Vec<(String, String, String)>) {
    let names: Vec<String> = tests.iter().map(|(_, name, _)| format!("{name}/")).collect();
    let is_group = |name: &str, own: &str| name.starts_with(own);
    let groups: Vec<bool> = tests
        .iter()
        .map(|(_, name, _)| {
            names
                .iter()
                .any(|other| is_group(other, &format!("{name}/")) && *other != format!("{name}/"))
        })
        .collect();
    for ((how, name, said), group) in tests.drain(..).zip(groups) {
        match how.as_str() {
            _ if group => {}
            "PASS" => report.passed += 1,
            "SKIP" => report.skipped += 1,
            _ => {
                report.failed += 1;
                report.failures.push(FailedTest::new(name, &said));
            }
        }
    }
}

/// What the compiler printed about a package.
fn compiler_says(text: &str, package: &str) -> String {
    let is_heading =
        |line: &&str| line.strip_prefix("# ").is_some_and(|rest| rest.starts_with(package));
    let lines = text.lines().skip_while(|line| !is_heading(line)).skip(1);
    lines
        .take_while(|line| line.contains(".go:") || line.starts_with('\t'))
        .collect::<Vec<_>>()
        .join("\n")
}
