//! Git commands that run no program the repository configures, and the reading of what they print.

mod commit;
mod diff;
mod log;
mod repository;
mod settings;
mod status;
mod worktree;

use protocol::{ErrorCode, ToolError};
use serde_json::Value;
use workspace::RelPath;

use crate::project_kind::no_option;

pub(crate) use commit::prepare as prepare_commit;
pub(crate) use diff::{DiffPage, DiffWindow, FileStat, stats_and_patch};
pub(crate) use log::{Commit, FORMAT, commits};
pub(crate) use repository::{Git, changing, has_repository, look, look_at_diff};
pub(crate) use status::{Status, status};
pub(crate) use worktree::{add as add_worktree, fill as fill_worktree};

/// Milliseconds that looking at a repository may take.
const LOOK_MS: u64 = 30_000;
/// Milliseconds that talking to a server may take.
pub(crate) const TALK_MS: u64 = 120_000;

/// Digits of a hash that tell commits of all but the largest repositories apart.
const SHORT_HASH_DIGITS: usize = 10;

/// The beginning of a hash, which git takes for the whole.
pub(crate) fn short_hash(hash: &str) -> &str {
    hash.get(..SHORT_HASH_DIGITS).unwrap_or(hash)
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
        let message = format!("`{value}` is not a {what}");
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
        said.into_iter().find(|said| !said.is_empty()).unwrap_or("git failed without a message");
    let error = ToolError::new(ErrorCode::ExecutionError, said.to_owned())
        .detail("exit_code", ran["exit_code"].clone());
    Err(match advice(said) {
        Some(advice) => error.suggest(advice),
        None => error,
    })
}

/// What a command printed, if it is all there and says the same as the bytes did.
fn whole_text<'r>(ran: &'r Value, what: &str) -> Result<&'r str, ToolError> {
    let text = printed(ran)?;
    let is_whole = ran["stdout_bytes"].as_u64() == u64::try_from(text.len()).ok();
    if is_whole && !text.contains(char::REPLACEMENT_CHARACTER) {
        return Ok(text);
    }
    let message = format!("{what} are too many, or not UTF-8");
    Err(ToolError::new(ErrorCode::ExecutionError, message).suggest("Ask the user to do it."))
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
        ("unknown revision", "git_log lists the commits."),
    ];
    cases.iter().find(|(sign, _)| said.contains(sign)).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
