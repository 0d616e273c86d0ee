//! Questions of the session: the first that waits is shown until it is answered or withdrawn.

use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;
use protocol::{ApprovalRequest, ApprovalResponse};
use terminal::{KeyMoment, OutputStyle, PanelAnswer, PanelOutcome, QuestionPanel, ScreenSize};

use super::super::live_parts::asking;
use super::{Feeds, Live};
use crate::output::Stream;

/// The question that is shown.
pub(super) struct LiveQuestion {
    pub(super) request: ApprovalRequest,
    pub(super) panel: QuestionPanel,
    /// Whether the keyboard was seen to be empty after the time in which no key counts.
    is_settled: bool,
    pub(super) is_seen: SeenQuestion,
}

/// Whether the question is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeenQuestion {
    NotYet,
    /// With the frame that is about to be written.
    WithFrame,
    Yes,
}

/// How long to wait until the keyboard is looked at again, if it was not empty.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl LiveQuestion {
    /// When the keyboard is to be looked at again, so that keys after it can count.
    pub(super) fn look_at(&self, last: Instant) -> Option<Instant> {
        (!self.is_settled).then(|| self.panel.counts_from().max(last + LOOK_AGAIN))
    }
}

impl Live {
    /// Shows the question that waits, if it is not the one that is shown.
    pub(super) fn look_for_questions(&mut self, feeds: &Feeds) -> anyhow::Result<()> {
        let now = Instant::now();
        let count = feeds.approvals.as_ref().map_or(0, |approvals| approvals.count());
        let shown =
            self.open.question.as_ref().map(|question| question.panel.question().position.1);
        if let Some(question) = &mut self.open.question {
            let is_settled = self.pressed.looks.empty >= question.panel.counts_from();
            if is_settled != std::mem::replace(&mut question.is_settled, is_settled) {
                self.canvas.draw_soon(now);
            }
        }
        if count == 0 && shown.is_none() {
            return Ok(());
        }
        let approvals = feeds.approvals.as_ref();
        if let Some(question) = &mut self.open.question
            && approvals.is_some_and(|approvals| approvals.is_open(&question.request))
        {
            if shown != Some(count) {
                question.panel.set_position(1, count);
                self.canvas.draw_soon(now);
            }
            return Ok(());
        }
        let pending = approvals.map(|approvals| approvals.pending()).unwrap_or_default();
        self.open.question = pending.into_iter().next().map(|request| {
            let style = Stream::Err.style();
            let asked = asking::panel_question(&request, style, (1, count));
            let panel = QuestionPanel::open(asked, now, self.pressed.last_key);
            let is_seen = SeenQuestion::NotYet;
            LiveQuestion { request, panel, is_settled: false, is_seen }
        });
        self.progress.waits_for_user(self.open.question.is_some(), now);
        if let Some(question) = &self.open.question {
            let title = question.panel.question().title.clone();
            self.canvas.view.ring(&self.canvas.notify.bytes(&title))?;
        }
        self.canvas.draw_soon(now);
        Ok(())
    }

    /// Something else has the screen, so keys are not meant for the question until it is seen again.
    pub(super) fn question_is_hidden(&mut self) {
        if let Some(question) = &mut self.open.question {
            question.is_seen = SeenQuestion::NotYet;
        }
    }

    /// A frame was written.
    pub(super) fn question_is_seen(&mut self) {
        if let Some(question) = &mut self.open.question
            && question.is_seen == SeenQuestion::WithFrame
        {
            question.panel.shown(Instant::now());
            question.is_seen = SeenQuestion::Yes;
        }
    }

    /// Draws the question for a screen of another width.
    pub(super) fn reask(&mut self, size: ScreenSize) {
        if let Some(question) = &mut self.open.question {
            let position = question.panel.question().position;
            let style = OutputStyle { width: size.columns, ..Stream::Err.style() };
            let asked = asking::panel_question(&question.request, style, position);
            question.panel.set_question(asked);
        }
    }

    /// Gives a key to the question. What comes back is for the input box.
    pub(super) fn question_key(
        &mut self,
        feeds: &mut Feeds,
        key: KeyEvent,
        pressed: KeyMoment,
    ) -> anyhow::Result<Vec<KeyEvent>> {
        let is_empty = self.input.is_empty();
        let seen = self.open.question.as_mut().filter(|it| it.is_seen == SeenQuestion::Yes);
        let Some(question) = seen else { return Ok(vec![key]) };
        match question.panel.key(key, pressed, is_empty) {
            PanelOutcome::ToInput(keys) => return Ok(keys),
            PanelOutcome::Changed => {}
            PanelOutcome::Answer(PanelAnswer::Edit) => {
                let request = question.request.clone();
                self.edit_proposal(request)?;
            }
            PanelOutcome::Answer(answer) => {
                let request = question.request.clone();
                if let Some(response) = asking::response(&request, answer) {
                    self.answer(feeds, &request, response);
                }
            }
        }
        Ok(Vec::new())
    }

    pub(super) fn answer(
        &mut self,
        feeds: &Feeds,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) {
        let answered = feeds.approvals.as_ref().map(|it| it.answer_to(request, response));
        if let Some(Err(error)) = answered {
            self.input.note(&error.to_string());
        }
        // Keys that follow at once are not for the next question.
        self.pressed.last_key = Some(Instant::now());
    }
}
