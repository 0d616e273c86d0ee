//! Maven's Surefire and Gradle.

use super::{FailedTest, TestReport, number_before};

pattern!(
    SUREFIRE_TOTAL = r"^\[\w+\] Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)$"
);
pattern!(SUREFIRE_TEST = r"^\[ERROR\] +(\S+?)(?: --)? +Time elapsed: .*<<< (?:FAILURE|ERROR)!");
pattern!(GRADLE_TOTAL = r"^(\d+ tests? completed.*)$");
pattern!(GRADLE_TEST = r"^(\S.* > .+) FAILED$");

pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut seen = false;
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        let title = SUREFIRE_TEST.captures(line).or_else(|| GRADLE_TEST.captures(line));
        if (title.is_some() || line.is_empty() || line.starts_with('['))
            && let Some((name, said)) = open.take()
        {
            report.failures.push(FailedTest::new(name, &said));
        }
        if let Some(title) = title {
            open = Some((title[1].to_owned(), String::new()));
        } else if let Some(total) = SUREFIRE_TOTAL.captures(line) {
            seen = true;
            let [all, failures, errors, skipped] =
                [1, 2, 3, 4].map(|index| total[index].parse::<usize>().unwrap_or(0));
            count(&mut report, all, failures + errors, skipped);
        } else if let Some(total) = GRADLE_TOTAL.captures(line) {
            seen = true;
            let all = number_before(&total[1], "tests") + number_before(&total[1], "test");
            let number = |word| number_before(&total[1], word);
            count(&mut report, all, number("failed"), number("skipped"));
        } else if let Some((_, said)) = &mut open {
            said.push_str(line);
            said.push('\n');
        }
    }
    report.failures.extend(open.map(|(name, said)| FailedTest::new(name, &said)));
    seen.then_some(report)
}

fn count(report: &mut TestReport, all: usize, failed: usize, skipped: usize) {
    report.failed += failed;
    report.skipped += skipped;
    report.passed += all.saturating_sub(failed + skipped);
}
