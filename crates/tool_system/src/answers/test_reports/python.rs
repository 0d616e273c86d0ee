//! `pytest` and `unittest`.

use super::{FailedTest, TestReport, number_before};

pattern!(
    PYTEST_COUNTS = r"^=* ?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [0-9.]+s(?: \([0-9:]+\))? ?=*$"
);
pattern!(PYTEST_TEST = r"^_{3,} (.+?) _{3,}$");
pattern!(PYTEST_PART = r"^={3,} (.+?) ={3,}$");

pub(super) fn read_pytest(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut seen = false;
    let mut part = String::new();
    let mut sections: Vec<(bool, String, String)> = Vec::new();
    let mut named: [Vec<&str>; 2] = Default::default();
    for line in text.lines() {
        if let Some(counts) = PYTEST_COUNTS.captures(line) {
            seen = true;
            let count = |word| number_before(&counts[1], word);
            report.passed += count("passed") + count("xpassed");
            report.failed += count("failed") + count("error") + count("errors");
            report.skipped += count("skipped") + count("xfailed");
            part.clear();
        } else if let Some(title) = PYTEST_PART.captures(line) {
            part = title[1].to_owned();
        } else if part == "short test summary info" {
            for (names, word) in named.iter_mut().zip(["ERROR ", "FAILED "]) {
                names.extend(line.strip_prefix(word).map(name_of));
            }
        } else if part == "FAILURES" || part == "ERRORS" {
            match PYTEST_TEST.captures(line) {
                Some(title) => {
                    sections.push((part == "FAILURES", title[1].to_owned(), String::new()));
                }
                None => {
                    if let Some((_, _, said)) = sections.last_mut() {
                        said.push_str(line);
                        said.push('\n');
                    }
                }
            }
        }
    }
    let [errors, failures] = named;
    let mut names = [errors.into_iter(), failures.into_iter()];
    for (failed, title, said) in &sections {
        // The summary has the whole name, in the same order.
        let name = names[usize::from(*failed)].next().unwrap_or(title);
        report.failures.push(FailedTest::new(name, said));
    }
    for name in names.into_iter().flatten() {
        report.failures.push(FailedTest::new(name, ""));
    }
    seen.then_some(report)
}

/// The name before the reason.
fn name_of(line: &str) -> &str {
    line.split_once(" - ").map_or(line, |(name, _)| name)
}

pattern!(UNITTEST_RAN = r"^Ran (\d+) tests? in ");
pattern!(UNITTEST_END = r"^(?:OK|FAILED)(?: \((.*)\))?$");

pub(super) fn read_unittest(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut ran: Option<usize> = None;
    let mut seen = false;
    let mut said = String::new();
    let mut name: Option<&str> = None;
    for line in text.lines() {
        let is_rule = line.len() > 60 && line.bytes().all(|byte| byte == b'=');
        let count = UNITTEST_RAN.captures(line);
        if (is_rule || count.is_some())
            && let Some(name) = name.take()
        {
            report.failures.push(FailedTest::new(name, &without_rules(&said)));
            said.clear();
        }
        let title = line.strip_prefix("FAIL: ").or(line.strip_prefix("ERROR: "));
        if let Some(count) = count {
            ran = count[1].parse().ok();
        } else if let (Some(all), Some(end)) = (ran, UNITTEST_END.captures(line)) {
            seen = true;
            let counts = end.get(1).map_or("", |counts| counts.as_str());
            let count = |word: &str| number_after(counts, word);
            let failed = count("failures") + count("errors") + count("unexpected successes");
            let skipped = count("skipped") + count("expected failures");
            report.failed += failed;
            report.skipped += skipped;
            report.passed += all.saturating_sub(failed + skipped);
            ran = None;
        } else if name.is_none() && title.is_some() {
            name = title;
        } else if name.is_some() {
            said.push_str(line);
            said.push('\n');
        }
    }
    seen.then_some(report)
}

fn without_rules(said: &str) -> String {
    let is_rule = |line: &&str| line.len() > 60 && line.bytes().all(|byte| byte == b'-');
    said.lines().filter(|line| !is_rule(line)).collect::<Vec<_>>().join("\n")
}

/// The number in `word=3`.
fn number_after(counts: &str, word: &str) -> usize {
    let mut parts = counts.split(", ").filter_map(|part| part.split_once('='));
    parts.find(|(name, _)| *name == word).and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}
