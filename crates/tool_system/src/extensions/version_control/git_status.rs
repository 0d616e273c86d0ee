//! `git_status`: branch, and which files differ from the last commit.

use tool_system::git_command::{Git, Status, look, printed, status};
use tool_system::prelude::*;

/// Show the branch and changed files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitStatusArgs {}

#[derive(Debug)]
struct GitStatusTool;

#[async_trait]
impl Tool for GitStatusTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitStatusArgs, Status>("git_status", Category::VersionControl)
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
}

auto_register_tool!(GitStatusTool);
