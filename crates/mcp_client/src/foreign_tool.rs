//! A tool of a foreign server as one of the registry.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use protocol::{ErrorCode, ForeignCall, Proposal, ToolError, ToolPermission, visible};
use serde_json::{Value, json};
use tool_system::extensions::agent::find_tools;
use tool_system::{
    Approval, Category, Outcome, Proposed, Tool, ToolArguments, ToolContext, ToolDefinition,
};

use crate::answer;
use crate::definition::ForeignDefinition;
use crate::locked::locked;
use crate::server::ForeignServer;

/// The same for all, because nothing is known about the tool but its description.
const TERMINATION: &str =
    "Use terminate=true when its result is what the user asked for, terminate=false otherwise.";
/// Characters of the arguments in a title.
const TITLE_CHARS: usize = 120;

/// One tool of one server.
pub(crate) struct ForeignTool {
    name: &'static str,
    server: Arc<ForeignServer>,
    /// As it was when the registry was made.
    definition: ForeignDefinition,
}

impl ForeignTool {
    pub(crate) fn new(server: Arc<ForeignServer>, definition: ForeignDefinition) -> Self {
        Self { name: kept_name(&definition.name), server, definition }
    }
}

#[async_trait]
impl Tool for ForeignTool {
    fn definition(&self) -> ToolDefinition {
        let ForeignDefinition { description, input, .. } = &self.definition;
        let server = self.server.name();
        let description = format!("[MCP server {server}] {description}");
        let output = json!({
            "type": "object",
            "properties": {
                "server": {"type": "string"},
                "text": {"type": "string"},
                "structured": {},
            },
            "required": ["server"],
        });
        let config = self.server.config();
        let runs = config.command.is_some().then_some(ToolPermission::ExecuteCommands);
        let reaches = config.reaches_network().then_some(ToolPermission::NetworkAccess);
        let category = Category::External;
        ToolDefinition::described(self.name, category, description, input.clone(), output)
            .permissions(runs.into_iter().chain(reaches))
            .approval(Approval::PerCall)
            .termination(TERMINATION)
            .on_demand()
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let arguments = args.as_map().clone();
        let (server, tool) = (Arc::clone(&self.server), self.definition.tool.clone());
        // What was approved is read from the disk.
        cx.blocking(move |_| {
            let tools = server.tools();
            let now = tools.get(&tool).ok_or_else(|| gone(&server, &tool))?;
            let config = server.config();
            let call = ForeignCall {
                server: server.name().to_string(),
                arguments,
                definition: now.hash,
                network: config.reaches_network(),
                destructive: now.is_destructive,
                unapproved: server.news(now),
                asks: None,
                timeout_ms: config.timeout.saturating_mul(1000),
                tool,
            };
            Ok(Outcome::Proposal(Proposed {
                proposal: Proposal::Foreign(call),
                purpose: None,
                answer: None,
                takes_back: None,
                unseen: false,
            }))
        })
        .await
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let (server, tool) = (self.server.name(), visible(&self.definition.tool));
        let arguments = visible(&Value::Object(args.as_map().clone()).to_string());
        let shown: String = arguments.chars().take(TITLE_CHARS).collect();
        let more = if shown.len() < arguments.len() { "…" } else { "" };
        Some(format!("Call {tool} of {server} {shown}{more}"))
    }

    fn summary(&self, _: &ToolArguments, _: &Value) -> Option<String> {
        Some(format!("Called {} of {}", visible(&self.definition.tool), self.server.name()))
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        answer::text_of(result)
    }
}

/// A name that lives as long as the program, as those of our own tools do. Each is kept once, however many sessions
/// have the tool.
fn kept_name(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = locked(&NAMES);
    if let Some(kept) = names.get(name) {
        return kept;
    }
    let kept = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    kept
}

fn gone(server: &ForeignServer, tool: &str) -> ToolError {
    let (name, tool) = (server.name(), visible(tool));
    let message = format!("the MCP server {name} has no tool {tool} any more");
    ToolError::new(ErrorCode::UnknownTool, message)
        .suggest(format!("Look for another with {}.", find_tools::NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let first = kept_name("server__tool");
        assert_eq!(
            (first, first.as_ptr()),
            (kept_name("server__tool"), kept_name("server__tool").as_ptr())
        );
        assert_ne!(kept_name("server__other"), first);
    }
}
