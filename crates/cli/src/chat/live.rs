//! The chat at a terminal: keys, what the session tells, and the frames that are drawn, all on one thread.
//!
//! Whatever runs, runs inside [`Live::during`]: the user can type, answer, stop and leave meanwhile. A key is judged by
//! the earliest moment at which it can have been pressed, which is when the keyboard was last seen to be empty; so a
//! key that was typed before a question could be read never answers it, however busy the machine was.

mod composing;
mod feeds;
mod keyboard;
mod keys;
mod programs;
mod progress;
mod questions;
mod state;
mod waiting_messages;

use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::Event;
use protocol::{ActivityEvent, LogEntry};
use terminal::{InputBox, KeyMoment, MentionCandidate, Notification, Picker, SubmissionKind};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::ChatScreen;
use super::live_parts::history_file::HistoryFile;
use super::live_parts::mention_source::MentionSource;
use crate::output::{self, Stream};
pub(crate) use feeds::Feeds;
use feeds::{next_activity, next_entry, next_question};
use keyboard::KeyboardLooks;
use programs::ForeignProgram;
use progress::TurnProgress;
use state::{Canvas, LiveSignals, MentionSearch, NextWish, OpenViews, OwnTerminal, PressedKeys};
use waiting_messages::WaitingMessages;

/// The least time between two frames that no key has caused.
const FRAME_TIME: Duration = Duration::from_millis(16);
/// Finished text that is drawn without waiting for the next frame: a terminal takes its time to read a long one, and a
/// key would wait for that (`bench terminal`: key to echo).
const LONG_FRAME_BYTES: usize = 16 * 1024;
/// How often the clock of a turn is drawn.
const CLOCK_TIME: Duration = Duration::from_secs(1);
/// Entries of the log that are taken at once, before keys are looked at again.
const ENTRIES_AT_ONCE: usize = 64;

/// What the user wants done.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// A message, a command or a line for the shell.
    Said {
        kind: SubmissionKind,
        text: String,
    },
    /// To go back to an earlier message.
    Rewind,
    Leave,
}

/// What has happened outside.
enum Happened {
    Input(io::Result<Event>),
    Written(Box<LogEntry>),
    Activity(Arc<ActivityEvent>),
    /// The open questions are looked at before anything is waited for.
    Asked,
    Candidates(Vec<MentionCandidate>),
    BackFromProgram,
    Attached,
    Resized,
    Suspended,
    Stopped,
    /// A frame or a question is due.
    Time,
}

/// The state of everything that is drawn below the conversation, and the terminal itself.
pub(crate) struct Live {
    terminal: Option<OwnTerminal>,
    canvas: Canvas,
    signals: LiveSignals,
    pressed: PressedKeys,
    pub(crate) input: InputBox,
    history: HistoryFile,
    completion: MentionSearch,
    open: OpenViews,
    waiting: WaitingMessages,
    pub(crate) progress: TurnProgress,
    /// What the status line tells beside the turn.
    pub(crate) standing: Standing,
    /// Tokens of the conversation, as the last answer has told.
    context_tokens: Option<u64>,
    wish: NextWish,
}

/// Facts of the session for the status line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) model: String,
    pub(crate) mode: String,
    pub(crate) window: Option<u64>,
    /// Commands that run in the background.
    pub(crate) jobs: usize,
}

/// What the live chat is made of.
pub(crate) struct LiveOptions {
    pub(crate) history: std::path::PathBuf,
    pub(crate) notify: Notification,
}

/// Whether the chat can be drawn: everything goes to one terminal that moves its cursor.
pub(crate) fn is_possible() -> bool {
    use std::io::IsTerminal as _;
    io::stdin().is_terminal()
        && Stream::Out.is_terminal()
        && Stream::Err.is_terminal()
        && !crate::environment::is_dumb_terminal()
}

impl Live {
    /// Takes the terminal. It is given back when this is dropped.
    pub(crate) fn begin(options: LiveOptions) -> anyhow::Result<Self> {
        let (history, entries) = HistoryFile::open(options.history);
        let signals = LiveSignals::listen()?;
        let now = Instant::now();
        output::hold_back();
        Ok(Self {
            canvas: Canvas::new(options.notify, now),
            terminal: Some(OwnTerminal::take()?),
            signals,
            pressed: PressedKeys::none_before(now),
            input: InputBox::new(entries),
            history,
            completion: MentionSearch::default(),
            open: OpenViews::default(),
            waiting: WaitingMessages::default(),
            progress: TurnProgress::default(),
            standing: Standing::default(),
            context_tokens: None,
            wish: NextWish::default(),
        })
    }

    pub(crate) fn set_mentions(&mut self, mentions: Arc<MentionSource>) {
        self.completion.mentions = Some(mentions);
    }

    /// Empties the screen.
    pub(crate) fn erase(&mut self) -> anyhow::Result<()> {
        output::take_lines();
        self.canvas.view.erase()?;
        self.canvas.draw_soon(Instant::now());
        Ok(())
    }

    /// The exit code for the signal that ends the chat, if one does.
    pub(crate) fn exit_code(&self) -> Option<u8> {
        self.signals.stop.exit_code()
    }

    /// Waits until the user wants something.
    pub(crate) async fn next(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
    ) -> anyhow::Result<Wanted> {
        loop {
            if let Some(wanted) = self.wish.wanted.take() {
                return Ok(wanted);
            }
            if let Some(submission) = self.next_waiting(feeds) {
                return Ok(Wanted::Said { kind: submission.kind, text: submission.text });
            }
            self.step(screen, feeds, None).await?;
        }
    }

    /// Lets the user pick a row; none if the list is closed.
    pub(crate) async fn pick(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
        picker: Picker,
    ) -> anyhow::Result<Option<usize>> {
        self.open.picker = Some(picker);
        self.canvas.draw_soon(Instant::now());
        loop {
            if let Some(picked) = self.open.picked.take() {
                return Ok(picked);
            }
            if self.wish.wanted.is_some() {
                self.open.picker = None;
                return Ok(None);
            }
            self.step(screen, feeds, None).await?;
        }
    }

    /// Carries `work` on. The user can type meanwhile, answer questions, and stop it with `cancel`. None if the
    /// user leaves and does not wait for its end.
    pub(crate) async fn during<T>(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
        cancel: &CancellationToken,
        words: &str,
        work: impl Future<Output = T>,
    ) -> anyhow::Result<Option<T>> {
        self.progress.begin(words, Instant::now());
        let mut work = pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                stepped = self.step(screen, feeds, Some(cancel)) => stepped?,
                done = &mut work => break done,
            }
            if self.wish.at_once {
                return Ok(None);
            }
        };
        while let Some(entry) = feeds.written_before() {
            self.entry(screen, &entry)?;
        }
        self.progress.end();
        self.look_for_questions(feeds)?;
        self.canvas.draw_soon(Instant::now());
        Ok(Some(done))
    }

    /// Draws what is due, waits until something happens, and deals with it.
    async fn step(
        &mut self,
        screen: &mut ChatScreen,
        feeds: &mut Feeds,
        cancel: Option<&CancellationToken>,
    ) -> anyhow::Result<()> {
        self.look_for_questions(feeds)?;
        self.forget_what_went_in(feeds);
        if let Some(executor) = &feeds.executor {
            self.standing.jobs = executor.running_jobs();
        }
        self.draw_if_due(screen)?;
        match self.happens(feeds).await {
            // The terminal is gone, and the signal that tells so may come a little later.
            Happened::Input(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.terminal = None;
                self.wish.wanted = Some(Wanted::Leave);
                cancel.into_iter().for_each(CancellationToken::cancel);
            }
            Happened::Input(event) => {
                let pressed =
                    KeyMoment { earliest: self.pressed.looks.empty, latest: Instant::now() };
                self.input_event(screen, feeds, cancel, event?, pressed)?;
                // A flood of keys is not drawn key by key.
                let has_more = self.terminal.as_ref().is_some_and(|own| own.keys.has_more());
                self.canvas.draw_soon(match has_more {
                    true => self.canvas.last_frame + FRAME_TIME,
                    false => Instant::now(),
                });
            }
            Happened::Written(entry) => {
                self.entry(screen, &entry)?;
                for _ in 1..ENTRIES_AT_ONCE {
                    let is_pressed =
                        self.terminal.as_ref().is_some_and(|own| own.keys.is_pressed());
                    if is_pressed || output::waiting_bytes() >= LONG_FRAME_BYTES {
                        break;
                    }
                    let Some(entry) = feeds.written_before() else { break };
                    self.entry(screen, &entry)?;
                }
                self.canvas.draw_soon(match output::waiting_bytes() >= LONG_FRAME_BYTES {
                    true => Instant::now(),
                    false => self.canvas.last_frame + FRAME_TIME,
                });
            }
            Happened::Activity(event) => {
                self.progress.activity(Instant::now());
                screen.activity(&event)?;
                self.canvas.draw_soon(self.canvas.last_frame + FRAME_TIME);
            }
            Happened::Asked => {}
            Happened::Candidates(candidates) => {
                self.input.set_candidates(candidates);
                self.canvas.draw_soon(Instant::now());
            }
            Happened::BackFromProgram => self.back_from_program(screen, feeds)?,
            Happened::Attached => self.attached(feeds),
            Happened::Resized if self.open.program.is_none() => {
                self.resized(screen, output::screen_size())?
            }
            // The size is asked for when the terminal is ours again.
            Happened::Resized => {}
            Happened::Suspended => self.suspend(screen)?,
            Happened::Stopped => {
                self.wish.wanted = Some(Wanted::Leave);
                self.end_program().await;
                if let Some(cancel) = cancel {
                    // The work ends by it, and this is not asked again meanwhile.
                    cancel.cancel();
                    self.signals.stop.at_once.cancelled().await;
                    self.wish.at_once = true;
                }
            }
            Happened::Time => {
                if self.progress.is_working() {
                    self.canvas.draw_soon(Instant::now());
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, screen: &mut ChatScreen, entry: &LogEntry) -> anyhow::Result<()> {
        self.progress.entry(&entry.event, Instant::now());
        screen.show(entry)?;
        self.context_tokens = screen.turn().context_tokens.or(self.context_tokens);
        Ok(())
    }

    async fn happens(&mut self, feeds: &mut Feeds) -> Happened {
        let Self { terminal, pressed, signals, completion, open, waiting, wish, .. } = self;
        let looks = &mut pressed.looks;
        let wakes = [
            self.canvas.due.map(|due| due.max(self.canvas.last_frame)),
            self.progress.is_working().then(|| self.canvas.last_frame + CLOCK_TIME),
            open.question.as_ref().and_then(|question| question.look_at(looks.last)),
        ];
        let wake = wakes.into_iter().flatten().filter(|_| open.program.is_none()).min();
        tokio::select! {
            biased;
            event = next_event(terminal, looks) => Happened::Input(event),
            Some(()) = signals.resized.recv() => Happened::Resized,
            () = finished(&mut open.program) => Happened::BackFromProgram,
            () = at(wake) => Happened::Time,
            // What is written came first: a report may be about it.
            Some(entry) = next_entry(&mut feeds.written) => Happened::Written(Box::new(entry)),
            Some(event) = next_activity(&mut feeds.activity) => Happened::Activity(event),
            () = next_question(&mut feeds.questions) => Happened::Asked,
            found = next_candidates(&mut completion.candidates) => Happened::Candidates(found),
            () = waiting.is_attached() => Happened::Attached,
            Some(()) = signals.suspended.recv() => Happened::Suspended,
            () = signals.stop.cancel.cancelled(), if !matches!(wish.wanted, Some(Wanted::Leave)) => {
                Happened::Stopped
            }
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let rest = output::take_lines();
        let _ = self.canvas.view.frame(&rest, &terminal::LiveLines::default());
        let _ = self.canvas.view.clear();
        self.terminal = None;
        output::let_go();
    }
}

async fn next_event(
    terminal: &mut Option<OwnTerminal>,
    looks: &mut KeyboardLooks,
) -> io::Result<Event> {
    match terminal {
        Some(terminal) => terminal.keys.next(looks).await,
        None => std::future::pending().await,
    }
}

async fn next_candidates(
    candidates: &mut Option<JoinHandle<Vec<MentionCandidate>>>,
) -> Vec<MentionCandidate> {
    let Some(finding) = candidates else { return std::future::pending().await };
    let found = finding.await.unwrap_or_default();
    *candidates = None;
    found
}

async fn finished(program: &mut Option<ForeignProgram>) {
    match program {
        Some(program) => program.ends().await,
        None => std::future::pending().await,
    }
}

async fn at(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake.into()).await,
        None => std::future::pending().await,
    }
}
