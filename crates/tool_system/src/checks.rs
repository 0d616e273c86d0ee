//! Checks that run after files have been changed, confined, so that the model sees at once what its
//! change broke.

use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use protocol::{CommandSpec, ProjectMode, Proposal};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::NotRun;
use crate::test_reports::both_ends;
use crate::{Performer, ToolContext};

/// Bytes that are shown of what a check printed.
const SHOWN_OUTPUT: usize = 4 * 1024;

/// A command that is run after certain files have been changed. What it changes itself is thrown
/// away.
#[derive(Clone, Debug)]
pub struct EditCheck {
    name: String,
    command: Vec<String>,
    paths: GlobSet,
    timeout_ms: u64,
}

/// A check that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Nothing would be run.
    #[error("the check `{0}` has no command")]
    NoCommand(String),
    /// A pattern for paths does not parse.
    #[error("the check `{name}` has a wrong pattern: {source}")]
    Pattern {
        /// The check.
        name: String,
        /// What is wrong.
        source: globset::Error,
    },
}

impl EditCheck {
    /// A check of the files that match one of `paths`; of all files if there are none.
    pub fn new(
        name: String,
        command: Vec<String>,
        paths: &[String],
        timeout_s: u64,
    ) -> Result<Self, CheckError> {
        if command.first().is_none_or(String::is_empty) {
            return Err(CheckError::NoCommand(name));
        }
        let mut set = GlobSetBuilder::new();
        let all = ["**".to_owned()];
        for pattern in if paths.is_empty() { &all } else { paths } {
            match Glob::new(pattern) {
                Ok(glob) => set.add(glob),
                Err(source) => return Err(CheckError::Pattern { name, source }),
            };
        }
        let paths = match set.build() {
            Ok(paths) => paths,
            Err(source) => return Err(CheckError::Pattern { name, source }),
        };
        Ok(Self { name, command, paths, timeout_ms: timeout_s.saturating_mul(1000) })
    }

    fn concerns(&self, proposal: &Proposal) -> bool {
        let Proposal::Changes(set) = proposal else { return false };
        set.changes.iter().flat_map(|change| change.paths()).any(|path| self.paths.is_match(path))
    }

    fn spec(&self) -> CommandSpec {
        CommandSpec {
            argv: self.command.clone(),
            working_dir: ".".into(),
            timeout_ms: self.timeout_ms,
            project: ProjectMode::Look,
            ..CommandSpec::default()
        }
    }
}

/// What a check gave.
#[derive(Debug, Serialize)]
struct Checked<'a> {
    name: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    output: String,
}

/// Runs the checks that a change concerns, one after the other, and adds what they say to the answer.
/// A change stays made whatever they say.
pub(crate) async fn append(
    checks: &[EditCheck],
    done: &Proposal,
    performer: &Arc<dyn Performer>,
    cx: &ToolContext,
    answer: &mut Value,
) {
    let mut told = Vec::new();
    for check in checks.iter().filter(|check| check.concerns(done)) {
        told.push(json!(run(check, performer, cx).await));
    }
    if let (false, Value::Object(answer)) = (told.is_empty(), answer) {
        answer.insert("checks".into(), told.into());
    }
}

async fn run<'a>(
    check: &'a EditCheck,
    performer: &Arc<dyn Performer>,
    cx: &ToolContext,
) -> Checked<'a> {
    let name = &check.name;
    let runner = match performer.runner() {
        Ok(runner) => runner,
        Err(error) => return Checked { name, ok: false, output: error.full_message() },
    };
    match runner.run(&check.spec(), cx).await {
        Ok(ran) => {
            let (ok, output) = verdict(&ran.report);
            Checked { name, ok, output }
        }
        Err(NotRun::Failed(error)) => Checked { name, ok: false, output: error.full_message() },
        Err(NotRun::NoCopies(why)) => Checked { name, ok: false, output: why },
    }
}

/// Whether the check passed, and what is worth telling: nothing, if it did.
fn verdict(report: &Value) -> (bool, String) {
    if report["exit_code"].as_i64() == Some(0) {
        return (true, String::new());
    }
    let text = |key: &str| report[key].as_str().unwrap_or_default().trim();
    let said = format!("{}\n{}", text("stdout"), text("stderr"));
    let mut output = both_ends(said.trim(), SHOWN_OUTPUT);
    if report["timed_out"].as_bool() == Some(true) {
        output += "\n[stopped: its time was over]";
    }
    (false, output.trim_start().to_owned())
}

#[cfg(test)]
mod tests {
    use protocol::{Base, Change, ChangeSet};

    use super::*;

    fn check(paths: &[&str]) -> EditCheck {
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        EditCheck::new("format".into(), vec!["true".into()], &paths, 5).unwrap()
    }

    #[test]
    fn a_check_runs_for_the_files_it_is_about() {
        let change = Change::Delete { path: "src/deep/a.rs".into(), base: Base::Absent };
        let set = Proposal::Changes(ChangeSet { changes: vec![change] });
        assert!(check(&["**/*.rs"]).concerns(&set) && check(&[]).concerns(&set));
        assert!(!check(&["docs/**", "*.py"]).concerns(&set));
        assert!(!check(&[]).concerns(&Proposal::Command(CommandSpec::default())));
        let spec = check(&[]).spec();
        assert_eq!((spec.project, spec.timeout_ms, spec.network), (ProjectMode::Look, 5000, false));
    }

    #[test]
    fn only_a_failing_check_speaks() {
        assert_eq!(verdict(&json!({"exit_code": 0, "stdout": "fine"})), (true, String::new()));
        let failed = json!({"exit_code": 1, "stdout": "", "stderr": "Diff in a.rs\n"});
        assert_eq!(verdict(&failed), (false, "Diff in a.rs".to_owned()));
        let slow = json!({"exit_code": null, "timed_out": true});
        assert_eq!(verdict(&slow).1, "[stopped: its time was over]");
    }

    #[test]
    fn a_check_without_a_command_or_with_a_wrong_pattern_is_told() {
        let wrong = EditCheck::new("x".into(), vec![], &[], 1).unwrap_err();
        assert_eq!(wrong.to_string(), "the check `x` has no command");
        let wrong = EditCheck::new("x".into(), vec!["true".into()], &["a{".into()], 1).unwrap_err();
        assert!(wrong.to_string().contains("wrong pattern"));
    }
}
