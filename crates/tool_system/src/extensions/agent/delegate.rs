//! `delegate`: a task for a sub-agent.

use tool_system::outcome_text::{OutcomeText, argument, in_one_line, text_at, texts};
use tool_system::prelude::*;
use tool_system::search_notes::counted;
use tool_system::{DELEGATE_ROLE, Delegation};

/// Have a sub-agent do a task and report. It sees nothing of this conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DelegateArgs {
    /// Everything it must know
    task: String,
    /// planner (reads only, default) or actor
    role: Option<String>,
    max_turns: Option<Whole<1>>,
    max_tokens: Option<Whole<1>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DelegateOutput {
    /// What the sub-agent reports.
    report: String,
    /// How its work ended.
    outcome: String,
    /// The limit that it reached, or why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    turns: u32,
    tokens: u64,
    /// Files that were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<String>,
}

#[derive(Debug)]
struct DelegateTool;

#[async_trait]
impl Tool for DelegateTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<DelegateArgs, DelegateOutput>("delegate", Category::Agent)
            .on_demand()
            .termination("Use terminate=false: tell the user yourself what became of the task.")
            .prompt(
                "{\"task\": \"Find every place that parses dates and list file, line and format.\"}",
            )
            .example(json!({"task": "List every place that parses dates, with file and line."}))
            .face(Face::new(Vocabulary::Ally, "agent"))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let args: DelegateArgs = args.parse()?;
        if args.task.trim().is_empty() {
            return Err(ToolError::new(ErrorCode::InvalidArguments, "`task` is empty")
                .suggest("Say what to do, with all that the sub-agent must know."));
        }
        let task = Delegation {
            call_id: cx.call_id().to_owned(),
            task: args.task,
            role: args.role.unwrap_or_else(|| DELEGATE_ROLE.to_owned()),
            max_turns: args.max_turns.map(|turns| u32::try_from(turns.0).unwrap_or(u32::MAX)),
            max_tokens: args.max_tokens.map(|tokens| tokens.0),
        };
        let report = cx.agent_host()?.delegate(task, cx.cancellation()).await?;
        Ok(Outcome::Answer(report))
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        Some(format!("Delegate: {}", in_one_line(argument(args, "task")?)))
    }

    fn summary(&self, args: &ToolArguments, result: &Value) -> Option<String> {
        let task = in_one_line(argument(args, "task")?);
        let turns = counted(result["turns"].as_u64().unwrap_or(0), "turn", "turns");
        Some(match text_at(result, "outcome")? {
            "done" => format!("Delegated, done in {turns}: {task}"),
            other => format!("Delegated, {other} after {turns}: {task}"),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let mut text = OutcomeText::new(result["report"].as_str()?);
        let outcome = text_at(result, "outcome")?;
        match text_at(result, "reason") {
            Some(reason) => text.note(format!("{outcome}: {reason}")),
            None if outcome != "done" => text.note(outcome),
            None => {}
        }
        let tokens = counted(result["tokens"].as_u64()?, "token", "tokens");
        let turns = counted(result["turns"].as_u64()?, "turn", "turns");
        text.note(format!("{turns}, {tokens}"));
        let changed = texts(result, "changed").unwrap_or_default();
        if !changed.is_empty() {
            text.note(format!("changed {}", changed.join(", ")));
        }
        text.add_outcome(result);
        Some(text.finish())
    }
}

auto_register_tool!(DelegateTool);
