//! Tool calls and plans as they are drawn: a line when a call starts, its output as it comes, and
//! what came of it.

mod checks;

use std::collections::VecDeque;

use protocol::{PlanStep, StepStatus, ToolCall, ToolError, ToolResult};
use serde_json::Value;

use super::look::{Ink, Look, columns};
use super::notices::duration;
use super::safe_text::{one_line, output_line, safe};

/// Live output on a terminal: so many lines at the beginning …
const FIRST_LINES: usize = 8;
/// … and so many at the end.
const LAST_LINES: usize = 8;
/// Longest rendering of one argument.
const MAX_ARGUMENT: usize = 60;
/// A line of output that is longer is written although it has not ended.
const LONGEST_LINE: usize = 4096;
const INDENT: &str = "  ";

/// Where cards are drawn: the look, and how deep in sub-agents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) look: Look,
    pub(crate) depth: usize,
}

impl Place {
    fn line(self, margin: &str, text: &str, ink: Ink) -> String {
        let margin = format!("{}{margin}", INDENT.repeat(self.depth));
        format!("{margin}{}\n", self.look.paint(ink, text))
    }

    /// A line that is cut where the terminal ends.
    fn cut_line(self, margin: &str, text: &str, ink: Ink) -> String {
        let used = columns(margin) + columns(INDENT) * self.depth;
        self.line(margin, &self.look.fit(text, used), ink)
    }
}

/// The line that a call begins with.
pub(crate) fn started(call: &ToolCall, place: Place) -> String {
    let name = one_line(&call.name);
    let used = columns(INDENT) * place.depth + columns("● ") + columns(&name) + 1;
    let arguments: Vec<String> =
        call.arguments.iter().map(|(key, value)| argument(key, value)).collect();
    let arguments = place.look.fit(&arguments.join(" "), used);
    let look = place.look;
    let title = format!(
        "{} {} {}",
        look.paint(Ink::CYAN, "●"),
        look.paint(Ink::BOLD, &name),
        look.paint(Ink::DIM, &arguments)
    );
    place.line("", title.trim_end(), Ink::PLAIN)
}

fn argument(key: &str, value: &Value) -> String {
    let shown = one_line(&value.to_string());
    let shown = match shown.char_indices().nth(MAX_ARGUMENT) {
        Some((cut, _)) => format!("{}…", &shown[..cut]),
        None => shown,
    };
    format!("{}={shown}", one_line(key))
}

/// What a call ends with.
pub(crate) struct Ending<'a> {
    /// The name of the tool, if other cards came in between.
    pub(crate) name: Option<&'a str>,
    pub(crate) result: &'a ToolResult,
    /// The tool's own words for the result, if they are known.
    pub(crate) preview: &'a [String],
    /// Whether output was shown while it ran, which need not be shown again.
    pub(crate) had_output: bool,
    pub(crate) duration_ms: u64,
}

impl Ending<'_> {
    /// The lines that tell it.
    pub(crate) fn draw(&self, place: Place) -> String {
        let checks = self.result.as_ref().map(checks::lines).unwrap_or_default();
        let checks = checks.iter().map(|line| place.cut_line("  │ ", line, Ink::YELLOW));
        checks.collect::<String>() + &self.outcome(place)
    }

    fn outcome(&self, place: Place) -> String {
        let name = self.name.map(|name| format!("{}: ", one_line(name))).unwrap_or_default();
        match self.result {
            Ok(value) if self.had_output => {
                let code = exit_code(value).map(|code| format!("exit code {code}"));
                well_ended(&name, &Vec::from_iter(code), self.duration_ms, place)
            }
            Ok(value) if self.preview.is_empty() => {
                well_ended(&name, &brief(value), self.duration_ms, place)
            }
            Ok(_) => well_ended(&name, self.preview, self.duration_ms, place),
            Err(error) => failed(&name, error, self.duration_ms, place),
        }
    }
}

/// The exit code of a command, in any of the spellings that tools have for it.
fn exit_code(value: &Value) -> Option<i64> {
    ["exit_code", "exitCode"].iter().find_map(|key| value.get(*key)?.as_i64())
}

fn well_ended(name: &str, preview: &[String], duration_ms: u64, place: Place) -> String {
    let time = duration(duration_ms);
    let lines: Vec<String> = preview.iter().map(|line| output_line(line)).collect();
    match lines.as_slice() {
        [] => place.line("  └ ", &format!("{name}done · {time}"), Ink::DIM),
        [only] => {
            let first = format!("{name}{only}");
            let end = format!(" · {time}");
            let used = columns("  └ ") + columns(INDENT) * place.depth + columns(&end);
            place.line("  └ ", &format!("{}{end}", place.look.fit(&first, used)), Ink::DIM)
        }
        [rest @ .., last] => {
            let mut drawn = String::new();
            for (index, line) in rest.iter().enumerate() {
                let line = if index == 0 { format!("{name}{line}") } else { line.clone() };
                drawn.push_str(&place.cut_line("  │ ", &line, Ink::DIM));
            }
            let end = [last.clone()];
            drawn + &well_ended("", &end, duration_ms, place)
        }
    }
}

fn failed(name: &str, error: &ToolError, duration_ms: u64, place: Place) -> String {
    let message = safe(&error.message);
    let mut lines = message.lines();
    let first = lines.next().unwrap_or_default();
    let text = format!("{name}{}: {first} · {}", error.code, duration(duration_ms));
    let mut drawn = place.line("  └ ", &text, Ink::RED);
    for line in lines {
        drawn.push_str(&place.line("    ", line, Ink::RED));
    }
    for line in error.suggestion.as_deref().map(safe).unwrap_or_default().lines() {
        drawn.push_str(&place.line("    ", line, Ink::YELLOW));
    }
    drawn
}

/// A result in a line, for a log that holds no preview.
fn brief(value: &Value) -> Vec<String> {
    let text = match value {
        Value::String(text) => Some(text.as_str()),
        Value::Object(fields) => {
            let known = ["message", "content", "output", "diff"];
            known.iter().find_map(|key| fields.get(*key)?.as_str())
        }
        _ => None,
    };
    let lines: Vec<&str> = text.map(|text| text.lines().collect()).unwrap_or_default();
    match lines.as_slice() {
        [first, _, _, ..] => {
            vec![(*first).to_owned(), format!("… {} more lines", lines.len() - 1)]
        }
        few => few.iter().map(|line| (*line).to_owned()).collect(),
    }
}

/// The plan as a list to check off.
pub(crate) fn plan(steps: &[PlanStep], place: Place) -> String {
    let mut drawn = place.line("", "Plan", Ink::BOLD);
    for step in steps {
        let (mark, ink) = match step.status {
            StepStatus::Done => ("  ✔ ", Ink::DIM),
            StepStatus::InProgress => ("  ▶ ", Ink::CYAN),
            StepStatus::Pending => ("  ☐ ", Ink::PLAIN),
        };
        drawn.push_str(&place.line(mark, &one_line(&step.text), ink));
    }
    drawn
}

/// The output of a running call. A terminal sees how it begins and how it ends, other places see
/// all of it.
#[derive(Debug, Default)]
pub(crate) struct LiveOutput {
    /// A line that has not ended.
    partial: String,
    written: usize,
    left_out: usize,
    last: VecDeque<String>,
}

impl LiveOutput {
    /// Takes the next piece and gives what is to be written now.
    pub(crate) fn push(&mut self, chunk: &str, place: Place) -> String {
        let mut drawn = String::new();
        for part in chunk.split_inclusive('\n') {
            self.partial.push_str(part);
            if part.ends_with('\n') || self.partial.len() > LONGEST_LINE {
                drawn.push_str(&self.end_line(place));
            }
        }
        drawn
    }

    /// Gives what is left when the call has ended.
    pub(crate) fn finish(&mut self, place: Place) -> String {
        let mut drawn = String::new();
        if !self.partial.is_empty() {
            drawn.push_str(&self.end_line(place));
        }
        if self.left_out > 0 {
            drawn.push_str(&place.line("  │ ", &format!("… {} lines", self.left_out), Ink::DIM));
        }
        for line in std::mem::take(&mut self.last) {
            drawn.push_str(&place.cut_line("  │ ", &line, Ink::DIM));
        }
        *self = Self::default();
        drawn
    }

    fn end_line(&mut self, place: Place) -> String {
        let line = output_line(&std::mem::take(&mut self.partial));
        if place.look == Look::Plain || self.written < FIRST_LINES {
            self.written += 1;
            return place.cut_line("  │ ", &line, Ink::DIM);
        }
        self.last.push_back(line);
        if self.last.len() > LAST_LINES {
            self.last.pop_front();
            self.left_out += 1;
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PLAIN: Place = Place { look: Look::Plain, depth: 0 };
    const NARROW: Place = Place { look: Look::Styled { width: 30 }, depth: 1 };

    #[test]
    fn a_call_is_one_line_however_long_its_arguments_are() {
        let arguments = json!({"pattern": "a\nb", "path": "x".repeat(100)});
        let call = ToolCall::new("1", "grep", arguments.as_object().unwrap().clone());
        let path = "x".repeat(MAX_ARGUMENT - 1);
        let expected = format!("● grep pattern=\"a\\nb\" path=\"{path}…\n");
        assert_eq!(started(&call, PLAIN), expected);
        let narrow = "  ^[36m●^[0m ^[1mgrep^[0m ^[2mpattern=\"a\\nb\" path=…^[0m\n";
        assert_eq!(started(&call, NARROW).replace('\x1b', "^"), narrow);
        let bare = ToolCall::new("2", "git_status", serde_json::Map::new());
        assert_eq!(started(&bare, PLAIN), "● git_status\n");
    }

    #[test]
    fn output_on_a_terminal_has_a_beginning_and_an_end() {
        let place = Place { look: Look::Styled { width: 80 }, depth: 0 };
        let mut live = LiveOutput::default();
        let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let mut drawn = String::new();
        for piece in text.as_bytes().chunks(7) {
            drawn.push_str(&live.push(std::str::from_utf8(piece).unwrap(), place));
        }
        assert_eq!(drawn.lines().count(), FIRST_LINES);
        drawn.push_str(&live.push("and no end", place));
        let end = live.finish(place);
        assert!(end.contains("… 5 lines"), "{end}");
        assert_eq!(end.lines().count(), LAST_LINES + 1);
        assert!(end.contains("line 20") && end.contains("and no end"), "{end}");
        assert_eq!(live.finish(place), "");
    }

    #[test]
    fn output_elsewhere_is_complete() {
        let mut live = LiveOutput::default();
        let text = "x\n".repeat(50);
        assert_eq!(live.push(&text, PLAIN).lines().count(), 50);
        assert_eq!(live.finish(PLAIN), "");
    }
}
