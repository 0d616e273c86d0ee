//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use protocol::View;
use tool_system::policy::{ApprovalMode, Decision, PathPattern, Rule, RuleSource, ToolPattern};
use tool_system::{Rendering, Vocabulary};

/// Safe, fast hands on a code base for language models.
#[derive(Debug, Parser)]
#[command(name = "toolkiln", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the tools
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
    /// Check what works on this machine and in this project
    Doctor(DoctorArgs),
}

/// What may be done without asking.
#[derive(Debug, Default, Args)]
pub(crate) struct Gate {
    /// Approve what tools propose without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// What asks where no rule decides: strict, workspace or read-only
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ApprovalMode>,
    /// Allow a tool on paths, such as 'edit_lines:src/**'
    #[arg(long, value_name = "TOOL:PATHS")]
    pub(crate) allow: Vec<String>,
    /// Deny a tool on paths
    #[arg(long, value_name = "TOOL:PATHS")]
    pub(crate) deny: Vec<String>,
}

impl Gate {
    /// The rules of the command line.
    pub(crate) fn rules(&self) -> anyhow::Result<Vec<Rule>> {
        let allowed = self.allow.iter().map(|text| (Decision::Allow, text));
        let denied = self.deny.iter().map(|text| (Decision::Deny, text));
        allowed.chain(denied).map(|(decision, text)| rule(decision, text)).collect()
    }
}

fn rule(decision: Decision, text: &str) -> anyhow::Result<Rule> {
    let (tool, paths) = text.split_once(':').unwrap_or((text, ""));
    let patterns = paths.split(',').filter(|path| !path.is_empty());
    Ok(Rule {
        tool: ToolPattern::new(tool)?,
        paths: patterns.map(PathPattern::new).collect::<Result<_, _>>()?,
        ..Rule::new(decision, RuleSource::CommandLine)
    })
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
    pub(crate) gate: Gate,
}

#[derive(Debug, Args)]
pub(crate) struct RedoArgs {
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) gate: Gate,
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
    pub(crate) gate: Gate,
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
    pub(crate) gate: Gate,
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
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Names and spellings of the tools: standard, explorer, workspace or ally
    #[arg(long, value_name = "NAME", default_value = "standard")]
    pub(crate) vocabulary: Vocabulary,
    /// Who acts: planner, actor, or a role from the configuration
    #[arg(long, value_name = "NAME", default_value = "actor")]
    pub(crate) role: String,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// How to show them
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: ToolsFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ToolsFormat {
    /// For people
    Table,
    /// Every field of every definition
    Json,
    /// Anthropic's `tools` array
    Anthropic,
    /// OpenAI's `tools` array
    Openai,
    /// MCP's `tools` array
    Mcp,
}

impl ToolsFormat {
    pub(crate) fn rendering(self) -> Option<Rendering> {
        match self {
            ToolsFormat::Table => None,
            ToolsFormat::Json => Some(Rendering::Json),
            ToolsFormat::Anthropic => Some(Rendering::Anthropic),
            ToolsFormat::Openai => Some(Rendering::OpenAi),
            ToolsFormat::Mcp => Some(Rendering::Mcp),
        }
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
    pub(crate) gate: Gate,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) scope: Scope,
    #[command(flatten)]
    pub(crate) gate: Gate,
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
pub(crate) struct DoctorArgs {
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Print the checks as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
