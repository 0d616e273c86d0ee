//! Programs that serve sessions and a page: how each is started and spoken to.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testkit::{Fixture, ModelServer};

/// The scripted model sees everything: long sessions are not to be shortened.
pub(in crate::bench) const CONTEXT_TOKENS: u64 = 200_000_000;

/// A program, and how it is spoken to.
pub(in crate::bench) trait WebProgram {
    fn name(&self) -> &str;

    /// Starts the service for a project. It tells its address on standard output.
    fn command(&self, project: &Fixture, model: &ModelServer) -> Command;

    /// What a request needs; empty if the program serves everybody.
    fn token(&self, project: &Fixture) -> Result<String>;

    /// Path and body of the request that begins a session.
    fn beginning(&self) -> (String, Value);

    /// Path and body of the request that says something and does not wait for the answer.
    fn saying(&self, session: &str, text: &str) -> (String, Value);

    /// The path of a stream of events of a session, or of all sessions for `*`.
    fn stream(&self, follow: &str) -> String;

    /// What stands in the stream first.
    fn greeting(&self) -> &str;

    /// What stands in the stream when a message of the user is known.
    fn news(&self) -> &str;

    /// What stands in the stream of a session when a turn is over.
    fn turn_end(&self, session: &str) -> String;

    /// The name and arguments of a call that reads a file.
    fn reading(&self, project: &Fixture, file: &str) -> (&str, Value);

    /// The path of all items of a session, and how many calls they tell of at least.
    fn calls(&self, session: &str) -> (String, fn(&Value) -> usize);

    fn page(&self, project: &Fixture) -> PageFacts;
}

/// How things are found in a page.
pub(in crate::bench) struct PageFacts {
    /// Where one can begin to type.
    pub(in crate::bench) start: String,
    /// In front of the id of a session.
    pub(in crate::bench) session: String,
    /// Selects what takes text.
    pub(in crate::bench) input: &'static str,
    /// Selects what a conversation is made of.
    pub(in crate::bench) item: &'static str,
}

/// Directories of a program's own, beside the project.
pub(in crate::bench) fn homes(command: &mut Command, project: &Fixture, name: &str) {
    for (variable, directory) in [
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
    ] {
        command.env(variable, home(project, name).join(directory));
    }
}

fn home(project: &Fixture, name: &str) -> PathBuf {
    project.root().with_file_name(name)
}

/// Our own service.
pub(in crate::bench) struct Toolkiln {
    binary: PathBuf,
}

impl Toolkiln {
    pub(in crate::bench) const NAME: &'static str = "toolkiln";

    /// The service, configured for all projects that are measured.
    pub(in crate::bench) fn new(binary: &Path, project: &Fixture) -> Result<Self> {
        let config = home(project, Self::NAME).join("config/toolkiln");
        std::fs::create_dir_all(&config)?;
        let text = format!("[model]\ncontext_tokens = {CONTEXT_TOKENS}\n");
        std::fs::write(config.join("config.toml"), text)?;
        Ok(Self { binary: binary.to_owned() })
    }
}

impl WebProgram for Toolkiln {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn command(&self, project: &Fixture, model: &ModelServer) -> Command {
        let mut command = Command::new(&self.binary);
        // Ollama's kind of server needs no key.
        command.args(["web", "--listen", "127.0.0.1:0", "--provider", "ollama"]);
        command.args(["--model", "scripted", "--base-url", &model.base_url()]);
        command.arg("--root").arg(project.root());
        homes(&mut command, project, Self::NAME);
        command
    }

    fn token(&self, project: &Fixture) -> Result<String> {
        let secrets = home(project, Self::NAME).join("state/toolkiln/web/secrets.json");
        let secrets: Value = serde_json::from_slice(&std::fs::read(secrets)?)?;
        Ok(secrets["all"].as_str().context("no token")?.to_owned())
    }

    fn beginning(&self) -> (String, Value) {
        ("/api/sessions".into(), json!({}))
    }

    fn saying(&self, session: &str, text: &str) -> (String, Value) {
        (format!("/api/sessions/{session}/messages"), json!({"text": text}))
    }

    fn stream(&self, follow: &str) -> String {
        format!("/api/events?follow={follow}")
    }

    fn greeting(&self) -> &str {
        "event: hello"
    }

    fn news(&self) -> &str {
        "event: items"
    }

    fn turn_end(&self, _: &str) -> String {
        r#""kind":"turn""#.into()
    }

    fn reading(&self, _: &Fixture, file: &str) -> (&str, Value) {
        ("read_file", json!({"path": file}))
    }

    fn calls(&self, session: &str) -> (String, fn(&Value) -> usize) {
        let path = format!("/api/sessions/{session}/timeline?limit=1");
        (path, |window| window["total"].as_u64().unwrap_or_default() as usize)
    }

    fn page(&self, _: &Fixture) -> PageFacts {
        PageFacts {
            start: "/#/".into(),
            session: "/#/session/".into(),
            input: "textarea:not(:disabled)",
            item: ".log .item",
        }
    }
}
