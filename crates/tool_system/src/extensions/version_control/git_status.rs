//! `git_status`: branch, and which files differ from the last commit.

use std::collections::BTreeMap;

use tool_system::git_command::{Git, Status, look, printed, short_hash, status};
use tool_system::outcome_text::{OutcomeText, items, text_at};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Other modules name the tool by this.
pub const NAME: &str = "git_status";

/// Show the branch and changed files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitStatusArgs {}

#[derive(Debug)]
struct GitStatusTool;

#[async_trait]
impl Tool for GitStatusTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitStatusArgs, Status>(NAME, Category::VersionControl)
            .on_demand()
            .termination(
                "Use terminate=false if something follows from it. Use terminate=true when the user \
                 asked only for the status.",
            )
            .prompt("It takes no arguments: {}.")
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::git_command::has_repository(project)
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let GitStatusArgs {} = args.parse()?;
        let words =
            ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--", ":(top)"];
        let ran = look(&cx, Git::open(&cx).await?.looking(words)).await?;
        Outcome::answer(status(printed(&ran)?))
    }

    fn title(&self, _: &ToolArguments) -> Option<String> {
        Some("Show the git status".to_owned())
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let changed = letters(result).len() as u64;
        Some(match result["clean"].as_bool()? {
            true => "Git status: clean".to_owned(),
            false => format!("Git status: {} changed", counted(changed, "file", "files")),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let is_clean = result["clean"].as_bool()?;
        let commit = text_at(result, "commit").map_or("no commits", short_hash);
        let mut text = match text_at(result, "branch") {
            Some(branch) => format!("{branch} {commit}"),
            None => format!("detached at {commit}"),
        };
        if let Some(upstream) = text_at(result, "upstream") {
            text.push_str(&format!(", upstream {upstream}"));
        }
        for side in ["ahead", "behind"] {
            if let Some(count @ 1..) = result[side].as_u64() {
                text.push_str(&format!(", {side} {count}"));
            }
        }
        if is_clean {
            text.push_str(", clean");
        }
        let mut text = OutcomeText::new(text);
        for (path, (staged, unstaged)) in letters(result) {
            text.block(&format!("{staged}{unstaged} {path}"));
        }
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// Each path with the two letters that `git status --short` gives it.
fn letters(result: &Value) -> BTreeMap<String, (char, char)> {
    let mut letters: BTreeMap<String, (char, char)> = BTreeMap::new();
    for (key, is_staged) in [("staged", true), ("unstaged", false)] {
        for entry in items(result, key) {
            let letter = match text_at(entry, "change") {
                Some("type changed") => 'T',
                Some(change) => change.chars().next().map_or('?', |c| c.to_ascii_uppercase()),
                None => '?',
            };
            let path = text_at(entry, "path").unwrap_or_default();
            let path = match text_at(entry, "from") {
                Some(from) => format!("{from} -> {path}"),
                None => path.to_owned(),
            };
            let pair = letters.entry(path).or_insert((' ', ' '));
            *(if is_staged { &mut pair.0 } else { &mut pair.1 }) = letter;
        }
    }
    for (key, pair) in [("conflicts", ('U', 'U')), ("untracked", ('?', '?'))] {
        let paths = items(result, key).filter_map(Value::as_str);
        letters.extend(paths.map(|path| (path.to_owned(), pair)));
    }
    letters
}

auto_register_tool!(GitStatusTool);
