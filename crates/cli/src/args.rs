//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use protocol::View;
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
    /// Check what works on this machine and in this project
    Doctor(DoctorArgs),
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
    /// Approve what the tool proposes without asking
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// Approve what tools propose without asking: for hosts that ask their user themselves
    #[arg(long)]
    pub(crate) yes: bool,
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
