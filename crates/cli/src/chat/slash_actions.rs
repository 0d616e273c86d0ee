//! What `/commands` do.

use jiff::Timestamp;
use protocol::{ActivityData, ErrorCode, ToolCall};
use serde_json::{Map, Value};
use session::Session;
use tokio_util::sync::CancellationToken;
use tool_system::Category;

use super::Chat;
use crate::args::allow_rule;
use crate::chat::slash_commands::{ChatCommand, help, unknown};
use crate::commands::sessions;
use crate::conversation::resumed;
use crate::diff_view::of_diff;
use crate::interrupt::on_interrupt;
use crate::model_choice::{chosen, wanted_by_name};
use crate::output::{self, Stream};
use crate::project::Project;
use crate::reports::context_use::ContextUse;
use crate::reports::costs::costs;
use crate::reports::job_list::job_list;
use crate::reports::model_offers::model_offers;
use crate::reports::session_diff::SessionDiff;
use crate::reports::shell_line::run_shell_line;
use crate::user_commands::UserCommands;
use terminal::{CardPlace, plan};

/// Sessions that are listed at the prompt.
const LISTED: u32 = 20;
/// Characters of a session's id that are enough to name it, from its random end.
const SHORT_ID: usize = 6;

/// What `/init` asks for.
const INIT_REQUEST: &str = "Write AGENTS.md in the root of this project: instructions for coding agents that \
    work here. Look at the project first: its README, manifests, build and test configuration, continuous \
    integration, and a few typical source and test files. Then say, in at most 60 lines, what an agent cannot \
    guess: what the project is, how it is laid out, the exact commands that build, test (also a single test), \
    lint and format it, conventions of the code that differ from what is usual, and what must not be touched. \
    Check commands against the files that define them, and leave out what you could not find. If AGENTS.md \
    or a similar file exists already, improve AGENTS.md and keep what is right in it.";

impl Chat {
    /// Does a command. Answers whether to go on.
    pub(super) async fn command(&mut self, command: ChatCommand) -> anyhow::Result<bool> {
        match command {
            ChatCommand::Exit => return Ok(false),
            ChatCommand::Help => show(&help(&UserCommands::load(&self.project))),
            ChatCommand::Model(None) => show(&model_offers(&self.chosen).await),
            ChatCommand::Role(None) => self.roles(),
            ChatCommand::Plan => self.plan(),
            ChatCommand::Context => self.context(),
            ChatCommand::Tools => self.tools(),
            ChatCommand::Clear => output::clear_screen(),
            // A command that fails does not end the conversation.
            other => self.act(other).await.unwrap_or_else(|error| {
                output::to_user(&format!("{error:#}"));
            }),
        }
        Ok(true)
    }

    /// Does a command that may fail.
    async fn act(&mut self, command: ChatCommand) -> anyhow::Result<()> {
        match command {
            ChatCommand::Undo(change) => self.take_back("undo", change).await,
            ChatCommand::Redo => self.take_back("redo", None).await,
            ChatCommand::Diff => self.changes(),
            ChatCommand::Cost => self.cost().await,
            ChatCommand::Init => self.say(INIT_REQUEST.to_owned()).await,
            ChatCommand::Shell(line) => self.shell(&line).await,
            ChatCommand::Other { name, arguments } => self.user_command(&name, &arguments).await,
            ChatCommand::Jobs => {
                show(&job_list(&self.session, Timestamp::now().as_millisecond()).await?);
                Ok(())
            }
            ChatCommand::Model(Some(name)) => self.change_model(&name).await,
            ChatCommand::Role(Some(name)) => self.change_role(&name).await,
            ChatCommand::Resume(id) => self.resume(&id.unwrap_or_default()).await,
            ChatCommand::Sessions => sessions::list(&*self.session.parts().store, LISTED).await,
            ChatCommand::New => self.new_session().await,
            ChatCommand::Fork => self.fork().await,
            ChatCommand::Rename(title) => self.rename(&title).await,
            ChatCommand::Continue => self.go_on().await,
            ChatCommand::Compact => self.compact().await,
            ChatCommand::Allow(rule) => self.allow(&rule),
            ChatCommand::Exit
            | ChatCommand::Help
            | ChatCommand::Model(None)
            | ChatCommand::Role(None)
            | ChatCommand::Plan
            | ChatCommand::Context
            | ChatCommand::Tools
            | ChatCommand::Clear => Ok(()),
        }
    }

    /// Undoes or redoes through the very tool, so that the user sees what it does and is asked.
    async fn take_back(&mut self, tool: &str, change: Option<String>) -> anyhow::Result<()> {
        let arguments: Map<String, Value> =
            change.map(|id| ("change_id".to_owned(), Value::from(id))).into_iter().collect();
        let call = ToolCall::new(format!("chat_{tool}"), tool, arguments);
        self.was_asked = true;
        let cancel = CancellationToken::new();
        let _interrupt = on_interrupt(cancel.clone());
        match self.session.executor().execute_tool(&call, &cancel).await {
            Ok(value) => {
                let paths = value.get("paths").map(ToString::to_string).unwrap_or_default();
                self.note(&format!("{tool}: done {paths}"));
                self.session
                    .tell(&format!("The user has used {tool}; files changed: {paths}"))
                    .await?;
            }
            Err(error) if error.code == ErrorCode::Rejected => self.note("Nothing was changed."),
            Err(error) => output::to_user(&error.full_message()),
        }
        Ok(())
    }

    fn changes(&self) -> anyhow::Result<()> {
        let id = self.session.id().to_string();
        let diff = SessionDiff::of(self.project.state()?.journal.get()?, &id)?;
        output::painted(self.notes, diff.text().lines().map(|line| (of_diff(line), line)));
        Ok(())
    }

    /// Runs a command of the user, who may be asked about it.
    async fn shell(&mut self, line: &str) -> anyhow::Result<()> {
        let mut activity = self.session.executor().activity().subscribe_all();
        let cancel = CancellationToken::new();
        let _interrupt = on_interrupt(cancel.clone());
        let shown = {
            let run = run_shell_line(&mut self.session, line, &cancel);
            tokio::pin!(run);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = activity.next() => {
                        self.was_asked |= matches!(event.data, ActivityData::ApprovalRequested(_));
                    }
                    shown = &mut run => break shown?,
                }
            }
        };
        show(&shown);
        Ok(())
    }

    /// Sends the message of a command that the user has written.
    async fn user_command(&mut self, name: &str, arguments: &str) -> anyhow::Result<()> {
        let commands = UserCommands::load(&self.project);
        if let Some(command) = commands.named(name) {
            let message = command.message(arguments);
            self.note(&message);
            return self.say(message).await;
        }
        let offered = self.session.executor().offered();
        let tools: Vec<String> = offered.iter().map(|tool| tool.name().to_owned()).collect();
        let told = commands.refusal(name).unwrap_or_else(|| unknown(name, &tools, &commands));
        self.note(&told);
        Ok(())
    }

    /// How to go on with this session later, if something was said in it.
    pub(crate) async fn resume_hint(&self) -> Option<String> {
        if self.session.context().messages().is_empty() {
            return None;
        }
        let id = self.session.id().as_str();
        let short = id.get(id.len().saturating_sub(SHORT_ID)..)?;
        let found = self.session.parts().store.find(short).await;
        let is_enough = found.is_ok_and(|found| found == *self.session.id());
        Some(format!("Go on later: toolkiln resume {}", if is_enough { short } else { id }))
    }

    async fn change_model(&mut self, name: &str) -> anyhow::Result<()> {
        let Project { config, environment, .. } = &self.project;
        let chosen = chosen(config, environment, &wanted_by_name(name)).await?;
        self.session.set_model(chosen.model.clone()).await?;
        self.screen.options_mut().context_window = chosen.window();
        self.chosen = chosen;
        self.greet();
        Ok(())
    }

    fn roles(&self) {
        let roles = self.project.config.all_roles();
        let present = self.session.parts().role.name();
        for role in &roles {
            let mark = if role.name() == present { "*" } else { " " };
            output::to_user(&format!("{mark} {role}: {}", role.permissions()));
        }
    }

    async fn change_role(&mut self, name: &str) -> anyhow::Result<()> {
        let role = self.project.config.role(name)?;
        self.session.set_role(role).await?;
        self.greet();
        Ok(())
    }

    async fn resume(&mut self, text: &str) -> anyhow::Result<()> {
        let parts = self.session.parts().clone();
        self.session = resumed(parts, text).await?;
        self.show_past().await?;
        self.greet();
        Ok(())
    }

    async fn new_session(&mut self) -> anyhow::Result<()> {
        self.session = Session::begin(self.session.parts().clone()).await?;
        self.greet();
        Ok(())
    }

    async fn fork(&mut self) -> anyhow::Result<()> {
        if !self.session.is_stored().await {
            self.note("Nothing has been said yet, so there is nothing to fork.");
            return Ok(());
        }
        let id = self.session.parts().store.fork(self.session.id(), None).await?;
        let parts = self.session.parts().clone();
        self.session = resumed(parts, &id.to_string()).await?;
        self.note(&format!("This is now session {id}."));
        Ok(())
    }

    async fn rename(&mut self, title: &str) -> anyhow::Result<()> {
        self.session.rename(title).await?;
        self.note(&format!("This session is now called {title}."));
        Ok(())
    }

    fn plan(&self) {
        let steps = self.session.context().plan();
        if steps.is_empty() {
            self.note("There is no plan.");
        } else {
            output::drawn(&plan(steps, CardPlace { style: self.notes, depth: 0 }));
        }
    }

    async fn compact(&mut self) -> anyhow::Result<()> {
        let cancel = CancellationToken::new();
        let _interrupt = on_interrupt(cancel.clone());
        use context_manager::CompactOutcome::{Cancelled, Compacted, NothingToLeaveOut};
        match self.session.compact(&cancel).await? {
            Compacted(compaction) => self.note(&timeline::compacted(&compaction)),
            NothingToLeaveOut => self.note("Nothing can be left out."),
            Cancelled => self.note("Nothing has changed."),
        }
        Ok(())
    }

    fn context(&self) {
        let used = ContextUse::of(&self.session);
        show(&used.text(self.chosen.window(), Stream::Err.width()));
    }

    async fn cost(&self) -> anyhow::Result<()> {
        let log = self.session.parts().store.load(self.session.id()).await?;
        show(&costs(&log.entries, Stream::Err.width()));
        Ok(())
    }

    fn tools(&self) {
        let offered = self.session.executor().offered();
        for category in Category::ALL {
            let group = offered.iter().filter(|tool| tool.definition().category == category);
            let names: Vec<&str> = group.map(|tool| tool.name()).collect();
            if !names.is_empty() {
                output::to_user(&format!("{category}: {}", names.join(", ")));
            }
        }
    }

    fn allow(&self, text: &str) -> anyhow::Result<()> {
        let rule = allow_rule(text)?;
        let executor = self.session.executor();
        executor.remember(rule).map_err(|error| anyhow::anyhow!(error.full_message()))?;
        self.note(&format!("{text} is allowed from now on; `toolkiln policy list` shows it."));
        Ok(())
    }
}

/// Shows lines of text to the user.
fn show(text: &str) {
    output::to_user(text.trim_end());
}
