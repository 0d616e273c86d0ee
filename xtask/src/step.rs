//! Steps that run one after the other, and the account of them at the end.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::house::shell_line;

/// How a step that did not fail ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// What was not done, and why.
    Skipped {
        what: String,
        why: String,
    },
}

struct Done {
    name: &'static str,
    time: Duration,
    outcome: Outcome,
}

/// Runs steps, prints their names and times, and remembers them for the summary.
pub(crate) struct Steps {
    done: Vec<Done>,
    /// On a machine that guards the main branch, something left out is something unguarded.
    skips_fail: bool,
}

impl Steps {
    pub(crate) fn new(skips_fail: bool) -> Steps {
        Steps { done: Vec::new(), skips_fail }
    }

    /// A step that is one command.
    pub(crate) fn command(&mut self, name: &'static str, command: &mut Command) -> Result<()> {
        self.step(name, || {
            run(command)?;
            Ok(Outcome::Passed)
        })
    }

    /// A step that decides for itself.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<Outcome>,
    ) -> Result<()> {
        println!("\n==> {name}");
        let start = Instant::now();
        let outcome = work().with_context(|| format!("step `{name}` failed"))?;
        let time = start.elapsed();
        if let Outcome::Skipped { what, why } = &outcome {
            println!("SKIPPED: {what} ({why})");
            if self.skips_fail {
                bail!("step `{name}` was skipped, which counts as a failure with CI=true");
            }
        }
        println!("<== {name}: {}", seconds(time));
        self.done.push(Done { name, time, outcome });
        Ok(())
    }

    /// One line a step, the skipped ones named, and a plain closing line.
    pub(crate) fn summary(&self) -> String {
        let width = self.done.iter().map(|step| step.name.len()).max().unwrap_or(0);
        let mut text = String::from("\n");
        for Done { name, time, outcome } in &self.done {
            let word = match outcome {
                Outcome::Passed => "passed",
                Outcome::Skipped { .. } => "skipped",
            };
            let _ = writeln!(text, "{name:width$}  {:>8}  {word}", seconds(*time));
        }
        let mut skipped = 0;
        for step in &self.done {
            if let Outcome::Skipped { what, why } = &step.outcome {
                skipped += 1;
                let _ = writeln!(text, "SKIPPED: {what} ({why})");
            }
        }
        let total = seconds(self.done.iter().map(|step| step.time).sum());
        let _ = match skipped {
            0 => writeln!(text, "All {} steps passed in {total}.", self.done.len()),
            _ => writeln!(
                text,
                "{} of {} steps passed in {total}; {skipped} skipped.",
                self.done.len() - skipped,
                self.done.len()
            ),
        };
        text
    }
}

/// Runs a command with its output shown; a failure names the command to repeat it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shell_line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("{status}; to repeat it:\n\n    {line}\n");
    }
    Ok(())
}

/// A reason, without the line breaks that a command gave it.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_fits_on_one_line() {
        assert_eq!(one_line("exit 1;\n\n    pip install\n"), "exit 1; pip install");
    }

    fn skip() -> Result<Outcome> {
        Ok(Outcome::Skipped { what: "Python client".into(), why: "no python3".into() })
    }

    fn done(name: &'static str, tenths: u64, outcome: Outcome) -> Done {
        Done { name, time: Duration::from_millis(tenths * 100), outcome }
    }

    #[test]
    fn the_summary_names_steps_times_and_skips() {
        let skipped = skip().expect("a skip is no error");
        let mut steps = Steps::new(false);
        steps.done =
            vec![done("lints", 12, Outcome::Passed), done("client", 1234, skipped.clone())];
        assert_eq!(
            steps.summary(),
            "
lints      1.2 s  passed
client   123.4 s  skipped
SKIPPED: Python client (no python3)
1 of 2 steps passed in 124.6 s; 1 skipped.
"
        );
    }

    #[test]
    fn without_skips_the_closing_line_says_all() {
        let mut steps = Steps::new(true);
        steps.done = vec![done("lints", 12, Outcome::Passed)];
        assert!(steps.summary().ends_with("All 1 steps passed in 1.2 s.\n"));
    }

    #[test]
    fn a_skip_fails_only_where_it_must() {
        assert!(Steps::new(false).step("client", skip).is_ok());
        let error = Steps::new(true).step("client", skip).expect_err("skips fail");
        assert!(error.to_string().contains("CI=true"), "{error}");
    }

    #[test]
    fn a_failure_names_the_command_to_repeat() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let error = Steps::new(false).command("shell", &mut command).expect_err("it fails");
        let message = format!("{error:#}");
        assert!(message.contains("step `shell` failed"), "{message}");
        assert!(message.contains("sh -c 'exit 3'"), "{message}");
    }
}
