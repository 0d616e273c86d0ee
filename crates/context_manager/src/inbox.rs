//! What the user says while a turn runs.
//!
//! The front end puts messages in; the loop takes them out before the next request. A message is in
//! the inbox or in the log, never in neither: it leaves the inbox only once it is written.

use std::sync::{Mutex, MutexGuard, PoisonError};

use protocol::{Content, SessionEvent};

/// The name of a waiting message. No two messages of an inbox ever have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuedId(u64);

/// A message that waits for the next request.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedMessage {
    /// Its name.
    pub id: QueuedId,
    /// What is said.
    pub content: Vec<Content>,
    /// The number under which it also lies in the inbox that processes share, if it does.
    pub item: Option<i64>,
}

/// Messages of the user that wait for the running turn. What a turn does not take stays here for the
/// front end.
#[derive(Debug, Default)]
pub struct Inbox {
    state: Mutex<InboxState>,
}

#[derive(Debug, Default)]
struct InboxState {
    last_id: u64,
    waiting: Vec<QueuedMessage>,
    /// Being written to the log: they can no longer be withdrawn.
    taken: Vec<QueuedMessage>,
}

impl Inbox {
    /// Adds a message behind all others.
    pub fn push(&self, content: Vec<Content>) -> QueuedId {
        self.add(content, None)
    }

    /// Adds a message that lies in the inbox that processes share, under this number.
    pub fn push_item(&self, content: Vec<Content>, item: i64) -> QueuedId {
        self.add(content, Some(item))
    }

    fn add(&self, content: Vec<Content>, item: Option<i64>) -> QueuedId {
        let mut state = self.state();
        state.last_id += 1;
        let id = QueuedId(state.last_id);
        state.waiting.push(QueuedMessage { id, content, item });
        id
    }

    /// Takes a message back. None if a turn has taken it, or it was withdrawn before.
    pub fn withdraw(&self, id: QueuedId) -> Option<Vec<Content>> {
        let mut state = self.state();
        let at = state.waiting.iter().position(|message| message.id == id)?;
        Some(state.waiting.remove(at).content)
    }

    /// Says something else in the place of a message. Gives the new words back if it is too late.
    pub fn replace(&self, id: QueuedId, content: Vec<Content>) -> Result<(), Vec<Content>> {
        match self.state().waiting.iter_mut().find(|message| message.id == id) {
            None => Err(content),
            Some(message) => {
                message.content = content;
                Ok(())
            }
        }
    }

    /// The messages that wait, in the order in which they were said.
    pub fn waiting(&self) -> Vec<QueuedMessage> {
        self.state().waiting.clone()
    }

    /// Takes all that wait. They come back unless [`TakenMessages::written`] is called.
    pub(crate) fn take(&self) -> Option<TakenMessages<'_>> {
        let mut state = self.state();
        if state.waiting.is_empty() {
            return None;
        }
        state.taken = std::mem::take(&mut state.waiting);
        Some(TakenMessages(self))
    }

    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Messages on their way into the log.
pub(crate) struct TakenMessages<'a>(&'a Inbox);

impl TakenMessages<'_> {
    /// What is to be written.
    pub(crate) fn events(&self) -> Vec<SessionEvent> {
        let content = |message: &QueuedMessage| message.content.clone();
        let state = self.0.state();
        let taken = state.taken.iter().map(content);
        taken.map(|content| SessionEvent::UserAdded { content }).collect()
    }

    /// The items that are done once they are written.
    pub(crate) fn items(&self) -> Vec<i64> {
        self.0.state().taken.iter().filter_map(|message| message.item).collect()
    }

    /// They are in the log.
    pub(crate) fn written(self) {
        self.0.state().taken.clear();
    }
}

impl Drop for TakenMessages<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let mut back = std::mem::take(&mut state.taken);
        back.append(&mut state.waiting);
        state.waiting = back;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<Content> {
        vec![Content::Text { text: text.into() }]
    }

    fn waiting(inbox: &Inbox) -> Vec<Vec<Content>> {
        inbox.waiting().into_iter().map(|message| message.content).collect()
    }

    #[test]
    fn a_waiting_message_can_be_changed_and_withdrawn_until_it_is_taken() {
        let inbox = Inbox::default();
        assert!(inbox.take().is_none());
        let (first, second) = (inbox.push(said("one")), inbox.push(said("two")));
        assert_eq!(inbox.replace(first, said("uno")), Ok(()));
        assert_eq!(inbox.withdraw(second), Some(said("two")));
        assert_eq!(inbox.withdraw(second), None);
        let taken = inbox.take().unwrap();
        assert_eq!(taken.events(), [SessionEvent::UserAdded { content: said("uno") }]);
        assert_eq!((inbox.withdraw(first), waiting(&inbox).len()), (None, 0));
        assert_eq!(inbox.replace(first, said("eins")), Err(said("eins")));
        taken.written();
        assert!(inbox.take().is_none());
    }

    #[test]
    fn what_could_not_be_written_waits_again_before_what_came_since() {
        let inbox = Inbox::default();
        let first = inbox.push(said("one"));
        let taken = inbox.take().unwrap();
        inbox.push(said("two"));
        drop(taken);
        assert_eq!(waiting(&inbox), [said("one"), said("two")]);
        assert_eq!(inbox.withdraw(first), Some(said("one")));
    }
}
