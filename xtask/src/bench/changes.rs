//! `cargo xtask bench changes`: what it costs that a change is atomic and can be undone.

use std::fmt::Write as _;
use std::fs;
use std::process::{ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::verdict::{Verdict, below, pronounce};
use crate::house::{House, shell_line};

/// What the example calls the cases that have a target of their own.
const EDIT: &str = "edit of 10 lines in 1 MB";
const MANY_FILES: &str = "1,000 files of 4 KB";

const EDIT_MS: f64 = 3.0;
const MANY_FILES_MS: f64 = 1000.0;
const OVERHEAD_PERCENT: f64 = 30.0;

/// What one case came to; times are medians.
#[derive(Debug, PartialEq)]
struct Figures {
    case: String,
    rounds: u64,
    apply_ms: f64,
    /// Without the time in which the disk was waited for.
    without_waiting_ms: f64,
    /// A plain atomic write of the same bytes.
    plain_ms: f64,
    /// How much longer the change takes than the plain write, as a part of it, in the middle half
    /// of the rounds.
    overhead: f64,
}

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run() -> Result<ExitCode> {
    let house = House::find()?;
    // Beside the project, because elsewhere may be memory, where waiting for the disk is free.
    let directory = house.cache("bench");
    fs::create_dir_all(&directory).context("cannot make the directory to measure in")?;
    let mut command = house.cargo();
    command.args(["run", "--release", "--locked", "-p", "workspace", "--example", "changes_speed"]);
    command.arg("--").arg(&directory).stderr(Stdio::inherit());
    let line = shell_line(&command);
    println!("$ {line}");
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(output.status.success(), "{}; to repeat it:\n\n    {line}\n", output.status);

    let figures = read(&String::from_utf8_lossy(&output.stdout))?;
    println!("\n{}", table(&figures));
    println!(
        "Journal and plain writes of the same file in turns, fsync included unless it says so; the \
         overhead is that\nof the middle half of the rounds.\n"
    );
    Ok(pronounce(&judge(&figures)?))
}

/// One case a line, as JSON.
fn read(text: &str) -> Result<Vec<Figures>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| read_case(line).with_context(|| format!("in `{line}`"))).collect()
}

fn read_case(line: &str) -> Result<Figures> {
    let value: Value = serde_json::from_str(line)?;
    let number = |key: &str| value[key].as_f64().with_context(|| format!("no {key}"));
    Ok(Figures {
        case: value["case"].as_str().context("no case")?.to_owned(),
        rounds: value["rounds"].as_u64().context("no rounds")?,
        apply_ms: number("apply_ms")?,
        without_waiting_ms: number("without_waiting_ms")?,
        plain_ms: number("plain_ms")?,
        overhead: number("overhead")?,
    })
}

fn judge(figures: &[Figures]) -> Result<Vec<Verdict>> {
    let mut verdicts = Vec::new();
    for (case, target) in [(EDIT, EDIT_MS), (MANY_FILES, MANY_FILES_MS)] {
        let found = figures.iter().find(|figures| figures.case == case);
        let measured = found.with_context(|| format!("`{case}` was not measured"))?;
        verdicts.push(below(
            &format!("{case}, without fsync, p50"),
            measured.without_waiting_ms,
            target,
            "ms",
        ));
    }
    for Figures { case, overhead, .. } in figures {
        let what = format!("{case}, overhead of the journal");
        verdicts.push(below(&what, overhead * 100.0, OVERHEAD_PERCENT, "%"));
    }
    Ok(verdicts)
}

fn table(figures: &[Figures]) -> String {
    let mut text = String::from(
        "| change | rounds | apply p50, ms | without fsync p50, ms | plain atomic write p50, ms \
         | overhead |\n|---|---|---|---|---|---|\n",
    );
    for row in figures {
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} | {:.2} | {:+.1} % |",
            row.case,
            row.rounds,
            row.apply_ms,
            row.without_waiting_ms,
            row.plain_ms,
            row.overhead * 100.0,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"
{"case":"edit of 10 lines in 1 MB","rounds":30,"apply_ms":6.5,"without_waiting_ms":2.5,"plain_ms":5.0,"overhead":0.3}
{"case":"1,000 files of 4 KB","rounds":10,"apply_ms":1500.0,"without_waiting_ms":1000.0,"plain_ms":1400.0,"overhead":0.071}
"#;

    #[test]
    fn targets_are_judged() {
        let verdicts = judge(&read(OUTPUT).expect("figures")).expect("verdicts");
        let shown: Vec<(&str, bool)> = verdicts.iter().map(|v| (&*v.what, v.passed)).collect();
        assert_eq!(
            shown,
            [
                ("edit of 10 lines in 1 MB, without fsync, p50: 2.50 ms (< 3 ms)", true),
                ("1,000 files of 4 KB, without fsync, p50: 1000.00 ms (< 1000 ms)", false),
                ("edit of 10 lines in 1 MB, overhead of the journal: 30.00 % (< 30 %)", false),
                ("1,000 files of 4 KB, overhead of the journal: 7.10 % (< 30 %)", true),
            ]
        );
    }

    #[test]
    fn the_table_holds_a_row_for_each_case() {
        let text = table(&read(OUTPUT).expect("figures"));
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| edit of 10 lines in 1 MB | 30 | 6.50 | 2.50 | 5.00 | +30.0 % |",
                "| 1,000 files of 4 KB | 10 | 1500.00 | 1000.00 | 1400.00 | +7.1 % |",
            ]
        );
    }

    #[test]
    fn what_was_not_measured_is_no_success() {
        let error = judge(&[]).expect_err("nothing was measured");
        assert!(error.to_string().contains("was not measured"), "{error}");
        assert!(read("{\"case\": \"x\"}").is_err());
    }
}
