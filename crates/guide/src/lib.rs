//! The built-in provider for when no model is configured: a guide that follows rules, says so, and
//! drives the very same loop of tool calls, approvals included.
//!
//! It understands every tool as a command and a list of requests in plain English, which is
//! [`examples`]; `forms.rs` has their grammar. What it does not understand it answers with that
//! list and with how to configure a model.
//!
//! Commands:
//!
//! - A line that begins with `/` is always one: `/grep pattern=TODO path=src hidden`,
//!   `/grep {"pattern": "TODO"}`, `/grep --path src TODO`. Quotes work as in a shell. Types come
//!   from the tool's schema; a list is written `a,b`, as JSON, or by naming it again. Words without
//!   a name go to the required parameters in their order, then to `path`.
//! - Without the `/` the first word has to be exactly a tool's name and the rest has to read as
//!   its arguments: `grep TODO`, `glob **/*.rs`, `read src/main.rs`, `undo`. With words of a
//!   sentence in it, it is a sentence: `read package.json and tell me the project name`.
//! - `help` lists requests, and the tools by what they need; `help grep` explains one.
//!
//! An answer is a pure function of the request. What was asked is the last thing the person said;
//! what has been done about it are the calls and results since. A plan (`plans.rs`) is run from its
//! beginning each time, with those results as answers, up to the first call that has none.

mod command;
mod comment;
mod forms;
mod help;
mod intent;
mod manifest;
mod plans;
mod results;
mod schema;
mod script;
mod sentence;
mod toolbox;
mod words;

use async_trait::async_trait;
use context_manager::{
    ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, StopReason, Usage,
};
use futures_util::stream;
use protocol::{Content, ErrorCode, Speaker, ToolCall, ToolResult};
use serde_json::{Map, Value};

pub use help::examples;

use command::Command;
use results::describe;
use script::{Script, Step, Stop, Told, failure};
use toolbox::{Action, Toolbox};

/// The name of the provider, and of its one model.
pub const NAME: &str = "offline";

/// What the ids of calls begin with.
const ID_PREFIX: &str = "offline_";

/// What texts begin with that a conversation tells a model of its own accord.
const AUTOMATIC: &str = "[Automatic note]";

/// A provider that needs no model. See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Guide;

#[async_trait]
impl ModelProvider for Guide {
    fn name(&self) -> &str {
        NAME
    }

    fn takes_tokens(&self) -> bool {
        false
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        Ok(Box::pin(stream::iter(answer(request).into_iter().map(Ok))))
    }
}

/// The whole answer to a request.
pub fn answer(request: &ModelRequest) -> Vec<ModelEvent> {
    let conversation = Conversation::of(request);
    let tools = Toolbox::new(&request.tools);
    let mut script = Script::new(tools, &conversation.steps);
    let told = respond(&conversation.said, tools, &mut script);
    let (text, call) = match told {
        Ok(text) | Err(Stop::Answer(text)) => (text, None),
        Err(Stop::Call { say, name, arguments }) => {
            (say, Some(ToolCall::new(conversation.next_id(), name, arguments)))
        }
    };
    let text = match (conversation.introduced, text.as_str()) {
        (true, _) => text,
        (false, "") => format!("{}\n", help::NOTICE),
        (false, _) => format!("{}\n\n{text}", help::NOTICE),
    };
    let mut events: Vec<ModelEvent> = pieces(&text).map(ModelEvent::Text).collect();
    events.push(ModelEvent::Usage(Usage::default()));
    let stop = match call {
        Some(call) => {
            let (id, name) = (call.id.clone(), call.name.clone());
            events.extend([ModelEvent::ToolCallStarted { id, name }, ModelEvent::ToolCall(call)]);
            StopReason::ToolUse
        }
        None => StopReason::EndOfTurn,
    };
    events.push(ModelEvent::Done(stop));
    events
}

/// What is done about something that was said.
fn respond(said: &str, tools: Toolbox<'_>, script: &mut Script<'_>) -> Told {
    match command::parse(said, tools) {
        Some(Command::Run(tool, arguments)) => return run_command(script, tool, arguments),
        Some(Command::Help(None)) => return Ok(help::overview(tools)),
        Some(Command::Help(Some(name))) => {
            let about = tools.named(&name).map(help::about);
            return Ok(about.unwrap_or_else(|| help::overview(tools)));
        }
        Some(Command::Problem(problem)) => return Ok(problem),
        None => {}
    }
    match sentence::understand(said) {
        Some(intent) => plans::run(&intent, script),
        None => Ok(command::foreign_name(said, tools).unwrap_or_else(help::not_understood)),
    }
}

/// Runs a tool as it was asked for. A file that has to be read before is read.
fn run_command(
    script: &mut Script<'_>,
    tool: &context_manager::ToolSpec,
    arguments: Map<String, Value>,
) -> Told {
    let path = ["path", "file_path"].iter().find_map(|name| arguments.get(*name).cloned());
    match (script.call("", tool, arguments.clone())?, path) {
        (Ok(result), _) => Ok(describe(result)),
        (Err(error), Some(path)) if error.code == ErrorCode::NotRead => {
            script.ask("The file has to be read first.", Action::Read, &[("path", path)])?;
            let again = script.call("Trying again.", tool, arguments)?;
            again.map(describe).map_err(|error| Stop::Answer(failure(error)))
        }
        (Err(error), _) => Err(Stop::Answer(failure(error))),
    }
}

/// Words with the blanks after them, so that a screen has something to show as it comes.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive([' ', '\n']).map(str::to_owned)
}

/// What a request says about where the conversation stands.
struct Conversation<'a> {
    /// What the person said last.
    said: String,
    /// The calls since.
    steps: Vec<Step<'a>>,
    /// Whether this provider has said what it is.
    introduced: bool,
    /// The highest number of a call so far.
    calls: usize,
}

impl<'a> Conversation<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        let mut all = Self { said: String::new(), steps: Vec::new(), introduced: false, calls: 0 };
        for message in &request.messages {
            let mut is_heard = false;
            for content in &message.content {
                match content {
                    Content::Text { text } if message.role == Speaker::User => {
                        // Further texts of a message are files that came with it.
                        is_heard = is_heard || all.hear(text);
                    }
                    Content::Text { text } if message.role == Speaker::Assistant => {
                        all.introduced |= text.starts_with(help::NOTICE);
                    }
                    Content::ToolUse(call) => all.note_call(call),
                    Content::ToolResult { tool_use_id, result, .. } => {
                        all.note_result(tool_use_id, result);
                    }
                    Content::Text { .. } | Content::Image(_) | Content::Opaque { .. } => {}
                }
            }
        }
        all
    }

    /// Something is said in the person's place. Answers whether it was a request.
    fn hear(&mut self, text: &str) -> bool {
        let is_request = !text.trim().is_empty() && !text.starts_with(AUTOMATIC);
        if is_request {
            self.said = text.to_owned();
            self.steps.clear();
        }
        is_request
    }

    fn note_call(&mut self, call: &'a ToolCall) {
        let number = call.id.strip_prefix(ID_PREFIX).and_then(|number| number.parse().ok());
        self.calls = self.calls.saturating_add(1).max(number.unwrap_or(0));
        self.steps.push(Step { call, result: None });
    }

    fn note_result(&mut self, id: &str, result: &'a ToolResult) {
        if let Some(step) = self.steps.iter_mut().rev().find(|step| step.call.id == id) {
            step.result = Some(result);
        }
    }

    fn next_id(&self) -> String {
        format!("{ID_PREFIX}{}", self.calls.saturating_add(1))
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
