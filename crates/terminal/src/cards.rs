//! Tool calls and plans as they are drawn: one line a call, written once it has ended, and below it
//! what went wrong or what was changed.

mod finished;
mod group;
mod line;
mod running;
#[cfg(test)]
mod tests;

use protocol::{PlanStep, StepStatus};
use timeline::safe_text::one_line;

pub(crate) use finished::Finished;
pub(crate) use group::CardGroup;
pub(crate) use line::CardLine;
pub use running::{last_lines, running};

use crate::columns::{StyledText, columns, painted};
use crate::ink::Ink;
use crate::markdown::wrapped;
use crate::output_style::OutputStyle;

const INDENT: &str = "  ";
/// What is drawn below the line of a call stands below its object.
const BODY: &str = "            ";
/// Text has at least so many columns, however deep it stands.
const NARROWEST_TEXT: usize = 10;

/// Where cards are drawn: the look, and how deep in sub-agents.
#[derive(Clone, Copy, Debug)]
pub struct CardPlace {
    /// How text may look there.
    pub style: OutputStyle,
    /// How many sub-agents the card is inside of.
    pub depth: usize,
}

impl CardPlace {
    /// What stands before a line: `margin`, and the depth as far as the screen has room for it.
    fn margin(self, margin: &str) -> String {
        let margin = format!("{}{margin}", INDENT.repeat(self.depth));
        let most = self.style.width.saturating_sub(NARROWEST_TEXT).min(self.style.width / 2);
        margin.chars().take(most.max(1)).collect()
    }

    /// A line that is cut where the terminal ends.
    fn cut_line(self, margin: &str, text: &str, ink: Ink) -> String {
        let margin = self.margin(margin);
        let text = crate::columns::without_tabs(text);
        let text = self.style.fit(&text, columns(&margin));
        format!("{margin}{}\n", self.style.paint(ink, &text))
    }

    /// Text over as many lines as it needs; those after the first stand below its beginning.
    fn wrapped(self, margin: &str, text: &str, ink: Ink) -> String {
        let first = self.margin(margin);
        if self.style.is_pipe {
            return format!("{first}{text}\n");
        }
        let rest = " ".repeat(columns(&first));
        let room = self.style.width.saturating_sub(columns(&first)).max(1);
        let lines = wrapped(&[StyledText::new(ink, text)], room);
        let lines = lines.iter().enumerate().map(|(index, line)| {
            let margin = if index == 0 { &first } else { &rest };
            let is_blank = margin.trim().is_empty();
            let margin = self.style.paint(if is_blank { Ink::PLAIN } else { ink }, margin);
            format!("{margin}{}\n", painted(line, self.style))
        });
        lines.collect()
    }
}

/// The plan as a list to check off.
pub fn plan(steps: &[PlanStep], place: CardPlace) -> String {
    let mut drawn = place.wrapped("", "Plan", Ink::BOLD);
    for step in steps {
        let (mark, ink) = match step.status {
            StepStatus::Done => ("  ✔ ", Ink::DIM),
            StepStatus::InProgress => ("  ▶ ", Ink::CYAN),
            StepStatus::Pending => ("  ☐ ", Ink::PLAIN),
        };
        drawn.push_str(&place.wrapped(mark, &one_line(&step.text), ink));
    }
    drawn
}

/// A text behind a mark, for what is neither message nor card.
pub fn wrapped_line(mark: &str, text: &str, ink: Ink, style: OutputStyle) -> String {
    CardPlace { style, depth: 0 }.wrapped(mark, text, ink)
}

/// Lines of a message that are shown as a whole: more were pasted, and the user has seen them.
const MOST_MESSAGE_LINES: usize = 20;
/// Lines that are shown of a longer message.
const SHOWN_MESSAGE_LINES: usize = 8;

/// What the user has said. A terminal shows the beginning of a long text.
pub(crate) fn message(text: &str, style: OutputStyle) -> String {
    let place = CardPlace { style, depth: 0 };
    let mut mark = "› ";
    let mut drawn = String::new();
    let count = text.lines().count();
    let is_folded = count > MOST_MESSAGE_LINES && !style.is_pipe;
    let shown = if is_folded { SHOWN_MESSAGE_LINES } else { count };
    for line in text.lines().take(shown) {
        drawn.push_str(&place.wrapped(mark, line, Ink::BOLD));
        mark = "  ";
    }
    if is_folded {
        let more = format!("… {} more lines", count - shown);
        drawn.push_str(&place.wrapped(mark, &more, Ink::DIM));
    }
    drawn
}
