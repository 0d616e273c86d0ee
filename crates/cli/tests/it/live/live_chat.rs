//! A chat at a terminal, and what its tests wait for.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use testkit::live_screen::Screen;
use testkit::{Fixture, LiveScreen, ModelServer};

use crate::run::command;

const COLUMNS: u16 = 100;
const ROWS: u16 = 40;
/// Ctrl-D.
pub(crate) const LEAVE: &str = "\x04";
/// What a key sends in terminals without another protocol.
pub(crate) const ESC: &str = "\x1b";
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const UP: &str = "\x1b[A";
pub(crate) const DOWN: &str = "\x1b[B";
pub(crate) const BACKSPACE: &str = "\x7f";
/// What `src/db.js` holds in the project of most tests, and what [`edit`] makes of it.
pub(crate) const DB: &str = "exports.open = () => 1;\n";
pub(crate) const NEW_DB: &str = "exports.open = () => 2;\n";

pub(crate) fn project() -> Fixture {
    Fixture::new(
        "//- /src/main.js\nconst db = require('./db');\n\n// TODO: start\n\
         //- /src/db.js\nexports.open = () => 1;\n\
         //- /package.json\n{\"name\": \"kiln-shop\", \"version\": \"1.2.3\"}\n",
    )
}

/// A call that replaces `src/db.js`.
pub(crate) fn edit() -> (&'static str, Value) {
    ("update_file", json!({"path": "src/db.js", "content": NEW_DB}))
}

/// The binary as it is started in `project`, with the state beside it.
pub(crate) fn chat_command(project: &Fixture, arguments: &[&str]) -> Command {
    let mut command = command(None);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.env("XDG_CONFIG_HOME", config_home(project));
    command.arg("chat").args(arguments).arg("--root").arg(project.root());
    command
}

/// The same with a scripted model. Ollama's kind of server needs no key.
pub(crate) fn with_model(project: &Fixture, server: &ModelServer, more: &[&str]) -> Command {
    let url = server.base_url();
    let arguments = ["--provider", "ollama", "--model", "scripted", "--base-url", &url];
    chat_command(project, &[&arguments, more].concat())
}

/// Where a test may put a configuration.
pub(crate) fn config_home(project: &Fixture) -> PathBuf {
    project.root().with_file_name("config")
}

/// A chat that runs.
pub(crate) struct LiveChat {
    pub(crate) screen: LiveScreen,
}

impl LiveChat {
    /// A chat with a scripted model.
    #[track_caller]
    pub(crate) fn with_model(project: &Fixture, server: &ModelServer) -> Self {
        Self::with_arguments(project, server, &[])
    }

    #[track_caller]
    pub(crate) fn with_arguments(project: &Fixture, server: &ModelServer, more: &[&str]) -> Self {
        Self::start(&with_model(project, server, more))
    }

    /// A chat with variables of the environment.
    #[track_caller]
    pub(crate) fn with_variables(
        project: &Fixture,
        server: &ModelServer,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = with_model(project, server, &[]);
        command.envs(variables.iter().copied());
        Self::start(&command)
    }

    #[track_caller]
    pub(crate) fn offline(project: &Fixture) -> Self {
        Self::start(&chat_command(project, &["--provider", "offline"]))
    }

    /// Starts it and waits until it reads keys.
    #[track_caller]
    pub(crate) fn start(command: &Command) -> Self {
        Self::on(LiveScreen::start(command, COLUMNS, ROWS))
    }

    /// The same below a shell, so that it can be suspended.
    #[track_caller]
    pub(crate) fn start_as_job(command: &Command) -> Self {
        Self::on(LiveScreen::start_as_job(command, COLUMNS, ROWS))
    }

    #[track_caller]
    fn on(mut screen: LiveScreen) -> Self {
        screen.wait_until(|screen| screen.bracketed_paste() && input_rows(screen).is_some());
        Self { screen }
    }

    /// Types a message and sends it.
    #[track_caller]
    pub(crate) fn say(&mut self, text: &str) {
        self.screen.press(&format!("{text}\r"));
    }

    #[track_caller]
    pub(crate) fn press(&mut self, keys: &str) {
        self.screen.press(keys);
    }

    /// Waits until the screen shows `text`, wherever.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) {
        self.screen.wait_until(|screen| screen.contents().contains(text));
    }

    #[track_caller]
    pub(crate) fn no_longer_sees(&mut self, text: &str) {
        self.screen.wait_until(|screen| !screen.contents().contains(text));
    }

    /// Waits until the input box holds exactly `text`.
    #[track_caller]
    pub(crate) fn has_typed(&mut self, text: &str) {
        self.screen.wait_until(|screen| typed(screen).as_deref() == Some(text));
    }

    /// Waits until nothing runs and nothing is typed.
    #[track_caller]
    pub(crate) fn is_idle(&mut self) {
        self.screen.wait_until(|screen| typed(screen).as_deref() == Some("") && is_idle(screen));
    }

    /// Waits until a question shows `text` and its keys count.
    #[track_caller]
    pub(crate) fn asks(&mut self, text: &str) {
        self.screen
            .wait_until(|screen| screen.contents().contains(text) && question_counts(screen));
    }

    /// Waits for a question with `text` and answers it by a key.
    #[track_caller]
    pub(crate) fn answers(&mut self, text: &str, key: &str) {
        self.asks(text);
        self.press(key);
    }

    /// Leaves, and checks that the terminal is as it was.
    #[track_caller]
    pub(crate) fn leave(mut self) -> String {
        self.press(LEAVE);
        assert_eq!(self.screen.wait_exit(), 0);
        assert_eq!(self.screen.changed_modes(), [""; 0]);
        self.screen.text()
    }

    /// Waits until it ends by itself with this code, and checks that the terminal is as it was.
    #[track_caller]
    pub(crate) fn ends(mut self, code: i32) -> String {
        assert_eq!(self.screen.wait_exit(), code);
        assert_eq!(self.screen.changed_modes(), [""; 0]);
        self.screen.text()
    }
}

fn rows(screen: &Screen) -> Vec<String> {
    screen.rows(0, u16::MAX).collect()
}

/// The rows of the input box, without its border.
fn input_rows(screen: &Screen) -> Option<Vec<String>> {
    let rows = rows(screen);
    let is_top = |row: &String| row.starts_with('╭') && row.contains("──");
    let top = rows.iter().rposition(is_top)?;
    let inner = rows[top + 1..].iter().take_while(|row| row.starts_with('│'));
    let inner: Vec<String> = inner.cloned().collect();
    rows[top + 1 + inner.len()].starts_with('╰').then_some(inner)
}

/// What is in the input box.
pub(crate) fn typed(screen: &Screen) -> Option<String> {
    let text = |row: &String| {
        let inner: String = row.chars().skip(4).collect();
        inner.trim_end_matches('│').trim_end().to_owned()
    };
    Some(input_rows(screen)?.iter().map(text).collect::<Vec<String>>().join("\n"))
}

/// Whether nothing runs, by the status line.
pub(crate) fn is_idle(screen: &Screen) -> bool {
    rows(screen)
        .iter()
        .rev()
        .find(|row| !row.trim().is_empty())
        .is_some_and(|row| row.trim_start().starts_with("ready"))
}

/// Whether a question is shown whose keys count: its title is bold then.
pub(crate) fn question_counts(screen: &Screen) -> bool {
    let is_title = |row: &String| row.starts_with("╭ ") && !row.contains("──");
    let title = rows(screen).iter().position(is_title).and_then(|row| u16::try_from(row).ok());
    title.is_some_and(|row| screen.cell(row, 2).is_some_and(|cell| cell.bold()))
}
