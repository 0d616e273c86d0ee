//! `git_commit`: records changes in the repository.

use tool_system::git_command::{prepare_commit, printed, short_hash};
use tool_system::outcome_text::{OutcomeText, argument, in_one_line, text_at};
use tool_system::prelude::*;
use workspace::RelPath;

/// Other modules name the tool by this.
pub const NAME: &str = "git_commit";

/// Commit files, or what is staged. Hooks are not run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitCommitArgs {
    #[schemars(length(min = 1))]
    message: String,
    paths: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GitCommitOutput {
    commit: String,
    branch: String,
    /// How much it changes.
    summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Debug)]
struct GitCommitTool;

#[async_trait]
impl Tool for GitCommitTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitCommitArgs, GitCommitOutput>(NAME, Category::VersionControl)
            .on_demand()
            .permissions([
                ToolPermission::ReadFiles,
                ToolPermission::WriteFiles,
                ToolPermission::ExecuteCommands,
            ])
            .approval(Approval::Always)
            .termination(
                "Use terminate=true when the commit was the last step. Use terminate=false if more \
                 follows.",
            )
            .prompt(
                "{\"message\": \"Add a parser\\n\\nIt reads what the writer writes.\", \"paths\": [\"src/parser.rs\"]}. \
                 Commit only when the user asked for it; name the files that belong together.",
            )
            .example(json!({"message": "Add a parser", "paths": ["src/parser.rs"]}))
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::git_command::has_repository(project)
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GitCommitArgs = args.parse()?;
        let paths = args.paths.unwrap_or_default();
        let paths = paths.iter().map(|path| cx.workspace().resolve(path));
        let paths: Vec<RelPath> = paths.collect::<Result<_, _>>()?;
        let commit = prepare_commit(&cx, &args.message, &paths).await?;
        Ok(Outcome::Proposal(Proposed::command(commit)))
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let told = ran["stdout"].as_str().unwrap_or_default();
        let Some(mut output) = made(told) else {
            return Err(printed(&ran).err().unwrap_or_else(|| {
                ToolError::new(ErrorCode::Internal, "git printed something unexpected")
            }));
        };
        if let Err(error) = printed(&ran) {
            let why = error.message;
            output.message = Some(format!(
                "The commit is made, but the index does not know it yet: {why}. Ask the user to run `git reset`."
            ));
        }
        tool_system::json_of(output)
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Commit: {}", in_one_line(argument(args, "message")?)))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        text_at(result, "commit")?;
        // Git says `3 files changed, 2 insertions(+)`.
        let files = text_at(result, "summary").and_then(|summary| summary.split(" changed").next());
        let subject = in_one_line(argument(args, "message")?);
        Some(match files {
            Some(files) => format!("Committed {files}: {subject}"),
            None => format!("Committed: {subject}"),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let commit = short_hash(text_at(result, "commit")?);
        let branch = text_at(result, "branch").unwrap_or("HEAD");
        let summary = text_at(result, "summary").unwrap_or_default();
        let mut text = OutcomeText::new(format!("Committed {commit} on {branch}\n{summary}"));
        text.note(text_at(result, "message").unwrap_or_default());
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// The hashes of tree and commit, then, once the commit is made, the branch, the commit and how much
/// it changes.
fn made(told: &str) -> Option<GitCommitOutput> {
    let mut lines = told.lines().filter(|line| !line.is_empty()).skip(2);
    let branch = lines.next()?;
    Some(GitCommitOutput {
        commit: lines.next()?.to_owned(),
        branch: if branch == "HEAD" { "detached HEAD" } else { branch }.to_owned(),
        summary: lines.next().unwrap_or_default().trim().to_owned(),
        message: None,
    })
}

auto_register_tool!(GitCommitTool);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_made_once_its_branch_is_told() {
        let whole = "12ab\n34cd\nmain\n34cd\n\n 1 file changed, 2 insertions(+)\n";
        let output = made(whole).unwrap();
        assert_eq!((output.commit.as_str(), output.branch.as_str()), ("34cd", "main"));
        assert_eq!(output.summary, "1 file changed, 2 insertions(+)");
        assert_eq!(made("12ab\n34cd\nHEAD\n34cd\n").unwrap().branch, "detached HEAD");
        assert!(made("12ab\n34cd\n").is_none() && made("").is_none());
    }

    #[test]
    fn a_commit_whose_index_could_not_be_written_is_told_as_made() {
        let tool = GitCommitTool;
        let arguments = ToolArguments::new(serde_json::Map::new());
        let told = "12ab\n34cd\nmain\n34cd\n\n 1 file changed\n";
        let ran = json!({"exit_code": 128, "stdout": told, "stderr": "fatal: index.lock\n"});
        let answer = tool.report(&arguments, ran).unwrap();
        assert!(answer["message"].as_str().unwrap().contains("fatal: index.lock"), "{answer}");
        let ran = json!({"exit_code": 128, "stdout": "12ab\n", "stderr": "fatal: no\n"});
        assert_eq!(tool.report(&arguments, ran).unwrap_err().message, "fatal: no");
    }
}
