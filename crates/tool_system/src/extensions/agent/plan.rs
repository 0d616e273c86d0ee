//! `plan`: the list of steps that the user sees.

use protocol::{PlanStep, StepStatus};
use tool_system::outcome_text::{OutcomeText, in_one_line, text_at};
use tool_system::prelude::*;
use tool_system::search_notes::counted;

/// A longer plan is not followed.
const MAX_STEPS: usize = 50;

/// Show the user your plan, and again as steps are done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanArgs {
    steps: Vec<StepArgs>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepArgs {
    text: String,
    #[serde(default)]
    status: Status,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[default]
    Pending,
    InProgress,
    Done,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PlanOutput {
    steps: usize,
    done: usize,
    /// The first step that is not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug)]
struct PlanTool;

#[async_trait]
impl Tool for PlanTool {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new::<PlanArgs, PlanOutput>("plan", Category::Agent)
            .on_demand()
            .termination("Use terminate=false: the plan is there to be carried out.")
            .prompt(
                "{\"steps\": [{\"text\": \"Find the callers\", \"status\": \"done\"}, \
                 {\"text\": \"Change the signature\", \"status\": \"in_progress\"}, {\"text\": \"Run the tests\"}]}",
            )
            .example(json!({"steps": [{"text": "Find the callers", "status": "in_progress"}]}))
    }

    async fn execute(&self, args: ToolArguments, cx: ToolContext) -> Result<Outcome, ToolError> {
        let PlanArgs { steps } = args.parse()?;
        if steps.len() > MAX_STEPS {
            let message = format!("a plan has at most {MAX_STEPS} steps, not {}", steps.len());
            return Err(ToolError::new(ErrorCode::InvalidArguments, message)
                .suggest("Put what belongs together into one step."));
        }
        let steps: Vec<PlanStep> = steps.into_iter().map(PlanStep::from).collect();
        let is_done = |step: &&PlanStep| step.status == StepStatus::Done;
        let done = steps.iter().filter(is_done).count();
        let next = steps.iter().find(|step| !is_done(step)).map(|step| step.text.clone());
        let answer = PlanOutput { steps: steps.len(), done, next };
        cx.agent_host()?.plan_changed(steps).await?;
        Outcome::answer(answer)
    }

    fn title(&self, args: &ToolArguments) -> Option<String> {
        let steps = args.as_map().get("steps")?.as_array()?.len() as u64;
        Some(format!("Plan {}", counted(steps, "step", "steps")))
    }

    fn summary(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let (steps, done) = (result["steps"].as_u64()?, result["done"].as_u64()?);
        Some(match text_at(result, "next") {
            Some(next) => format!("Plan: {done} of {steps} done, next: {}", in_one_line(next)),
            None => format!("Plan: all {steps} done"),
        })
    }

    fn text(&self, _: &ToolArguments, result: &Value) -> Option<String> {
        let (steps, done) = (result["steps"].as_u64()?, result["done"].as_u64()?);
        // The model has just sent the steps.
        let mut text = OutcomeText::new(format!("{done} of {steps} done"));
        text.add_outcome(result);
        Some(text.finish())
    }
}

impl From<StepArgs> for PlanStep {
    fn from(step: StepArgs) -> Self {
        let status = match step.status {
            Status::Pending => StepStatus::Pending,
            Status::InProgress => StepStatus::InProgress,
            Status::Done => StepStatus::Done,
        };
        Self { text: step.text, status }
    }
}

auto_register_tool!(PlanTool);
