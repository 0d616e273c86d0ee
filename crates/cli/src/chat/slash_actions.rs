//! What `/commands` do.

use protocol::{ErrorCode, ToolCall};
use serde_json::{Map, Value};
use session::Session;
use tokio_util::sync::CancellationToken;
use tool_system::Category;

use super::Chat;
use crate::args::allow_rule;
use crate::chat::slash_commands::{ChatCommand, help};
use crate::commands::sessions;
use crate::conversation::resumed;
use crate::interrupt::on_interrupt;
use crate::model_choice::{chosen, wanted_by_name};
use crate::output;
use crate::project::Project;
use terminal::{CardPlace, plan};

/// Sessions that are listed at the prompt.
const LISTED: u32 = 20;

impl Chat {
    /// Does a command. Answers whether to go on.
    pub(super) async fn command(&mut self, command: ChatCommand) -> anyhow::Result<bool> {
        match command {
            ChatCommand::Exit => return Ok(false),
            ChatCommand::Help => output::to_user(&help()),
            ChatCommand::Model(None) => self.greet(),
            ChatCommand::Role(None) => self.roles(),
            ChatCommand::Plan => self.plan(),
            ChatCommand::Context => self.context(),
            ChatCommand::Cost => self.cost(),
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
            | ChatCommand::Cost
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
        let entries = self.project.state()?.journal.get()?.entries(usize::MAX)?;
        let own: Vec<_> = entries.iter().filter(|entry| entry.session == id).collect();
        if own.is_empty() {
            self.note("Nothing has been changed in this session.");
        }
        for entry in own {
            let undone = if entry.undone_by.is_some() { "  (undone)" } else { "" };
            output::to_user(&format!("{:>6}  {}{undone}", entry.id.to_string(), entry.summary));
        }
        Ok(())
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
        let used = self.session.context().context_tokens_used();
        let messages = self.session.context().messages().len();
        let window = self.chosen.window().map(|window| format!(" of {}", timeline::count(window)));
        self.note(&format!(
            "{messages} messages, {} tokens{}; instructions {} bytes, {} tools",
            timeline::count(used),
            window.unwrap_or_default(),
            self.session.options().system.len(),
            self.session.executor().offered().len(),
        ));
    }

    fn cost(&self) {
        let usage = self.session.context().usage();
        self.note(&format!(
            "{} in, {} out, {} from cache · {}",
            timeline::count(usage.input + usage.cache_write),
            timeline::count(usage.output),
            timeline::count(usage.cache_read),
            timeline::money(self.session.context().cost_usd()),
        ));
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
