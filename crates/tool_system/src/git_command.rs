//! Git commands that run nothing of the repository's choosing, and what they print, read. Pure.

mod diff;
mod log;
mod status;

use protocol::{CommandSpec, ErrorCode, ProjectMode, ToolError};
use serde_json::Value;
use workspace::{RelPath, Workspace};

use crate::project_kind::no_option;

pub(crate) use diff::{FileStat, stats_and_patch};
pub(crate) use log::{Commit, FORMAT, commits};
pub(crate) use status::{Status, status};

/// Whether the project is a repository.
pub(crate) fn has_repository(project: &Workspace) -> bool {
    project.resolve(".git").is_ok_and(|path| project.metadata(&path).is_ok())
}

/// Settings that take the place of the repository's own, so that none of its programs runs.
const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "diff.external=",
    "log.showSignature=false",
    "protocol.ext.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
];
/// More of them, for commands that write or connect.
const CHANGING_SETTINGS: [&str; 6] = [
    "core.askPass=true",
    "core.editor=true",
    "core.sshCommand=ssh",
    "commit.gpgSign=false",
    "credential.helper=",
    "gc.auto=0",
];

/// Milliseconds that looking at a repository may take.
const LOOK_MS: u64 = 30_000;
/// Milliseconds that talking to a server may take.
pub(crate) const TALK_MS: u64 = 120_000;

/// A command that looks at the repository as it is and cannot change it.
pub(crate) fn looking(arguments: impl IntoIterator<Item = impl Into<String>>) -> CommandSpec {
    let mut argv = git(&SETTINGS);
    argv.push("--no-optional-locks".into());
    argv.extend(arguments.into_iter().map(Into::into));
    CommandSpec {
        argv,
        working_dir: ".".into(),
        timeout_ms: LOOK_MS,
        project: ProjectMode::Live,
        ..CommandSpec::default()
    }
}

/// A command that changes the repository's own directory and nothing else.
pub(crate) fn changing(argv: Vec<String>) -> CommandSpec {
    CommandSpec {
        argv,
        working_dir: ".".into(),
        timeout_ms: LOOK_MS,
        project: ProjectMode::Live,
        writable: vec![".git".into()],
        ..CommandSpec::default()
    }
}

/// The beginning of a command that writes or connects.
pub(crate) fn changing_git() -> Vec<String> {
    let settings: Vec<&str> = SETTINGS.iter().chain(&CHANGING_SETTINGS).copied().collect();
    git(&settings)
}

/// Git, with settings that stand above those of the repository.
fn git(settings: &[&str]) -> Vec<String> {
    let set = settings.iter().flat_map(|setting| ["-c", *setting]);
    let words = ["git", "--no-pager"].into_iter().chain(set);
    words.map(str::to_owned).collect()
}

/// A path of the project as git is to take it: letter by letter.
pub(crate) fn pathspec(path: &RelPath) -> String {
    if path.is_root() { ":(top)".to_owned() } else { format!(":(top,literal){path}") }
}

/// Refuses what git would take for an option or for something else than a commit or branch.
pub(crate) fn check_revision(what: &str, value: &str) -> Result<(), ToolError> {
    no_option(what, value)?;
    let is_odd = |c: char| c.is_control() || c.is_whitespace();
    if value.is_empty() || value.contains(is_odd) || value.contains("::") {
        let message = format!("`{value}` is no {what}");
        return Err(ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest("Name a commit, branch or range, such as HEAD~1 or main..topic."));
    }
    Ok(())
}

/// What a command printed, or the error that its failure is.
pub(crate) fn printed(ran: &Value) -> Result<&str, ToolError> {
    let text = |key: &str| ran[key].as_str().unwrap_or_default();
    if ran["exit_code"].as_i64() == Some(0) {
        return Ok(text("stdout"));
    }
    if ran["timed_out"].as_bool() == Some(true) {
        return Err(ToolError::new(ErrorCode::Timeout, "git took too long and was stopped"));
    }
    let said = [text("stderr").trim(), text("stdout").trim()];
    let said =
        said.into_iter().find(|said| !said.is_empty()).unwrap_or("git failed without a word");
    let error = ToolError::new(ErrorCode::ExecutionError, said.to_owned())
        .detail("exit_code", ran["exit_code"].clone());
    Err(match advice(said) {
        Some(advice) => error.suggest(advice),
        None => error,
    })
}

fn advice(said: &str) -> Option<&'static str> {
    let cases = [
        (
            "not a git repository",
            "Git sees only the project: the repository's .git must be in the project's root.",
        ),
        (
            "Read-only file system",
            "The project is a worktree of a repository elsewhere, which is only read; ask the user to do it.",
        ),
        ("nothing to commit", "Name the files to commit as paths, or stage them first."),
        ("added to commit", "Name the files to commit as paths, or stage them first."),
        (
            "Please tell me who you are",
            "Ask the user to run: git config user.name NAME && git config user.email ADDRESS",
        ),
        ("could not read Username", "Git is confined and sees no password; ask the user to push."),
        (
            "CONNECT tunnel failed, response 403",
            "The remote is not on the public Internet; the user can allow it with sandbox.network_allow.",
        ),
        (
            "Could not resolve hostname",
            "Confined git reaches remotes over HTTPS only; ask the user to push.",
        ),
        ("Permission denied (publickey", "Git is confined and sees no key; ask the user to push."),
        ("Host key verification failed", "Git is confined and sees no key; ask the user to push."),
        (
            "[rejected]",
            "The remote branch has commits that are not here; ask the user how to go on.",
        ),
        ("unknown revision", "git_log shows the commits there are."),
    ];
    cases.iter().find(|(sign, _)| said.contains(sign)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_carry_settings_that_let_nothing_of_the_repository_run() {
        let spec = looking(["status"]);
        assert_eq!(spec.project, ProjectMode::Live);
        assert!(spec.writable.is_empty() && !spec.network && spec.env.is_empty());
        for argv in [spec.argv, changing_git()] {
            let line = argv.join(" ");
            for setting in ["core.hooksPath=/dev/null", "core.fsmonitor=false", "diff.external="] {
                assert!(line.contains(&format!("-c {setting}")), "{line}");
            }
        }
        assert!(changing_git().contains(&"credential.helper=".to_owned()));
    }

    #[test]
    fn what_is_no_revision_is_refused() {
        for good in ["HEAD~2", "main..topic", "v1.0^{commit}", "origin/main", "@{u}"] {
            assert!(check_revision("commit", good).is_ok(), "{good}");
        }
        for bad in ["", "--output=x", "a b", "ext::sh -c id", "a\nb", "-x"] {
            assert!(check_revision("commit", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_failure_says_what_git_said_and_what_to_do() {
        let ran =
            json!({"exit_code": 128, "stdout": "", "stderr": "fatal: not a git repository\n"});
        let error = printed(&ran).unwrap_err();
        assert_eq!(error.message, "fatal: not a git repository");
        assert!(error.suggestion.unwrap().contains("project's root"));
        let slow = json!({"exit_code": null, "timed_out": true});
        assert_eq!(printed(&slow).unwrap_err().code, ErrorCode::Timeout);
        assert_eq!(printed(&json!({"exit_code": 0, "stdout": "x"})).unwrap(), "x");
    }
}
