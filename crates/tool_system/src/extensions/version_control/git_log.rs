//! `git_log`: the commits, newest first.

use tool_system::git_command::{
    Commit, FORMAT, Git, check_revision, commits, look, pathspec, printed, short_hash,
};
use tool_system::outcome_text::{OutcomeText, argument, list_length, text_at};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// Other modules name the tool by this.
pub const NAME: &str = "git_log";

/// Commits that are shown unless asked for another number.
const SHOWN: u64 = 20;
/// Up to so many commits are shown to models with their whole message.
const SHOWN_WITH_BODY: usize = 3;
/// The most commits that one call shows.
const MOST: u64 = 200;
/// Git reads the number as a C `int`.
const MOST_SKIPPED: u64 = i32::MAX as u64;

/// Show commits, newest first.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitLogArgs {
    /// Or range, default HEAD
    commit: Option<String>,
    path: Option<String>,
    #[schemars(extend("default" = SHOWN))]
    limit: Option<Whole<1>>,
    skip: Option<Whole<0>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GitLogOutput {
    commits: Vec<Commit>,
    /// The `skip` that shows the commits after these, if there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_skip: Option<u64>,
}

#[derive(Debug)]
struct GitLogTool;

#[async_trait]
impl Tool for GitLogTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitLogArgs, GitLogOutput>(NAME, Category::VersionControl)
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
        let wanted = args.limit.map_or(SHOWN, |limit| limit.0).min(MOST);
        let skipped = args.skip.map_or(0, |skip| skip.0).min(MOST_SKIPPED);
        // One more tells whether there are more.
        let count = format!("--max-count={}", wanted + 1);
        let skip = format!("--skip={skipped}");
        let mut arguments = vec!["log", "--no-color", "--no-show-signature", FORMAT, &count, &skip];
        if let Some(commit) = &args.commit {
            check_revision("commit", commit)?;
            arguments.push(commit);
        }
        arguments.push("--");
        let path = args.path.map(|path| cx.workspace().resolve(&path)).transpose()?;
        let path = path.map(|path| pathspec(&path));
        arguments.extend(path.as_deref());
        let ran = look(&cx, Git::open(&cx).await?.looking(arguments)).await?;
        let mut commits = commits(printed(&ran)?);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let next_skip = (commits.len() > wanted).then(|| skipped.saturating_add(wanted as u64));
        commits.truncate(wanted);
        Outcome::answer(GitLogOutput { commits, next_skip })
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
                // Indented, so that no line of it can be taken for another commit or a note.
                let body = text_at(commit, "body").unwrap_or_default().lines();
                let body: Vec<String> = body.map(|line| format!("    {line}")).collect();
                text.block(&body.join("\n"));
            }
        }
        if commits.is_empty() {
            text.block("No commits");
        }
        if !is_short && commits.iter().any(|commit| text_at(commit, "body").is_some()) {
            text.note(format!("limit={SHOWN_WITH_BODY} or less shows the whole messages"));
        }
        if let Some(skip) = result["next_skip"].as_u64() {
            text.note(format!("more: skip={skip}"));
        }
        text.add_outcome(result);
        Some(text.finish())
    }
}

auto_register_tool!(GitLogTool);
