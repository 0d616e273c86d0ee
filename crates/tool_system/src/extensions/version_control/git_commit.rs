//! `git_commit`: records changes in the repository.

use tool_system::git_command::{changing, changing_git, pathspec, printed};
use tool_system::prelude::*;

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
}

#[derive(Debug)]
struct GitCommitTool;

#[async_trait]
impl Tool for GitCommitTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitCommitArgs, GitCommitOutput>("git_commit", Category::VersionControl)
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
        let resolved = paths.iter().map(|path| Ok(pathspec(&cx.workspace().resolve(path)?)));
        let paths: Vec<String> = resolved.collect::<Result<_, ToolError>>()?;
        Ok(Outcome::Proposal(Proposed::command(changing(argv(args.message, paths)))))
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let text = printed(&ran)?;
        let (branch, commit) = heading(text).unwrap_or_default();
        let summary =
            text.lines().find(|line| line.contains(" changed")).unwrap_or_default().trim();
        tool_system::json_of(GitCommitOutput {
            commit: commit.to_owned(),
            branch: branch.to_owned(),
            summary: summary.to_owned(),
        })
    }
}

fn argv(message: String, paths: Vec<String>) -> Vec<String> {
    if paths.is_empty() {
        let mut argv = changing_git();
        argv.extend(["commit", "--no-verify", "--untracked-files=no"].map(str::to_owned));
        argv.push(format!("--message={message}"));
        return argv;
    }
    let words = ["sh", "-c", &add_and_commit(), "git_commit", &message].map(str::to_owned);
    words.into_iter().chain(paths).collect()
}

/// Adds the files and records them, which are two commands. Message and paths come as arguments,
/// never as text of the script.
fn add_and_commit() -> String {
    let git = changing_git().join(" ");
    format!(
        "message=$1; shift; {git} add --all -- \"$@\" && \
         {git} commit --no-verify --untracked-files=no --only --message=\"$message\" -- \"$@\""
    )
}

/// Branch and commit in `[main 1a2b3c] subject` or `[main (root-commit) 1a2b3c] subject`.
fn heading(text: &str) -> Option<(&str, &str)> {
    let line = text.lines().find(|line| line.starts_with('['))?;
    let (inner, _) = line.strip_prefix('[')?.split_once(']')?;
    let (names, commit) = inner.rsplit_once(' ')?;
    Some((names.trim_end_matches(" (root-commit)"), commit))
}

auto_register_tool!(GitCommitTool);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_of_a_commit_is_read() {
        assert_eq!(heading("[main 1a2b] x\n"), Some(("main", "1a2b")));
        assert_eq!(heading("[main (root-commit) 1a2b] [x]\n"), Some(("main", "1a2b")));
        assert_eq!(heading("[detached HEAD 1a2b] x\n"), Some(("detached HEAD", "1a2b")));
        assert_eq!(heading("nothing\n"), None);
    }

    #[test]
    fn messages_and_paths_stay_arguments() {
        let staged = argv("-x; rm".into(), Vec::new());
        assert_eq!(staged.last().map(String::as_str), Some("--message=-x; rm"));
        let named = argv("$(id)".into(), vec!["a b".into()]);
        assert!(!named[2].contains("id") && !named[2].contains("a b"));
        assert_eq!(&named[3..], ["git_commit", "$(id)", "a b"]);
    }
}
