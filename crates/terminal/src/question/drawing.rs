//! The question as it looks.

use std::time::Instant;

use timeline::safe_text::harmless;

use super::{PanelMode, PanelQuestion, QuestionPanel};
use crate::input::{EditBuffer, wrapped};
use crate::live_lines::{InkLine, cut_painted, unpainted, wrap_painted};
use crate::{Ink, LiveLines, LiveStyle, columns};

/// The keys in the order in which they are listed.
const KEYS: [(char, &str); 8] = [
    ('y', "yes"),
    ('n', "no, say why"),
    ('f', "files"),
    ('h', "hunks"),
    ('e', "edit"),
    ('c', "comment"),
    ('a', "always…"),
    ('d', "diff in full"),
];
/// Blanks between two keys.
const BETWEEN: usize = 3;
/// Warnings that are shown; the diff in full has room for more.
const MOST_WARNINGS: usize = 5;
/// Stands before what is asked about.
const PREVIEW_INDENT: &str = "  ";
/// Border and blank on each side.
const SIDES: usize = 4;
/// Lines of the diff around the one that is commented.
const COMMENT_ROWS: usize = 7;

impl QuestionPanel {
    /// The beginning of what is asked about, to stand above the question; nothing while a part of it is shown
    /// within the question.
    pub fn preview(&self, style: LiveStyle, max_rows: usize) -> Vec<String> {
        let diff = &self.question.diff;
        let is_shown =
            matches!(self.mode, PanelMode::Choose | PanelMode::Reason(_) | PanelMode::Rule);
        if !is_shown || diff.is_empty() || max_rows < 3 {
            return Vec::new();
        }
        // Long lines are wrapped: what would be cut off could be what matters.
        let room = style.width.saturating_sub(PREVIEW_INDENT.len()).max(1);
        let mut lines: Vec<String> = Vec::new();
        let mut shown = 0;
        for line in diff {
            let rows = wrap_painted(&line.drawn, room);
            let is_last = shown + 1 == diff.len();
            if lines.len() + rows.len() + usize::from(!is_last) >= max_rows {
                break;
            }
            lines.extend(rows.iter().map(|row| format!("{PREVIEW_INDENT}{row}")));
            shown += 1;
        }
        if shown < diff.len() {
            let mut more = InkLine::new();
            more.push(
                Ink::YELLOW,
                &format!("{PREVIEW_INDENT}… {} more lines: d", diff.len() - shown),
            );
            lines.push(more.paint(style));
        }
        lines.push(String::new());
        lines
    }

    /// Draws the question in at most about `max_rows` rows. It has the cursor only while a line of it is typed.
    /// Its title and keys are bold once keys count, which depends on when the keyboard was last `seen_empty`.
    pub fn draw(
        &mut self,
        style: LiveStyle,
        max_rows: usize,
        input_is_empty: bool,
        seen_empty: Instant,
    ) -> LiveLines {
        let counts = seen_empty >= self.counts_from();
        let title_ink = if counts { Ink::BOLD } else { Ink::PLAIN };
        let inner = LiveStyle { width: style.width.saturating_sub(SIDES).max(1), ..style };
        let mut body = self.facts(inner, title_ink);
        let room = max_rows.saturating_sub(body.len() + 3).max(3);
        let mut cursor = None;
        let offered: Vec<(char, &str)> =
            KEYS.into_iter().filter(|(key, _)| self.offers(*key)).collect();
        match &mut self.mode {
            PanelMode::Choose => {
                body.extend(keys(inner, &offered, input_is_empty && counts));
                if !input_is_empty {
                    body.extend(hint(inner, "these keys answer when the input is empty"));
                }
            }
            PanelMode::Reason(field) => {
                cursor = Some(typed_line(&mut body, inner, "why not: ", field));
                body.extend(hint(inner, "enter says no · esc back"));
            }
            PanelMode::Parts(picker) => {
                body.extend(picker.draw(inner, room));
                body.extend(hint(
                    inner,
                    "space toggles · a all · enter approves the picked · esc back",
                ));
            }
            PanelMode::CommentLine { line } | PanelMode::CommentText { line, .. } => {
                let most = COMMENT_ROWS.min(room);
                let first = line.saturating_sub(most / 2);
                let lines = self.question.diff.iter().enumerate().skip(first).take(most);
                for (at, shown) in lines {
                    let mark = if at == *line { "› " } else { "  " };
                    body.push(cut_painted(&format!("{mark}{}", shown.drawn), inner.width));
                }
                if let PanelMode::CommentText { text, .. } = &self.mode {
                    cursor = Some(typed_line(&mut body, inner, "comment: ", text));
                    body.extend(hint(inner, "enter sends it to the model · esc back"));
                } else {
                    body.extend(hint(inner, "↑ ↓ line · enter comments it · esc back"));
                }
            }
            PanelMode::Rule => {
                let rule = self.question.rule.as_deref().unwrap_or_default();
                body.extend(whole(inner, Ink::BOLD, rule));
                let lifetimes = [('s', "for this session"), ('g', "for good")];
                body.extend(keys(inner, &lifetimes, counts));
                body.extend(hint(inner, "esc back"));
            }
            PanelMode::Diff(pager) => {
                let above = body.len();
                let (lines, at) = pager.draw(&self.question.diff, inner, room);
                cursor = at.map(|(row, column)| (above + row, column));
                body.extend(lines);
            }
        }
        if let Some(note) = self.note {
            body.extend(whole(inner, Ink::YELLOW, note));
        }
        self.framed(style, title_ink, body, cursor)
    }

    /// Why the user is asked, and what to know first.
    fn facts(&self, inner: LiveStyle, title_ink: Ink) -> Vec<String> {
        let PanelQuestion { title, reason, warnings, .. } = &self.question;
        let mut lines = Vec::new();
        if !self.title_fits(inner.width + SIDES) {
            lines.extend(whole(inner, title_ink, title));
        }
        lines.extend(reason.iter().flat_map(|text| whole(inner, Ink::DIM, text)));
        let shown = warnings.iter().take(MOST_WARNINGS);
        lines.extend(shown.flat_map(|text| whole(inner, Ink::YELLOW, text)));
        if let Some(more @ 1..) = warnings.len().checked_sub(MOST_WARNINGS) {
            lines.extend(whole(inner, Ink::YELLOW, &format!("… and {more} more warnings")));
        }
        lines
    }

    /// Which of several questions this is.
    fn place(&self) -> String {
        match self.question.position {
            (_, 0 | 1) => String::new(),
            (index, count) => format!("{index} of {count} "),
        }
    }

    /// Whether the title has room in the upper border.
    fn title_fits(&self, width: usize) -> bool {
        columns(&harmless(&self.question.title)) + SIDES + columns(&self.place()) <= width
    }

    fn framed(
        &self,
        style: LiveStyle,
        title_ink: Ink,
        body: Vec<String>,
        cursor: Option<(usize, usize)>,
    ) -> LiveLines {
        let inner = style.width.saturating_sub(SIDES).max(1);
        let ends = style.width.saturating_sub(1);
        let place = self.place();
        let mut top = InkLine::new();
        let start = ends.saturating_sub(columns(&place));
        top.push(Ink::YELLOW, "╭ ");
        // A title without room for it stands below as a whole.
        if self.title_fits(style.width) {
            top.push(title_ink, &self.question.title);
        }
        top.fill(Ink::PLAIN, " ", start).push(Ink::DIM, &place).push(Ink::YELLOW, "╮");
        let mut bottom = InkLine::new();
        bottom.push(Ink::YELLOW, "╰").fill(Ink::PLAIN, " ", ends).push(Ink::YELLOW, "╯");
        let bar = |text: &str| if style.colour { Ink::YELLOW.paint(text) } else { text.to_owned() };
        let mut lines = vec![top.paint(style)];
        for line in body {
            let used = columns(&unpainted(&line));
            let blanks = " ".repeat(inner.saturating_sub(used));
            lines.push(match style.width > SIDES {
                true => format!("{} {line}{blanks} {}", bar("│"), bar("│")),
                false => line,
            });
        }
        lines.push(bottom.paint(style));
        let left = if style.width > SIDES { 2 } else { 0 };
        let cursor = cursor.map(|(row, column)| (row + 1, left + column));
        LiveLines { lines, cursor }
    }
}

/// The keys, in as many rows as they need.
fn keys(inner: LiveStyle, offered: &[(char, &str)], live: bool) -> Vec<String> {
    let mut rows = vec![InkLine::new()];
    for (key, words) in offered {
        let needed = 2 + columns(words);
        let Some(last) = rows.last_mut() else { break };
        let gap = if last.used() == 0 { 0 } else { BETWEEN };
        let line = if last.used() + gap + needed > inner.width && gap > 0 {
            rows.push(InkLine::new());
            rows.last_mut()
        } else {
            last.push(Ink::PLAIN, &" ".repeat(gap));
            Some(last)
        };
        if let Some(line) = line {
            let ink = if live { Ink::BOLD } else { Ink::DIM };
            line.push(ink, &key.to_string());
            line.push(Ink::DIM, &format!(" {words}"));
        }
    }
    rows.iter().map(|row| row.paint(inner)).collect()
}

fn hint(inner: LiveStyle, text: &str) -> Vec<String> {
    whole(inner, Ink::DIM, text)
}

/// A text in as many lines as it needs: what is agreed to is never cut.
fn whole(inner: LiveStyle, ink: Ink, text: &str) -> Vec<String> {
    let line = |row: &String| InkLine::new().push(ink, row).paint(inner);
    wrapped(text, inner.width).iter().map(line).collect()
}

/// A line that is typed, scrolled so that the cursor is in it; returns where that is.
fn typed_line(
    body: &mut Vec<String>,
    inner: LiveStyle,
    label: &str,
    field: &EditBuffer,
) -> (usize, usize) {
    let mut line = InkLine::new();
    line.push_fit(Ink::CYAN, label, inner.width / 2);
    let room = inner.width.saturating_sub(line.used() + 1).max(1);
    let (text, column) = field.window(room);
    let cursor = (line.used() + column).min(inner.width.saturating_sub(1));
    line.push(Ink::PLAIN, &text);
    body.push(line.paint(inner));
    (body.len() - 1, cursor)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::PanelLine;
    use super::*;

    #[test]
    fn what_is_asked_about_stands_above_the_question_and_nothing_of_it_is_cut_off() {
        let line = |text: &str| PanelLine { drawn: text.to_owned(), place: None };
        let diff = vec![
            line("$ ls --a-long-option-that-fills-the-row; rm -rf src"),
            line("two"),
            line("three"),
        ];
        let question = PanelQuestion { title: "Run it?".into(), diff, ..PanelQuestion::default() };
        let panel = QuestionPanel::open(question, Instant::now(), None);
        let style = LiveStyle { width: 30, colour: false };
        let drawn = |rows| panel.preview(style, rows).join("\n");
        insta::assert_snapshot!(drawn(8), @r#"
        $ ls --a-long-option-that-fi
        lls-the-row; rm -rf src
        two
        three
        "#);
        insta::assert_snapshot!(drawn(4), @r#"
        $ ls --a-long-option-that-fi
        lls-the-row; rm -rf src
        … 2 more lines: d
        "#);
        assert_eq!(drawn(2), "");
    }
}
