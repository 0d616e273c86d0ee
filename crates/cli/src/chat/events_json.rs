//! `toolkiln run --json`: a run as JSON lines, for programs. The format is described in
//! `docs/run-events.md`.

use std::io::{self, Write};

use protocol::{LogEntry, Settings, SharedText, Usage};
use serde::Serialize;
use timeline::{Denied, TurnTally};

use super::outcome::RunOutcome;

/// Grows when a program that understood the lines before would misunderstand them now.
const SCHEMA_VERSION: u32 = 1;

/// The lines that stand around the entries of the log.
#[derive(Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
enum EventLine<'a> {
    Session {
        id: &'a str,
        schema_version: u32,
        provider: &'a str,
        model: &'a str,
        role: &'a str,
        instructions: &'a [NamedInstructions],
    },
    Result(RunResult<'a>),
}

/// A file with instructions that the session begins with.
#[derive(Debug, Serialize)]
pub(crate) struct NamedInstructions {
    pub(crate) path: String,
    /// Why it is not shown, or not all of it.
    pub(crate) remark: Option<String>,
}

#[derive(Serialize)]
struct RunResult<'a> {
    outcome: RunOutcome,
    is_error: bool,
    exit_code: u8,
    message: Option<&'a str>,
    text: &'a SharedText,
    usage: Usage,
    cost_usd: Option<f64>,
    duration_ms: u64,
    files_changed: &'a [String],
    denied: &'a [Denied],
}

/// How a run ended, apart from what its log tells.
#[derive(Debug)]
pub(crate) struct RunEnd<'a> {
    pub(crate) outcome: RunOutcome,
    pub(crate) exit_code: u8,
    /// What a program can show if not all went well.
    pub(crate) message: Option<&'a str>,
    /// Paths from the project root.
    pub(crate) files_changed: &'a [String],
}

/// Writes a run as JSON lines: one `session` if there is one, every entry of the log, and one `result`
/// whatever happens.
#[derive(Debug)]
pub(crate) struct JsonLines<W> {
    out: W,
    turn: TurnTally,
}

impl<W: Write> JsonLines<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, turn: TurnTally::default() }
    }

    /// What the run took so far.
    pub(crate) fn turn(&self) -> &TurnTally {
        &self.turn
    }

    /// The session `id` begins or goes on.
    pub(crate) fn begin(
        &mut self,
        id: &str,
        settings: &Settings,
        instructions: &[NamedInstructions],
    ) -> io::Result<()> {
        let Settings { provider, model, role } = settings;
        let frame = EventLine::Session {
            id,
            schema_version: SCHEMA_VERSION,
            provider,
            model,
            role: role.name(),
            instructions,
        };
        line(&mut self.out, &frame)
    }

    /// Writes an entry of the log as it is, but for the bytes of images.
    pub(crate) fn entry(&mut self, entry: &LogEntry) -> io::Result<()> {
        self.turn.add(entry);
        let mut entry = entry.clone();
        for image in entry.event.images_mut() {
            *image = image.without_data();
        }
        line(&mut self.out, &entry)
    }

    /// Says how the run came out.
    pub(crate) fn end(mut self, end: &RunEnd<'_>) -> io::Result<()> {
        let result = RunResult {
            outcome: end.outcome,
            is_error: end.outcome != RunOutcome::Done,
            exit_code: end.exit_code,
            message: end.message,
            text: &self.turn.text,
            usage: self.turn.usage,
            cost_usd: self.turn.cost_usd,
            duration_ms: self.turn.duration_ms(),
            files_changed: end.files_changed,
            denied: &self.turn.denied,
        };
        line(&mut self.out, &EventLine::Result(result))
    }
}

/// One line, written at once, so that a reader sees whole lines only.
fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use protocol::{
        AgentRole, Content, Image, ImageFormat, ModelAnswer, SessionEvent, StopReason, TurnEnd,
    };

    use super::*;

    #[test]
    fn a_run_is_a_session_its_log_and_a_result() {
        let settings =
            Settings { provider: "offline".into(), model: "echo".into(), role: AgentRole::Actor };
        let text = |text: &str| vec![Content::Text { text: text.into() }];
        let image = Image::new("a.png", ImageFormat::Png, (2, 1), b"png");
        let asked = [text("hi"), vec![Content::Image(image)]].concat();
        let events = [
            SessionEvent::UserMessage { content: asked },
            SessionEvent::TextDelta { text: "hello\n\x1b[2J".into() },
            SessionEvent::ModelAnswered(ModelAnswer {
                content: text("hello\n\x1b[2J"),
                broken: Vec::new(),
                stop: StopReason::EndOfTurn,
                usage: Usage { input: 3, output: 1, cache_read: 0, cache_write: 0 },
                cost_usd: None,
                duration_ms: 12,
            }),
            SessionEvent::TurnEnded(TurnEnd::Done),
        ];
        let mut out = Vec::new();
        let mut lines = JsonLines::new(&mut out);
        let named = NamedInstructions { path: "AGENTS.md".into(), remark: None };
        lines.begin("s1", &settings, &[named]).unwrap();
        for (sequence, event) in (2..).zip(events) {
            lines.entry(&LogEntry { sequence, at: sequence as i64, event }).unwrap();
        }
        let outcome = RunOutcome::of(lines.turn());
        let files_changed = &["src/a.rs".into()];
        lines.end(&RunEnd { outcome, exit_code: 0, message: None, files_changed }).unwrap();
        assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
        {"type":"session","data":{"id":"s1","schema_version":1,"provider":"offline","model":"echo","role":"actor","instructions":[{"path":"AGENTS.md","remark":null}]}}
        {"sequence":2,"at":2,"type":"user_message","data":{"content":[{"type":"text","text":"hi"},{"type":"image","name":"a.png","media_type":"image/png","width":2,"height":1,"size":3,"hash":"bad7c9a32d645d0eb45be765104af05c7a16c3c28f5ef95ed66e1fd10c12798d"}]}}
        {"sequence":3,"at":3,"type":"text_delta","data":{"text":"hello\n\u001b[2J"}}
        {"sequence":4,"at":4,"type":"model_answered","data":{"content":[{"type":"text","text":"hello\n\u001b[2J"}],"stop":"end_of_turn","usage":{"input":3,"output":1,"cache_read":0,"cache_write":0},"duration_ms":12}}
        {"sequence":5,"at":5,"type":"turn_ended","data":"done"}
        {"type":"result","data":{"outcome":"done","is_error":false,"exit_code":0,"message":null,"text":"hello\n\u001b[2J","usage":{"input":3,"output":1,"cache_read":0,"cache_write":0},"cost_usd":null,"duration_ms":3,"files_changed":["src/a.rs"],"denied":[]}}
        "#);
    }
}
