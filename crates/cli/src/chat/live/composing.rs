//! What a frame shows: the line that is being written, calls that run, the question, the input box and the status.

use std::time::Instant;

use jiff::Timestamp;
use terminal::{Ink, LiveLines, LiveStyle, ScreenSize, StatusLine, wrap_painted};

use super::super::ChatScreen;
use super::Live;
use super::questions::SeenQuestion;
use crate::output;

/// Lines of the output of a call that runs.
const OUTPUT_LINES: usize = 3;
/// Rows that calls and unfinished text take at most, so that question and input stay visible.
const MOST_RUNNING_ROWS: usize = 12;
/// Rows of the diff above a question; `d` shows the whole.
const MOST_DIFF_ROWS: usize = 24;
/// Rows of a question, even if the screen is low.
const LEAST_QUESTION_ROWS: usize = 6;
/// Rows of a screen that shows a question and the input box below it. On a lower one the question is seen, as long as
/// nothing is typed: its keys answer then.
const ROWS_FOR_BOTH: usize = 9;

impl Live {
    /// Draws a frame if one is due.
    pub(super) fn draw_if_due(&mut self, screen: &ChatScreen) -> anyhow::Result<()> {
        let now = Instant::now();
        let clock = self.progress.is_working() && now >= self.canvas.last_frame + super::CLOCK_TIME;
        if self.open.program.is_some() || !(clock || self.canvas.due.is_some_and(|due| now >= due))
        {
            return Ok(());
        }
        self.draw(screen, now)
    }

    fn draw(&mut self, screen: &ChatScreen, now: Instant) -> anyhow::Result<()> {
        let finished = self.finished();
        let lines = self.compose(screen, now);
        self.canvas.view.frame(&finished, &lines)?;
        self.question_is_seen();
        self.canvas.due = None;
        self.canvas.last_frame = Instant::now();
        Ok(())
    }

    /// The lines that were written since the last frame.
    fn finished(&mut self) -> String {
        let lines = output::take_lines();
        if let Some(last) = lines.lines().last() {
            self.canvas.ends_blank = last.is_empty();
        }
        lines
    }

    /// Draws everything anew for a screen of this size.
    pub(super) fn resized(
        &mut self,
        screen: &mut ChatScreen,
        size: ScreenSize,
    ) -> anyhow::Result<()> {
        screen.set_width(size.columns);
        let finished = self.finished();
        if !finished.is_empty() {
            self.canvas.view.frame(&finished, &LiveLines::default())?;
        }
        self.reask(size);
        let lines = self.compose_at(screen, size, Instant::now());
        self.canvas.view.redraw(size, &lines)?;
        self.question_is_seen();
        self.canvas.due = None;
        self.canvas.last_frame = Instant::now();
        Ok(())
    }

    /// Draws below what another program has left on the screen.
    pub(super) fn goes_on(
        &mut self,
        screen: &mut ChatScreen,
        size: ScreenSize,
    ) -> anyhow::Result<()> {
        screen.set_width(size.columns);
        self.reask(size);
        self.canvas.view.go_on(size);
        self.draw(screen, Instant::now())
    }

    fn compose(&mut self, screen: &ChatScreen, now: Instant) -> LiveLines {
        self.compose_at(screen, self.canvas.view.size(), now)
    }

    fn compose_at(&mut self, screen: &ChatScreen, size: ScreenSize, now: Instant) -> LiveLines {
        let style = LiveStyle { width: size.columns, colour: self.canvas.colour };
        let mut lines = LiveLines { lines: running(screen, style, size), cursor: None };
        if !lines.lines.is_empty() || !self.canvas.ends_blank {
            lines.lines.push(String::new());
        }
        // What must be seen if there is not room for all.
        let mut first = None;
        if self.open.picker.is_some() || self.open.viewer.is_some() {
            self.question_is_hidden();
        }
        if let Some(picker) = &self.open.picker {
            first = Some(lines.lines.len());
            lines.extend(picker.draw(style, size.rows.saturating_sub(2)));
        } else if let Some(viewer) = &mut self.open.viewer {
            let room = size.rows.saturating_sub(lines.lines.len() + 2);
            lines.extend(viewer.draw(style, room));
        } else {
            let is_empty = self.input.is_empty();
            let input = self.input.draw(style);
            let mut cursor = None;
            if let Some(question) = &mut self.open.question {
                let room = size.rows.saturating_sub(input.lines.len() + 3);
                if question.is_seen == SeenQuestion::NotYet {
                    question.is_seen = SeenQuestion::WithFrame;
                }
                let most = room.max(LEAST_QUESTION_ROWS);
                let drawn = question.panel.draw(style, most, is_empty, self.pressed.looks.empty);
                let room = room.saturating_sub(drawn.lines.len() + lines.lines.len());
                lines.lines.extend(question.panel.preview(style, room.min(MOST_DIFF_ROWS)));
                cursor = drawn.cursor.map(|(row, column)| (row + lines.lines.len(), column));
                let is_alone = is_empty && size.rows < ROWS_FOR_BOTH;
                first = is_alone.then_some(lines.lines.len());
                lines.extend(drawn);
            }
            if first.is_none() {
                lines.extend(input);
            }
            lines.cursor = cursor.or(lines.cursor);
        }
        let lines = fitted(lines, first, size.rows.saturating_sub(2).max(1));
        let LiveLines { mut lines, cursor } = lines;
        lines.push(self.status(screen, now).draw(style));
        LiveLines { lines, cursor }
    }

    fn status(&self, screen: &ChatScreen, now: Instant) -> StatusLine {
        let timeline = screen.timeline();
        let mut titles = timeline.running_cards().filter_map(|item| item.card());
        let running = match (titles.next(), titles.count()) {
            (None, _) => None,
            (Some(card), 0) => Some(card.title.clone()),
            (Some(_), more) => Some(format!("{} calls", more + 1)),
        };
        let turn = timeline.turn();
        let usage = turn.usage;
        let sent = usage.input + usage.cache_read + usage.cache_write;
        let received = usage.output + self.progress.coming_tokens();
        let used = self.context_tokens.filter(|used| *used > 0);
        StatusLine {
            activity: self.progress.words(running),
            spinner: self.progress.spinner(),
            elapsed: self.progress.elapsed(now),
            silent_for: self.progress.silent_for(now),
            tokens: (sent + received > 0).then_some((sent, received)),
            tokens_per_second: self.progress.tokens_per_second(now),
            context: used.map(|used| (used, self.standing.window)),
            cost: timeline.facts().cost_usd,
            mode: self.standing.mode.clone(),
            model: self.standing.model.clone(),
            jobs: self.standing.jobs,
        }
    }
}

/// The last `most` lines, or those from the row above the cursor or from `first` on if these were cut off else.
fn fitted(lines: LiveLines, first: Option<usize>, most: usize) -> LiveLines {
    let LiveLines { mut lines, cursor } = lines;
    // Above the cursor is the border of what it stands in.
    let at_cursor =
        cursor.map(|(row, _)| row.saturating_sub(1).max((row + 1).saturating_sub(most)));
    let end = lines.len().saturating_sub(most);
    let start = [first, at_cursor].into_iter().flatten().fold(end, usize::min);
    lines.truncate(start + most);
    lines.drain(..start);
    let cursor = cursor.map(|(row, column)| (row - start, column));
    LiveLines { lines, cursor: cursor.filter(|(row, _)| *row < most) }
}

/// The line that is being written, and the calls that run.
fn running(screen: &ChatScreen, style: LiveStyle, size: ScreenSize) -> Vec<String> {
    let unfinished = format!("{}{}", output::unfinished_line(), screen.unfinished_word());
    let mut lines: Vec<String> =
        unfinished.lines().flat_map(|line| wrap_painted(line, size.columns)).collect();
    lines.extend(screen.living(Timestamp::now().as_millisecond(), OUTPUT_LINES));
    let most = MOST_RUNNING_ROWS.min(size.rows / 2);
    if lines.len() > most {
        let hidden = lines.len() - most;
        lines.drain(..hidden);
        let more = format!("… {} more lines", hidden + 1);
        lines[0] = if style.colour { Ink::DIM.paint(&more) } else { more };
    }
    lines
}
