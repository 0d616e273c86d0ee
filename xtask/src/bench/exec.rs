//! `cargo xtask bench exec`: what it costs that a command is confined.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{ExitCode, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Effort;
use super::verdict::{Verdict, at_least, at_most, below, pronounce};
use crate::house::{House, shell_line};

const OVER_BARE_MS: f64 = 3.0;
/// Preparing a sandbox and running its first command.
const FIRST_COMMAND_MS: f64 = 12.0;
/// How much slower a command may be for having the project's private layer.
const LAYER_TIMES: f64 = 1.1;
const FASTER_THAN_BWRAP: f64 = 2.0;
const OUTPUT_MB_PER_S: f64 = 500.0;
/// How much more memory streaming 100 MB may take, of which 256 KB are kept.
const OUTPUT_MEMORY_KB: f64 = 4096.0;

/// What was measured, by case.
#[derive(Debug, Default)]
struct Figures(BTreeMap<String, Value>);

/// Measures, prints and judges; the exit code says whether every target was reached.
pub(crate) fn run(effort: Effort) -> Result<ExitCode> {
    let house = House::find()?;
    let rounds = match effort {
        Effort::Full => "400",
        Effort::Quick => "50",
    };
    let mut command = house.cargo();
    command.args(["run", "--release", "--locked", "-p", "sandbox", "--example", "exec_speed"]);
    command.args(["--", rounds]).stderr(Stdio::inherit());
    let line = shell_line(&command);
    println!("$ {line}");
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(output.status.success(), "{}; to repeat it:\n\n    {line}\n", output.status);
    let figures = read(&String::from_utf8_lossy(&output.stdout))?;
    println!("\n{}", table(&figures));
    println!("All start `true` and wait for it; the cases take turns.\n");
    Ok(pronounce(&judge(&figures)?))
}

/// One case a line, as JSON.
fn read(text: &str) -> Result<Figures> {
    let mut figures = Figures::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let value: Value = serde_json::from_str(line).with_context(|| format!("in `{line}`"))?;
        let case = value["case"].as_str().with_context(|| format!("no case in `{line}`"))?;
        figures.0.insert(case.to_owned(), value);
    }
    Ok(figures)
}

impl Figures {
    fn number(&self, case: &str, key: &str) -> Result<f64> {
        let found = self.0.get(case).and_then(|value| value[key].as_f64());
        found.with_context(|| format!("`{case}` has no {key}"))
    }

    fn median(&self, case: &str) -> Result<f64> {
        self.number(case, "median_ms")
    }
}

fn judge(figures: &Figures) -> Result<Vec<Verdict>> {
    let (bare, live) = (figures.median("bare")?, figures.median("live")?);
    let (memory, look) = (figures.median("memory")?, figures.median("look")?);
    let first = figures.median("new")?;
    let mut verdicts = vec![
        at_most("confined start over fork and exec, p50", live - bare, OVER_BARE_MS, "ms"),
        at_most("the first command of a session, p50", first, FIRST_COMMAND_MS, "ms"),
        at_most("a look over a copy without a layer, p50", look / memory, LAYER_TIMES, "times"),
    ];
    match figures.median("bwrap") {
        Ok(bwrap) => {
            let times = bwrap / look;
            verdicts.push(at_least("faster than bwrap", times, FASTER_THAN_BWRAP, "times"));
        }
        Err(_) => println!("left out: bwrap is not installed, so nothing is compared with it"),
    }
    let speed = figures.number("output", "mb_per_s")?;
    verdicts.push(at_least("100 MB of output", speed, OUTPUT_MB_PER_S, "MB/s"));
    let growth = figures.number("output", "peak_memory_growth_kb")?;
    verdicts.push(below("memory for 100 MB of output", growth, OUTPUT_MEMORY_KB, "KB"));
    Ok(verdicts)
}

fn table(figures: &Figures) -> String {
    let mut text = String::from("| case | p10, ms | p50, ms | p90, ms |\n|---|---|---|---|\n");
    for case in ["bare", "live", "memory", "look", "burst", "toolchains", "new", "bwrap"] {
        let number = |key| figures.number(case, key);
        if let (Ok(low), Ok(middle), Ok(high)) =
            (number("p10_ms"), number("median_ms"), number("p90_ms"))
        {
            let _ = writeln!(text, "| {case} | {low:.2} | {middle:.2} | {high:.2} |");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = r#"
{"case":"bare","p10_ms":0.5,"median_ms":0.6,"p90_ms":0.9}
{"case":"live","p10_ms":2.0,"median_ms":2.6,"p90_ms":4.0}
{"case":"memory","p10_ms":2.0,"median_ms":2.0,"p90_ms":4.0}
{"case":"look","p10_ms":2.0,"median_ms":2.5,"p90_ms":4.0}
{"case":"new","p10_ms":9.0,"median_ms":11.0,"p90_ms":30.0}
{"case":"bwrap","p10_ms":4.0,"median_ms":5.2,"p90_ms":6.0}
{"case":"output","mb_per_s":400.0,"peak_memory_growth_kb":100}
"#;

    #[test]
    fn targets_are_judged() {
        let figures = read(MEASURED).unwrap();
        let verdicts = judge(&figures).unwrap();
        let passed: Vec<bool> = verdicts.iter().map(|verdict| verdict.passed).collect();
        assert_eq!(passed, [true, true, false, true, false, true], "{verdicts:?}");
        assert!(table(&figures).contains("| live | 2.00 | 2.60 | 4.00 |"));
        assert!(judge(&read("").unwrap()).is_err());
    }
}
