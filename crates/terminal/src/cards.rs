//! Tool calls and plans as they are drawn: a line when a call starts, its output as it comes, and
//! what came of it.

use std::collections::VecDeque;

use protocol::{PlanStep, StepStatus};
use timeline::{CallFailure, CallState, Card, DiffPart, diff_parts, duration};

use crate::output_style::{Ink, OutputStyle, columns};
use timeline::safe_text::one_line;

/// Live output on a terminal: so many lines at the beginning …
const FIRST_LINES: usize = 8;
/// … and so many at the end.
const LAST_LINES: usize = 8;
/// Lines of a diff on a card. A longer one is cut to this, and the rest is counted.
const DIFF_LINES: usize = 16;
const INDENT: &str = "  ";

/// Where cards are drawn: the look, and how deep in sub-agents.
#[derive(Clone, Copy, Debug)]
pub struct CardPlace {
    /// How text may look there.
    pub style: OutputStyle,
    /// How many sub-agents the card is inside of.
    pub depth: usize,
}

impl CardPlace {
    fn line(self, margin: &str, text: &str, ink: Ink) -> String {
        let margin = format!("{}{margin}", INDENT.repeat(self.depth));
        format!("{margin}{}\n", self.style.paint(ink, text))
    }

    /// A line that is cut where the terminal ends.
    fn cut_line(self, margin: &str, text: &str, ink: Ink) -> String {
        let used = columns(margin) + columns(INDENT) * self.depth;
        self.line(margin, &self.style.fit(text, used), ink)
    }
}

/// The line that a call begins with.
pub(crate) fn started(title: &str, place: CardPlace) -> String {
    let used = columns(INDENT) * place.depth + columns("● ");
    let style = place.style;
    let title = style.paint(Ink::BOLD, &style.fit(title, used));
    place.line("", &format!("{} {title}", style.paint(Ink::CYAN, "●")), Ink::PLAIN)
}

/// The end of a card.
pub(crate) struct Ending<'a> {
    pub(crate) card: &'a Card,
    /// Whether the tool is named, because other cards came in between.
    pub(crate) is_named: bool,
    /// Whether the title says what the call came to, and not only what it does.
    pub(crate) has_summary: bool,
    /// Whether output was shown while it ran, which need not be shown again.
    pub(crate) had_output: bool,
    /// Whether a question about the call has shown the user what it changes.
    pub(crate) has_seen_diff: bool,
}

impl Ending<'_> {
    /// The lines that tell it.
    pub(crate) fn draw(&self, place: CardPlace) -> String {
        let checks = self.card.checks.iter();
        let checks = checks.map(|line| place.cut_line("  │ ", line, Ink::YELLOW));
        self.diff(place) + &checks.collect::<String>() + &self.outcome(place)
    }

    /// What the call has changed. The title says in which file, if it is only one.
    fn diff(&self, place: CardPlace) -> String {
        let diff = self.card.diff();
        let diff = diff.filter(|_| self.card.state == CallState::Done && !self.has_seen_diff);
        let mut parts = diff.as_deref().map(diff_parts).unwrap_or_default();
        let files = parts.iter().filter(|(_, line)| line.starts_with("diff --git ")).count();
        if files <= 1 && parts.iter().any(|(part, _)| *part == DiffPart::Place) {
            parts.retain(|(part, _)| *part != DiffPart::Head);
        }
        // A line that says "1 more line" takes as much room as the line.
        let shown = if parts.len() <= DIFF_LINES + 1 { parts.len() } else { DIFF_LINES };
        let drawn = parts[..shown].iter().map(|(part, line)| {
            let ink = match part {
                DiffPart::Head => Ink::BOLD,
                DiffPart::Place => Ink::CYAN,
                DiffPart::Add => Ink::GREEN,
                DiffPart::Remove => Ink::RED,
                DiffPart::Same => Ink::DIM,
            };
            place.cut_line("  │ ", line, ink)
        });
        let drawn: String = drawn.collect();
        match parts.len() - shown {
            0 => drawn,
            more => drawn + &place.line("  │ ", &format!("… {more} more lines"), Ink::DIM),
        }
    }

    fn outcome(&self, place: CardPlace) -> String {
        let card = self.card;
        let name = if self.is_named { format!("{}: ", card.tool) } else { String::new() };
        let time = card.working_ms.map(|time| format!(" · {}", duration(time))).unwrap_or_default();
        if let Some(failure) = &card.failure {
            return failed(&name, failure, &time, place);
        }
        if card.state == CallState::Interrupted {
            return place.line("  └ ", &format!("{name}interrupted{time}"), Ink::YELLOW);
        }
        if self.has_summary {
            return well_ended(&name, std::slice::from_ref(&card.title), &time, place);
        }
        if self.had_output {
            let code = card.exit_code.map(|code| format!("exit code {code}"));
            return well_ended(&name, &Vec::from_iter(code), &time, place);
        }
        well_ended(&name, &card.outcome, &time, place)
    }
}

fn well_ended(name: &str, lines: &[String], time: &str, place: CardPlace) -> String {
    match lines {
        [] => place.line("  └ ", &format!("{name}done{time}"), Ink::DIM),
        [only] => {
            let first = format!("{name}{only}");
            let used = columns("  └ ") + columns(INDENT) * place.depth + columns(time);
            place.line("  └ ", &format!("{}{time}", place.style.fit(&first, used)), Ink::DIM)
        }
        [rest @ .., last] => {
            let mut drawn = String::new();
            for (index, line) in rest.iter().enumerate() {
                let line = if index == 0 { format!("{name}{line}") } else { line.clone() };
                drawn.push_str(&place.cut_line("  │ ", &line, Ink::DIM));
            }
            drawn + &well_ended("", std::slice::from_ref(last), time, place)
        }
    }
}

fn failed(name: &str, failure: &CallFailure, time: &str, place: CardPlace) -> String {
    let mut lines = failure.message.lines();
    let first = lines.next().unwrap_or_default();
    let text = format!("{name}{}: {first}{time}", failure.code);
    let mut drawn = place.line("  └ ", &text, Ink::RED);
    for line in lines {
        drawn.push_str(&place.line("    ", line, Ink::RED));
    }
    for line in failure.suggestion.as_deref().unwrap_or_default().lines() {
        drawn.push_str(&place.line("    ", line, Ink::YELLOW));
    }
    drawn
}

/// The plan as a list to check off.
pub fn plan(steps: &[PlanStep], place: CardPlace) -> String {
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
    written: usize,
    left_out: usize,
    last: VecDeque<String>,
}

impl LiveOutput {
    /// Takes the next whole lines and gives what is to be written at once.
    pub(crate) fn push(&mut self, lines: &str, place: CardPlace) -> String {
        let mut drawn = String::new();
        for line in lines.lines() {
            if place.style == OutputStyle::Plain || self.written < FIRST_LINES {
                self.written += 1;
                drawn.push_str(&place.cut_line("  │ ", line, Ink::DIM));
                continue;
            }
            self.last.push_back(line.to_owned());
            if self.last.len() > LAST_LINES {
                self.last.pop_front();
                self.left_out += 1;
            }
        }
        drawn
    }

    /// Gives what is left when the call has ended.
    pub(crate) fn finish(&mut self, place: CardPlace) -> String {
        let mut drawn = String::new();
        if self.left_out > 0 {
            drawn.push_str(&place.line("  │ ", &format!("… {} lines", self.left_out), Ink::DIM));
        }
        for line in std::mem::take(&mut self.last) {
            drawn.push_str(&place.cut_line("  │ ", &line, Ink::DIM));
        }
        *self = Self::default();
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: CardPlace = CardPlace { style: OutputStyle::Plain, depth: 0 };
    const NARROW: CardPlace = CardPlace { style: OutputStyle::Styled { width: 20 }, depth: 1 };

    #[test]
    fn a_title_is_one_line_however_long_it_is() {
        let title = "Searched src for a pattern";
        assert_eq!(started(title, PLAIN), "● Searched src for a pattern\n");
        let narrow = "  ^[36m●^[0m ^[1mSearched src fo…^[0m\n";
        assert_eq!(started(title, NARROW).replace('\x1b', "^"), narrow);
    }

    #[test]
    fn an_end_says_what_came_of_it_and_how_long_it_worked() {
        let card = Card {
            tool: "bash".into(),
            title: "Ran make".into(),
            state: CallState::Done,
            outcome: vec!["a".into(), "b".into()],
            exit_code: Some(2),
            working_ms: Some(1_500),
            ..Card::default()
        };
        let end = |is_named, has_summary, had_output| {
            Ending { card: &card, is_named, has_summary, had_output, has_seen_diff: false }
                .draw(PLAIN)
        };
        assert_eq!(end(false, false, false), "  │ a\n  └ b · 1.5 s\n");
        assert_eq!(end(true, false, false), "  │ bash: a\n  └ b · 1.5 s\n");
        assert_eq!(end(false, false, true), "  └ exit code 2 · 1.5 s\n");
        assert_eq!(end(true, true, true), "  └ bash: Ran make · 1.5 s\n");
        let card = Card { state: CallState::Interrupted, ..Card::default() };
        let ending = Ending {
            card: &card,
            is_named: false,
            has_summary: false,
            had_output: false,
            has_seen_diff: false,
        };
        assert_eq!(ending.draw(PLAIN), "  └ interrupted\n");
    }

    #[test]
    fn a_card_shows_what_was_changed_unless_the_question_has() {
        let draw = |lines: usize, state, has_seen_diff| {
            let added: String = (1..=lines).map(|line| format!("+line {line}\n")).collect();
            let diff = format!("diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,2 @@\n{added}");
            let card = Card { state, told_diff: Some(diff), ..Card::default() };
            let (is_named, has_summary, had_output) = (false, false, false);
            Ending { card: &card, is_named, has_summary, had_output, has_seen_diff }.draw(PLAIN)
        };
        let short = "  │ @@ -0,0 +1,2 @@\n  │ +line 1\n  │ +line 2\n  └ done\n";
        assert_eq!(draw(2, CallState::Done, false), short);
        assert_eq!(draw(2, CallState::Done, true), "  └ done\n");
        assert_eq!(draw(2, CallState::Interrupted, false), "  └ interrupted\n");
        let long = draw(100, CallState::Done, false);
        assert!(long.ends_with("  │ +line 15\n  │ … 85 more lines\n  └ done\n"), "{long}");
    }

    #[test]
    fn output_on_a_terminal_has_a_beginning_and_an_end() {
        let place = CardPlace { style: OutputStyle::Styled { width: 80 }, depth: 0 };
        let mut live = LiveOutput::default();
        let text: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let drawn = live.push(&text, place);
        assert_eq!(drawn.lines().count(), FIRST_LINES);
        assert_eq!(live.push("and no end\n", place), "");
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
