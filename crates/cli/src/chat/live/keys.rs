//! What keys do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use terminal::{CompletionKind, InputAction, KeyMoment, PickerOutcome, Submission, Viewer};
use tokio_util::sync::CancellationToken;

use super::super::ChatScreen;
use super::super::ctrl_c::{Moment, Reaction};
use super::super::slash_commands::leaves;
use super::{Feeds, Live, Wanted};
use crate::output::Stream;

/// Two Esc within this time lead back to an earlier message.
const TWICE: Duration = Duration::from_millis(600);

impl Live {
    /// Deals with what came from the terminal. `pressed` is when it can have been typed.
    pub(super) fn input_event(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
        cancel: Option<&CancellationToken>,
        event: Event,
        pressed: KeyMoment,
    ) -> anyhow::Result<()> {
        match event {
            Event::Paste(text) => {
                self.pasted(feeds, &text, pressed);
                Ok(())
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.key(screen, feeds, cancel, key, pressed)
            }
            _ => Ok(()),
        }
    }

    fn pasted(&mut self, feeds: &mut Feeds, text: &str, pressed: KeyMoment) {
        self.pressed.last_key = Some(Instant::now());
        if let Some(picker) = &mut self.open.picker {
            return picker.paste(text);
        }
        let question = self.open.question.as_mut();
        if !question.is_some_and(|question| question.panel.paste(text, pressed)) {
            let action = self.input.paste(text);
            self.complete(feeds, &action);
        }
    }

    fn key(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
        cancel: Option<&CancellationToken>,
        key: KeyEvent,
        pressed: KeyMoment,
    ) -> anyhow::Result<()> {
        if key.code == KeyCode::Char('z') && key.modifiers == KeyModifiers::CONTROL {
            return self.suspend(screen);
        }
        if let Some(picker) = &mut self.open.picker {
            self.open.picked = match picker.key(key) {
                PickerOutcome::Open => None,
                PickerOutcome::Chosen(row) => Some(Some(row)),
                PickerOutcome::Closed => Some(None),
            };
            if self.open.picked.is_some() {
                self.open.picker = None;
            }
            return Ok(());
        }
        if let Some(viewer) = &mut self.open.viewer {
            if !viewer.key(key) {
                self.open.viewer = None;
            }
            return Ok(());
        }
        if key.code == KeyCode::Char('o') && key.modifiers == KeyModifiers::CONTROL {
            self.open.viewer = Viewer::of(screen.timeline(), Stream::Err.style());
            if self.open.viewer.is_none() {
                self.input.note("nothing is folded yet");
            }
            return Ok(());
        }
        let keys = self.question_key(feeds, key, pressed)?;
        self.pressed.last_key = Some(Instant::now());
        for key in keys {
            self.forget_what_went_in(feeds);
            let action = self.input.key(key);
            self.withdraw_what_was_taken_back(feeds);
            self.act(screen, feeds, cancel, action)?;
        }
        Ok(())
    }

    fn act(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
        cancel: Option<&CancellationToken>,
        action: InputAction,
    ) -> anyhow::Result<()> {
        if !matches!(action, InputAction::Interrupt) {
            self.pressed.ctrl_c.forget();
        }
        let last_esc = self.pressed.last_esc.take();
        match action {
            InputAction::Nothing | InputAction::Changed => {}
            InputAction::Complete { .. } => self.complete(feeds, &action),
            InputAction::Send(submission) => self.sent(feeds, cancel, submission),
            InputAction::Stop => match cancel {
                Some(cancel) => {
                    cancel.cancel();
                    self.progress.stops();
                }
                None if last_esc.is_some_and(|last| last.elapsed() < TWICE) => {
                    self.wish.wanted = Some(Wanted::Rewind);
                }
                None => {
                    self.pressed.last_esc = Some(Instant::now());
                    if self.input.is_empty() {
                        self.input.note("esc again goes back to an earlier message");
                    }
                }
            },
            InputAction::Interrupt => {
                let empty = Moment::AtEmptyPrompt;
                let moment = if cancel.is_some() { Moment::Running } else { empty };
                match self.pressed.ctrl_c.press(moment) {
                    Reaction::CancelTurn => {
                        if let Some(cancel) = cancel {
                            cancel.cancel();
                        }
                        self.progress.stops();
                        self.input.note("ctrl-c again leaves");
                    }
                    Reaction::SayAgainToLeave => self.input.note("ctrl-c again leaves"),
                    Reaction::ClearLine => {}
                    Reaction::Leave => self.leave(cancel),
                }
            }
            InputAction::Leave => self.leave(cancel),
            InputAction::Redraw => {
                let size = self.canvas.view.size();
                self.resized(screen, size)?;
            }
            InputAction::EditExternally(text) => self.edit_prompt(text)?,
        }
        Ok(())
    }

    /// Leaves without waiting for what runs.
    fn leave(&mut self, cancel: Option<&CancellationToken>) {
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
        self.wish.at_once = true;
        self.wish.wanted = Some(Wanted::Leave);
    }

    fn sent(
        &mut self,
        feeds: &Feeds,
        cancel: Option<&CancellationToken>,
        mut submission: Submission,
    ) {
        if let Some(write) = submission.history.take() {
            self.history.write(write);
        }
        if leaves(&submission.text) {
            self.leave(cancel);
        } else if cancel.is_some() {
            self.queue(feeds, submission);
        } else {
            let Submission { kind, text, .. } = submission;
            self.wish.wanted = Some(Wanted::Said { kind, text });
        }
    }

    /// Looks for what can be mentioned. What was looked for before is no longer wanted.
    fn complete(&mut self, feeds: &Feeds, action: &InputAction) {
        let InputAction::Complete { query, kind: CompletionKind::Mention } = action else { return };
        let (Some(source), Some(_)) = (&self.completion.mentions, &feeds.executor) else { return };
        if let Some(before) = self.completion.candidates.take() {
            before.abort();
        }
        let (source, query) = (Arc::clone(source), query.clone());
        self.completion.candidates =
            Some(tokio::spawn(async move { source.candidates(&query).await }));
    }
}
