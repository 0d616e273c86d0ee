//! A conversation at the terminal: what it looks like, what is typed, and the loop between both.
//!
//! [`Chat`] is that loop. At a terminal [`live`] draws it and reads keys; elsewhere messages come as lines ([`lines`])
//! and what happens is written as it comes. `toolkiln run` and `toolkiln sessions` show conversations through the other
//! modules too.

pub(crate) mod attachments;
mod ctrl_c;
pub(crate) mod events_json;
pub(crate) mod lines;
pub(crate) mod live;
pub(crate) mod live_parts;
pub(crate) mod outcome;
mod picking;
mod slash_actions;
pub(crate) mod slash_commands;
mod turn;

pub(crate) use timeline::safe_text;
use timeline::safe_text::harmless;
pub(crate) use turn::shown_as_lines;

use std::process::ExitCode;
use std::sync::Arc;

use providers::catalogue::ModelSelection;
use session::{Session, SessionParts};
use terminal::{
    CommandHint, Ink, Notification, OutputStyle, Screen, ScreenOptions, SubmissionKind,
};

use crate::commands::chat::ChatArgs;
use crate::conversation::{resumed, session_parts};
use crate::environment;
use crate::model_choice::{Chosen, chosen};
use crate::output::{Printer, Stream};
use crate::project::{Lifetime, Project, project_root};
use crate::user_commands::UserCommands;
use live::{Feeds, Live, LiveOptions, Standing, Wanted};
use live_parts::mention_source::MentionSource;
use slash_commands::{ChatCommand, Typed, offered, parse};

/// What was typed before, in the state directory.
const HISTORY: &str = "history";
/// What a first start without a model leads to.
const NO_MODEL: &str = "No model is set up, so the built-in guide answers; it understands simple \
                        requests (`help`). `toolkiln setup` finds and tests a model.";

/// Where the conversation is shown.
pub(crate) type ChatScreen = Screen<Printer, Printer>;

/// A conversation, the place where it is shown, and everything to begin another one.
pub(crate) struct Chat {
    project: Project,
    chosen: Chosen,
    session: Session,
    screen: ChatScreen,
    notes: OutputStyle,
    /// Rules that were offered already.
    offered_rules: Vec<String>,
    /// The drawn terminal; absent where lines are read and written.
    live: Option<Live>,
}

impl Chat {
    /// An exit code if the user was to pick a conversation and wants none.
    pub(crate) async fn begin(args: &ChatArgs) -> anyhow::Result<Result<Self, ExitCode>> {
        let root = project_root::checked(&args.scope)?;
        let project = Project::open_with(&root, &args.model.layer())?;
        let caller = project.caller(&args.scope, &args.approval)?;
        let tools = project.tools(&args.scope, &args.approval, Lifetime::Stays)?;
        let chosen =
            chosen(&project.config, &project.environment, &ModelSelection::default()).await?;
        let is_live = live::is_possible();
        // A drawn terminal answers questions itself.
        let asks_itself = is_live && !args.approval.yes;
        let approver = (!asks_itself).then_some(caller.approver);
        let mentions = is_live.then(|| Arc::new(MentionSource::new(&tools)));
        let parts = session_parts(&project, tools, &chosen, caller.role, approver).await?;
        let notes = Stream::Err.style();
        let options = ScreenOptions {
            words: Stream::Out.style(),
            notes,
            thoughts: !is_live,
            messages: is_live,
            // A drawn terminal takes a question away once it is answered.
            questions: !is_live && !args.approval.yes,
            context_window: chosen.window(),
        };
        let mut screen =
            Screen::new(Printer::inked(Stream::Out), Printer::inked(Stream::Err), options);
        let mut live = None;
        if is_live {
            let history = project.state()?.path().join(HISTORY);
            let notify = Notification::new(project.config.notify, environment::variable);
            let mut begun = Live::begin(LiveOptions { history, notify })?;
            begun.input.set_commands(command_hints(&UserCommands::load(&project)));
            begun.standing.mode = match args.approval.yes {
                true => "yes to all".to_owned(),
                false => project.config.mode.as_str().to_owned(),
            };
            mentions.into_iter().for_each(|mentions| begun.set_mentions(mentions));
            live = Some(begun);
        }
        let begun = Self::session(args, parts, &mut screen, live.as_mut()).await?;
        let Some(session) = begun else { return Ok(Err(exit_code(live.as_ref()))) };
        let offered_rules = Vec::new();
        let mut chat = Self { project, chosen, session, screen, notes, offered_rules, live };
        chat.greet();
        if chat.chosen.window().is_none() && chat.project.config.model.provider.is_none() {
            chat.note(NO_MODEL);
        }
        if args.resume.is_some() {
            chat.show_past().await?;
        }
        Ok(Ok(chat))
    }

    async fn session(
        args: &ChatArgs,
        parts: SessionParts,
        screen: &mut ChatScreen,
        live: Option<&mut Live>,
    ) -> anyhow::Result<Option<Session>> {
        match (&args.resume, live) {
            (None, _) => Ok(Some(Session::begin(parts).await?)),
            (Some(text), Some(live)) if args.picks && text.is_empty() => {
                let mut feeds = Feeds::none();
                let picked = picking::session(live, screen, &mut feeds, &parts, None).await?;
                match picked {
                    Some(id) => Ok(Some(resumed(parts, id.as_str()).await?)),
                    None => Ok(None),
                }
            }
            (Some(text), _) => Ok(Some(resumed(parts, text).await?)),
        }
    }

    /// Answers `first`, then whatever the user says until the user leaves.
    pub(crate) async fn converse(&mut self, first: Option<&str>) -> anyhow::Result<ExitCode> {
        if let Some(first) = first.filter(|text| !text.trim().is_empty()) {
            if self.live.is_none() {
                self.note(&format!("{}{first}", lines::PROMPT));
            }
            if !self.say(first.to_owned()).await? {
                return Ok(self.exit_code());
            }
        }
        loop {
            let goes_on = match self.live.is_some() {
                true => self.live_wanted().await?,
                false => match lines::read_message()? {
                    None => false,
                    Some(text) => self.entered(&text).await?,
                },
            };
            if !goes_on {
                return Ok(self.exit_code());
            }
        }
    }

    /// Waits for the user, and does what is wanted. Answers whether to go on.
    async fn live_wanted(&mut self) -> anyhow::Result<bool> {
        let mut feeds = Feeds::of(&self.session);
        self.tell_standing();
        let Some(live) = &mut self.live else { return Ok(false) };
        let wanted = live.next(&mut self.screen, &mut feeds).await?;
        // What follows has feeds of its own; in these it would pile up.
        drop(feeds);
        match wanted {
            Wanted::Leave => Ok(false),
            Wanted::Rewind => self.command(ChatCommand::Rewind).await,
            Wanted::Said { kind: SubmissionKind::Shell, text } => {
                self.echo(&format!("!{text}"))?;
                self.command(ChatCommand::Shell(text)).await
            }
            Wanted::Said { kind: SubmissionKind::Command, text } => {
                self.echo(&text)?;
                self.entered(&text).await
            }
            Wanted::Said { text, .. } => self.entered(&text).await,
        }
    }

    /// Shows a command where it was typed. Messages are shown when they go in.
    fn echo(&mut self, command: &str) -> anyhow::Result<()> {
        Ok(self.screen.echo(command)?)
    }

    fn exit_code(&self) -> ExitCode {
        exit_code(self.live.as_ref())
    }

    /// Releases the terminal and the session, so that another process may go on with it.
    pub(crate) async fn close(mut self) {
        let _ = self.screen.finish();
        self.live = None;
        self.session.close().await;
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
            Typed::Message(message) => self.say(message).await,
        }
    }

    fn greet(&mut self) {
        let settings = self.session.context().settings();
        let (model, role) = settings.map_or(("", ""), |s| (s.model.as_str(), s.role.name()));
        let greeting = format!("toolkiln · {model} ({}) · {role} · /help", self.chosen.why);
        let files = self.session.parts().prompts.instruction_files();
        let files: Vec<_> = files.map(|file| (file.path.as_str(), file.remark())).collect();
        let named = files.iter().map(|(path, remark)| (*path, remark.as_deref()));
        let instructions = timeline::instructions(named);
        self.note(&greeting);
        instructions.into_iter().for_each(|line| self.note(&line));
    }

    /// Has the status line tell what holds between turns.
    fn tell_standing(&mut self) {
        let Some(live) = &mut self.live else { return };
        let settings = self.session.context().settings();
        let mode = std::mem::take(&mut live.standing.mode);
        live.standing = Standing {
            model: settings.map(|settings| settings.model.clone()).unwrap_or_default(),
            mode,
            window: self.chosen.window(),
            jobs: self.session.executor().running_jobs(),
        };
    }

    /// A dim remark for the user.
    fn note(&mut self, text: &str) {
        // A terminal that is gone shows nothing; the conversation notices it elsewhere.
        let _ = self.screen.remark(text, Ink::DIM);
    }

    /// A remark for the user that matters.
    fn tell(&mut self, text: &str) {
        let _ = self.screen.remark(text, Ink::PLAIN);
    }

    /// Shows lines that are laid out already.
    fn show(&mut self, text: &str) {
        let _ = self.screen.report(&harmless(text));
    }

    /// Shows what was said before.
    async fn show_past(&mut self) -> anyhow::Result<()> {
        let loaded = self.session.parts().store.load(self.session.id()).await?;
        let now = *self.screen.options_mut();
        *self.screen.options_mut() = ScreenOptions { messages: true, questions: false, ..now };
        for entry in &loaded.entries {
            self.screen.show(entry)?;
        }
        self.screen.finish()?;
        *self.screen.options_mut() = now;
        Ok(())
    }
}

fn exit_code(live: Option<&Live>) -> ExitCode {
    live.and_then(Live::exit_code).map_or(ExitCode::SUCCESS, ExitCode::from)
}

fn command_hints(user: &UserCommands) -> Vec<CommandHint> {
    let hint = |command: slash_commands::OfferedCommand| CommandHint {
        arguments: command.argument_usage().trim_start().to_owned(),
        name: command.name,
        about: command.about,
    };
    offered(user).into_iter().map(hint).collect()
}
