//! A conversation as it is shown: the model's words on one writer, everything else on another.

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use protocol::{
    ActivityData, ActivityEvent, Content, LogEntry, ModelAnswer, ModelErrorKind, PlanStep,
    SessionEvent, ToolCall, ToolResult,
};

use super::cards::{self, LiveOutput, Place};
use super::look::{Ink, Look};
use super::markdown::Markdown;
use super::notices;
use super::safe_text::{one_line, safe};
use super::tally::{Tally, text_of};

/// How a conversation is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScreenOptions {
    /// Where the model's words go.
    pub(crate) words: Look,
    /// Where cards and notices go.
    pub(crate) notes: Look,
    /// Whether the model's thoughts are shown.
    pub(crate) thoughts: bool,
    /// Whether the person's messages are shown, as when an old session is shown again.
    pub(crate) messages: bool,
    /// The tokens that the model can see at most, if that is known.
    pub(crate) context_window: Option<u64>,
}

/// Shows entries of a log, after they were written, and what tools report meanwhile.
#[derive(Debug)]
pub(crate) struct Screen<W, N> {
    words: W,
    notes: N,
    options: ScreenOptions,
    speech: Speech,
    /// Whether the current answer came in pieces that were shown.
    was_streamed: bool,
    calls: Vec<OpenCall>,
    /// How many calls there were; it numbers them, for ids may be taken twice.
    numbered: u64,
    /// The number of the call that lines without a name belong to.
    current: Option<u64>,
    plan: Vec<PlanStep>,
    tally: Tally,
    last: Shown,
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
enum Shown {
    Nothing,
    Words,
    Notes,
}

/// A call without a result.
#[derive(Debug)]
struct OpenCall {
    number: u64,
    call: ToolCall,
    depth: usize,
    is_shown: bool,
    preview: Vec<String>,
    output: LiveOutput,
    /// Whether any of its output was shown.
    had_output: bool,
}

impl<W: Write, N: Write> Screen<W, N> {
    pub(crate) fn new(words: W, notes: N, options: ScreenOptions) -> Self {
        Self {
            words,
            notes,
            options,
            speech: Speech::Silent,
            was_streamed: false,
            calls: Vec::new(),
            numbered: 0,
            current: None,
            plan: Vec::new(),
            tally: Tally::default(),
            last: Shown::Nothing,
        }
    }

    /// Changes how the conversation is shown, such as after the terminal has changed its size.
    pub(crate) fn options_mut(&mut self) -> &mut ScreenOptions {
        &mut self.options
    }

    /// What the current turn took so far.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Shows an entry of the log.
    pub(crate) fn show(&mut self, entry: &LogEntry) -> io::Result<()> {
        self.tally.add(entry);
        self.event(&entry.event, 0)?;
        self.words.flush()?;
        self.notes.flush()
    }

    /// Shows what a tool reports. The log tells how calls begin and end; this adds what is not in it.
    pub(crate) fn activity(&mut self, event: &ActivityEvent) -> io::Result<()> {
        match &event.data {
            ActivityData::ToolCallStart { tool_name, arguments } => {
                let call = ToolCall::new(&*event.call_id, &**tool_name, arguments.clone());
                self.expect(&call, 0);
                self.started(&event.call_id)?;
            }
            ActivityData::ToolOutputChunk { chunk } => self.output(&event.call_id, chunk)?,
            ActivityData::ToolCallEnd { preview, .. } => {
                if let Some(at) = self.find(&event.call_id) {
                    self.calls[at].preview.clone_from(preview);
                }
            }
            ActivityData::ApprovalRequested(_) => self.end_speech()?,
            ActivityData::Missed { events } => {
                self.notice(
                    &format!("too much at once: {events} reports are not shown"),
                    Ink::DIM,
                )?;
            }
            ActivityData::Error { .. } | ActivityData::ApprovalAnswered { .. } => {}
        }
        self.notes.flush()
    }

    fn event(&mut self, event: &SessionEvent, depth: usize) -> io::Result<()> {
        match event {
            SessionEvent::Nested { entry, .. } => self.event(&entry.event, depth + 1),
            SessionEvent::ModelAnswered(answer) => self.answered(answer, depth),
            SessionEvent::CallStarted { call_id, .. } => self.started(call_id),
            SessionEvent::CallEnded { call_id, result, duration_ms, .. } => {
                self.ended(call_id, result, *duration_ms)
            }
            // The end of the turn tells it.
            SessionEvent::ModelFailed { kind: ModelErrorKind::Cancelled, .. } => Ok(()),
            SessionEvent::ModelFailed { kind, message, retry_in_ms, .. } => {
                let ink = if retry_in_ms.is_some() { Ink::DIM } else { Ink::RED };
                self.notice(&notices::model_failed(*kind, message, *retry_in_ms), ink)
            }
            SessionEvent::Instructed(told) => {
                let remark = told.remark.as_deref();
                let ink = if remark.is_some() { Ink::YELLOW } else { Ink::DIM };
                let named = notices::instructions([(told.path.as_str(), remark)]);
                named.map_or(Ok(()), |named| self.notice(&named, ink))
            }
            // A sub-agent's words come back as the result of its call.
            _ if depth > 0 => Ok(()),
            other => self.own_event(other),
        }
    }

    fn own_event(&mut self, event: &SessionEvent) -> io::Result<()> {
        match event {
            SessionEvent::UserMessage { content } => self.user_message(content),
            SessionEvent::ModelAsked { .. } => {
                self.was_streamed = false;
                Ok(())
            }
            SessionEvent::TextDelta { text } => self.words(text),
            SessionEvent::ThinkingDelta { text } => self.thought(text),
            SessionEvent::ApprovalAsked(_) => self.end_speech(),
            SessionEvent::PlanChanged { steps } => self.plan(steps),
            SessionEvent::Renamed { title } => {
                self.notice(&format!("this session is called {}", one_line(title)), Ink::DIM)
            }
            SessionEvent::SettingsChanged(settings) => {
                self.notice(&notices::settings(settings), Ink::DIM)
            }
            SessionEvent::Nudged { text } => {
                self.notice(&format!("the model was told: {}", one_line(text)), Ink::DIM)
            }
            SessionEvent::ImagesRefused { .. } => {
                let words = "the provider refused images: they are described in words until a model is \
                             chosen again";
                self.notice(words, Ink::YELLOW)
            }
            SessionEvent::Paused(reason) => self.notice(&notices::paused(reason), Ink::YELLOW),
            SessionEvent::Compacted(compaction) => {
                self.notice(&notices::compacted(compaction), Ink::DIM)
            }
            SessionEvent::Repaired { notes } => notes.iter().try_for_each(|note| {
                self.notice(&format!("the log was mended: {}", one_line(note)), Ink::YELLOW)
            }),
            SessionEvent::TurnEnded(end) => {
                if let Some(words) = notices::unusual_end(*end) {
                    self.notice(words, Ink::YELLOW)?;
                }
                let window = self.options.context_window;
                let costs = notices::turn_costs(&self.tally, window, self.options.notes);
                self.calls.clear();
                self.note(&format!("{costs}\n"))
            }
            _ => Ok(()),
        }
    }

    fn user_message(&mut self, content: &[Content]) -> io::Result<()> {
        self.end_speech()?;
        if self.options.messages {
            let text = safe(&text_of(content));
            let lines = text.lines().map(|line| format!("> {line}\n"));
            let drawn = self.options.notes.paint(Ink::BOLD, &lines.collect::<String>());
            if self.last == Shown::Notes {
                // What another turn ended with does not belong to this one.
                self.last = Shown::Words;
            }
            self.note(&drawn)?;
        } else {
            // The person has typed it on this very terminal.
            self.last = Shown::Notes;
        }
        Ok(())
    }

    fn words(&mut self, text: &str) -> io::Result<()> {
        self.was_streamed = true;
        if !matches!(self.speech, Speech::Words(_)) {
            self.end_speech()?;
            self.separate(Shown::Words)?;
            self.speech = Speech::Words(Markdown::new(self.options.words));
        }
        match &mut self.speech {
            Speech::Words(markdown) => write!(self.words, "{}", markdown.push(text)),
            _ => Ok(()),
        }
    }

    fn thought(&mut self, text: &str) -> io::Result<()> {
        if !self.options.thoughts {
            return Ok(());
        }
        if !matches!(self.speech, Speech::Thoughts(_)) {
            self.end_speech()?;
            self.separate(Shown::Notes)?;
            self.speech = Speech::Thoughts(Markdown::new(Look::Plain));
        }
        let Speech::Thoughts(thoughts) = &mut self.speech else { return Ok(()) };
        let safe = thoughts.push(text);
        write!(self.notes, "{}", self.options.notes.paint(Ink::DIM, &safe))
    }

    /// Ends the line that is being written.
    fn end_speech(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.speech, Speech::Silent) {
            Speech::Silent => Ok(()),
            Speech::Words(markdown) => write!(self.words, "{}", markdown.finish()),
            Speech::Thoughts(thoughts) => write!(self.notes, "{}", thoughts.finish()),
        }
    }

    fn answered(&mut self, answer: &ModelAnswer, depth: usize) -> io::Result<()> {
        if depth == 0 {
            let text = text_of(&answer.content);
            if !self.was_streamed && !text.is_empty() {
                self.words(&text)?;
            }
            self.end_speech()?;
            self.was_streamed = false;
        }
        for part in &answer.content {
            if let Content::ToolUse(call) = part {
                self.expect(call, depth);
            }
        }
        Ok(())
    }

    /// Keeps a call until it has its result.
    fn expect(&mut self, call: &ToolCall, depth: usize) {
        let known = |open: &OpenCall| open.call.id == call.id && open.depth >= depth;
        if !self.calls.iter().any(known) {
            self.numbered += 1;
            self.calls.push(OpenCall {
                number: self.numbered,
                call: call.clone(),
                depth,
                is_shown: false,
                preview: Vec::new(),
                output: LiveOutput::default(),
                had_output: false,
            });
        }
    }

    /// The open call with this id, the innermost if several have it.
    fn find(&self, id: &str) -> Option<usize> {
        self.calls.iter().rposition(|open| open.call.id == id)
    }

    fn place(&self, at: usize) -> Place {
        Place { look: self.options.notes, depth: self.calls[at].depth }
    }

    fn started(&mut self, id: &str) -> io::Result<()> {
        match self.find(id) {
            Some(at) if !self.calls[at].is_shown => self.draw_start(at),
            _ => Ok(()),
        }
    }

    fn draw_start(&mut self, at: usize) -> io::Result<()> {
        let place = self.place(at);
        let open = &mut self.calls[at];
        open.is_shown = true;
        self.current = Some(open.number);
        let drawn = cards::started(&open.call, place);
        self.note(&drawn)
    }

    fn is_current(&self, at: usize) -> bool {
        self.current == Some(self.calls[at].number)
    }

    fn output(&mut self, id: &str, chunk: &str) -> io::Result<()> {
        let Some(at) = self.find(id) else { return Ok(()) };
        let place = self.place(at);
        let drawn = self.calls[at].output.push(chunk, place);
        self.draw_output(at, &drawn)
    }

    /// Output stands below the start of its own call.
    fn draw_output(&mut self, at: usize, drawn: &str) -> io::Result<()> {
        if drawn.is_empty() {
            return Ok(());
        }
        if !self.calls[at].is_shown || !self.is_current(at) {
            self.draw_start(at)?;
        }
        self.calls[at].had_output = true;
        self.note(drawn)
    }

    fn ended(&mut self, id: &str, result: &ToolResult, duration_ms: u64) -> io::Result<()> {
        let Some(at) = self.find(id) else { return Ok(()) };
        let place = self.place(at);
        let rest = self.calls[at].output.finish(place);
        self.draw_output(at, &rest)?;
        if !self.calls[at].is_shown {
            self.draw_start(at)?;
        }
        let is_current = self.is_current(at);
        let open = self.calls.remove(at);
        let ending = cards::Ending {
            name: (!is_current).then_some(open.call.name.as_str()),
            result,
            preview: &open.preview,
            had_output: open.had_output,
            duration_ms,
        };
        self.current = None;
        self.note(&ending.draw(place))
    }

    fn plan(&mut self, steps: &[PlanStep]) -> io::Result<()> {
        if self.plan == steps {
            return Ok(());
        }
        self.plan = steps.to_vec();
        self.current = None;
        let place = Place { look: self.options.notes, depth: 0 };
        self.note(&cards::plan(steps, place))
    }

    fn notice(&mut self, text: &str, ink: Ink) -> io::Result<()> {
        self.current = None;
        let drawn = self.options.notes.paint(ink, &format!("· {text}"));
        self.note(&format!("{drawn}\n"))
    }

    /// Writes whole lines that are not the model's words.
    fn note(&mut self, lines: &str) -> io::Result<()> {
        self.end_speech()?;
        self.separate(Shown::Notes)?;
        write!(self.notes, "{lines}")
    }

    /// Leaves a blank line between words and notes on a terminal.
    fn separate(&mut self, next: Shown) -> io::Result<()> {
        let last = std::mem::replace(&mut self.last, next);
        let differs = last != Shown::Nothing && last != next;
        if differs && self.options.notes != Look::Plain {
            // On a terminal both writers end up on the same screen, in this order.
            self.words.flush()?;
            writeln!(self.notes)?;
            self.notes.flush()?;
        }
        Ok(())
    }
}
