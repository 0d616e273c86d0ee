//! What the conversation has folded, opened below it: thoughts, and what calls have printed or changed.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use timeline::{Card, Item, ItemBody, Timeline, duration};

use crate::diff::{DiffView, read_unified};
use crate::live_lines::InkLine;
use crate::markdown::Markdown;
use crate::pager::{LinePager, PagerStep};
use crate::{Ink, LiveLines, LiveStyle, OutputStyle};

/// Calls and thoughts that can be opened, counted from the last.
const MOST_SHEETS: usize = 200;
/// A text with fewer lines was shown as a whole.
const FOLDED_FROM: usize = 2;

/// Something that can be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewerSheet {
    /// What it is, on one line.
    pub title: String,
    /// Its lines as they are drawn.
    pub lines: Vec<String>,
}

impl ViewerSheet {
    fn of(item: &Item, style: OutputStyle) -> Option<Self> {
        match &item.body {
            ItemBody::Thinking { text, took_ms } => {
                let mut markdown = Markdown::new(style, Ink::DIM);
                let drawn = markdown.push(&text.to_string()) + &markdown.finish();
                let time = took_ms.map(|time| format!(" for {}", duration(time)));
                let title = format!("Thought{}", time.unwrap_or_default());
                Some(Self { title, lines: drawn.lines().map(str::to_owned).collect() })
            }
            ItemBody::Call(card) if card.state.is_over() => Self::of_card(card, style),
            _ => None,
        }
    }

    fn of_card(card: &Card, style: OutputStyle) -> Option<Self> {
        let mut lines = Vec::new();
        if let Some(diff) = card.diff() {
            let view = DiffView::new(&read_unified(&diff), style);
            lines = view.lines(0..view.len());
        }
        if lines.is_empty() || card.exit_code.is_some() {
            lines.extend(card.printed().lines().map(str::to_owned));
        }
        (lines.len() >= FOLDED_FROM).then(|| Self { title: card.title.clone(), lines })
    }
}

/// Shows one sheet at a time.
#[derive(Debug)]
pub struct Viewer {
    sheets: Vec<ViewerSheet>,
    at: usize,
    pager: LinePager,
}

impl Viewer {
    /// What a conversation has folded, the last of it first. None if there is nothing.
    pub fn of(timeline: &Timeline, style: OutputStyle) -> Option<Self> {
        let items = timeline.items().iter().rev();
        let sheets = items.filter_map(|item| ViewerSheet::of(item, style)).take(MOST_SHEETS);
        let sheets: Vec<ViewerSheet> = sheets.collect();
        (!sheets.is_empty()).then(|| Self { sheets, at: 0, pager: LinePager::default() })
    }

    /// Takes a key. Answers whether the viewer stays open.
    pub fn key(&mut self, event: KeyEvent) -> bool {
        if event.kind == KeyEventKind::Release {
            return true;
        }
        let is_ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let at = match event.code {
            KeyCode::Char('o' | 'c') if is_ctrl => return false,
            KeyCode::Left if !self.pager.is_typing() => self.at + 1,
            KeyCode::Right if !self.pager.is_typing() => self.at.saturating_sub(1),
            _ => {
                return self.pager.key(event, &self.sheets[self.at].lines) == PagerStep::Stay;
            }
        };
        let at = at.min(self.sheets.len() - 1);
        if at != self.at {
            self.at = at;
            self.pager = LinePager::default();
        }
        true
    }

    /// Draws the sheet in at most `max_rows` rows.
    pub fn draw(&mut self, style: LiveStyle, max_rows: usize) -> LiveLines {
        let sheet = &self.sheets[self.at];
        let mut head = InkLine::new();
        let place = match self.sheets.len() {
            1 => String::new(),
            count => format!("{} of {count}  ← earlier  → later", self.at + 1),
        };
        let end = style.width.saturating_sub(crate::columns(&place) + 1);
        head.push_fit(Ink::BOLD, &sheet.title, end.saturating_sub(1));
        head.fill(Ink::PLAIN, " ", end).push(Ink::DIM, &place);
        let rows = max_rows.saturating_sub(1).max(2);
        let (body, cursor) = self.pager.draw(&sheet.lines, style, rows);
        let lines = std::iter::once(head.paint(style)).chain(body).collect();
        LiveLines { lines, cursor: cursor.map(|(row, column)| (row + 1, column)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewer() -> Viewer {
        let lines = |of: &str, count: usize| (1..=count).map(|at| format!("{of} {at}")).collect();
        let sheets = vec![
            ViewerSheet { title: "Ran npm test".into(), lines: lines("line", 9) },
            ViewerSheet { title: "Thought for 3 s".into(), lines: lines("thought", 2) },
        ];
        Viewer { sheets, at: 0, pager: LinePager::default() }
    }

    fn drawn(viewer: &mut Viewer) -> String {
        let style = LiveStyle { width: 50, colour: false };
        viewer.draw(style, 6).lines.join("\n")
    }

    fn press(viewer: &mut Viewer, code: KeyCode) -> bool {
        viewer.key(KeyEvent::from(code))
    }

    #[test]
    fn sheets_are_paged_and_the_arrows_lead_to_others() {
        let mut viewer = viewer();
        insta::assert_snapshot!(drawn(&mut viewer), @r#"
        Ran npm test           1 of 2  ← earlier  → later
        line 1
        line 2
        line 3
        line 4
        1–4 of 9   space page   g G ends   / search   q b…
        "#);
        assert!(press(&mut viewer, KeyCode::End));
        insta::assert_snapshot!(drawn(&mut viewer), @r#"
        Ran npm test           1 of 2  ← earlier  → later
        line 6
        line 7
        line 8
        line 9
        6–9 of 9   space page   g G ends   / search   q b…
        "#);
        assert!(press(&mut viewer, KeyCode::Left) && press(&mut viewer, KeyCode::Left));
        insta::assert_snapshot!(drawn(&mut viewer), @r#"
        Thought for 3 s        2 of 2  ← earlier  → later
        thought 1
        thought 2
        1–2 of 2   space page   g G ends   / search   q b…
        "#);
        assert!(press(&mut viewer, KeyCode::Right));
        assert!(!press(&mut viewer, KeyCode::Esc));
        let again = KeyEvent::new(KeyCode::Char('o'), KeyModifiers::CONTROL);
        assert!(!viewer.key(again));
    }
}
