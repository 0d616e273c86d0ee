//! A project, a place for what is remembered about it, and runs that talk to a scripted model.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use protocol::LogEntry;
use store::{SqliteStore, Store as _};
use testkit::model_server::{ModelCall, ToolAnswer, WireFormat};
use testkit::{Fixture, ModelServer};

use crate::run::{Ran, command, finish};

pub(crate) struct Bench {
    pub(crate) project: Fixture,
}

impl Bench {
    pub(crate) fn new(fixture: &str) -> Self {
        Self { project: Fixture::new(fixture) }
    }

    /// A run with a message, for which a model still has to be named.
    pub(crate) fn command(&self, message: &str) -> Command {
        let mut command = command(None);
        command.env("XDG_STATE_HOME", self.state());
        command.args(["run", message, "--root"]).arg(self.project.root());
        command.stdin(Stdio::null());
        command
    }

    /// A chat, for which a model still has to be named.
    pub(crate) fn chat(&self) -> Command {
        let mut command = command(None);
        command.env("XDG_STATE_HOME", self.state());
        command.arg("chat").arg("--root").arg(self.project.root());
        command
    }

    /// A run with a message to the model behind `server`.
    pub(crate) fn asking(&self, model: Model<'_>, message: &str) -> Command {
        let mut command = self.command(message);
        let (provider, variable) = model.provider();
        command.env(variable, "test-key");
        command.args(["--provider", provider, "--base-url", &model.server.base_url()]);
        command
    }

    /// The same, to its end.
    pub(crate) fn ask(&self, model: Model<'_>, message: &str, more: &[&str]) -> Ran {
        finish(self.asking(model, message).args(more))
    }

    /// A run with the provider that needs no model.
    pub(crate) fn ask_offline(&self, message: &str, more: &[&str]) -> Ran {
        finish(self.command(message).args(["--provider", "offline"]).args(more))
    }

    /// The log of a session, or of the last one if the id is empty, as it is stored.
    pub(crate) fn log(&self, session: &str) -> Vec<LogEntry> {
        let states = fs::read_dir(self.state().join("toolkiln")).unwrap().map(Result::unwrap);
        let own = states.into_iter().find(|state| state.path().is_dir()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = SqliteStore::open(own.path().join("sessions.db")).await.unwrap();
            let id = match session {
                "" => store.list(&Default::default()).await.unwrap().remove(0).id,
                session => store.find(session).await.unwrap(),
            };
            let loaded = store.load(&id).await.unwrap();
            assert_eq!(loaded.damage, Vec::<String>::new());
            store.close().await.unwrap();
            loaded.entries
        })
    }

    fn state(&self) -> PathBuf {
        self.project.root().with_file_name("state")
    }
}

/// A scripted model, and the form in which it is talked to.
#[derive(Clone, Copy)]
pub(crate) struct Model<'a> {
    pub(crate) format: WireFormat,
    pub(crate) server: &'a ModelServer,
}

impl Model<'_> {
    /// Its provider, and the variable for the key.
    fn provider(self) -> (&'static str, &'static str) {
        match self.format {
            WireFormat::Anthropic => ("anthropic", "ANTHROPIC_API_KEY"),
            WireFormat::Chat => ("openai-chat", "OPENAI_API_KEY"),
            WireFormat::Responses => ("openai", "OPENAI_API_KEY"),
        }
    }
}

/// The one result of the call `id` in a request.
#[track_caller]
pub(crate) fn answer_to(request: &ModelCall, id: &str) -> ToolAnswer {
    let mut answers = request.tool_answers();
    answers.retain(|answer| answer.id == id);
    assert_eq!(answers.len(), 1, "results of {id}");
    answers.remove(0)
}
