//! `cargo test`: the harness of Rust, any number of test programs one after the other.

use super::{FailedTest, TestReport, number_before};

pub(super) fn read(text: &str) -> Option<TestReport> {
    let mut report = TestReport::default();
    let mut seen = false;
    let mut named: Vec<&str> = Vec::new();
    let mut block: Option<(&str, String)> = None;
    for line in text.lines() {
        let heading = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----"));
        let ends = heading.is_some() || line == "failures:" || line.starts_with("test result: ");
        if ends && let Some((name, said)) = block.take() {
            report.failures.push(FailedTest::new(name, &said));
        }
        if let Some(heading) = heading {
            let name = heading.strip_suffix(" stdout").or(heading.strip_suffix(" stderr"));
            block = Some((name.unwrap_or(heading), String::new()));
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            seen = true;
            report.passed += number_before(counts, "passed");
            report.failed += number_before(counts, "failed");
            report.skipped += number_before(counts, "ignored");
            // A test that said nothing has no block of its own.
            for name in named.drain(..) {
                if report.failures.iter().all(|failure| failure.name != name) {
                    report.failures.push(FailedTest::new(name, ""));
                }
            }
        } else if let Some((_, said)) = &mut block {
            said.push_str(line);
            said.push('\n');
        } else if let Some(rest) = line.strip_prefix("test ")
            && let Some(name) = rest.strip_suffix(" ... FAILED")
        {
            named.push(name.strip_suffix(" - should panic").unwrap_or(name));
        }
    }
    seen.then_some(report)
}
