//! `git_push`: sends commits to a remote repository.

use tool_system::git_command::{Git, TALK_MS, changing, check_revision, look, printed};
use tool_system::outcome_text::{OutcomeText, argument, text_at, texts};
use tool_system::prelude::*;

/// What receives at a path of this machine: without the programs of the repository there.
const QUIET_RECEIVER: &str = "git -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true \
                              -c core.fsmonitor=false -c receive.autogc=false receive-pack";

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
            .on_demand()
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

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: GitPushArgs = args.parse()?;
        let remote = args.remote.as_deref().unwrap_or("origin");
        let branch = args.branch.as_deref().unwrap_or("HEAD");
        check_name("remote", remote)?;
        check_name("branch", branch)?;
        let git = Git::open(&cx).await?;
        let asked = look(&cx, git.looking(["remote", "get-url", "--push", "--", remote])).await?;
        let address = printed(&asked)?.trim();
        let mut words = vec!["push", "--porcelain", "--no-verify", "--no-signed"];
        let receiving = format!("--receive-pack={QUIET_RECEIVER}");
        if is_path(address) {
            words.push(&receiving);
        }
        words.extend(["--", remote, branch]);
        let shown = format!("Push {branch} to {remote}, which is {address}");
        let command =
            CommandSpec { network: true, timeout_ms: TALK_MS, ..changing(git.argv(words), shown) };
        Ok(Outcome::Proposal(Proposed::command(command)))
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        let mut lines = printed(&ran)?.lines();
        let remote = lines.next().and_then(|line| line.strip_prefix("To ")).unwrap_or_default();
        let result = lines.filter(|line| *line != "Done").map(|line| line.replace('\t', " "));
        let result = result.map(|line| line.trim().to_owned()).collect();
        tool_system::json_of(GitPushOutput { remote: remote.to_owned(), result })
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let branch = argument(args, "branch").unwrap_or("HEAD");
        Some(format!("Push {branch} to {}", argument(args, "remote").unwrap_or("origin")))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        text_at(result, "remote")?;
        let branch = argument(args, "branch").unwrap_or("HEAD");
        Some(format!("Pushed {branch} to {}", argument(args, "remote").unwrap_or("origin")))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let mut text = OutcomeText::new(format!("To {}", text_at(result, "remote")?));
        text.block(&texts(result, "result")?.join("\n"));
        text.add_outcome(result);
        Some(text.finish())
    }
}

/// Whether an address is a path, as git decides it: no scheme, and no colon before the first slash.
fn is_path(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, _)| scheme);
    let host = address.split(':').next().filter(|host| host.len() < address.len());
    scheme == Some("file") || (scheme.is_none() && host.is_none_or(|host| host.contains('/')))
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
    fn paths_are_told_from_hosts() {
        for path in ["./remote.git", "/srv/x.git", "file:///srv/x", "../x", "x", "./a:b"] {
            assert!(is_path(path), "{path}");
        }
        for host in ["https://h/x", "ssh://h/x", "git@h:x.git", "h:x", "git://h/x"] {
            assert!(!is_path(host), "{host}");
        }
    }

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
