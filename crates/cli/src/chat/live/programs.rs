//! Other programs that have the terminal for a while: the user's editor, and the shell while the chat is suspended.

use std::time::Instant;

use protocol::{ApprovalRequest, ApprovalResponse, ToolError};
use terminal::FoundModes;
use tokio::task::JoinHandle;
use workspace::EditorRun;

use super::super::ChatScreen;
use super::super::live_parts::asking;
use super::state::OwnTerminal;
use super::{Feeds, Live};
use crate::environment;
use crate::output;

/// What an editor was started for, and its end.
pub(super) enum EditedText {
    Prompt(std::io::Result<String>),
    Proposal(Box<(ApprovalRequest, Result<Option<ApprovalResponse>, ToolError>)>),
}

/// A program that runs in the foreground.
pub(super) struct ForeignProgram {
    running: JoinHandle<EditedText>,
    result: Option<EditedText>,
    run: EditorRun,
    /// An editor that is killed does not put them back.
    modes: Option<FoundModes>,
}

impl ForeignProgram {
    /// Waits for its end.
    pub(super) async fn ends(&mut self) {
        if self.result.is_none() {
            self.result = (&mut self.running).await.ok();
        }
    }
}

impl Drop for ForeignProgram {
    fn drop(&mut self) {
        self.run.end();
        self.modes.iter().for_each(FoundModes::put_back);
    }
}

impl Live {
    /// Has the prompt edited in the user's editor.
    pub(super) fn edit_prompt(&mut self, text: String) -> anyhow::Result<()> {
        match asking::editor(environment::variable) {
            Some(editor) => {
                self.start(move |run| EditedText::Prompt(asking::edit_prompt(&editor, &text, run)))
            }
            None => {
                self.input.note(NO_EDITOR);
                Ok(())
            }
        }
    }

    pub(super) fn edit_proposal(&mut self, request: ApprovalRequest) -> anyhow::Result<()> {
        match asking::editor(environment::variable) {
            Some(editor) => self.start(move |run| {
                let edited = asking::edit(&request, &editor, run);
                EditedText::Proposal(Box::new((request, edited)))
            }),
            None => {
                self.input.note(NO_EDITOR);
                Ok(())
            }
        }
    }

    /// Gives the terminal away until `program` has ended. What runs meanwhile goes on.
    fn start(
        &mut self,
        program: impl FnOnce(&EditorRun) -> EditedText + Send + 'static,
    ) -> anyhow::Result<()> {
        self.canvas.view.clear()?;
        self.signals.stop.leave_interrupts(true);
        let modes = self.terminal.take().map(|terminal| terminal.modes.found());
        let run = EditorRun::default();
        let own = run.clone();
        let running = tokio::task::spawn_blocking(move || program(&own));
        self.open.program = Some(ForeignProgram { running, result: None, run, modes });
        Ok(())
    }

    /// Ends the program and waits for that, if the user does not ask for the end a second time.
    pub(super) async fn end_program(&mut self) {
        let Some(mut program) = self.open.program.take() else { return };
        program.run.end();
        tokio::select! {
            () = program.ends() => {}
            () = self.signals.stop.at_once.cancelled() => {}
        }
    }

    pub(super) fn back_from_program(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
    ) -> anyhow::Result<()> {
        let result = self.open.program.take().and_then(|mut program| program.result.take());
        self.signals.stop.leave_interrupts(false);
        self.take_back(screen)?;
        match result {
            None => self.input.note("the editor could not be run"),
            Some(EditedText::Prompt(Ok(text))) => self.input.set_text(&text),
            Some(EditedText::Prompt(Err(error))) => {
                self.input.note(&format!("nothing was edited: {error}"));
            }
            Some(EditedText::Proposal(edited)) => match *edited {
                (_, Err(error)) => {
                    self.input.note(&format!("nothing was edited: {}", error.message));
                }
                (_, Ok(None)) => self.input.note("nothing was edited"),
                (request, Ok(Some(response))) => self.answer(feeds, &request, response),
            },
        }
        self.canvas.draw_soon(Instant::now());
        Ok(())
    }

    /// Stops this process, as Ctrl-Z does elsewhere, until it is continued.
    pub(super) fn suspend(&mut self, screen: &mut ChatScreen) -> anyhow::Result<()> {
        if self.open.program.is_some() {
            // The terminal is the editor's, which stops too and is continued with this process.
            return stop_this_process();
        }
        self.canvas.view.clear()?;
        self.terminal = None;
        stop_this_process()?;
        self.take_back(screen)
    }

    /// Takes the terminal again. What the other program has left on the screen stays.
    fn take_back(&mut self, screen: &mut ChatScreen) -> anyhow::Result<()> {
        self.terminal = Some(OwnTerminal::take()?);
        // Keys that were typed meanwhile were for the other program.
        self.pressed.last_key = Some(Instant::now());
        self.question_is_hidden();
        self.goes_on(screen, output::screen_size())
    }
}

/// SIGTSTP is listened to, and would not stop the process.
fn stop_this_process() -> anyhow::Result<()> {
    use rustix::process::{Signal, getpid, kill_process};
    Ok(kill_process(getpid(), Signal::STOP)?)
}

/// What to do about an editor that is missing.
const NO_EDITOR: &str = "no editor was found: set VISUAL or EDITOR";
