//! A question that waits for the user's approval, and the keys that answer it.
//!
//! One key is an answer, so it must be meant as one. Keys count only while the input box is empty, not in
//! the first moments of a question, and not before the keyboard has been quiet. All others are text for the input box:
//! none is lost, and none approves.

mod drawing;
mod panel_question;
mod part_picker;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::input::{EditBuffer, cleaned, types_a_character};
use crate::pager::{LinePager, PagerStep};
pub use panel_question::{
    CommentPlace, PanelAnswer, PanelFile, PanelLine, PanelOutcome, PanelPart, PanelQuestion,
    RuleLifetime,
};
use part_picker::{PartPicker, PickStep};

/// How long a question takes no answer, and how long the keyboard has to be quiet before it does.
pub const DEAD_TIME: Duration = Duration::from_millis(300);

/// When a key can have been pressed: between the last look at the keyboard that found nothing, and now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMoment {
    /// Not before this moment; it decides whether the key counts.
    pub earliest: Instant,
    /// Not after this one; from it on, the keyboard has to be quiet.
    pub latest: Instant,
}

impl From<Instant> for KeyMoment {
    fn from(exact: Instant) -> Self {
        Self { earliest: exact, latest: exact }
    }
}

/// What the panel shows.
#[derive(Debug)]
enum PanelMode {
    Choose,
    Reason(EditBuffer),
    Parts(PartPicker),
    CommentLine { line: usize },
    CommentText { line: usize, text: EditBuffer },
    Rule,
    Diff(LinePager),
}

/// A question above the input box.
#[derive(Debug)]
pub struct QuestionPanel {
    question: PanelQuestion,
    mode: PanelMode,
    opened: Instant,
    /// When a key went to the input box.
    last_typed: Option<Instant>,
    /// The key that opened the present mode. If text follows at once, it was text too.
    opening_key: Option<(KeyEvent, Instant)>,
    note: Option<&'static str>,
}

impl QuestionPanel {
    /// Shows a question. `last_key` is when the user typed something, whatever it was for.
    pub fn open(question: PanelQuestion, now: Instant, last_key: Option<Instant>) -> Self {
        Self {
            question,
            mode: PanelMode::Choose,
            opened: now,
            last_typed: last_key,
            opening_key: None,
            note: None,
        }
    }

    /// The question is on the screen since `now`: a slow terminal may show it long after it was opened.
    pub fn shown(&mut self, now: Instant) {
        self.opened = self.opened.max(now);
    }

    /// What is asked.
    pub fn question(&self) -> &PanelQuestion {
        &self.question
    }

    /// The same question, drawn for another width. What was being chosen in the old drawing is given up.
    pub fn set_question(&mut self, question: PanelQuestion) {
        self.question = question;
        if !matches!(self.mode, PanelMode::Reason(_) | PanelMode::Rule) {
            self.mode = PanelMode::Choose;
        }
    }

    /// Says how many questions wait, as that can change.
    pub fn set_position(&mut self, index: usize, count: usize) {
        self.question.position = (index, count);
    }

    /// When a key can be an answer, unless another one comes before.
    pub fn counts_from(&self) -> Instant {
        let opening = self.opening_key.map(|(_, at)| at);
        let last = [Some(self.opened), self.last_typed, opening].into_iter().flatten().max();
        last.unwrap_or(self.opened) + DEAD_TIME
    }

    /// Takes a paste if a line of the panel is being typed; `false` if it is for the input box.
    pub fn paste(&mut self, text: &str, pressed: impl Into<KeyMoment>) -> bool {
        match &mut self.mode {
            PanelMode::Reason(field) | PanelMode::CommentText { text: field, .. } => {
                field.insert(&cleaned(text).replace('\n', " "));
                true
            }
            _ => {
                self.last_typed = Some(pressed.into().latest);
                false
            }
        }
    }

    /// Takes a key. `input_is_empty` tells whether nothing is typed in the input box.
    pub fn key(
        &mut self,
        event: KeyEvent,
        pressed: impl Into<KeyMoment>,
        input_is_empty: bool,
    ) -> PanelOutcome {
        let now = pressed.into();
        if event.kind == KeyEventKind::Release {
            return PanelOutcome::ToInput(vec![event]);
        }
        self.note = None;
        let opening = self.opening_key.take();
        if matches!(self.mode, PanelMode::Choose) {
            return self.choose(event, now, input_is_empty);
        }
        if is_for_the_whole_program(event) {
            return self.give_to_input(vec![event], now);
        }
        if let Some((first, at)) = opening
            && now.earliest < at + DEAD_TIME
        {
            if types_a_character(event) || event.code == KeyCode::Enter {
                self.mode = PanelMode::Choose;
                return self.give_to_input(vec![first, event], now);
            }
            self.opening_key = Some((first, at));
        }
        if !input_is_empty && !self.is_typing() {
            self.mode = PanelMode::Choose;
            return self.give_to_input(vec![event], now);
        }
        self.key_of_mode(event, now)
    }

    fn give_to_input(&mut self, keys: Vec<KeyEvent>, now: KeyMoment) -> PanelOutcome {
        self.last_typed = Some(now.latest);
        PanelOutcome::ToInput(keys)
    }

    /// Whether a line of the panel has the cursor.
    fn is_typing(&self) -> bool {
        match &self.mode {
            PanelMode::Reason(_) | PanelMode::CommentText { .. } => true,
            PanelMode::Diff(pager) => pager.is_typing(),
            _ => false,
        }
    }

    fn choose(&mut self, event: KeyEvent, now: KeyMoment, input_is_empty: bool) -> PanelOutcome {
        let is_live = input_is_empty && now.earliest >= self.counts_from();
        let letter = match event.code {
            KeyCode::Char(c) if is_live && event.modifiers.is_empty() && self.offers(c) => c,
            _ => return self.give_to_input(vec![event], now),
        };
        self.mode = match letter {
            'y' => return PanelOutcome::Answer(PanelAnswer::Yes),
            'e' => return PanelOutcome::Answer(PanelAnswer::Edit),
            'n' => {
                // A reason may follow as fast as it can be typed: it approves nothing.
                self.mode = PanelMode::Reason(EditBuffer::default());
                return PanelOutcome::Changed;
            }
            'f' => PanelMode::Parts(PartPicker::files(&self.question.files)),
            'h' => PanelMode::Parts(PartPicker::hunks(&self.question.files)),
            'c' => PanelMode::CommentLine { line: self.commentable(0, true).unwrap_or(0) },
            'a' => PanelMode::Rule,
            _ => PanelMode::Diff(LinePager::default()),
        };
        self.opening_key = Some((event, now.latest));
        PanelOutcome::Changed
    }

    /// Whether the letter is a key of this question.
    fn offers(&self, letter: char) -> bool {
        let question = &self.question;
        match letter {
            'y' | 'n' => true,
            'f' => question.files.len() > 1,
            'h' => question.files.iter().map(|file| file.parts.len()).sum::<usize>() > 1,
            'e' => question.can_edit,
            'c' => question.diff.iter().any(|line| line.place.is_some()),
            'a' => question.rule.is_some(),
            'd' => !question.diff.is_empty(),
            _ => false,
        }
    }

    fn key_of_mode(&mut self, event: KeyEvent, now: KeyMoment) -> PanelOutcome {
        let is_plain = (event.modifiers - KeyModifiers::SHIFT).is_empty();
        match &mut self.mode {
            PanelMode::Choose => {}
            PanelMode::Reason(field) => match event.code {
                KeyCode::Esc => self.back(now),
                KeyCode::Enter => {
                    let reason = field.draft().expanded().trim().to_owned();
                    let reason = (!reason.is_empty()).then_some(reason);
                    return PanelOutcome::Answer(PanelAnswer::No(reason));
                }
                _ => {
                    field.key(event);
                }
            },
            PanelMode::CommentText { line, text } => match event.code {
                KeyCode::Esc => self.mode = PanelMode::CommentLine { line: *line },
                KeyCode::Enter => {
                    let text = text.draft().expanded().trim().to_owned();
                    let place = self.question.diff[*line].place.clone();
                    match place {
                        Some(place) if !text.is_empty() => {
                            return PanelOutcome::Answer(PanelAnswer::Comment { place, text });
                        }
                        _ => self.note = Some("an empty comment is not sent; esc goes back"),
                    }
                }
                _ => {
                    text.key(event);
                }
            },
            PanelMode::Parts(picker) => match picker.key(event) {
                PickStep::Stay => {}
                PickStep::Back => self.back(now),
                PickStep::NotMeant => return self.not_meant(event, now),
                PickStep::None => self.note = Some("nothing is picked; esc goes back, n says no"),
                PickStep::All => return PanelOutcome::Answer(PanelAnswer::Yes),
                PickStep::Some(parts) => return PanelOutcome::Answer(PanelAnswer::Parts(parts)),
            },
            PanelMode::CommentLine { line } => {
                let line = *line;
                match event.code {
                    KeyCode::Esc => self.back(now),
                    KeyCode::Up => self.comment_step(line, false),
                    KeyCode::Down => self.comment_step(line, true),
                    KeyCode::Enter => {
                        self.mode = PanelMode::CommentText { line, text: EditBuffer::default() };
                    }
                    _ => return self.not_meant(event, now),
                }
            }
            PanelMode::Rule => match event.code {
                KeyCode::Esc => self.back(now),
                KeyCode::Char('s') if is_plain => {
                    return PanelOutcome::Answer(PanelAnswer::Always(RuleLifetime::Session));
                }
                KeyCode::Char('g') if is_plain => {
                    return PanelOutcome::Answer(PanelAnswer::Always(RuleLifetime::ForGood));
                }
                _ => return self.not_meant(event, now),
            },
            PanelMode::Diff(pager) => match pager.key(event, &self.question.diff) {
                PagerStep::Stay => {}
                PagerStep::Close => self.back(now),
            },
        }
        PanelOutcome::Changed
    }

    /// A character that means nothing in the present mode is text for the input box.
    fn not_meant(&mut self, event: KeyEvent, now: KeyMoment) -> PanelOutcome {
        if !types_a_character(event) {
            return PanelOutcome::Changed;
        }
        self.mode = PanelMode::Choose;
        self.give_to_input(vec![event], now)
    }

    /// Shows the keys again. What follows at once is not an answer.
    fn back(&mut self, now: KeyMoment) {
        self.mode = PanelMode::Choose;
        self.last_typed = Some(now.latest);
    }

    fn comment_step(&mut self, from: usize, forward: bool) {
        let next = if forward { Some(from + 1) } else { from.checked_sub(1) };
        if let Some(line) = next.and_then(|next| self.commentable(next, forward)) {
            self.mode = PanelMode::CommentLine { line };
        }
    }

    /// The nearest line from `from` on that can be commented.
    fn commentable(&self, from: usize, forward: bool) -> Option<usize> {
        let diff = &self.question.diff;
        let has_place = |at: &usize| diff[*at].place.is_some();
        match forward {
            true => (from..diff.len()).find(has_place),
            false => (0..=from).rev().find(has_place),
        }
    }
}

/// Keys that mean the same whatever is shown.
fn is_for_the_whole_program(event: KeyEvent) -> bool {
    event.modifiers == KeyModifiers::CONTROL && matches!(event.code, KeyCode::Char('c' | 'z' | 'l'))
}
