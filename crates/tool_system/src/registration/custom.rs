//! Tools of the user's own: a file names a command and its parameters.
//!
//! ```toml
//! name = "check_links"
//! description = "Check the links in the documentation."
//! command = ["lychee", "--offline", "{directory}"]
//! timeout = 60
//!
//! [parameters.directory]
//! type = "string"
//! description = "Where to look"
//! ```
//!
//! The caller that reads such a file has to make sure that the user trusts exactly this text.

mod file;
mod template;

use async_trait::async_trait;
use protocol::{CommandSpec, ToolError, ToolResult};
use serde_json::{Value, json};

pub use file::Mistake;

use crate::outcome_text::{Printed, changed_words, in_one_line, text_at};
use crate::{Approval, Outcome, Proposed, Tool, ToolArguments, ToolContext, ToolDefinition};
use file::{CustomApproval, CustomDefinition};
use template::Template;

/// The same for all, because nothing is known about the tool but its description.
const TERMINATION: &str =
    "Use terminate=true when its result is what the user asked for, terminate=false otherwise.";

/// A tool that a file defines.
pub struct CustomTool {
    name: &'static str,
    definition: CustomDefinition,
}

impl CustomTool {
    /// Reads the text of a file. Every mistake in it is told.
    pub fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        let definition = file::read(text)?;
        // Names of tools live as long as the program, which reads these files when it starts and
        // not again.
        let name = Box::leak(definition.name.clone().into_boxed_str());
        Ok(Self { name, definition })
    }

    /// The name of the tool.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What would be run, for the user who decides whether to trust the file.
    pub fn shown_command(&self) -> String {
        match &self.definition.template {
            Template::Argv(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
                words.join(" ")
            }
            Template::Shell(script) => format!("bash -c {script:?}"),
        }
    }

    /// Whether the file says that the tool runs without approval.
    pub fn needs_no_approval(&self) -> bool {
        self.definition.approval == CustomApproval::Never
    }

    /// Whether it may reach the network.
    pub fn reaches_network(&self) -> bool {
        self.definition.network
    }

    fn command(&self, args: &ToolArguments) -> Result<CommandSpec, ToolError> {
        let CustomDefinition { template, timeout, network, working_dir, .. } = &self.definition;
        let (argv, env) = template.fill(args.as_map())?;
        Ok(CommandSpec {
            argv,
            env,
            working_dir: working_dir.clone(),
            timeout_ms: timeout.saturating_mul(1000),
            network: *network,
            ..CommandSpec::default()
        })
    }
}

#[async_trait]
impl Tool for CustomTool {
    fn definition(&self) -> ToolDefinition {
        let CustomDefinition { description, parameters, category, permissions, .. } =
            &self.definition;
        let approval = match self.definition.approval {
            CustomApproval::Always => Approval::Always,
            CustomApproval::Never => Approval::PerCall,
        };
        let output = json!({
            "type": "object",
            "properties": {
                "ok": {"type": "boolean"},
                "stdout": {"type": "string"},
                "stderr": {"type": "string"},
                "exit_code": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "timed_out": {"type": "boolean"},
            },
            "required": ["ok", "stdout", "exit_code"],
        });
        let example = self.definition.example.clone();
        let definition = ToolDefinition::described(
            self.name,
            *category,
            description.clone(),
            parameters.clone(),
            output,
        )
        .permissions(permissions.iter())
        .approval(approval)
        .termination(TERMINATION)
        .example(example);
        if self.definition.on_demand { definition.on_demand() } else { definition }
    }

    async fn execute(&self, args: ToolArguments, _: ToolContext) -> Result<Outcome, ToolError> {
        Ok(Outcome::Proposal(Proposed::command(self.command(&args)?)))
    }

    fn report(&self, _: &ToolArguments, ran: Value) -> ToolResult {
        // The executor cuts what is too long, and keeps all of it behind a handle.
        let text = |key: &str| ran[key].as_str().unwrap_or_default();
        let mut answer = json!({
            "ok": ran["exit_code"].as_i64() == Some(0),
            "stdout": text("stdout"),
            "exit_code": ran["exit_code"],
        });
        let stderr = text("stderr");
        if !stderr.is_empty() {
            answer["stderr"] = stderr.into();
        }
        if ran["timed_out"].as_bool() == Some(true) {
            answer["timed_out"] = true.into();
        }
        if let Some(changes) = ran.get("changes") {
            answer["changes"] = changes.clone();
        }
        Ok(answer)
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let given: Vec<String> = args
            .as_map()
            .values()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        Some(format!("Run {} {}", self.name, in_one_line(&given.join(" "))).trim_end().to_owned())
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let changed = changed_words(result);
        Some(match (result["ok"].as_bool()?, result["exit_code"].as_i64()) {
            (true, _) => format!("Ran {}{changed}", self.name),
            (false, Some(code)) => format!("Ran {}, exit {code}{changed}", self.name),
            (false, None) => format!("Ran {}, it was ended{changed}", self.name),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let is_late = result["timed_out"] == true;
        let printed = Printed {
            outputs: [result["stdout"].as_str()?, text_at(result, "stderr").unwrap_or_default()],
            exit_code: result["exit_code"].as_i64(),
            message: is_late.then_some("its time was over"),
        };
        Some(printed.text(result).finish())
    }
}

#[cfg(test)]
mod tests;
