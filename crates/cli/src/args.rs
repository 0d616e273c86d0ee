//! The command line: how it is parsed into commands and options.

mod rule_text;
mod tools;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use jiff::SignedDuration;
use protocol::View;
use tool_system::Vocabulary;
use tool_system::policy::{ApprovalMode, Decision, Rule};

use crate::config::FlagLayer;
use crate::output;

pub(crate) use rule_text::allow_rule;
pub(crate) use tools::{ToolsArgs, ToolsCommand, TrustArgs};

/// Safe, fast hands on a code base for language models.
#[derive(Debug, Parser)]
#[command(name = "toolkiln", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
}

impl Arguments {
    /// Reads the command line. The process ends here if there is nothing to do but to print help, or
    /// if it cannot be understood.
    pub(crate) fn read() -> Self {
        Self::try_parse().unwrap_or_else(|error| {
            if error.use_stderr() {
                output::to_people(error.render().to_string().trim_end());
                std::process::exit(error.exit_code());
            }
            error.exit()
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk with a model about the project; what `toolkiln` alone does too
    Chat(ChatArgs),
    /// Work on one message to the end, with nobody to ask
    Run(RunArgs),
    /// List, show, export and mend conversations
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Show which tools and models were used, how well and at what cost
    Stats(StatsArgs),
    /// List the tools, and trust those of a project
    Tools(ToolsArgs),
    /// Run one tool: result on standard output, exit code 0 for success, 1 for a tool error
    Call(CallArgs),
    /// Serve the tools over MCP on standard input and output
    Mcp(McpArgs),
    /// Build the index that makes searches of a large project instant
    Index(IndexArgs),
    /// Show what has been changed, newest first
    History(HistoryArgs),
    /// Undo the last change, or the one named
    Undo(UndoArgs),
    /// Redo what the last undo took back
    Redo(RedoArgs),
    /// Show, explain, test and revoke the rules on what may be done
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Show what is configured, and by whom
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show or clear what commands wrote to ignored paths, which later commands see
    Layer(LayerArgs),
    /// Check what works on this machine and in this project
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// Go on with a conversation: its id, the beginning of it, or its title; the last one if empty
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to do, or - to read it from standard input
    pub(crate) prompt: String,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Go on with a conversation: its id, the beginning of it, or its title; the last one if empty
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// Which model answers, and how far it may go.
#[derive(Debug, Default, Args)]
pub(crate) struct ModelArgs {
    /// Who serves the model, such as anthropic, openai, ollama or offline
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// The model, as its provider calls it
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Where requests go, in place of the provider's own address
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// How hard to think: low, medium or high
    #[arg(long, value_name = "LEVEL")]
    effort: Option<String>,
    /// Rounds of tools in one turn, then a pause
    #[arg(long, value_name = "NUMBER")]
    max_turns: Option<u32>,
    /// Dollars that a session may cost, then a pause
    #[arg(long, value_name = "DOLLARS")]
    budget_usd: Option<f64>,
    /// Tokens that a session may use, then a pause
    #[arg(long, value_name = "NUMBER")]
    budget_tokens: Option<u32>,
    /// Time that a turn may take, such as 90s or 10m, then a pause
    #[arg(long, value_name = "TIME", value_parser = whole_seconds)]
    time_limit: Option<u32>,
}

impl ModelArgs {
    /// What these options say about configuration.
    pub(crate) fn layer(&self) -> FlagLayer {
        let mut layer = FlagLayer::default();
        layer.set("--provider", "model.provider", self.provider.as_deref());
        layer.set("--model", "model.name", self.model.as_deref());
        layer.set("--base-url", "model.base_url", self.base_url.as_deref());
        layer.set("--effort", "model.effort", self.effort.as_deref());
        layer.set("--max-turns", "agent.turn_limit", self.max_turns);
        layer.set("--budget-usd", "agent.cost_budget_usd", self.budget_usd);
        layer.set("--budget-tokens", "agent.token_budget", self.budget_tokens);
        layer.set("--time-limit", "agent.wall_time_s", self.time_limit);
        layer
    }
}

/// Reads a duration (`90s`, `10m`, `1h 30m`) or a plain number of seconds.
fn whole_seconds(text: &str) -> Result<u32, String> {
    let seconds = match text.parse::<u32>() {
        Ok(seconds) => Some(seconds),
        Err(_) => {
            let duration = text.parse::<SignedDuration>().ok();
            duration.and_then(|duration| u32::try_from(duration.as_secs()).ok())
        }
    };
    seconds.ok_or_else(|| "a time is like 90s, 10m or 1h 30m".to_owned())
}

/// What may be done without asking.
#[derive(Debug, Default, Args)]
pub(crate) struct ApprovalArgs {
    /// Approve what tools propose without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// What asks where no rule decides: strict, workspace or read-only
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ApprovalMode>,
    /// Allow a tool on paths or a command, such as 'edit_lines:src/**' or 'bash:cargo test*'
    #[arg(long, value_name = "TOOL:WHAT")]
    pub(crate) allow: Vec<String>,
    /// Deny a tool on paths or a command
    #[arg(long, value_name = "TOOL:WHAT")]
    pub(crate) deny: Vec<String>,
    /// Run commands without confining them, as the user you are: only inside a wall of your own
    #[arg(long)]
    pub(crate) unsafe_no_sandbox: bool,
}

impl ApprovalArgs {
    /// The rules of the command line.
    pub(crate) fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        let allowed = self.allow.iter().map(|text| (Decision::Allow, text));
        let denied = self.deny.iter().map(|text| (Decision::Deny, text));
        allowed.chain(denied).map(|(decision, text)| rule_text::rule(decision, text)).collect()
    }
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// How many changes to show
    #[arg(long, default_value = "20")]
    pub(crate) limit: usize,
    /// Print the changes as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The id of the change; the last one if left out
    pub(crate) change: Option<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RedoArgs {
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show the mode and all rules with their ids
    List(PolicyListArgs),
    /// Say what would be decided about a call, by which rule and why
    Explain(PolicyExplainArgs),
    /// Check the rules against their own examples
    Test(PolicyListArgs),
    /// Forget a remembered rule
    Revoke(PolicyRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyListArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyExplainArgs {
    /// The tool, by its name in any vocabulary
    pub(crate) tool: String,
    /// Its arguments as a JSON object, or - to read them from standard input
    #[arg(default_value = "{}")]
    pub(crate) json: String,
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyRevokeArgs {
    /// The id of the rule
    pub(crate) id: String,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

/// Which tools, for whom, on which project.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// The project; the present directory if left out
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Names and spellings of the tools: standard, explorer, workspace or ally
    #[arg(long, value_name = "NAME", default_value = "standard")]
    pub(crate) vocabulary: Vocabulary,
    /// Who acts: planner, actor, or a role from the configuration
    #[arg(long, value_name = "NAME", default_value = "actor")]
    pub(crate) role: String,
}

impl Scope {
    /// The project, wherever it is.
    pub(crate) fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("."))
    }
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The tool, by its name in any vocabulary
    pub(crate) tool: String,
    /// Its arguments as a JSON object, or - to read them from standard input
    #[arg(default_value = "{}")]
    pub(crate) json: String,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// The shape of the result: flat, tagged, block or bare; the vocabulary's own if left out
    #[arg(long)]
    pub(crate) view: Option<View>,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) approval: ApprovalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Only say what there is and what has changed since
    #[arg(long)]
    pub(crate) status: bool,
    /// Also make the table of all symbols, which a server makes when it is first asked for one
    #[arg(long, conflicts_with = "status")]
    pub(crate) symbols: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LayerArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Forget all of it
    #[arg(long)]
    pub(crate) clear: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List conversations, the last one first
    List(SessionsListArgs),
    /// Show a conversation
    Show(SessionArgs),
    /// Copy a conversation, up to an entry if one is named
    Fork(SessionsForkArgs),
    /// Give a conversation a name
    Rename(SessionsRenameArgs),
    /// Remove a conversation for good
    Delete(SessionArgs),
    /// Print a conversation as JSON lines
    Export(SessionArgs),
    /// Make a conversation from JSON lines on standard input
    Import(SessionsImportArgs),
    /// Look for damage
    Check(SessionsCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionsListArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// How many to show
    #[arg(long, default_value = "20")]
    pub(crate) limit: u32,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The conversation: its id, the beginning of it, or its title
    pub(crate) session: String,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsForkArgs {
    #[command(flatten)]
    pub(crate) of: SessionArgs,
    /// The last entry that is copied
    #[arg(long, value_name = "ENTRY")]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsRenameArgs {
    #[command(flatten)]
    pub(crate) of: SessionArgs,
    /// The name
    pub(crate) title: String,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsImportArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SessionsCheckArgs {
    /// The conversation; all of them if left out
    pub(crate) session: Option<String>,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Mend what can be mended and say what was done
    #[arg(long)]
    pub(crate) repair: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Only one conversation
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// What was learned: which tools helped, and which approvals repeat
    #[arg(long)]
    pub(crate) favourites: bool,
    /// Forget what was learned
    #[arg(long, conflicts_with = "favourites")]
    pub(crate) clear_favourites: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every value and where it came from
    Show(ConfigShowArgs),
    /// Show the files that are looked at
    Path(ConfigPathArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigPathArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print the checks as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
