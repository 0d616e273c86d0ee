//! What the live chat keeps, by what it is for.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use terminal::{InlineView, KeyModes, MentionCandidate, Notification, Picker, Viewer};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::super::ctrl_c::CtrlC;
use super::super::live_parts::mention_source::MentionSource;
use super::Wanted;
use super::keyboard::{Keyboard, KeyboardLooks};
use super::programs::ForeignProgram;
use super::questions::LiveQuestion;
use crate::interrupt::StopSignal;
use crate::output::{self, DrawnTerminal, Stream};

/// The terminal while it is ours.
pub(super) struct OwnTerminal {
    pub(super) keys: Keyboard,
    pub(super) modes: KeyModes,
}

impl OwnTerminal {
    pub(super) fn take() -> io::Result<Self> {
        let modes = KeyModes::enter()?;
        Ok(Self { keys: Keyboard::start()?, modes })
    }
}

/// What is drawn on, and when.
pub(super) struct Canvas {
    pub(super) view: InlineView<DrawnTerminal>,
    pub(super) colour: bool,
    /// Whether the last finished line is blank.
    pub(super) ends_blank: bool,
    /// When a frame is wanted.
    pub(super) due: Option<Instant>,
    pub(super) last_frame: Instant,
    pub(super) notify: Notification,
}

impl Canvas {
    pub(super) fn new(notify: Notification, now: Instant) -> Self {
        Self {
            view: InlineView::new(DrawnTerminal, output::screen_size()),
            colour: Stream::Err.style().colours,
            ends_blank: true,
            due: Some(now),
            last_frame: now,
            notify,
        }
    }

    /// A frame is wanted then, or earlier if one was.
    pub(super) fn draw_soon(&mut self, then: Instant) {
        self.due = Some(self.due.map_or(then, |due| due.min(then)));
    }
}

/// Signals that the chat deals with.
pub(super) struct LiveSignals {
    pub(super) stop: StopSignal,
    pub(super) suspended: Signal,
    pub(super) resized: Signal,
}

impl LiveSignals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        let suspend = rustix::process::Signal::TSTP.as_raw();
        Ok(Self {
            stop: StopSignal::listen_at_terminal()?,
            suspended: signal(SignalKind::from_raw(suspend))?,
            resized: signal(SignalKind::window_change())?,
        })
    }
}

/// What can be mentioned, and what is looked for.
#[derive(Default)]
pub(super) struct MentionSearch {
    pub(super) mentions: Option<Arc<MentionSource>>,
    pub(super) candidates: Option<JoinHandle<Vec<MentionCandidate>>>,
}

/// What stands above the input box or in its place.
#[derive(Default)]
pub(super) struct OpenViews {
    pub(super) question: Option<LiveQuestion>,
    pub(super) picker: Option<Picker>,
    /// What was picked; `Some(None)` if the list was closed.
    pub(super) picked: Option<Option<usize>>,
    pub(super) viewer: Option<Viewer>,
    pub(super) program: Option<ForeignProgram>,
}

/// When keys were pressed, as far as the next one depends on it.
pub(super) struct PressedKeys {
    pub(super) ctrl_c: CtrlC,
    pub(super) last_esc: Option<Instant>,
    pub(super) last_key: Option<Instant>,
    pub(super) looks: KeyboardLooks,
}

impl PressedKeys {
    pub(super) fn none_before(now: Instant) -> Self {
        Self {
            ctrl_c: CtrlC::default(),
            last_esc: None,
            last_key: None,
            looks: KeyboardLooks::at(now),
        }
    }
}

/// What the user wants next.
#[derive(Default)]
pub(super) struct NextWish {
    pub(super) wanted: Option<Wanted>,
    /// The user does not wait for what runs.
    pub(super) at_once: bool,
}
