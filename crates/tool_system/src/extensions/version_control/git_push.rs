//! `git_push`: sends commits to a remote repository.

use tool_system::git_command::{TALK_MS, changing, changing_git, check_revision, printed};
use tool_system::prelude::*;

/// Push a branch to a remote. Never forces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GitPushArgs {
    #[schemars(extend("default" = "origin"))]
    remote: Option<String>,
    branch: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct GitPushOutput {
    remote: String,
    /// What happened to each branch.
    result: Vec<String>,
}

#[derive(Debug)]
struct GitPushTool;

#[async_trait]
impl Tool for GitPushTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<GitPushArgs, GitPushOutput>("git_push", Category::VersionControl)
            .permissions([
                ToolPermission::ReadFiles,
                ToolPermission::ExecuteCommands,
                ToolPermission::NetworkAccess,
            ])
            .approval(Approval::Always)
            .termination("Use terminate=true when pushing was the last step.")
            .prompt("{} or {\"remote\": \"origin\", \"branch\": \"topic\"}. Push only when the user asked for it.")
            .example(json!({"remote": "origin", "branch": "main"}))
    }

    fn is_useful(&self, project: &workspace::Workspace) -> bool {
        tool_system::git_command::has_repository(project)
    }

    async fn execute(&self, args: ToolArguments, _: ToolContext) -> Result<Outcome, ToolError> {
        let args: GitPushArgs = args.parse()?;
        let remote = args.remote.as_deref().unwrap_or("origin");
        let branch = args.branch.as_deref().unwrap_or("HEAD");
        check_name("remote", remote)?;
        check_name("branch", branch)?;
        let mut argv = changing_git();
        let words = ["push", "--porcelain", "--no-verify", "--no-signed", "--", remote, branch];
        argv.extend(words.map(str::to_owned));
        let mut command = changing(argv);
        command.network = true;
        command.timeout_ms = TALK_MS;
        Ok(Outcome::Proposal(Proposed::command(command)))
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let mut lines = printed(&ran)?.lines();
        let remote = lines.next().and_then(|line| line.strip_prefix("To ")).unwrap_or_default();
        let result = lines.filter(|line| *line != "Done").map(|line| line.replace('\t', " "));
        let result = result.map(|line| line.trim().to_owned()).collect();
        tool_system::json_of(GitPushOutput { remote: remote.to_owned(), result })
    }
}

/// A plain name: neither an address, nor a way to force or to delete.
fn check_name(what: &str, name: &str) -> Result<(), ToolError> {
    check_revision(what, name)?;
    if name.contains([':', '+', '^', '~', '*', '\\']) || name.contains("..") {
        let message = format!("`{name}` is not the plain name of a {what}");
        return Err(ToolError::new(ErrorCode::InvalidArguments, message)
            .suggest("Name a configured remote and a branch, such as origin and main."));
    }
    Ok(())
}

auto_register_tool!(GitPushTool);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_pushed() {
        for good in ["origin", "main", "topic/a-b", "HEAD", "v1.0"] {
            assert!(check_name("branch", good).is_ok(), "{good}");
        }
        for bad in
            ["+main", ":main", "a:b", "--force", "https://x", "ext::sh", "../x", "a b", "refs/*"]
        {
            assert!(check_name("branch", bad).is_err(), "{bad}");
        }
    }
}
