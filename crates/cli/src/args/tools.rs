//! The command line of `toolkiln tools`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;
use tool_system::{ListedTool, Rendering};

use super::Scope;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// How to show them
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: ToolsFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Let a tool that the project defines be used, exactly as its file is now
    Trust(TrustArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The file, such as .toolkiln/tools/NAME.toml
    pub(crate) file: String,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
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
    /// What makes an entry of a list in JSON; absent for the table.
    pub(crate) fn entry(self) -> Option<fn(&ListedTool) -> Value> {
        match self {
            ToolsFormat::Table => None,
            ToolsFormat::Json => Some(|tool| Rendering::Json.render(tool)),
            ToolsFormat::Anthropic => Some(|tool| Rendering::Anthropic.render(tool)),
            ToolsFormat::Openai => Some(|tool| Rendering::OpenAi.render(tool)),
            ToolsFormat::Mcp => Some(mcp::listed_tool),
        }
    }
}
