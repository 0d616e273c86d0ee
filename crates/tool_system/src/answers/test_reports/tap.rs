//! The Test Anything Protocol, and the two reports of `node --test`.

use super::{FailedTest, TestReport};

pattern!(TAP_TEST = r"^( *)(not ok|ok)(?: \d+)?(?: -)? ?(.*)$");
pattern!(TAP_VERSION = r"^TAP version \d+$");
pattern!(TAP_PLAN = r"^1\.\.\d+");
pattern!(NODE_COUNT = r"^(?:#|ℹ) (pass|fail|cancelled|skipped|todo) (\d+)$");

/// One line of a report with the details below it.
struct Test<'t> {
    depth: usize,
    passed: bool,
    name: &'t str,
    directive: &'t str,
    details: String,
}

pub(super) fn read(text: &str) -> Option<TestReport> {
    let is_tap = |line: &str| TAP_VERSION.is_match(line) || TAP_PLAN.is_match(line);
    text.lines().find(|line| is_tap(line))?;
    let mut tests: Vec<Test<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(found) = TAP_TEST.captures(line) {
            let (_, [indent, how, title]) = found.extract();
            let (name, directive) = title.split_once(" # ").unwrap_or((title, ""));
            let (depth, passed) = (indent.len(), how == "ok");
            tests.push(Test { depth, passed, name, directive, details: String::new() });
        } else if let Some(test) = tests.last_mut()
            && line.starts_with(' ')
            && !line.trim_start().starts_with('#')
        {
            test.details.push_str(line);
            test.details.push('\n');
        }
    }
    let mut report = TestReport::default();
    for (index, test) in tests.iter().enumerate() {
        // The result of a group stands below those of its members.
        let is_group = index > 0 && tests[index - 1].depth > test.depth;
        let directive = test.directive.to_ascii_uppercase();
        match test.passed {
            _ if is_group => {}
            _ if directive.starts_with("SKIP") || directive.starts_with("TODO") => {
                report.skipped += 1;
            }
            true => report.passed += 1,
            false => {
                report.failed += 1;
                report.failures.push(FailedTest::new(name_of(&tests, index), &yaml(&test.details)));
            }
        }
    }
    (!tests.is_empty()).then_some(report)
}

/// The name of a test with those of the groups around it.
fn name_of(tests: &[Test<'_>], index: usize) -> String {
    let mut names = vec![tests[index].name];
    let mut depth = tests[index].depth;
    for test in &tests[index + 1..] {
        if test.depth < depth {
            names.push(test.name);
            depth = test.depth;
        }
        if depth == 0 {
            break;
        }
    }
    names.reverse();
    names.join(" > ")
}

/// What stands between the marks of the details.
fn yaml(details: &str) -> String {
    let lines = details.lines().map(str::trim_end);
    let is_noise =
        |line: &&str| matches!(*line, "---" | "...") || line.starts_with("duration_ms: ");
    let inner = lines.filter(|line| !is_noise(&line.trim_start()));
    inner.collect::<Vec<_>>().join("\n")
}

pattern!(SPEC_FAILURE = r"^✖ (.+?)(?: \([0-9.]+ms\))?$");

pub(super) fn read_spec(text: &str) -> Option<TestReport> {
    text.lines().find(|line| line.starts_with("ℹ tests "))?;
    let mut report = TestReport::default();
    for count in text.lines().filter_map(|line| NODE_COUNT.captures(line)) {
        let number: usize = count[2].parse().unwrap_or(0);
        match &count[1] {
            "pass" => report.passed += number,
            "fail" | "cancelled" => report.failed += number,
            _ => report.skipped += number,
        }
    }
    let (_, failing) = text.split_once("✖ failing tests:\n").unwrap_or_default();
    let mut open: Option<(String, String)> = None;
    for line in failing.lines() {
        let title = SPEC_FAILURE.captures(line);
        if (title.is_some() || line.starts_with("test at "))
            && let Some((name, said)) = open.take()
        {
            report.failures.push(FailedTest::new(name, &said));
        }
        if let Some(title) = title {
            open = Some((title[1].to_owned(), String::new()));
        } else if let Some((_, said)) = &mut open {
            said.push_str(line);
            said.push('\n');
        }
    }
    report.failures.extend(open.map(|(name, said)| FailedTest::new(name, &said)));
    Some(report)
}
