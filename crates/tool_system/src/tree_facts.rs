//! Looks up what a policy wants to know about the project before it judges a command.

use protocol::{CommandSpec, Proposal};
use serde_json::Value;

use crate::git_command::{Git, has_repository, without_stand_ins};
use crate::policy::{Effect, TreeFacts, effects_of, effects_with, needs_tree_facts};
use crate::{ToolContext, ToolExecutor};

/// Milliseconds that looking may take. Who does not know asks.
const LOOK_MS: u64 = 5_000;
/// What git answers where there is no repository.
const NO_REPOSITORY: i64 = 128;

impl ToolExecutor {
    /// Everything that `proposal` does. Where it could cost work that git does not hold, the tree is
    /// looked at first, confined, so that the question says what would be lost.
    pub(crate) async fn effects(&self, proposal: &Proposal, cx: &ToolContext) -> Vec<Effect> {
        if !matches!(proposal, Proposal::Command(_)) {
            return effects_of(proposal);
        }
        let looked = match needs_tree_facts(proposal) {
            true => self.look_at_tree(cx).await,
            false => None,
        };
        let root = cx.workspace().canonical_path().to_str().map(str::to_owned);
        effects_with(proposal, &TreeFacts { root, ..looked.unwrap_or_default() })
    }

    async fn look_at_tree(&self, cx: &ToolContext) -> Option<TreeFacts> {
        let runner = self.performer().ok()?.runner().ok()?;
        let words = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--"];
        if !has_repository(cx.workspace()) {
            return Some(TreeFacts::no_git());
        }
        let git = Git::at(cx).ok()?;
        let status = git.looking(words.into_iter().map(str::to_owned).chain(without_stand_ins(cx)));
        facts(&runner.peek(CommandSpec { timeout_ms: LOOK_MS, ..status }, cx).await?)
    }
}

/// Reads the report of `git status`. A list that was cut says nothing.
fn facts(report: &Value) -> Option<TreeFacts> {
    let output = report["stdout"].as_str()?;
    match report["exit_code"].as_i64()? {
        0 if report["stdout_bytes"].as_u64() == u64::try_from(output.len()).ok() => {
            Some(TreeFacts::from_porcelain(output))
        }
        NO_REPOSITORY => Some(TreeFacts::no_git()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_report_becomes_facts_and_a_cut_one_none() {
        let whole = json!({"stdout": " M a\0", "stdout_bytes": 5, "exit_code": 0});
        assert_eq!(facts(&whole).unwrap().dirty, ["a"]);
        let cut = json!({"stdout": " M a\0", "stdout_bytes": 500, "exit_code": 0});
        assert_eq!(facts(&cut), None);
        let none = json!({"stdout": "", "stdout_bytes": 0, "exit_code": 128});
        assert_eq!(facts(&none), Some(TreeFacts::no_git()));
        assert_eq!(facts(&json!({"stdout": "", "exit_code": null})), None);
    }
}
