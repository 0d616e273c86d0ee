//! `git_log`: the commits, newest first.

use tool_system::git_command::{
    Commit, FORMAT, Git, check_revision, commits, look, pathspec, printed,
};
use tool_system::prelude::*;

/// Commits that are shown unless asked for another number.
const SHOWN: u64 = 20;
/// The most commits that one call shows.
const MOST: u64 = 200;

/// Show commits, newest first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitLogArgs {
    /// Or range, default HEAD
    commit: Option<String>,
    path: Option<String>,
    #[schemars(extend("default" = SHOWN))]
    limit: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GitLogOutput {
    commits: Vec<Commit>,
}

#[derive(Debug)]
struct GitLogTool;

#[async_trait]
impl Tool for GitLogTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitLogArgs, GitLogOutput>("git_log", Category::VersionControl)
            .termination(
                "Use terminate=false if something follows from it. Use terminate=true when the user \
                 asked only for the history.",
            )
            .prompt(
                "The last commits: {}. Those of a file: {\"path\": \"src/main.rs\", \"limit\": 5}. Those of a \
                 branch: {\"commit\": \"main..topic\"}.",
            )
            .example(json!({"path": "src/main.rs", "limit": 5}))
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::git_command::has_repository(project)
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GitLogArgs = args.parse()?;
        let count = args.limit.map_or(SHOWN, |limit| limit.0).min(MOST);
        let count = format!("--max-count={count}");
        let mut arguments = vec!["log", "--no-color", "--no-show-signature", FORMAT, &count];
        if let Some(commit) = &args.commit {
            check_revision("commit", commit)?;
            arguments.push(commit);
        }
        arguments.push("--");
        let path = args.path.map(|path| cx.workspace().resolve(&path)).transpose()?;
        let path = path.map(|path| pathspec(&path));
        arguments.extend(path.as_deref());
        let ran = look(&cx, Git::open(&cx).await?.looking(arguments)).await?;
        Outcome::answer(GitLogOutput { commits: commits(printed(&ran)?) })
    }
}

auto_register_tool!(GitLogTool);
