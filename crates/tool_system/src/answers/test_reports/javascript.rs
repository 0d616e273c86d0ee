//! Jest, Vitest and Mocha.

use super::{FailedTest, TestReport, number_before};

pattern!(JEST_COUNTS = r"^Tests: +(.* total)$");
pattern!(JEST_FILE = r"^(?:FAIL|PASS) (\S+)");
const NO_SUITE: &str = "Test suite failed to run";

pub(super) fn read_jest(text: &str) -> Option<TestReport> {
    let counts = text.lines().rev().find_map(|line| JEST_COUNTS.captures(line))?;
    let mut report = TestReport {
        passed: number_before(&counts[1], "passed"),
        failed: number_before(&counts[1], "failed"),
        skipped: number_before(&counts[1], "skipped") + number_before(&counts[1], "todo"),
        failures: Vec::new(),
    };
    let mut blocks = Blocks::default();
    let mut file = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("  ● ") {
            let is_suite = title == NO_SUITE;
            let name = if is_suite { format!("{file}: {title}") } else { title.to_owned() };
            report.failed += usize::from(is_suite && !blocks.has(&name));
            blocks.open(name);
        } else if let Some(named) = JEST_FILE.captures(line) {
            file = named[1].to_owned();
            blocks.close();
        } else if line.starts_with("Test Suites: ") || line.starts_with("Summary of all failing") {
            blocks.close();
        } else {
            blocks.line(line);
        }
    }
    report.failures = blocks.finish();
    Some(report)
}

pattern!(VITEST_COUNTS = r"^ +Tests  (.*\(\d+\))$");

pub(super) fn read_vitest(text: &str) -> Option<TestReport> {
    let counts = text.lines().rev().find_map(|line| VITEST_COUNTS.captures(line))?;
    let mut blocks = Blocks::default();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix(" FAIL  ") {
            blocks.open(title.to_owned());
        } else if line.starts_with('⎯') {
            blocks.close();
        } else {
            blocks.line(line);
        }
    }
    Some(TestReport {
        passed: number_before(&counts[1], "passed"),
        failed: number_before(&counts[1], "failed"),
        skipped: number_before(&counts[1], "skipped") + number_before(&counts[1], "todo"),
        failures: blocks.finish(),
    })
}

pattern!(MOCHA_PASSING = r"^ +(\d+) passing \(");
pattern!(MOCHA_OTHERS = r"^ +(\d+) (pending|failing)$");
pattern!(MOCHA_TITLE = r"^  \d+\) (.*)$");

pub(super) fn read_mocha(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut seen = false;
    let mut blocks = Blocks::default();
    let mut title: Option<String> = None;
    for line in text.lines() {
        let number = |text: &str| text.parse::<usize>().unwrap_or(0);
        if let Some(count) = MOCHA_PASSING.captures(line) {
            seen = true;
            report.passed += number(&count[1]);
        } else if let (true, Some(count)) = (seen, MOCHA_OTHERS.captures(line)) {
            match &count[2] {
                "failing" => report.failed += number(&count[1]),
                _ => report.skipped += number(&count[1]),
            }
        } else if let (true, Some(found)) = (report.failed > 0, MOCHA_TITLE.captures(line)) {
            blocks.close();
            title = Some(found[1].to_owned());
        } else if let Some(upper) = title.take() {
            // The names of the groups stand above that of the test, which ends with a colon.
            let whole = format!("{upper} {}", line.trim());
            match whole.strip_suffix(':') {
                Some(name) => blocks.open(name.to_owned()),
                None => title = Some(whole),
            }
        } else {
            blocks.line(line);
        }
    }
    report.failures = blocks.finish();
    seen.then_some(report)
}

/// Failures as they are gathered line by line.
#[derive(Default)]
struct Blocks {
    done: Vec<(String, String)>,
    open: bool,
}

impl Blocks {
    fn open(&mut self, name: String) {
        self.done.push((name, String::new()));
        self.open = true;
    }

    fn close(&mut self) {
        self.open = false;
    }

    fn has(&self, name: &str) -> bool {
        self.done.iter().any(|(known, _)| known == name)
    }

    fn line(&mut self, line: &str) {
        if let (true, Some((_, said))) = (self.open, self.done.last_mut()) {
            said.push_str(line);
            said.push('\n');
        }
    }

    fn finish(self) -> Vec<FailedTest> {
        self.done.into_iter().map(|(name, said)| FailedTest::new(name, &said)).collect()
    }
}
