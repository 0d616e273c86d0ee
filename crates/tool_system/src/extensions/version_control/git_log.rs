//! `git_log`: the commits, newest first.

use tool_system::git_command::{
    Commit, FORMAT, Git, check_revision, commits, look, pathspec, printed, short_hash,
};
use tool_system::outcome_text::{OutcomeText, argument, list_length, text_at};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Commits that are shown unless asked for another number.
const SHOWN: u64 = 20;
/// Up to so many commits are shown to models with their whole message.
const SHOWN_WITH_BODY: usize = 3;
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
            .on_demand()
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

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let what = argument(args, "path").or(argument(args, "commit"));
        let what = what.map_or(String::new(), |what| format!(" of {what}"));
        Some(format!("Show the commits{what}"))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let what = argument(args, "path").or(argument(args, "commit"));
        let what = what.map_or(String::new(), |what| format!(" of {what}"));
        let count = list_length(result, "commits");
        Some(format!("Listed {}{what}", counted(count, "commit", "commits")))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let commits = result["commits"].as_array()?;
        let mut text = OutcomeText::default();
        let is_short = commits.len() <= SHOWN_WITH_BODY;
        let mut above = String::new();
        for commit in commits {
            // Author and date are shown once over the commits that share them.
            let date = text_at(commit, "date").unwrap_or_default();
            let day = date.split('T').next().unwrap_or_default();
            let heading = format!("{day} {}:", text_at(commit, "author").unwrap_or_default());
            if heading != above {
                text.block(&heading);
                above = heading;
            }
            let hash = short_hash(text_at(commit, "commit")?);
            text.block(&format!("{hash} {}", text_at(commit, "subject").unwrap_or("-")));
            if is_short {
                text.block(text_at(commit, "body").unwrap_or_default());
            }
        }
        if commits.is_empty() {
            text.block("No commits");
        }
        if !is_short && commits.iter().any(|commit| text_at(commit, "body").is_some()) {
            text.note(format!("limit={SHOWN_WITH_BODY} or less shows the whole messages"));
        }
        text.add_outcome(result);
        Some(text.finish())
    }
}

auto_register_tool!(GitLogTool);
