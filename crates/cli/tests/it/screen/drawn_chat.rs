//! A chat that is drawn at a terminal, with a scripted model.

use std::process::Command;

use serde_json::json;
use testkit::live_screen::Screen;
use testkit::{Fixture, Gate, LiveScreen, ModelServer, Reply};

use crate::live::with_model;

/// The columns and rows of a usual terminal.
const USUAL: (u16, u16) = (80, 24);

/// The chat, its screen and its model. The project goes last: the program works in it.
pub(super) struct DrawnChat {
    pub(super) screen: LiveScreen,
    pub(super) server: ModelServer,
    pub(super) project: Fixture,
}

impl DrawnChat {
    pub(super) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::sized(USUAL, replies)
    }

    pub(super) fn sized(size: (u16, u16), replies: impl IntoIterator<Item = Reply>) -> Self {
        let (project, server) = (small_project(), ModelServer::start(replies));
        let screen = LiveScreen::start(&chat(&project, &server), size.0, size.1);
        Self { screen, server, project }.ready()
    }

    /// Below a shell with job control.
    pub(super) fn as_job(replies: impl IntoIterator<Item = Reply>) -> Self {
        let (project, server) = (small_project(), ModelServer::start(replies));
        let screen = LiveScreen::start_as_job(&chat(&project, &server), USUAL.0, USUAL.1);
        Self { screen, server, project }.ready()
    }

    /// With changes to the command that starts it.
    pub(super) fn with(
        size: (u16, u16),
        project: Fixture,
        replies: impl IntoIterator<Item = Reply>,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        Self::with_server(size, project, ModelServer::start(replies), change)
    }

    /// With a server of its own.
    pub(super) fn with_server(
        size: (u16, u16),
        project: Fixture,
        server: ModelServer,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = chat(&project, &server);
        change(&mut command);
        let screen = LiveScreen::start(&command, size.0, size.1);
        Self { screen, server, project }.ready()
    }

    fn ready(mut self) -> Self {
        self.wait_ready();
        self
    }

    /// Waits until nothing runs.
    #[track_caller]
    pub(super) fn wait_ready(&mut self) {
        self.screen.wait_until(|screen| last_line(&screen.contents()).starts_with("ready"));
    }

    /// Sends a message.
    #[track_caller]
    pub(super) fn say(&mut self, text: &str) {
        self.screen.press(&format!("{text}\r"));
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub(super) fn see(&mut self, text: &str) {
        self.screen.wait_until(|screen| screen.contents().contains(text));
    }

    /// Gives the terminal another size, and waits until everything was drawn for it.
    #[track_caller]
    pub(super) fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.screen.take_written();
        self.screen.resize(columns, rows);
        self.screen.wait_written(|written| {
            let written = String::from_utf8_lossy(written);
            written.rfind("\x1b[H").is_some_and(|at| written[at..].contains("\x1b[?2026l"))
        });
    }

    #[track_caller]
    pub(super) fn leave(mut self) {
        self.screen.press("\x04");
        assert_eq!(self.screen.wait_exit(), 0);
        assert_eq!(self.screen.changed_modes(), [""; 0]);
    }
}

/// The last line that is not blank.
pub(super) fn last_line(contents: &str) -> &str {
    contents.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_start()
}

/// The visible rows, without blanks at their ends.
pub(super) fn rows_of(screen: &Screen) -> Vec<String> {
    screen.rows(0, u16::MAX).map(|row| row.trim_end().to_owned()).collect()
}

pub(super) fn small_project() -> Fixture {
    Fixture::new("//- /src/db.js\nexports.open = () => 1;\n//- /README.md\n# Kiln\n")
}

/// The command that starts a chat with a scripted model.
pub(super) fn chat(project: &Fixture, server: &ModelServer) -> Command {
    with_model(project, server, &[])
}

/// A reply that asks before it changes a file.
pub(super) fn change() -> Reply {
    Reply::call("update_file", json!({"path": "src/db.js", "content": "exports.open = () => 2;\n"}))
}

/// A reply of these pieces, each of which waits for the gate.
pub(super) fn gated(pieces: &[&str]) -> (Gate, Reply) {
    let gate = Gate::new();
    let reply = Reply::pieces(pieces.iter().copied()).through(&gate);
    (gate, reply)
}
