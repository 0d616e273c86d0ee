//! `toolkiln run --json`: a run as JSON lines, for programs. The format is described in
//! `docs/run-events.md`.

use std::io::{self, Write};

use protocol::{LogEntry, Settings, Usage};
use serde::Serialize;

use super::tally::{Outcome, Tally};

/// Grows when a program that understood the lines before would misunderstand them now.
const SCHEMA_VERSION: u32 = 1;

/// The lines that stand around the entries of the log.
#[derive(Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
enum Frame<'a> {
    Session { id: &'a str, schema_version: u32, provider: &'a str, model: &'a str, role: &'a str },
    Result(RunResult<'a>),
}

#[derive(Serialize)]
struct RunResult<'a> {
    outcome: Outcome,
    exit_code: u8,
    text: &'a str,
    usage: Usage,
    cost_usd: Option<f64>,
    duration_ms: u64,
    files_changed: &'a [String],
}

/// Writes a run as JSON lines: one `session`, every entry of the log, one `result`.
#[derive(Debug)]
pub(crate) struct JsonLines<W> {
    out: W,
    tally: Tally,
}

impl<W: Write> JsonLines<W> {
    /// Begins a run of the session `id`.
    pub(crate) fn begin(mut out: W, id: &str, settings: &Settings) -> io::Result<Self> {
        let Settings { provider, model, role } = settings;
        let frame = Frame::Session {
            id,
            schema_version: SCHEMA_VERSION,
            provider,
            model,
            role: role.name(),
        };
        line(&mut out, &frame)?;
        Ok(Self { out, tally: Tally::default() })
    }

    /// Writes an entry of the log as it is, but for the bytes of images.
    pub(crate) fn entry(&mut self, entry: &LogEntry) -> io::Result<()> {
        self.tally.add(entry);
        let mut entry = entry.clone();
        for image in entry.event.images_mut() {
            *image = image.without_data();
        }
        line(&mut self.out, &entry)
    }

    /// Ends the run and says how it came out. `files_changed` are paths from the project root.
    pub(crate) fn end(mut self, files_changed: &[String]) -> io::Result<Outcome> {
        let outcome = self.tally.outcome();
        let result = RunResult {
            outcome,
            exit_code: outcome.exit_code(),
            text: &self.tally.text,
            usage: self.tally.usage,
            cost_usd: self.tally.cost_usd,
            duration_ms: self.tally.duration_ms(),
            files_changed,
        };
        line(&mut self.out, &Frame::Result(result))?;
        Ok(outcome)
    }
}

/// One line, written at once: whoever reads along sees whole lines only.
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
        let mut lines = JsonLines::begin(&mut out, "s1", &settings).unwrap();
        for (sequence, event) in (2..).zip(events) {
            lines.entry(&LogEntry { sequence, at: sequence as i64, event }).unwrap();
        }
        assert_eq!(lines.end(&["src/a.rs".into()]).unwrap(), Outcome::Done);
        assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
        {"type":"session","data":{"id":"s1","schema_version":1,"provider":"offline","model":"echo","role":"actor"}}
        {"sequence":2,"at":2,"type":"user_message","data":{"content":[{"type":"text","text":"hi"},{"type":"image","name":"a.png","media_type":"image/png","width":2,"height":1,"size":3,"hash":"bad7c9a32d645d0eb45be765104af05c7a16c3c28f5ef95ed66e1fd10c12798d"}]}}
        {"sequence":3,"at":3,"type":"text_delta","data":{"text":"hello\n\u001b[2J"}}
        {"sequence":4,"at":4,"type":"model_answered","data":{"content":[{"type":"text","text":"hello\n\u001b[2J"}],"stop":"end_of_turn","usage":{"input":3,"output":1,"cache_read":0,"cache_write":0},"duration_ms":12}}
        {"sequence":5,"at":5,"type":"turn_ended","data":"done"}
        {"type":"result","data":{"outcome":"done","exit_code":0,"text":"hello\n\u001b[2J","usage":{"input":3,"output":1,"cache_read":0,"cache_write":0},"cost_usd":null,"duration_ms":3,"files_changed":["src/a.rs"]}}
        "#);
    }
}
