//! `toolkiln tools`: what there is.

use std::process::ExitCode;

use serde_json::Value;
use tool_system::{Approval, Category, ListedTool};

use crate::args::{ToolsArgs, ToolsCommand};
use crate::project::Project;
use crate::{custom_tools, output};

/// Width of the column with names.
const NAME_WIDTH: usize = 16;

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
