//! What `/commands` do.

use std::sync::Arc;

use jiff::Timestamp;
use protocol::{AgentRole, Rewind};
use session::{RewindFiles, Session, TakeBack};
use tool_system::{Category, History};

use super::live::Feeds;
use super::safe_text::{harmless, one_line};
use super::{Chat, picking};
use store::{ListFilter, SessionInfo, short_ids};

use crate::args::allow_rule;
use crate::chat::slash_commands::{ChatCommand, INIT_REQUEST, help, unknown};
use crate::commands::sessions;
use crate::conversation::resumed;
use crate::model_choice::{chosen, wanted_by_name};
use crate::output::{self, Stream};
use crate::project::Project;
use crate::reports::context_use::ContextUse;
use crate::reports::costs::costs_of;
use crate::reports::job_list::job_list;
use crate::reports::model_offers::model_offers;
use crate::reports::shell_line::run_shell_line;
use crate::user_commands::UserCommands;
use terminal::{CardPlace, DiffView, plan};

/// Sessions that are listed at the prompt.
const LISTED: u32 = 20;

impl Chat {
    /// Does a command. Answers whether to go on.
    pub(super) async fn command(&mut self, command: ChatCommand) -> anyhow::Result<bool> {
        match command {
            ChatCommand::Exit => return Ok(false),
            ChatCommand::Help => {
                self.show(&help(&UserCommands::load(&self.project), Stream::Err.style()));
            }
            ChatCommand::Role(None) => self.roles(),
            ChatCommand::Plan => self.plan(),
            ChatCommand::Context => self.context(),
            ChatCommand::Tools => self.tools(),
            ChatCommand::Clear => match &mut self.live {
                Some(live) => live.erase()?,
                None => output::clear_screen(),
            },
            // A command that fails does not end the conversation.
            other => match self.act(other).await {
                Ok(goes_on) => return Ok(goes_on),
                Err(error) => self.tell(&format!("{error:#}")),
            },
        }
        Ok(true)
    }

    /// Does a command that may fail. Answers whether to go on.
    async fn act(&mut self, command: ChatCommand) -> anyhow::Result<bool> {
        match command {
            ChatCommand::Undo(change) => return self.take_back(TakeBack::Undo(change)).await,
            ChatCommand::Redo => return self.take_back(TakeBack::Redo).await,
            ChatCommand::Init => return self.say(INIT_REQUEST.to_owned()).await,
            ChatCommand::Shell(line) => return self.shell(&line).await,
            ChatCommand::Other { name, arguments } => {
                return self.user_command(&name, &arguments).await;
            }
            ChatCommand::Continue => return self.go_on().await,
            ChatCommand::Compact => return self.compact().await,
            ChatCommand::Model(None) => return self.models().await,
            ChatCommand::Diff => self.changes()?,
            ChatCommand::Cost => self.cost().await?,
            ChatCommand::Jobs => {
                self.show(&job_list(&self.session, Timestamp::now().as_millisecond()).await?);
            }
            ChatCommand::Model(Some(name)) => self.change_model(&name).await?,
            ChatCommand::Role(Some(name)) => self.change_role(&name).await?,
            ChatCommand::Resume(id) => self.resume(id).await?,
            ChatCommand::Rewind => self.rewind().await?,
            ChatCommand::Sessions => {
                let listed = sessions::listed(&*self.session.parts().store, LISTED).await?;
                self.show(&listed);
            }
            ChatCommand::New => self.new_session().await?,
            ChatCommand::Fork => self.fork().await?,
            ChatCommand::Rename(title) => self.rename(&title).await?,
            ChatCommand::Allow(rule) => self.allow(&rule).await?,
            ChatCommand::Exit
            | ChatCommand::Help
            | ChatCommand::Role(None)
            | ChatCommand::Plan
            | ChatCommand::Context
            | ChatCommand::Tools
            | ChatCommand::Clear => {}
        }
        Ok(true)
    }

    async fn take_back(&mut self, what: TakeBack) -> anyhow::Result<bool> {
        let words = if what == TakeBack::Redo { "redoing" } else { "undoing" };
        let done = self.work(words, async |session, cancel| session.take_back(what, cancel).await);
        match done.await? {
            None => return Ok(false),
            Some(done) => match done? {
                Ok(done) => self.note(&done),
                Err(error) => self.tell(&error.full_message()),
            },
        }
        Ok(true)
    }

    fn changes(&mut self) -> anyhow::Result<()> {
        let id = self.session.id().to_string();
        let history = History::of(Arc::clone(&self.project.state()?.journal));
        let diff =
            history.session_diff(&id).map_err(|error| anyhow::anyhow!(error.full_message()))?;
        if self.notes.is_pipe || diff.files.is_empty() {
            self.show(&diff.text());
            return Ok(());
        }
        let view = DiffView::new(&diff.files, self.notes);
        let notes = diff.notes.iter().map(|note| harmless(note));
        let lines: Vec<String> = notes.chain(view.lines(0..view.len())).collect();
        Ok(self.screen.report(&lines.join("\n"))?)
    }

    /// Runs a command of the user, who may be asked about it.
    async fn shell(&mut self, line: &str) -> anyhow::Result<bool> {
        let words = format!("running {line}");
        let ran =
            self.work(&words, async |session, cancel| run_shell_line(session, line, cancel).await);
        let Some((shown, told)) = ran.await? else { return Ok(false) };
        self.show(&shown);
        if let Some(told) = told {
            self.session.tell(&told).await?;
        }
        Ok(true)
    }

    /// Sends the message of a command that the user has written.
    async fn user_command(&mut self, name: &str, arguments: &str) -> anyhow::Result<bool> {
        let commands = UserCommands::load(&self.project);
        if let Some(command) = commands.named(name) {
            let message = command.message(arguments);
            if self.live.is_none() {
                self.note(&message);
            }
            return self.say(message).await;
        }
        let offered = self.session.executor().offered();
        let tools: Vec<String> = offered.iter().map(|tool| tool.name().to_owned()).collect();
        let told = commands.refusal(name).unwrap_or_else(|| unknown(name, &tools, &commands));
        self.note(&told);
        Ok(true)
    }

    /// How to go on with this session later, if something was said in it.
    pub(crate) async fn resume_hint(&self) -> Option<String> {
        if self.session.context().messages().is_empty() {
            return None;
        }
        let sessions = self.session.parts().store.list(&ListFilter::default()).await.ok()?;
        let short = short_ids(sessions.iter().map(|session| &session.id));
        let id = short.get(self.session.id()).copied().unwrap_or(self.session.id().as_str());
        Some(format!("Go on later: toolkiln resume {id}"))
    }

    /// Lists the models of the provider; at a drawn terminal one can be picked.
    async fn models(&mut self) -> anyhow::Result<bool> {
        let chosen = self.chosen.clone();
        let asked = self.work("asking for the models", async |_, _| model_offers(&chosen).await);
        let Some(offers) = asked.await? else { return Ok(false) };
        let Some(live) = self.live.as_mut().filter(|_| offers.models.len() > 1) else {
            self.show(&offers.text());
            return Ok(true);
        };
        let rows = offers.models.iter().map(|model| vec![one_line(model)]).collect();
        let present = offers.models.iter().position(|model| *model == offers.present);
        let mut feeds = Feeds::of(&self.session);
        let picked =
            picking::one_of(live, &mut self.screen, &mut feeds, &offers.heading, rows, present);
        if let Some(row) = picked.await? {
            self.change_model(&offers.models[row]).await?;
        }
        Ok(true)
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

    fn roles(&mut self) {
        let roles = self.project.config.all_roles();
        let present = self.session.parts().role.name();
        let line = |role: &AgentRole| {
            let mark = if role.name() == present { "*" } else { " " };
            format!("{mark} {role}: {}", role.permissions())
        };
        let lines: Vec<String> = roles.iter().map(line).collect();
        self.show(&lines.join("\n"));
    }

    async fn change_role(&mut self, name: &str) -> anyhow::Result<()> {
        let role = self.project.config.role(name)?;
        self.session.set_role(role).await?;
        self.greet();
        Ok(())
    }

    async fn resume(&mut self, wanted: Option<String>) -> anyhow::Result<()> {
        let parts = self.session.parts().clone();
        let text = match (wanted, &mut self.live) {
            (Some(text), _) => text,
            (None, None) => {
                let sessions = parts.store.list(&ListFilter::default()).await?;
                let is_free = |info: &SessionInfo| info.held_by.is_none();
                anyhow::ensure!(sessions.iter().any(is_free), "there are no other sessions");
                String::new()
            }
            (None, Some(live)) => {
                let mut feeds = Feeds::of(&self.session);
                let open = Some(self.session.id());
                let screen = &mut self.screen;
                match picking::session(live, screen, &mut feeds, &parts, open).await? {
                    Some(id) => id.to_string(),
                    None => return Ok(()),
                }
            }
        };
        self.session = resumed(parts, &text).await?;
        self.show_past().await?;
        self.greet();
        Ok(())
    }

    /// Goes back to before an earlier message, which can then be said again or otherwise.
    async fn rewind(&mut self) -> anyhow::Result<()> {
        let points = self.session.rewind_points().await?;
        if points.is_empty() {
            self.note("Nothing has been said yet.");
            return Ok(());
        }
        let Some(live) = &mut self.live else {
            self.note("/rewind needs a terminal to pick a message at.");
            return Ok(());
        };
        let mut feeds = Feeds::of(&self.session);
        let screen = &mut self.screen;
        let Some(at) = picking::message(live, screen, &mut feeds, &points).await? else {
            return Ok(());
        };
        let rows = vec![
            vec!["conversation and files".to_owned(), "changes since then are undone".to_owned()],
            vec!["conversation only".to_owned(), "files stay as they are".to_owned()],
        ];
        let picked = picking::one_of(live, screen, &mut feeds, "Go back with", rows, None);
        let files = match picked.await? {
            Some(0) => RewindFiles::Restore,
            Some(_) => RewindFiles::Keep,
            None => return Ok(()),
        };
        let (point, rewind) = self.session.rewind(points[at].sequence, files).await?;
        self.note(&rewound(&rewind));
        if let Some(live) = &mut self.live {
            live.input.set_text(&picking::first_text(&point.content));
        }
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

    fn plan(&mut self) {
        let steps = self.session.context().plan();
        if steps.is_empty() {
            self.note("There is no plan.");
        } else {
            let drawn = plan(steps, CardPlace { style: self.notes, depth: 0 });
            let _ = self.screen.report(&drawn);
        }
    }

    async fn compact(&mut self) -> anyhow::Result<bool> {
        use context_manager::CompactOutcome::{Cancelled, Compacted, NothingToLeaveOut};
        let compacted =
            self.work("making room", async |session, cancel| session.compact(cancel).await).await?;
        let Some(compacted) = compacted else { return Ok(false) };
        match compacted? {
            Compacted(compaction) => self.note(&timeline::compacted(&compaction)),
            NothingToLeaveOut => self.note("Nothing can be left out."),
            Cancelled => self.note("Nothing has changed."),
        }
        Ok(true)
    }

    fn context(&mut self) {
        let used = ContextUse::of(&self.session);
        self.show(&used.text(self.chosen.window(), Stream::Err.width()));
    }

    async fn cost(&mut self) -> anyhow::Result<()> {
        let costs = costs_of(&self.session, Stream::Err.width()).await?;
        self.show(&costs);
        Ok(())
    }

    fn tools(&mut self) {
        let offered = self.session.executor().offered();
        for category in Category::ALL {
            let group = offered.iter().filter(|tool| tool.definition().category == category);
            let names: Vec<&str> = group.map(|tool| tool.name()).collect();
            if !names.is_empty() {
                self.tell(&format!("{category}: {}", names.join(", ")));
            }
        }
    }

    async fn allow(&mut self, text: &str) -> anyhow::Result<()> {
        let rule = allow_rule(text)?;
        let remembered = self.session.executor().remember(rule).await;
        remembered.map_err(|error| anyhow::anyhow!(error.full_message()))?;
        self.note(&format!("{text} is allowed from now on; `toolkiln policy list` shows it."));
        Ok(())
    }
}

fn rewound(rewind: &Rewind) -> String {
    let files = |paths: &[String]| match paths {
        [path] => path.clone(),
        paths => format!("{} files", paths.len()),
    };
    let mut text = "Back to before that message.".to_owned();
    if !rewind.restored.is_empty() {
        text.push_str(&format!(" Restored: {}; /redo brings it back.", files(&rewind.restored)));
    }
    if !rewind.kept.is_empty() {
        text.push_str(&format!(" Changed since by others and kept: {}.", files(&rewind.kept)));
    }
    text
}
