//! Batches: several messages in one line, which only revision 2025-03-26 of MCP has.
//!
//! The answers to the requests of a batch go out together in one line, once all are there.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{RequestId, ServerJsonRpcMessage};

/// Messages that one batch may hold: their answers are kept until the last is there.
pub(crate) const MAX_BATCH: usize = 100;

/// The batches that are not answered yet; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct OpenBatches {
    batches: Arc<Mutex<Vec<OpenBatch>>>,
}

pub(crate) struct OpenBatch {
    /// The requests that have no answer yet.
    pub(crate) unanswered: HashSet<RequestId>,
    pub(crate) answers: Vec<ServerJsonRpcMessage>,
}

/// What is to be written for an answer.
pub(crate) enum Outgoing {
    One(Box<ServerJsonRpcMessage>),
    All(Vec<ServerJsonRpcMessage>),
    /// Its batch waits for others.
    Nothing,
}

impl OpenBatches {
    /// Keeps a batch until it is answered; one that already is comes back.
    pub(crate) fn open(&self, batch: OpenBatch) -> Outgoing {
        if batch.unanswered.is_empty() {
            return batch.finished();
        }
        self.batches().push(batch);
        Outgoing::Nothing
    }

    /// Takes the answer to the request `id`.
    pub(crate) fn answer(&self, id: &RequestId, answer: ServerJsonRpcMessage) -> Outgoing {
        let mut batches = self.batches();
        let Some(at) = batches.iter().position(|batch| batch.unanswered.contains(id)) else {
            return Outgoing::One(Box::new(answer));
        };
        batches[at].answers.push(answer);
        Self::settle(&mut batches, at, id)
    }

    /// The client no longer wants the answer to the request `id`.
    pub(crate) fn cancel(&self, id: &RequestId) -> Outgoing {
        let mut batches = self.batches();
        match batches.iter().position(|batch| batch.unanswered.contains(id)) {
            Some(at) => Self::settle(&mut batches, at, id),
            None => Outgoing::Nothing,
        }
    }

    fn settle(batches: &mut Vec<OpenBatch>, at: usize, id: &RequestId) -> Outgoing {
        batches[at].unanswered.remove(id);
        match batches[at].unanswered.is_empty() {
            true => batches.swap_remove(at).finished(),
            false => Outgoing::Nothing,
        }
    }

    fn batches(&self) -> MutexGuard<'_, Vec<OpenBatch>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenBatch {
    /// A batch of notifications alone has no answer at all.
    fn finished(self) -> Outgoing {
        if self.answers.is_empty() { Outgoing::Nothing } else { Outgoing::All(self.answers) }
    }
}
