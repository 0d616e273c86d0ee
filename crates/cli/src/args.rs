//! The command line: how it is parsed into commands, and the options that several commands share.
//! The options of one command are in the file of that command.

mod rule_text;
mod sessions;
mod short_form;

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use jiff::SignedDuration;
use tool_system::Vocabulary;
use tool_system::policy::{ApprovalMode, Decision, Rule};

use crate::commands::acp::AcpArgs;
use crate::commands::call::CallArgs;
use crate::commands::chat::ChatArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::config::{self, ConfigCommand};
use crate::commands::doctor::DoctorArgs;
use crate::commands::history::HistoryArgs;
use crate::commands::index::IndexArgs;
use crate::commands::layer::LayerArgs;
use crate::commands::man::ManArgs;
use crate::commands::mcp::McpArgs;
use crate::commands::policy::{self, PolicyCommand};
use crate::commands::redo::RedoArgs;
use crate::commands::resume::ResumeArgs;
use crate::commands::run::RunArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::setup::SetupArgs;
use crate::commands::stats::StatsArgs;
use crate::commands::tools::ToolsArgs;
use crate::commands::undo::UndoArgs;
use crate::commands::web::WebArgs;
use crate::config::FlagLayer;
use crate::line_questions;
use crate::output::{self, Stream};

pub(crate) use rule_text::allow_rule;
pub(crate) use sessions::{ExportFormat, SessionsCheckArgs, SessionsCommand, SessionsCopyArgs};

const EXAMPLES: &str = "\
Examples:
  toolkiln setup                                  # choose a model; without one a built-in guide answers
  toolkiln                                        # talk about the project in this directory
  toolkiln \"What does this project do?\"           # the same, with a first message
  toolkiln -c                                     # go on with the last conversation
  toolkiln -p \"Find all TODO comments\"            # answer and leave, as `toolkiln run` does
  toolkiln mcp --root ~/project                   # serve the tools to another agent
  toolkiln doctor                                 # what works on this machine

`toolkiln help COMMAND` shows the options and examples of a command.";

/// Safe, fast hands on a code base for language models.
#[derive(Debug, Parser)]
#[command(name = "toolkiln", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    chat: ChatArgs,
    /// Answer PROMPT and leave, as `toolkiln run` does; a PROMPT of one word needs this option
    #[arg(short, long, requires = "prompt")]
    print: bool,
    /// Go on with the last conversation, as `toolkiln resume` does
    #[arg(short, long = "continue", conflicts_with = "resume")]
    continue_last: bool,
}

impl Arguments {
    /// Reads the command line. The process ends here if there is nothing to do but to print help, or
    /// if it cannot be understood.
    pub(crate) fn read() -> Command {
        let is_terminal = line_questions::is_attended() && Stream::Out.is_terminal();
        short_form::command_of(std::env::args_os().collect(), is_terminal).unwrap_or_else(|error| {
            if error.use_stderr() {
                output::to_user(error.render().to_string().trim_end());
                std::process::exit(error.exit_code());
            }
            error.exit()
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Choose the model that answers, and test the connection to it
    Setup(SetupArgs),
    /// Talk with a model about the project; `toolkiln` alone does the same
    Chat(ChatArgs),
    /// Go on with an earlier conversation, the last one if none is named
    Resume(ResumeArgs),
    /// Work on one message to the end without asking
    Run(RunArgs),
    /// List, show, copy, export and repair conversations
    #[command(subcommand, after_help = sessions::EXAMPLES)]
    Sessions(SessionsCommand),
    /// Show which tools and models were used, how well and at what cost
    Stats(StatsArgs),
    /// List the tools, and trust those of a project
    Tools(ToolsArgs),
    /// Run one tool: result on standard output, exit code 0 for success, 1 for a tool error
    Call(CallArgs),
    /// Serve the tools over MCP on standard input and output
    Mcp(McpArgs),
    /// Serve conversations to an editor over ACP, on standard input and output
    Acp(AcpArgs),
    /// Serve conversations over HTTP, to browsers and programs of this machine
    Web(WebArgs),
    /// Serve the projects of a team from one or many replicas, with PostgreSQL
    Serve(ServeArgs),
    /// Build the index that makes searches of a large project instant
    Index(IndexArgs),
    /// Show what has been changed, newest first
    History(HistoryArgs),
    /// Undo the last change, or the one named
    Undo(UndoArgs),
    /// Redo what the last undo took back
    Redo(RedoArgs),
    /// Show, explain, test and revoke the rules on what may be done
    #[command(subcommand, after_help = policy::EXAMPLES)]
    Policy(PolicyCommand),
    /// Show the configuration, and where each value comes from
    #[command(subcommand, after_help = config::EXAMPLES)]
    Config(ConfigCommand),
    /// Show or clear what commands wrote to ignored paths, which later commands see
    Layer(LayerArgs),
    /// Check what works on this machine and in this project
    Doctor(DoctorArgs),
    /// Print a script that completes commands and options in a shell
    Completions(CompletionsArgs),
    /// Print the manual page
    Man(ManArgs),
}

/// Which model answers, and how far it may go.
#[derive(Debug, Default, Args)]
pub(crate) struct ModelArgs {
    /// The provider of the model, such as anthropic, openai, ollama or offline
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
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ApprovalArgs {
    /// Approve what tools propose without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// What needs approval where no rule decides: strict, workspace or read-only
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ApprovalMode>,
    /// Allow a tool on paths or a command, such as 'edit_lines:src/**' or 'bash:cargo test*'
    #[arg(long, value_name = "TOOL:WHAT")]
    pub(crate) allow: Vec<String>,
    /// Deny a tool on paths or a command
    #[arg(long, value_name = "TOOL:WHAT")]
    pub(crate) deny: Vec<String>,
    /// Run commands without confining them, with your own rights: only inside a container or VM
    #[arg(long)]
    pub(crate) unsafe_no_sandbox: bool,
}

impl ApprovalArgs {
    pub(crate) fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        let allowed = self.allow.iter().map(|text| (Decision::Allow, text));
        let denied = self.deny.iter().map(|text| (Decision::Deny, text));
        allowed.chain(denied).map(|(decision, text)| rule_text::rule(decision, text)).collect()
    }
}

/// The project, and the tools as a role sees them.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProjectArgs {
    /// The project; the current directory if left out
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Names and spellings of the tools: standard, explorer, workspace or ally
    #[arg(long, value_name = "NAME", default_value = "standard")]
    pub(crate) vocabulary: Vocabulary,
    /// The role: planner, actor, or one from the configuration
    #[arg(long, value_name = "NAME", default_value = "actor")]
    pub(crate) role: String,
}

impl ProjectArgs {
    pub(crate) fn root(&self) -> &Path {
        self.root.as_deref().unwrap_or(Path::new("."))
    }
}

#[cfg(test)]
mod tests;
