//! `toolkiln tools`: what there is.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use providers::Api;
use serde_json::Value;
use session::tool_spec;
use tool_system::{Approval, Category, ListedTool};

use crate::args::ProjectArgs;
use crate::project::Project;
use crate::{custom_tools, output};

/// Width of the column with names.
const NAME_WIDTH: usize = 16;

const EXAMPLES: &str = "\
Examples:
  toolkiln tools
  toolkiln tools --vocabulary explorer --format anthropic
  toolkiln tools trust .toolkiln/tools/deploy.toml";

const TRUST_EXAMPLES: &str = "\
Examples:
  toolkiln tools trust .toolkiln/tools/deploy.toml";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct ToolsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
    #[command(flatten)]
    pub(crate) scope: ProjectArgs,
    /// How to show them
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: ToolsFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Let a tool or a command that the project defines be used, exactly as its file is now
    Trust(TrustArgs),
}

#[derive(Debug, Args)]
#[command(after_help = TRUST_EXAMPLES)]
pub(crate) struct TrustArgs {
    /// The file, such as .toolkiln/tools/NAME.toml or .toolkiln/commands/NAME.md
    pub(crate) file: String,
    /// The project
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ToolsFormat {
    /// A table to read
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
    fn entry(self) -> Option<fn(&ListedTool) -> Value> {
        match self {
            ToolsFormat::Table => None,
            ToolsFormat::Json => Some(ListedTool::to_json),
            ToolsFormat::Anthropic => Some(|tool| Api::Anthropic.tool(&tool_spec(tool))),
            ToolsFormat::Openai => Some(|tool| Api::OpenAiChat.tool(&tool_spec(tool))),
            ToolsFormat::Mcp => Some(mcp::listed_tool),
        }
    }
}

pub(crate) fn run(args: &ToolsArgs) -> anyhow::Result<ExitCode> {
    if let Some(ToolsCommand::Trust(args)) = &args.command {
        return custom_tools::trust(args);
    }
    let project = Project::open(args.scope.root())?;
    let role = project.config.role(&args.scope.role)?;
    let tools = project.registry().list_for(args.scope.vocabulary, &role);
    match args.format.entry() {
        Some(entry) => {
            let rendered: Vec<Value> = tools.iter().map(|tool| entry(tool)).collect();
            output::json(&Value::Array(rendered))?;
        }
        None => {
            for category in Category::ALL {
                let group = tools.iter().filter(|tool| tool.definition().category == category);
                let lines: Vec<String> = group.map(|tool| line(tool)).collect();
                if !lines.is_empty() {
                    output::result(&format!("{category}\n{}\n", lines.join("\n")))?;
                }
            }
            for note in custom_tools::not_listed(&project) {
                output::result(&note)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn line(tool: &ListedTool) -> String {
    let definition = tool.definition();
    let asks = match definition.approval {
        Approval::Never => "",
        Approval::Always => " Asks first.",
        Approval::PerCall => " May ask first.",
    };
    let first_sentence =
        tool.description().split_inclusive(". ").next().unwrap_or_default().trim_end();
    format!(
        "  {:NAME_WIDTH$} {first_sentence}{asks} [{}]",
        tool.name(),
        definition.required_permissions
    )
}
