//! How many requests are worked on at once, and what waits.
//!
//! A client may send requests faster than they are answered, or send and never read. Requests beyond
//! [`MAX_RUNNING`] wait here; when enough wait, nothing more is read, so that the client's own writes
//! wait. A request counts as running until its answer is written, which bounds the answers too.
//!
//! Answers to the server's own questions arrive on the same stream. While one is expected, reading
//! never stops; requests that find no room are refused instead.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetExtensions as _, JsonRpcMessage, RequestId,
};
use tokio::sync::Notify;

/// Requests that are worked on at once.
pub(crate) const MAX_RUNNING: usize = 32;
/// Requests that wait for the user's answer and do not count against [`MAX_RUNNING`].
const MAX_ASKING: usize = 32;
/// Bytes of all running requests as they came; a larger one runs alone.
const MAX_RUNNING_BYTES: usize = 64 * 1024 * 1024;
/// Requests that wait until one of the running ones is answered.
pub(crate) const MAX_WAITING: usize = 256;
/// Bytes of waiting requests above which no further is read.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// The requests of one connection; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Backlog {
    shared: Arc<BacklogShared>,
}

#[derive(Default)]
struct BacklogShared {
    state: Mutex<BacklogState>,
    /// Notified whenever there may be room; one task waits for it.
    changed: Notify,
}

#[derive(Default)]
struct BacklogState {
    waiting: VecDeque<WaitingRequest>,
    waiting_bytes: usize,
    running: usize,
    running_bytes: usize,
    /// What keeps a request among the running ones until its answer is written.
    unwritten: HashMap<RequestId, Arc<RunningRequest>>,
    /// The server's own requests that the client has not answered.
    asked: HashSet<RequestId>,
}

struct WaitingRequest {
    id: RequestId,
    request: ClientRequest,
    bytes: usize,
}

/// Counts a request as running until it is dropped: by the handler and by the writer of the answer.
struct RunningRequest {
    shared: Arc<BacklogShared>,
    bytes: usize,
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.running -= 1;
        state.running_bytes -= self.bytes;
        drop(state);
        self.shared.changed.notify_one();
    }
}

impl BacklogShared {
    fn state(&self) -> MutexGuard<'_, BacklogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backlog {
    /// Takes in a request of so many bytes.
    pub(crate) fn push(&self, id: RequestId, request: ClientRequest, bytes: usize) {
        let mut state = self.shared.state();
        state.waiting_bytes += bytes;
        state.waiting.push_back(WaitingRequest { id, request, bytes });
    }

    /// The oldest request that waits, if it may run. It runs until its extensions are dropped and
    /// [`Self::end`] is called.
    pub(crate) fn start_next(&self) -> Option<ClientJsonRpcMessage> {
        let mut state = self.shared.state();
        if !state.has_room() {
            return None;
        }
        let WaitingRequest { id, mut request, bytes } = state.waiting.pop_front()?;
        state.waiting_bytes -= bytes;
        state.running += 1;
        state.running_bytes += bytes;
        let running = Arc::new(RunningRequest { shared: Arc::clone(&self.shared), bytes });
        request.extensions_mut().insert(Arc::clone(&running));
        let replaced = state.unwritten.insert(id.clone(), running);
        // The lock is taken again when the last reference goes.
        drop(state);
        drop(replaced);
        Some(JsonRpcMessage::request(request, id))
    }

    /// Whether a request with this id waits or runs.
    pub(crate) fn has(&self, id: &RequestId) -> bool {
        let state = self.shared.state();
        state.unwritten.contains_key(id) || state.waiting.iter().any(|waiting| waiting.id == *id)
    }

    /// The answer to a request has been written, or there will be none.
    pub(crate) fn end(&self, id: &RequestId) {
        let ended = self.shared.state().unwritten.remove(id);
        drop(ended);
    }

    /// The client withdraws a request. One that waits is removed, since the service has
    /// not seen it.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let mut state = self.shared.state();
        if let Some(at) = state.waiting.iter().position(|waiting| waiting.id == *id)
            && let Some(withdrawn) = state.waiting.remove(at)
        {
            state.waiting_bytes -= withdrawn.bytes;
        }
        drop(state);
        self.end(id);
    }

    /// The server asks the client something.
    pub(crate) fn asked(&self, id: RequestId) {
        self.shared.state().asked.insert(id);
        self.shared.changed.notify_one();
    }

    /// The client has answered, or the server no longer asks. Our ids are numbers; rmcp takes an answer
    /// from clients that write them as text, which would otherwise be expected for ever.
    pub(crate) fn answered(&self, id: &RequestId) {
        let number = match id {
            RequestId::String(text) => text.parse().ok().map(RequestId::Number),
            RequestId::Number(_) => None,
        };
        let asked = &mut self.shared.state().asked;
        asked.remove(number.as_ref().unwrap_or(id));
    }

    /// Whether no further request is taken in.
    pub(crate) fn is_full(&self) -> bool {
        let state = self.shared.state();
        state.waiting.len() >= MAX_WAITING || state.waiting_bytes >= MAX_WAITING_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shared.state().waiting.is_empty()
    }

    /// Whether the client has something to answer, for which has to be read on.
    pub(crate) fn expects_answers(&self) -> bool {
        !self.shared.state().asked.is_empty()
    }

    /// Waits until something has changed since the last wait.
    pub(crate) async fn changed(&self) {
        self.shared.changed.notified().await;
    }
}

impl BacklogState {
    fn has_room(&self) -> bool {
        let Some(next) = self.waiting.front() else { return false };
        let asking = self.asked.len();
        let fits = self.running_bytes + next.bytes <= MAX_RUNNING_BYTES;
        self.running < MAX_RUNNING + asking.min(MAX_ASKING) && (fits || self.running <= asking)
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::PingRequest;

    use super::*;

    fn push(backlog: &Backlog, id: u32, bytes: usize) {
        let request = ClientRequest::PingRequest(PingRequest::default());
        backlog.push(RequestId::Number(id.into()), request, bytes);
    }

    fn start_all(backlog: &Backlog) -> Vec<ClientJsonRpcMessage> {
        std::iter::from_fn(|| backlog.start_next()).collect()
    }

    #[test]
    fn a_request_runs_until_it_is_handled_and_its_answer_written() {
        let backlog = Backlog::default();
        (0..100).for_each(|id| push(&backlog, id, 1));
        let mut handled = start_all(&backlog);
        assert_eq!(handled.len(), MAX_RUNNING);
        handled.remove(0);
        assert!(backlog.start_next().is_none(), "its answer is not written");
        backlog.end(&RequestId::Number(0));
        handled.push(backlog.start_next().expect("there is room"));
        backlog.end(&RequestId::Number(1));
        assert!(backlog.start_next().is_none(), "it is still being handled");
        handled.remove(0);
        assert!(backlog.start_next().is_some());
    }

    #[test]
    fn large_requests_run_one_after_the_other() {
        let backlog = Backlog::default();
        (0..3).for_each(|id| push(&backlog, id, MAX_RUNNING_BYTES));
        assert!(backlog.is_full());
        for id in 0..3 {
            assert_eq!(start_all(&backlog).len(), 1);
            backlog.end(&RequestId::Number(id));
        }
        assert!(backlog.is_empty());
    }

    #[test]
    fn requests_that_wait_for_the_user_make_room_up_to_a_limit() {
        let backlog = Backlog::default();
        (0..200).for_each(|id| push(&backlog, id, MAX_WAITING_BYTES / 200));
        let mut handled = start_all(&backlog);
        (0..100).for_each(|id| backlog.asked(RequestId::Number(id)));
        handled.extend(start_all(&backlog));
        assert_eq!(handled.len(), MAX_RUNNING + MAX_ASKING);
        (0..50).for_each(|id| backlog.answered(&RequestId::Number(id)));
        backlog.answered(&RequestId::String("other".into()));
        assert!(backlog.expects_answers());
        (50..100).for_each(|id| backlog.answered(&RequestId::String(id.to_string().into())));
        assert!(!backlog.expects_answers());
    }

    #[test]
    fn a_withdrawn_request_leaves_the_queue() {
        let backlog = Backlog::default();
        (0..40).for_each(|id| push(&backlog, id, 1));
        let _handled = start_all(&backlog);
        (MAX_RUNNING as u32..40).for_each(|id| backlog.cancel(&RequestId::Number(id.into())));
        assert!(backlog.is_empty() && !backlog.is_full());
    }
}
