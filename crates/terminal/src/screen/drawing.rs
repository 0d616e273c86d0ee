//! Items of a timeline as lines that are written once and stay: the model's words on one writer,
//! everything else on another.

use std::collections::HashMap;
use std::io::{self, Write};

use timeline::{
    Answer, AnswerState, CallState, Card, Item, ItemBody, ItemId, Level, Notice, Topic, TurnCosts,
    UserMessage,
};

use super::ScreenOptions;
use crate::cards::{self, CardPlace, LiveOutput};
use crate::markdown::Markdown;
use crate::notices;
use crate::output_style::{Ink, OutputStyle};

#[derive(Debug)]
pub(super) struct Drawing<W, N> {
    words: W,
    notes: N,
    pub(super) options: ScreenOptions,
    speech: Speech,
    /// How many bytes of a text that grows were written.
    texts: HashMap<ItemId, usize>,
    cards: HashMap<ItemId, DrawnCard>,
    /// The card that lines without a name belong to.
    current: Option<ItemId>,
    last: LastShown,
}

/// What is being written and has not ended.
#[derive(Debug)]
enum Speech {
    Silent,
    Words(Markdown),
    Thoughts(Markdown),
}

/// What was shown last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastShown {
    Nothing,
    Words,
    Notes,
}

/// What was drawn of a card.
#[derive(Debug, Default)]
struct DrawnCard {
    /// The title that it began with.
    title: Option<String>,
    /// The end of the output that was taken.
    taken: u64,
    output: LiveOutput,
    /// Whether any of its output was shown.
    had_output: bool,
    is_over: bool,
}

impl<W: Write, N: Write> Drawing<W, N> {
    pub(super) fn new(words: W, notes: N, options: ScreenOptions) -> Self {
        Self {
            words,
            notes,
            options,
            speech: Speech::Silent,
            texts: HashMap::new(),
            cards: HashMap::new(),
            current: None,
            last: LastShown::Nothing,
        }
    }

    /// Draws what is to be seen of an item and was not drawn yet.
    pub(super) fn draw(&mut self, item: &Item) -> io::Result<()> {
        let own = item.parent.is_none();
        match &item.body {
            ItemBody::Call(card) => self.card(item, card),
            ItemBody::Notice(notice) if own || matters_in_sub_agents(notice) => {
                self.notice(&notice.text, ink(notice.level))
            }
            // A sub-agent's words come back as the result of its call.
            _ if !own => Ok(()),
            ItemBody::Message(message) => self.message(message),
            ItemBody::Answer(answer) => self.answer(item.id, answer),
            ItemBody::Thinking { text } => self.thinking(item.id, text),
            ItemBody::Plan { steps } => {
                self.current = None;
                let place = CardPlace { style: self.options.notes, depth: 0 };
                self.note(&cards::plan(steps, place))
            }
            ItemBody::Notice(_) => Ok(()),
            ItemBody::Turn(turn) => self.turn(turn),
        }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.words.flush()?;
        self.notes.flush()
    }

    fn message(&mut self, message: &UserMessage) -> io::Result<()> {
        self.end_speech()?;
        if self.options.messages {
            let lines = message.text.lines().map(|line| format!("> {line}\n"));
            let drawn = self.options.notes.paint(Ink::BOLD, &lines.collect::<String>());
            if self.last == LastShown::Notes {
                // What another turn ended with does not belong to this one.
                self.last = LastShown::Words;
            }
            self.note(&drawn)?;
        } else {
            // The user has typed it on this very terminal.
            self.last = LastShown::Notes;
        }
        Ok(())
    }

    fn answer(&mut self, id: ItemId, answer: &Answer) -> io::Result<()> {
        let written = self.texts.get(&id).copied().unwrap_or(0);
        // The whole text may differ from its pieces, and these are on the screen.
        if written == 0 || answer.state != AnswerState::Complete {
            let more = answer.text.get(written..).unwrap_or_default();
            if !more.is_empty() {
                self.words(more)?;
            }
            self.texts.insert(id, answer.text.len());
        }
        if answer.state != AnswerState::Streaming {
            self.texts.remove(&id);
            self.end_speech()?;
        }
        Ok(())
    }

    fn words(&mut self, text: &str) -> io::Result<()> {
        if !matches!(self.speech, Speech::Words(_)) {
            self.end_speech()?;
            self.separate(LastShown::Words)?;
            self.speech = Speech::Words(Markdown::new(self.options.words));
        }
        match &mut self.speech {
            Speech::Words(markdown) => write!(self.words, "{}", markdown.push(text)),
            _ => Ok(()),
        }
    }

    fn thinking(&mut self, id: ItemId, text: &str) -> io::Result<()> {
        let written = self.texts.insert(id, text.len()).unwrap_or(0);
        let more = text.get(written..).unwrap_or_default();
        if !self.options.thoughts || more.is_empty() {
            return Ok(());
        }
        if !matches!(self.speech, Speech::Thoughts(_)) {
            self.end_speech()?;
            self.separate(LastShown::Notes)?;
            self.speech = Speech::Thoughts(Markdown::new(OutputStyle::Plain));
        }
        let Speech::Thoughts(thoughts) = &mut self.speech else { return Ok(()) };
        let safe = thoughts.push(more);
        write!(self.notes, "{}", self.options.notes.paint(Ink::DIM, &safe))
    }

    /// Ends the line that is being written.
    pub(super) fn end_speech(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.speech, Speech::Silent) {
            Speech::Silent => Ok(()),
            Speech::Words(markdown) => write!(self.words, "{}", markdown.finish()),
            Speech::Thoughts(thoughts) => write!(self.notes, "{}", thoughts.finish()),
        }
    }

    fn card(&mut self, item: &Item, card: &Card) -> io::Result<()> {
        let drawn = self.cards.entry(item.id).or_default();
        let never_ran = card.state == CallState::Interrupted && card.working_ms.is_none();
        let is_begun = drawn.title.is_some();
        if drawn.is_over || card.state == CallState::Pending || (never_ran && !is_begun) {
            return Ok(());
        }
        if !is_begun {
            self.draw_start(item, card)?;
        }
        self.output(item, card)?;
        match card.state {
            CallState::WaitingForApproval => self.end_speech(),
            state if state.is_over() => self.card_ended(item, card),
            _ => Ok(()),
        }
    }

    fn place(&self, item: &Item) -> CardPlace {
        CardPlace { style: self.options.notes, depth: item.depth }
    }

    fn drawn(&mut self, item: &Item) -> &mut DrawnCard {
        self.cards.entry(item.id).or_default()
    }

    fn draw_start(&mut self, item: &Item, card: &Card) -> io::Result<()> {
        self.current = Some(item.id);
        let title = self.drawn(item).title.get_or_insert_with(|| card.title.clone()).clone();
        self.note(&cards::started(&title, self.place(item)))
    }

    fn output(&mut self, item: &Item, card: &Card) -> io::Result<()> {
        let place = self.place(item);
        let drawn = self.drawn(item);
        let mut lines = drawn.output.push(card.output.after(drawn.taken), place);
        drawn.taken = card.output.end();
        if card.state.is_over() {
            lines.push_str(&drawn.output.finish(place));
        }
        if lines.is_empty() {
            return Ok(());
        }
        drawn.had_output = true;
        // Output stands below the start of its own call.
        if self.current != Some(item.id) {
            self.draw_start(item, card)?;
        }
        self.note(&lines)
    }

    fn card_ended(&mut self, item: &Item, card: &Card) -> io::Result<()> {
        let is_current = self.current == Some(item.id);
        let place = self.place(item);
        let has_seen_diff =
            self.options.questions && !card.questions.is_empty() && !card.is_revised();
        let drawn = self.drawn(item);
        drawn.is_over = true;
        let ending = cards::Ending {
            card,
            is_named: !is_current,
            has_summary: drawn.title.as_ref() != Some(&card.title),
            had_output: drawn.had_output,
            has_seen_diff,
        };
        let lines = ending.draw(place);
        self.current = None;
        self.note(&lines)
    }

    fn turn(&mut self, turn: &TurnCosts) -> io::Result<()> {
        self.texts.clear();
        let window = self.options.context_window;
        let costs = notices::turn_costs(turn, window, self.options.notes);
        self.note(&format!("{costs}\n"))
    }

    pub(super) fn notice(&mut self, text: &str, ink: Ink) -> io::Result<()> {
        self.current = None;
        let drawn = self.options.notes.paint(ink, &format!("· {text}"));
        self.note(&format!("{drawn}\n"))
    }

    /// Writes whole lines that are not the model's words.
    fn note(&mut self, lines: &str) -> io::Result<()> {
        self.end_speech()?;
        self.separate(LastShown::Notes)?;
        write!(self.notes, "{lines}")
    }

    /// Leaves a blank line between words and notes on a terminal.
    fn separate(&mut self, next: LastShown) -> io::Result<()> {
        let last = std::mem::replace(&mut self.last, next);
        let differs = last != LastShown::Nothing && last != next;
        if differs && self.options.notes != OutputStyle::Plain {
            // On a terminal both writers end up on the same screen, in this order.
            self.words.flush()?;
            writeln!(self.notes)?;
            self.notes.flush()?;
        }
        Ok(())
    }
}

fn ink(level: Level) -> Ink {
    match level {
        Level::Info => Ink::DIM,
        Level::Warning => Ink::YELLOW,
        Level::Error => Ink::RED,
    }
}

/// A failing provider and the project's instructions concern the user wherever the model is asked.
fn matters_in_sub_agents(notice: &Notice) -> bool {
    matches!(notice.topic, Topic::ModelFailed | Topic::Instructions)
}
