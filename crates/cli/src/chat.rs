//! A conversation at the terminal: what it looks like, what is typed, and the loop between both.
//!
//! [`Chat`] is that loop. The other modules are pure or write to what they are given, except [`input`],
//! which reads keys; `toolkiln run` and `toolkiln sessions` show conversations through them too.

pub(crate) mod attachments;
pub(crate) mod events_json;
pub(crate) mod input;
#[cfg_attr(not(test), expect(dead_code, reason = "the live chat uses it"))]
pub(crate) mod live_parts;
pub(crate) mod outcome;
mod slash_actions;
pub(crate) mod slash_commands;
mod turn;

pub(crate) use timeline::safe_text;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;

use protocol::{AgentRole, ToolCall, visible};
use providers::catalogue::ModelSelection;
use serde_json::{Map, Value, json};
use session::Session;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tool_system::{ExecutorOptions, ProjectTools, ToolExecutor, Vocabulary};

use crate::commands::chat::ChatArgs;
use crate::conversation::{resumed, session_parts};
use crate::model_choice::{Chosen, chosen};
use crate::output::{self, Printer, Stream};
use crate::project::{Lifetime, Project, project_root};
use input::{CtrlC, Entered, FindFiles, Input, InputOptions, Moment, Reaction};
use slash_commands::{Typed, parse};
use terminal::{Ink, OutputStyle, Screen, ScreenOptions};

/// What was typed before, in the state directory.
const HISTORY: &str = "history";
/// Files that are offered after an `@`.
const OFFERED_FILES: usize = 40;
const PROMPT: &str = "> ";
/// What a first start without a model leads to.
const NO_MODEL: &str = "No model is set up, so the built-in guide answers; it understands simple \
                        requests (`help`). `toolkiln setup` finds and tests a model.";

/// A conversation, the place where it is shown, and everything to begin another one.
pub(crate) struct Chat {
    project: Project,
    chosen: Chosen,
    session: Session,
    screen: Screen<Printer, Printer>,
    notes: OutputStyle,
    /// Rules that were offered already.
    offered_rules: Vec<String>,
    ctrl_c: CtrlC,
    /// Whether the user was asked something since the last message.
    was_asked: bool,
}

impl Chat {
    pub(crate) async fn begin(args: &ChatArgs) -> anyhow::Result<Self> {
        let root = project_root::checked(&args.scope)?;
        let project = Project::open_with(&root, &args.model.layer())?;
        let tools = project.tools(&args.scope, &args.approval, Lifetime::Stays)?;
        let chosen =
            chosen(&project.config, &project.environment, &ModelSelection::default()).await?;
        let approver = Arc::clone(&tools.options.approver);
        let parts = session_parts(&project, tools, &chosen, approver).await?;
        let session = match &args.resume {
            None => Session::begin(parts).await?,
            Some(text) => resumed(parts, text).await?,
        };
        let notes = Stream::Err.style();
        let options = ScreenOptions {
            words: Stream::Out.style(),
            notes,
            thoughts: true,
            messages: false,
            questions: !args.approval.yes,
            context_window: chosen.window(),
        };
        let screen = Screen::new(Printer::inked(Stream::Out), Printer::inked(Stream::Err), options);
        let mut chat = Self {
            project,
            chosen,
            session,
            screen,
            notes,
            offered_rules: Vec::new(),
            ctrl_c: CtrlC::default(),
            was_asked: false,
        };
        chat.greet();
        if chat.chosen.window().is_none() && chat.project.config.model.provider.is_none() {
            chat.note(NO_MODEL);
        }
        if args.resume.is_some() {
            chat.show_past().await?;
        }
        Ok(chat)
    }

    /// Answers `first`, then reads and answers until the user leaves.
    pub(crate) fn converse(
        &mut self,
        runtime: &Runtime,
        first: Option<&str>,
    ) -> anyhow::Result<ExitCode> {
        if let Some(first) = first.filter(|text| !text.trim().is_empty()) {
            self.note(&format!("{PROMPT}{first}"));
            runtime.block_on(self.say(first.to_owned()))?;
        }
        let mut input = self.input()?;
        loop {
            if std::mem::take(&mut self.was_asked) {
                // What the line editor had read ahead may have been meant as an answer.
                input = self.input()?;
            }
            let prompt = if io::stdin().is_terminal() { PROMPT } else { "" };
            match input.read(prompt)? {
                Entered::End => return Ok(ExitCode::SUCCESS),
                Entered::Interrupt { at_empty_prompt } => {
                    let empty = Moment::AtEmptyPrompt;
                    let moment = if at_empty_prompt { empty } else { Moment::WhileTyping };
                    match self.ctrl_c.press(moment) {
                        Reaction::Leave => return Ok(ExitCode::SUCCESS),
                        Reaction::SayAgainToLeave => self.note("Ctrl-C again leaves."),
                        Reaction::ClearLine | Reaction::CancelTurn => {}
                    }
                }
                Entered::Text(text) => {
                    self.ctrl_c.forget();
                    if !runtime.block_on(self.entered(&text))? {
                        return Ok(ExitCode::SUCCESS);
                    }
                }
            }
        }
    }

    /// Releases the session, so that another process may go on with it.
    pub(crate) async fn close(self) {
        self.session.close().await;
    }

    fn input(&self) -> anyhow::Result<Input> {
        Ok(Input::open(InputOptions {
            history: Some(self.project.state()?.path().join(HISTORY)),
            colour: !self.notes.is_pipe,
            find_files: file_finder(&self.session.parts().tools),
        })?)
    }

    /// Does what was typed. Answers whether to go on.
    async fn entered(&mut self, text: &str) -> anyhow::Result<bool> {
        let offered = self.session.executor().offered();
        let tools: Vec<String> = offered.iter().map(|tool| tool.name().to_owned()).collect();
        match parse(text, &tools) {
            Typed::Nothing => Ok(true),
            Typed::Mistake(advice) => {
                self.note(&advice);
                Ok(true)
            }
            Typed::Command(command) => self.command(command).await,
            Typed::Message(message) => {
                self.say(message).await?;
                Ok(true)
            }
        }
    }

    fn greet(&self) {
        let settings = self.session.context().settings();
        let (model, role) = settings.map_or(("", ""), |s| (s.model.as_str(), s.role.name()));
        self.note(&format!("toolkiln · {model} ({}) · {role} · /help", self.chosen.why));
        let files = self.session.parts().prompts.instruction_files();
        let files: Vec<_> = files.map(|file| (file.path.as_str(), file.remark())).collect();
        let named = files.iter().map(|(path, remark)| (*path, remark.as_deref()));
        if let Some(line) = timeline::instructions(named) {
            self.note(&line);
        }
    }

    /// A dim line for the user.
    fn note(&self, text: &str) {
        output::painted(self.notes, [(Ink::DIM, text)]);
    }

    /// Shows what was said before.
    async fn show_past(&mut self) -> anyhow::Result<()> {
        let loaded = self.session.parts().store.load(self.session.id()).await?;
        let now = *self.screen.options_mut();
        *self.screen.options_mut() = ScreenOptions { messages: true, questions: false, ..now };
        for entry in &loaded.entries {
            self.screen.show(entry)?;
        }
        *self.screen.options_mut() = now;
        Ok(())
    }
}

/// Finds files for completion, as the `glob` tool finds them.
fn file_finder(tools: &ProjectTools) -> FindFiles {
    let executor = Arc::new(tools.executor(ExecutorOptions {
        vocabulary: Vocabulary::Standard,
        role: AgentRole::Planner,
        ..tools.options.clone()
    }));
    Box::new(move |typed| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let found = runtime.ok().and_then(|runtime| runtime.block_on(globbed(&executor, typed)));
        found.unwrap_or_default()
    })
}

async fn globbed(executor: &ToolExecutor, typed: &str) -> Option<Vec<String>> {
    let literal: String = typed.chars().flat_map(escaped).collect();
    let arguments = json!({"pattern": format!("**/*{literal}*"), "max_results": OFFERED_FILES});
    let arguments: Map<String, Value> = arguments.as_object()?.clone();
    let call = ToolCall::new("completion", "glob", arguments);
    let found = executor.execute_tool(&call, &CancellationToken::new()).await.ok()?;
    let files = found.get("files")?.as_array()?;
    // The line editor would print what the terminal obeys.
    let files = files.iter().filter_map(Value::as_str).filter(|file| visible(file) == **file);
    Some(files.map(str::to_owned).collect())
}

/// A character that stands for itself in a glob.
fn escaped(character: char) -> impl Iterator<Item = char> {
    let special = matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '!' | '\\');
    special.then_some('\\').into_iter().chain([character])
}
