//! Items of a timeline as lines that are written once and stay: the model's words on one writer,
//! everything else on another.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use protocol::SharedText;
use timeline::{
    Answer, AnswerState, CallState, Card, Item, ItemBody, ItemId, Level, Notice, Timeline, Topic,
    TurnCosts, UserMessage, duration,
};

use super::ScreenOptions;
use crate::cards::{self, CardGroup, CardLine, CardPlace, Finished};
use crate::ink::Ink;
use crate::markdown::Markdown;
use crate::notices;

#[derive(Debug)]
pub(super) struct Drawing<W, N> {
    words: W,
    notes: N,
    pub(super) options: ScreenOptions,
    speech: Speech,
    /// How many bytes of a text that grows were written.
    texts: HashMap<ItemId, usize>,
    /// Cards that are written.
    over: HashSet<ItemId>,
    /// Cards of sub-agents whose line was written when they began, because their calls stand below it.
    begun: HashSet<ItemId>,
    /// The sub-agent whose calls were written last.
    current: Option<ItemId>,
    /// Cards that wait for others of their kind.
    held: Option<CardGroup>,
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
    Message,
    Words,
    Notes,
}

impl LastShown {
    fn differs_from(self, next: LastShown) -> bool {
        self != LastShown::Nothing && self != next
    }
}

impl<W: Write, N: Write> Drawing<W, N> {
    pub(super) fn new(words: W, notes: N, options: ScreenOptions) -> Self {
        Self {
            words,
            notes,
            options,
            speech: Speech::Silent,
            texts: HashMap::new(),
            over: HashSet::new(),
            begun: HashSet::new(),
            current: None,
            held: None,
            last: LastShown::Nothing,
        }
    }

    /// Draws what is to be seen of an item and was not drawn yet.
    pub(super) fn draw(&mut self, timeline: &Timeline, id: ItemId) -> io::Result<()> {
        let item = timeline.item(id);
        let own = item.parent.is_none();
        match &item.body {
            ItemBody::Call(card) => self.card(timeline, item, card),
            ItemBody::Notice(notice) if own || matters_in_sub_agents(notice) => {
                self.notice(&notice.text, ink(notice.level))
            }
            // A sub-agent's words come back as the result of its call.
            _ if !own => Ok(()),
            ItemBody::Message(message) => self.message(message),
            ItemBody::Answer(answer) => self.answer(item.id, answer),
            ItemBody::Thinking { text, took_ms } => self.thinking(item.id, text, *took_ms),
            ItemBody::Plan { steps } => {
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

    /// What is written from here on has these columns.
    pub(super) fn set_width(&mut self, width: usize) {
        self.options.words.width = width;
        self.options.notes.width = width;
        if let Speech::Words(markdown) | Speech::Thoughts(markdown) = &mut self.speech {
            markdown.set_width(width);
        }
    }

    fn message(&mut self, message: &UserMessage) -> io::Result<()> {
        self.settle()?;
        if self.options.messages {
            let mut drawn = cards::message(&message.text, self.options.notes);
            for attached in &message.attached {
                let style = self.options.notes;
                drawn.push_str(&cards::wrapped_line("  + ", &attached.title, Ink::DIM, style));
            }
            self.separate(LastShown::Message)?;
            write!(self.notes, "{drawn}")?;
        }
        // Else the user has typed it on this very terminal.
        self.last = LastShown::Message;
        Ok(())
    }

    fn answer(&mut self, id: ItemId, answer: &Answer) -> io::Result<()> {
        let written = self.texts.get(&id).copied().unwrap_or(0);
        // The whole text may differ from its pieces, and these are on the screen.
        if written == 0 || answer.state != AnswerState::Complete {
            let more = answer.text.copied(written..answer.text.len());
            if !more.is_empty() {
                self.words(&more)?;
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
            self.settle()?;
            self.separate(LastShown::Words)?;
            self.speech = Speech::Words(Markdown::new(self.options.words, Ink::PLAIN));
        }
        match &mut self.speech {
            Speech::Words(markdown) => {
                // The options may have been set anew.
                markdown.set_width(self.options.words.width);
                write!(self.words, "{}", markdown.push(text))
            }
            _ => Ok(()),
        }
    }

    fn thinking(&mut self, id: ItemId, text: &SharedText, took_ms: Option<u64>) -> io::Result<()> {
        if !self.options.thoughts {
            return match took_ms {
                Some(time) if self.over.insert(id) => {
                    let text = format!("Thought for {}", duration(time));
                    self.note(&cards::wrapped_line("", &text, Ink::DIM, self.options.notes))
                }
                _ => Ok(()),
            };
        }
        let written = self.texts.insert(id, text.len()).unwrap_or(0);
        let more = text.copied(written..text.len());
        if more.is_empty() {
            return Ok(());
        }
        if !matches!(self.speech, Speech::Thoughts(_)) {
            self.settle()?;
            self.separate(LastShown::Notes)?;
            self.speech = Speech::Thoughts(Markdown::new(self.options.notes, Ink::DIM));
        }
        let Speech::Thoughts(thoughts) = &mut self.speech else { return Ok(()) };
        thoughts.set_width(self.options.notes.width);
        let drawn = thoughts.push(&more);
        write!(self.notes, "{drawn}")
    }

    /// Writes what was held back: the end of the line that is being written, or of a group of cards.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        self.end_speech()?;
        let Some(group) = self.held.take() else { return Ok(()) };
        let place = CardPlace { style: self.options.notes, depth: group.depth() };
        self.separate(LastShown::Notes)?;
        write!(self.notes, "{}", group.draw(place))
    }

    fn end_speech(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.speech, Speech::Silent) {
            Speech::Silent => Ok(()),
            Speech::Words(markdown) => write!(self.words, "{}", markdown.finish()),
            Speech::Thoughts(thoughts) => write!(self.notes, "{}", thoughts.finish()),
        }
    }

    /// Cards are written once they are over; until then the living part of the screen shows them.
    fn card(&mut self, timeline: &Timeline, item: &Item, card: &Card) -> io::Result<()> {
        let never_ran = card.state == CallState::Interrupted && card.working_ms.is_none();
        let has_begun = card.started_at.is_some() || !never_ran;
        if !card.state.is_over() || !has_begun || !self.over.insert(item.id) {
            return Ok(());
        }
        self.begin_parents(timeline, item.parent)?;
        let place = CardPlace { style: self.options.notes, depth: item.depth };
        let has_seen_diff =
            self.options.questions && !card.questions.is_empty() && !card.is_revised();
        let finished = Finished { card, has_seen_diff };
        if self.begun.contains(&item.id) {
            let is_below = self.current == Some(item.id);
            let drawn = if is_below { finished.draw_result(place) } else { finished.draw(place) };
            self.note(&drawn)?;
        } else if let Some(group) = CardGroup::of(card, item.depth) {
            self.hold(group)?;
        } else {
            self.note(&finished.draw(place))?;
        }
        self.current = item.parent;
        Ok(())
    }

    /// Writes the lines of the sub-agents that a call belongs to, the outermost first.
    fn begin_parents(&mut self, timeline: &Timeline, parent: Option<ItemId>) -> io::Result<()> {
        let Some(parent) = parent.map(|id| timeline.item(id)) else { return Ok(()) };
        self.begin_parents(timeline, parent.parent)?;
        let Some(card) = parent.card() else { return Ok(()) };
        if !self.begun.insert(parent.id) {
            return Ok(());
        }
        let place = CardPlace { style: self.options.notes, depth: parent.depth };
        let (verb, object) = (&*card.headline.verb, &*card.headline.object);
        let line = CardLine { verb, object, result: String::new(), ink: Ink::DIM };
        self.note(&line.draw(place))
    }

    fn hold(&mut self, group: CardGroup) -> io::Result<()> {
        let others = match &mut self.held {
            Some(held) => held.join(group),
            None => Some(group),
        };
        if let Some(group) = others {
            self.settle()?;
            self.held = Some(group);
        }
        Ok(())
    }

    /// The word that is being written and held back.
    pub(super) fn unfinished(&self) -> String {
        match &self.speech {
            Speech::Silent => String::new(),
            Speech::Words(markdown) | Speech::Thoughts(markdown) => markdown.unfinished(),
        }
    }

    /// The cards that are over and wait for others of their kind, as they would be written.
    pub(super) fn held(&self) -> Option<String> {
        let group = self.held.as_ref()?;
        let place = CardPlace { style: self.options.notes, depth: group.depth() };
        Some(group.draw(place))
    }

    fn turn(&mut self, turn: &TurnCosts) -> io::Result<()> {
        self.texts.clear();
        let window = self.options.context_window;
        let costs = notices::turn_costs(turn, window, self.options.notes);
        self.note(&costs)
    }

    pub(super) fn notice(&mut self, text: &str, ink: Ink) -> io::Result<()> {
        self.current = None;
        self.note(&cards::wrapped_line("· ", text, ink, self.options.notes))
    }

    pub(super) fn echo(&mut self, command: &str) -> io::Result<()> {
        self.settle()?;
        self.separate(LastShown::Message)?;
        // What it leads to stands right below it.
        self.last = LastShown::Notes;
        let drawn = cards::wrapped_line("› ", command, Ink::DIM, self.options.notes);
        write!(self.notes, "{drawn}")
    }

    pub(super) fn remark(&mut self, text: &str, ink: Ink) -> io::Result<()> {
        self.current = None;
        self.note(&cards::wrapped_line("", text, ink, self.options.notes))
    }

    /// Writes whole lines that are not the model's words.
    pub(super) fn note(&mut self, lines: &str) -> io::Result<()> {
        self.settle()?;
        self.separate(LastShown::Notes)?;
        write!(self.notes, "{lines}")
    }

    /// Whether a blank line stands between what was shown last and a card.
    pub(super) fn separates_notes(&self) -> bool {
        self.last.differs_from(LastShown::Notes) && !self.options.notes.is_pipe
    }

    /// Leaves a blank line between messages, words and notes on a terminal.
    fn separate(&mut self, next: LastShown) -> io::Result<()> {
        let last = std::mem::replace(&mut self.last, next);
        if last.differs_from(next) && !self.options.notes.is_pipe {
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
