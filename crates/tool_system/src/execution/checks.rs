//! Checks that run after files have been changed, confined, so that the model sees at once what its
//! change broke.

use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};
use protocol::{Change, CommandSpec, ProjectMode, Proposal, ToolError, unified};
use serde::Serialize;
use serde_json::{Value, json};

use crate::approval_gate::diffs_of;
use crate::command_report::{CommandReport, SIGKILL};
use crate::commands::{NotRun, Taken};
use crate::test_reports::both_ends;
use crate::{Performer, ToolContext};

/// Bytes that are shown of what a check printed.
const SHOWN_OUTPUT: usize = 4 * 1024;
/// Paths that are named of what a check would have changed.
const MOST_PATHS: usize = 20;
/// Bytes of a diff of what a check would have changed.
const MOST_DIFF_BYTES: usize = 4 * 1024;
const CHANGES_NOTHING: &str = "a check changes nothing: these changes of its copy were thrown away. \
                               Make them with an edit if they are wanted.";

/// A command that is run after certain files have been changed. What it changes itself is thrown
/// away, and the answer says so.
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
    #[serde(flatten)]
    end: CheckEnd,
    #[serde(skip_serializing_if = "String::is_empty")]
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Dropped>,
}

/// How a check ended. One that ran and failed has an exit code or a signal.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum CheckEnd {
    Passed {},
    Failed {
        exit_code: i64,
    },
    Killed {
        signal: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    NotRun {
        not_run: String,
    },
}

/// What a check would have changed in the project.
#[derive(Debug, Serialize)]
struct Dropped {
    paths: Vec<String>,
    /// How many there are, if not all are named.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<usize>,
    dropped: &'static str,
    /// The changes, if they are short.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
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
    match report(check, performer, cx).await {
        Ok((ended, taken)) => {
            let changes = match taken {
                Some(taken) => dropped(taken, cx).await,
                None => None,
            };
            let end = CheckEnd::of(&ended, check.timeout_ms);
            let ok = end == CheckEnd::Passed {};
            let output = if ok { String::new() } else { shown_output(&ended) };
            Checked { name, ok, end, output, changes }
        }
        Err(not_run) => {
            let (end, output) = (CheckEnd::NotRun { not_run }, String::new());
            Checked { name, ok: false, end, output, changes: None }
        }
    }
}

/// Runs the command of a check. Answers with why it did not run, if so.
async fn report(
    check: &EditCheck,
    performer: &Arc<dyn Performer>,
    cx: &ToolContext,
) -> Result<(CommandReport, Option<Taken>), String> {
    let told = |error: ToolError| error.full_message();
    let runner = performer.runner().map_err(told)?;
    let ran = runner.run(&check.spec(), cx).await.map_err(|not_run| match not_run {
        NotRun::Failed(error) => told(error),
        NotRun::NoCopies(why) => format!("a check needs a copy of the project: {why}"),
    })?;
    Ok((CommandReport::read(ran.report).map_err(told)?, ran.taken))
}

impl CheckEnd {
    fn of(ended: &CommandReport, timeout_ms: u64) -> CheckEnd {
        let why = match &ended.limit {
            Some(limit) => Some(format!("it used too much {limit}")),
            None if ended.timed_out => {
                Some(format!("it took longer than {} s", timeout_ms as f64 / 1000.0))
            }
            None => None,
        };
        match ended.exit_code {
            Some(0) => CheckEnd::Passed {},
            Some(exit_code) => CheckEnd::Failed { exit_code },
            // What is stopped from outside is killed.
            None => CheckEnd::Killed { signal: ended.signal.unwrap_or(SIGKILL), why },
        }
    }
}

/// What a check printed, as much as is worth telling.
fn shown_output(ended: &CommandReport) -> String {
    let said = format!("{}\n{}", ended.stdout.trim(), ended.stderr.trim());
    both_ends(said.trim(), SHOWN_OUTPUT)
}

/// What a check changed in its copy; none if it changed nothing.
async fn dropped(taken: Taken, cx: &ToolContext) -> Option<Dropped> {
    let Taken { set, refusal, paths, .. } = taken;
    // What was only touched is no change. If the changes could not be read, the paths are all there is.
    let mut paths: Vec<String> = match refusal {
        None => set.changes.iter().flat_map(Change::paths).map(str::to_owned).collect(),
        Some(_) => paths,
    };
    if paths.is_empty() {
        return None;
    }
    let all = paths.len();
    paths.truncate(MOST_PATHS);
    let proposal = Proposal::Changes(set);
    let diffs = cx.blocking(move |cx| Ok(diffs_of(cx, &proposal)?.0)).await;
    let diff = diffs.ok().map(|diffs| unified(&diffs)).filter(|diff| diff.len() <= MOST_DIFF_BYTES);
    Some(Dropped {
        paths,
        files: (all > MOST_PATHS).then_some(all),
        dropped: CHANGES_NOTHING,
        diff: diff.filter(|diff| !diff.is_empty()),
    })
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

    fn ended(differences: Value) -> CommandReport {
        let mut report = json!({
            "stdout": "", "stderr": "", "exit_code": null, "timed_out": false, "duration_ms": 1500,
            "sandbox": "namespaces",
        });
        if let (Value::Object(report), Value::Object(differences)) = (&mut report, differences) {
            report.extend(differences);
        }
        CommandReport::read(report).unwrap()
    }

    #[test]
    fn every_end_but_a_good_one_has_an_exit_code_or_a_signal() {
        let cases = [
            (json!({"exit_code": 0}), json!({})),
            (json!({"exit_code": 1}), json!({"exit_code": 1})),
            (json!({"signal": 11}), json!({"signal": 11})),
            (json!({"timed_out": true}), json!({"signal": 9, "why": "it took longer than 2.5 s"})),
            (json!({"limit": "memory"}), json!({"signal": 9, "why": "it used too much memory"})),
        ];
        for (report, expected) in cases {
            assert_eq!(json!(CheckEnd::of(&ended(report), 2500)), expected);
        }
    }

    #[test]
    fn both_outputs_are_shown_without_blank_ends() {
        let failed = ended(json!({"exit_code": 1, "stdout": "\na\n", "stderr": "Diff in a.rs\n"}));
        assert_eq!(shown_output(&failed), "a\nDiff in a.rs");
    }

    #[test]
    fn a_check_without_a_command_or_with_a_wrong_pattern_is_told() {
        let wrong = EditCheck::new("x".into(), vec![], &[], 1).unwrap_err();
        assert_eq!(wrong.to_string(), "the check `x` has no command");
        let wrong = EditCheck::new("x".into(), vec!["true".into()], &["a{".into()], 1).unwrap_err();
        assert!(wrong.to_string().contains("wrong pattern"));
    }
}
