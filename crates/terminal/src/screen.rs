//! A conversation as it is shown: the timeline of its log, drawn as it grows.

mod drawing;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use timeline::safe_text::harmless;

use protocol::{ActivityData, ActivityEvent, LogEntry};
use timeline::{ItemBody, ItemChanges, Timeline, TurnTally};

use crate::cards::{CardPlace, last_lines, running, wrapped_line};
use crate::ink::Ink;
use crate::output_style::OutputStyle;
use drawing::Drawing;

/// Bytes of a character at most.
const LONGEST_CHARACTER: usize = 4;

/// How a conversation is shown.
#[derive(Clone, Copy, Debug)]
pub struct ScreenOptions {
    /// Where the model's words go.
    pub words: OutputStyle,
    /// Where cards and notices go.
    pub notes: OutputStyle,
    /// Whether the model's thoughts are shown.
    pub thoughts: bool,
    /// Whether the user's messages are shown, as when a session is shown again.
    pub messages: bool,
    /// Whether the user sees questions here, with the diff of what is asked about, when they are asked.
    pub questions: bool,
    /// The tokens that the model can see at most, if that is known.
    pub context_window: Option<u64>,
}

/// Shows entries of a log, after they were written, and what tools report meanwhile.
#[derive(Debug)]
pub struct Screen<W, N> {
    timeline: Timeline,
    drawing: Drawing<W, N>,
}

impl<W: Write, N: Write> Screen<W, N> {
    /// A screen that shows nothing yet.
    pub fn new(words: W, notes: N, options: ScreenOptions) -> Self {
        Self { timeline: Timeline::default(), drawing: Drawing::new(words, notes, options) }
    }

    /// Changes how the conversation is shown, such as after the terminal has changed its size.
    pub fn options_mut(&mut self) -> &mut ScreenOptions {
        &mut self.drawing.options
    }

    /// The terminal has this many columns from now on. What is being written goes on at that width.
    pub fn set_width(&mut self, width: usize) {
        self.drawing.set_width(width);
    }

    /// What is shown, as data.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The last word of what is being written, as long as it can still grow. It stands behind what was written, or
    /// on a line of its own, and is drawn anew with every frame.
    pub fn unfinished_word(&self) -> String {
        self.drawing.unfinished()
    }

    /// The lines below what is written: cards that wait for others of their kind, and calls that run at
    /// `now`, in milliseconds since 1970, each with the last `output` lines that it has printed.
    pub fn living(&self, now: i64, output: usize) -> Vec<String> {
        let held = self.drawing.held().unwrap_or_default();
        let mut lines: Vec<String> = held.lines().map(str::to_owned).collect();
        lines.extend(self.thoughts(output));
        for item in self.timeline.running_cards() {
            let Some(card) = item.card() else { continue };
            let place = CardPlace { style: self.drawing.options.notes, depth: item.depth };
            lines.extend(running(card, now, place).lines().map(str::to_owned));
            lines.extend(last_lines(card, output, place));
        }
        // As it will be when they are written.
        if !lines.is_empty() && self.drawing.separates_notes() {
            lines.insert(0, String::new());
        }
        lines
    }

    /// The last `count` lines of what the model thinks, if thoughts are not written.
    fn thoughts(&self, count: usize) -> Vec<String> {
        let Some(ItemBody::Thinking { text, took_ms: None }) = self
            .timeline
            .items()
            .last()
            .map(|item| &item.body)
            .filter(|_| !self.drawing.options.thoughts)
        else {
            return Vec::new();
        };
        // A long thought is looked at from its end: there are at most so many bytes in a line.
        let style = self.drawing.options.notes;
        let from = text.len().saturating_sub(count * style.width * LONGEST_CHARACTER);
        let end = text.copied(from..text.len());
        let drawn = wrapped_line("  ", end.trim(), Ink::DIM.and(Ink::ITALIC), style);
        let lines: Vec<&str> = drawn.lines().collect();
        let first = lines.len().saturating_sub(count);
        lines[first..].iter().map(|line| (*line).to_owned()).collect()
    }

    /// Writes what is held back, when nothing more is to come.
    pub fn finish(&mut self) -> io::Result<()> {
        self.drawing.settle()?;
        self.drawing.flush()
    }

    /// Writes a remark of the program, which is not in the log.
    pub fn remark(&mut self, text: &str, ink: Ink) -> io::Result<()> {
        self.drawing.remark(&harmless(text), ink)?;
        self.drawing.flush()
    }

    /// Writes a command of the user, which is not in the log.
    pub fn echo(&mut self, command: &str) -> io::Result<()> {
        self.drawing.echo(&harmless(command))?;
        self.drawing.flush()
    }

    /// Writes lines that are laid out already, such as a table, or drawn with inks.
    pub fn report(&mut self, lines: &str) -> io::Result<()> {
        self.drawing.note(&format!("{}\n", lines.trim_end_matches('\n')))?;
        self.drawing.flush()
    }

    /// What the current turn took so far.
    pub fn turn(&self) -> &TurnTally {
        self.timeline.turn()
    }

    /// Shows an entry of the log.
    pub fn show(&mut self, entry: &LogEntry) -> io::Result<()> {
        let changes = self.timeline.apply(entry);
        self.draw(&changes)
    }

    /// Shows what a tool reports. The log tells how calls begin and end; this adds what is not in it.
    pub fn activity(&mut self, event: &ActivityEvent) -> io::Result<()> {
        match &event.data {
            ActivityData::ToolOutputChunk { chunk } => {
                let changes = self.timeline.output(&event.call_id, chunk);
                self.draw(&changes)
            }
            ActivityData::ToolCallEnd { preview, .. } => {
                self.timeline.preview(&event.call_id, preview);
                Ok(())
            }
            // The approver draws the question on the same terminal.
            ActivityData::ApprovalRequested(_) if self.drawing.options.questions => {
                self.drawing.settle()?;
                self.drawing.flush()
            }
            ActivityData::Missed { events } => {
                let text = format!("too much at once: {events} reports are not shown");
                self.drawing.notice(&text, Ink::DIM)?;
                self.drawing.flush()
            }
            ActivityData::ToolCallStart { .. }
            | ActivityData::Error { .. }
            | ActivityData::ApprovalRequested(_)
            | ActivityData::ApprovalAnswered { .. } => Ok(()),
        }
    }

    fn draw(&mut self, changes: &ItemChanges) -> io::Result<()> {
        for id in changes.ids() {
            self.drawing.draw(&self.timeline, id)?;
        }
        self.drawing.flush()
    }
}
