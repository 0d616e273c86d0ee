//! Steps that run one after the other, or two at a time, and the account of them at the end.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
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
    began: Instant,
}

/// A step that can run beside others.
pub(crate) struct SideStep<'a> {
    pub(crate) name: &'static str,
    pub(crate) work: Box<dyn FnOnce() -> Result<Outcome> + Send + 'a>,
}

/// Steps that wait for networks and single threads share two cores well.
const AT_A_TIME: usize = 2;

thread_local! {
    /// What a step that runs beside others has printed, until it has ended.
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

impl Steps {
    pub(crate) fn new(skips_fail: bool) -> Steps {
        Steps { done: Vec::new(), skips_fail, began: Instant::now() }
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
        let outcome = work();
        self.ended(name, start.elapsed(), outcome)
    }

    /// Steps that do not depend on each other, in this order, two at a time. What each prints is
    /// shown when it has ended; after a failure no other is begun, and what the failed one printed
    /// comes last, where one looks for it.
    pub(crate) fn side_by_side(&mut self, steps: Vec<SideStep<'_>>) -> Result<()> {
        let steps = Mutex::new(steps.into_iter());
        let ended = Mutex::new((self, Vec::new()));
        std::thread::scope(|scope| {
            for _ in 0..AT_A_TIME {
                scope.spawn(|| {
                    loop {
                        if !locked(&ended).1.is_empty() {
                            break;
                        }
                        let Some(SideStep { name, work }) = locked(&steps).next() else { break };
                        KEPT.set(Some(String::new()));
                        let start = Instant::now();
                        let outcome = work();
                        let time = start.elapsed();
                        let printed = KEPT.take().unwrap_or_default();
                        let printed = format!("\n==> {name}\n{printed}");
                        let mut ended = locked(&ended);
                        if outcome.is_ok() {
                            print!("{printed}");
                        }
                        if let Err(error) = ended.0.ended(name, time, outcome) {
                            ended.1.push((error, printed));
                        }
                    }
                });
            }
        });
        let failed = ended.into_inner().unwrap_or_else(PoisonError::into_inner).1;
        let mut outcome = Ok(());
        for (error, printed) in failed {
            println!("{printed}xtask: {error:#}");
            outcome = outcome.and(Err(error));
        }
        outcome
    }

    fn ended(
        &mut self,
        name: &'static str,
        time: Duration,
        outcome: Result<Outcome>,
    ) -> Result<()> {
        let outcome = outcome.with_context(|| format!("step `{name}` failed"))?;
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
        self.summary_after(self.began.elapsed())
    }

    fn summary_after(&self, total: Duration) -> String {
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
        let total = seconds(total);
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
    say(&format!("$ {line}"));
    let status = status(command).with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("{status}; to repeat it:\n\n    {line}\n");
    }
    Ok(())
}

/// Prints a line, or keeps it until the step has ended.
pub(crate) fn say(line: &str) {
    KEPT.with_borrow_mut(|kept| match kept {
        Some(kept) => kept.extend([line, "\n"]),
        None => println!("{line}"),
    });
}

/// Waits for a command, whose output is kept where the step's is.
fn status(command: &mut Command) -> io::Result<std::process::ExitStatus> {
    if KEPT.with_borrow(Option::is_none) {
        return command.status();
    }
    let (mut reader, writer) = io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The ends that the command still holds would keep the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut printed = Vec::new();
    reader.read_to_end(&mut printed)?;
    say(String::from_utf8_lossy(&printed).trim_end());
    child.wait()
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
            steps.summary_after(Duration::from_millis(124_600)),
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
        let summary = steps.summary_after(Duration::from_millis(1200));
        assert!(summary.ends_with("All 1 steps passed in 1.2 s.\n"));
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

    fn side(
        name: &'static str,
        work: impl FnOnce() -> Result<Outcome> + Send + 'static,
    ) -> SideStep<'static> {
        SideStep { name, work: Box::new(work) }
    }

    #[test]
    fn steps_beside_each_other_are_all_done_and_keep_their_output_together() {
        let both = std::sync::Arc::new(std::sync::Barrier::new(2));
        let meets = |both: std::sync::Arc<std::sync::Barrier>| {
            move || {
                // Each waits for the other, so that one at a time would never end.
                both.wait();
                run(Command::new("sh").args(["-c", "echo out; echo err >&2"]))?;
                let kept = KEPT.with_borrow(|kept| kept.clone().unwrap_or_default());
                assert!(kept.ends_with("\nout\nerr\n"), "{kept}");
                Ok(Outcome::Passed)
            }
        };
        let mut steps = Steps::new(false);
        let work = vec![
            side("left", meets(both.clone())),
            side("right", meets(both)),
            side("third", || Ok(Outcome::Passed)),
        ];
        steps.side_by_side(work).expect("all pass");
        let mut names: Vec<_> = steps.done.iter().map(|step| step.name).collect();
        names.sort_unstable();
        assert_eq!(names, ["left", "right", "third"]);
    }

    #[test]
    fn after_a_failure_no_other_step_is_begun() {
        let fails = || side("fails", || bail!("no"));
        let last = || side("last", || panic!("begun after a failure"));
        let mut steps = Steps::new(false);
        let error = steps.side_by_side(vec![fails(), fails(), last()]).expect_err("it fails");
        assert!(format!("{error:#}").starts_with("step `fails` failed"), "{error:#}");
    }
}
