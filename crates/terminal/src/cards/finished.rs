//! A call that has ended.

use timeline::{CallFailure, CallState, Card, duration};

use super::{BODY, CardLine, CardPlace, INDENT};
use crate::diff::{DiffView, NARROWEST_DIFF, read_unified};
use crate::ink::Ink;

/// Lines of an error, and of the output of a command that failed.
const FAILURE_LINES: usize = 6;
/// Lines of a diff. A longer one is cut to this, and the rest is counted.
const DIFF_LINES: usize = 16;
/// Shorter calls do not say how long they took.
const TELLING_MS: u64 = 1_000;

/// What is told of a call once it has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished<'a> {
    pub(crate) card: &'a Card,
    /// Whether a question about the call has shown the user what it changes.
    pub(crate) has_seen_diff: bool,
}

impl Finished<'_> {
    /// The line of the call and, if there is more to see, what stands below it.
    pub(crate) fn draw(self, place: CardPlace) -> String {
        let headline = &self.card.headline;
        let (result, ink) = self.result();
        let line = CardLine { verb: &headline.verb, object: &headline.object, result, ink };
        line.draw(place) + &self.body(place)
    }

    /// The same below a line that was written when the call began.
    pub(crate) fn draw_result(self, place: CardPlace) -> String {
        let (result, ink) = self.result();
        let result = if result.is_empty() { "done".to_owned() } else { result };
        place.cut_line(BODY, &result, ink) + &self.body(place)
    }

    fn result(self) -> (String, Ink) {
        let card = self.card;
        let (words, ink) = match card.state {
            CallState::Failed => ("failed".to_owned(), Ink::RED),
            CallState::Refused => ("refused".to_owned(), Ink::YELLOW),
            CallState::Interrupted => ("interrupted".to_owned(), Ink::YELLOW),
            _ if self.is_failed_command() => (self.outcome(), Ink::RED),
            _ => (self.outcome(), Ink::DIM),
        };
        let time = card.working_ms.filter(|time| *time >= TELLING_MS).map(duration);
        let folded = match self.folded_lines() {
            0 | 1 => None,
            lines => Some(format!("({lines} lines)")),
        };
        let parts: Vec<String> = [words].into_iter().filter(|words| !words.is_empty()).collect();
        let parts = parts.into_iter().chain(time).collect::<Vec<_>>().join(" · ");
        let parts = [parts].into_iter().filter(|parts| !parts.is_empty()).chain(folded);
        (parts.collect::<Vec<_>>().join("  "), ink)
    }

    fn outcome(self) -> String {
        let card = self.card;
        match (&*card.headline.result, card.exit_code, card.outcome.as_slice()) {
            ("", Some(code), _) if code != 0 => format!("exit code {code}"),
            ("", None, [only]) => only.clone(),
            (result, ..) => result.to_owned(),
        }
    }

    fn is_failed_command(self) -> bool {
        self.card.state == CallState::Done && self.card.exit_code.is_some_and(|code| code != 0)
    }

    /// The lines that the call has printed or answered and that neither the line nor its result tells.
    fn folded_lines(self) -> usize {
        let card = self.card;
        let is_command = card.exit_code.is_some() || !card.output.text.is_empty();
        let is_told = !card.headline.result.is_empty() || card.outcome.len() < 2;
        if card.failure.is_none() && (is_command || !is_told) {
            card.printed().lines().count()
        } else {
            0
        }
    }

    fn body(self, place: CardPlace) -> String {
        let card = self.card;
        let mut drawn = String::new();
        if let Some(failure) = &card.failure {
            drawn.push_str(&failed(failure, place));
        }
        if self.is_failed_command() {
            drawn.push_str(&last_printed(card, place));
        }
        if card.state == CallState::Done && !self.has_seen_diff {
            drawn.push_str(&changes(card, place));
        }
        let remarks = card.checks.iter().chain(&card.dropped);
        remarks.for_each(|line| drawn.push_str(&place.wrapped(BODY, line, Ink::YELLOW)));
        drawn
    }
}

fn failed(failure: &CallFailure, place: CardPlace) -> String {
    let lines: Vec<&str> = failure.message.lines().collect();
    let mut drawn = String::new();
    for (index, line) in lines.iter().take(FAILURE_LINES).enumerate() {
        let line =
            if index == 0 { format!("{}: {line}", failure.code) } else { (*line).to_owned() };
        drawn.push_str(&place.wrapped(BODY, &line, Ink::RED));
    }
    if lines.len() > FAILURE_LINES {
        drawn.push_str(&place.cut_line(BODY, &format!("({} lines)", lines.len()), Ink::DIM));
    }
    for line in failure.suggestion.as_deref().unwrap_or_default().lines() {
        drawn.push_str(&place.wrapped(BODY, line, Ink::YELLOW));
    }
    drawn
}

/// How the output of a command ends.
fn last_printed(card: &Card, place: CardPlace) -> String {
    let lines: Vec<&str> = card.printed().trim_end().lines().collect();
    let from = lines.len().saturating_sub(FAILURE_LINES);
    lines[from..].iter().map(|line| place.cut_line(BODY, line, Ink::DIM)).collect()
}

/// What the call has changed. Its line says in which file, if it is only one.
fn changes(card: &Card, place: CardPlace) -> String {
    let diffs = match card.diff() {
        None => return String::new(),
        Some(_) if !card.diffs.is_empty() && !card.is_revised() => card.diffs.clone(),
        Some(told) => read_unified(&told),
    };
    let mut style = place.style;
    let mut margin = place.margin(INDENT);
    if style.width < NARROWEST_DIFF + margin.len() {
        margin.clear();
    }
    style.width = style.width.saturating_sub(margin.len());
    let view = DiffView::new(&diffs, style);
    let from = if diffs.len() == 1 { view.first_change() } else { 0 };
    view.cut(from, DIFF_LINES).iter().map(|line| format!("{margin}{line}\n")).collect()
}
