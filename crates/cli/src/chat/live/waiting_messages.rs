//! Messages that the user sends while something runs: they are seen, can be taken back, and go in at the next
//! moment at which the turn can take them.

use std::collections::VecDeque;

use session::{Attached, Inbox, QueuedId};
use terminal::{Submission, SubmissionKind};
use tokio::task::JoinHandle;

use super::super::attachments::with_mentioned;
use super::{Feeds, Live};
use crate::output;

/// What is known of the messages in the queue of the input box, in the same order.
#[derive(Default)]
pub(super) struct WaitingMessages {
    places: VecDeque<WaitingPlace>,
    attaching: Option<JoinHandle<Attached>>,
    attached: Option<Attached>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitingPlace {
    /// Its files are being read.
    Attaching,
    /// The turn may take it.
    InInbox(QueuedId),
    /// It is for the time after the turn: a command, or what was said after one.
    Later,
}

impl WaitingMessages {
    /// Waits until the files of a message are read.
    pub(super) async fn is_attached(&mut self) {
        let Some(attaching) = &mut self.attaching else { return std::future::pending().await };
        self.attached = attaching.await.ok();
        self.attaching = None;
    }
}

impl Live {
    /// Takes a message that was sent while something runs.
    pub(super) fn queue(&mut self, feeds: &Feeds, submission: Submission) {
        let is_message = submission.kind == SubmissionKind::Message;
        let before = self.waiting.places.back();
        // A session elsewhere has no queue here; its service takes what is said after the turn.
        let goes_in = is_message
            && feeds.inbox.is_some()
            && before.is_none_or(|place| *place != WaitingPlace::Later);
        self.waiting.places.push_back(match goes_in {
            true => WaitingPlace::Attaching,
            false => WaitingPlace::Later,
        });
        self.input.queue_mut().push(submission);
        self.attach_next(feeds);
    }

    /// Begins to read the files of the first message whose files were not read.
    fn attach_next(&mut self, feeds: &Feeds) {
        if self.waiting.attaching.is_some() {
            return;
        }
        let Some(at) = self.attaching_place() else { return };
        let (Some(executor), Some(submission)) = (&feeds.executor, self.input.queue().get(at))
        else {
            return;
        };
        let (executor, text) = (executor.clone(), submission.text.clone());
        self.waiting.attaching =
            Some(tokio::spawn(async move { with_mentioned(&executor, text).await }));
    }

    fn attaching_place(&self) -> Option<usize> {
        self.waiting.places.iter().position(|place| *place == WaitingPlace::Attaching)
    }

    /// The files of a message were read: from now on the turn can take it.
    pub(super) fn attached(&mut self, feeds: &Feeds) {
        let attached = self.waiting.attached.take();
        if let (Some(attached), Some(inbox), Some(at)) =
            (attached, &feeds.inbox, self.attaching_place())
        {
            let options = feeds.options.as_ref();
            for note in options.map(|options| attached.told(options)).unwrap_or_default() {
                output::to_user(&note);
            }
            self.waiting.places[at] = WaitingPlace::InInbox(inbox.push(attached.content));
        }
        self.attach_next(feeds);
    }

    /// Before a key is dealt with and before a frame: messages that the turn has taken no longer wait.
    pub(super) fn forget_what_went_in(&mut self, feeds: &Feeds) {
        let Some(inbox) = &feeds.inbox else { return };
        if self.waiting.places.is_empty() {
            return;
        }
        let waits: Vec<QueuedId> = inbox.waiting().iter().map(|message| message.id).collect();
        for at in (0..self.waiting.places.len()).rev() {
            if let WaitingPlace::InInbox(id) = self.waiting.places[at]
                && !waits.contains(&id)
            {
                self.waiting.places.remove(at);
                self.input.queue_mut().remove(at);
                self.canvas.due.get_or_insert(self.canvas.last_frame);
            }
        }
    }

    /// After a key was dealt with: the message that was taken back is withdrawn.
    pub(super) fn withdraw_what_was_taken_back(&mut self, feeds: &Feeds) {
        while self.waiting.places.len() > self.input.queue().len() {
            match self.waiting.places.pop_back() {
                Some(WaitingPlace::InInbox(id)) => {
                    withdraw(feeds.inbox.as_deref(), id);
                }
                Some(WaitingPlace::Attaching) if self.attaching_place().is_none() => {
                    self.stop_attaching();
                }
                _ => {}
            }
        }
    }

    fn stop_attaching(&mut self) {
        if let Some(attaching) = self.waiting.attaching.take() {
            attaching.abort();
        }
        self.waiting.attached = None;
    }

    /// Puts what waits back into the input box: the turn that it was for was stopped.
    pub(crate) fn take_queue_back(&mut self, feeds: &Feeds) {
        let mut texts = Vec::new();
        while let Some(submission) = self.next_waiting(feeds) {
            texts.push(match submission.kind {
                SubmissionKind::Shell => format!("!{}", submission.text),
                _ => submission.text,
            });
        }
        self.stop_attaching();
        if !texts.is_empty() {
            texts.extend((!self.input.is_empty()).then(|| self.input.text()));
            self.input.set_text(&texts.join("\n"));
        }
    }

    /// The message that is the next to be sent, now that nothing runs.
    pub(super) fn next_waiting(&mut self, feeds: &Feeds) -> Option<Submission> {
        let place = self.waiting.places.pop_front()?;
        match place {
            WaitingPlace::InInbox(id) => withdraw(feeds.inbox.as_deref(), id),
            WaitingPlace::Attaching => self.stop_attaching(),
            WaitingPlace::Later => {}
        }
        // What follows is attached and sent in its turn.
        let submission = self.input.queue_mut().take_next();
        self.attach_next(feeds);
        submission
    }
}

fn withdraw(inbox: Option<&Inbox>, id: QueuedId) {
    if let Some(inbox) = inbox {
        inbox.withdraw(id);
    }
}
