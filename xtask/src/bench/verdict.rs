//! Targets, and whether they were reached.

use std::process::ExitCode;

/// One target and whether it was reached.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) passed: bool,
}

/// The verdict about something that has to stay below a target.
pub(crate) fn below(what: &str, measured: f64, target: f64, unit: &str) -> Verdict {
    Verdict {
        what: format!("{what}: {measured:.2} {unit} (< {target} {unit})"),
        passed: measured < target,
    }
}

/// The verdict about something that may not exceed a target.
pub(crate) fn at_most(what: &str, measured: f64, target: f64, unit: &str) -> Verdict {
    Verdict {
        what: format!("{what}: {measured:.2} {unit} (≤ {target} {unit})"),
        passed: measured <= target,
    }
}

/// The verdict about something that has to reach a target.
pub(crate) fn at_least(what: &str, measured: f64, target: f64, unit: &str) -> Verdict {
    Verdict {
        what: format!("{what}: {measured:.2} {unit} (≥ {target} {unit})"),
        passed: measured >= target,
    }
}

/// Prints the verdicts; the exit code says whether every target was reached.
pub(crate) fn pronounce(verdicts: &[Verdict]) -> ExitCode {
    for verdict in verdicts {
        println!("{} {}", if verdict.passed { "PASS" } else { "FAIL" }, verdict.what);
    }
    match verdicts.iter().all(|verdict| verdict.passed) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
