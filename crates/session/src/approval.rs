//! Questions to the approver, logged with their answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_manager::{LogError, SessionLog};
use protocol::{
    ApprovalRequest, ApprovalResponse, ContentHash, ErrorCode, LogEntry, SessionEvent, ToolError,
};
use tokio::sync::{oneshot, watch};
use tool_system::Approver;

use crate::runtime::unwritable;

/// Asks for one conversation. A question is in the log before it is shown, and an answer before
/// anything is done about it. It is answered by the front end's own approver or through
/// [`ApprovalManager::answer`], whichever comes first.
pub struct ApprovalManager {
    log: Arc<dyn SessionLog>,
    approver: Option<Arc<dyn Approver>>,
    open: Arc<Mutex<Vec<Open>>>,
    /// Tells that the open questions are others than before.
    changes: watch::Sender<()>,
}

/// A question that can be answered.
struct Open {
    /// Which of the questions it is: agents that work side by side may ask the very same.
    number: u64,
    /// The id of the call. Agents that work side by side may use the same.
    step_id: String,
    /// The hash of the proposal.
    asked: ContentHash,
    /// None until it is in the log, so that it is not shown before.
    request: Option<ApprovalRequest>,
    answer: oneshot::Sender<GivenAnswer>,
}

/// An answer, and the item of the shared inbox that brought it.
struct GivenAnswer {
    response: ApprovalResponse,
    item: Option<i64>,
}

impl From<ApprovalResponse> for GivenAnswer {
    fn from(response: ApprovalResponse) -> Self {
        Self { response, item: None }
    }
}

impl Open {
    fn is_about(&self, request: &ApprovalRequest) -> bool {
        self.step_id == request.step_id && self.asked == request.proposal_hash
    }
}

/// There is no open question of that id, or the answer is to another one.
#[derive(Debug, thiserror::Error)]
#[error("there is no open question with the id `{0}`; it may have been answered already")]
pub struct NotAsked(String);

impl ApprovalManager {
    /// Asks `approver`; without one, questions wait for [`Self::answer`].
    pub fn new(log: Arc<dyn SessionLog>, approver: Option<Arc<dyn Approver>>) -> Self {
        Self { log, approver, open: Arc::default(), changes: watch::Sender::new(()) }
    }

    /// The same for questions that belong to no log, or are in the log of another process.
    pub fn unlogged(approver: Option<Arc<dyn Approver>>) -> Self {
        Self::new(Arc::new(NoLog), approver)
    }

    /// Asks the same approver for a sub-agent, whose questions go into `log`. Both managers answer the
    /// questions of either.
    pub(crate) fn for_sub_agent(&self, log: Arc<dyn SessionLog>) -> Self {
        let (approver, open) = (self.approver.clone(), Arc::clone(&self.open));
        Self { log, approver, open, changes: self.changes.clone() }
    }

    /// The questions that wait for an answer, those of sub-agents included.
    pub fn pending(&self) -> Vec<ApprovalRequest> {
        self.open().iter().filter_map(|open| open.request.clone()).collect()
    }

    /// What tells the questions that wait apart: the id of each call and the hash of its proposal. Unlike
    /// [`Self::pending`] this copies no diff, so whoever looks often looks here first.
    pub fn pending_names(&self) -> Vec<(String, ContentHash)> {
        let asked = |open: &Open| open.request.as_ref().map(|_| (open.step_id.clone(), open.asked));
        self.open().iter().filter_map(asked).collect()
    }

    /// How many questions wait for an answer.
    pub fn count(&self) -> usize {
        self.open().iter().filter(|open| open.request.is_some()).count()
    }

    /// Whether this very question waits for an answer.
    pub fn is_open(&self, request: &ApprovalRequest) -> bool {
        self.open().iter().any(|open| open.is_about(request))
    }

    /// Waits until a question that is being decided is among [`Self::pending`].
    pub async fn shown(&self, request: &ApprovalRequest) {
        let mut changes = self.changes();
        let is_shown = |open: &Open| open.is_about(request) && open.request.is_some();
        // This holds the sender.
        while !self.open().iter().any(is_shown) && changes.changed().await.is_ok() {}
    }

    /// Tells each time that [`Self::pending`] has changed, by a sub-agent too.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Answers a question. A yes to something else leaves it open.
    pub fn answer(&self, step_id: &str, response: ApprovalResponse) -> Result<(), NotAsked> {
        let is_meant = |open: &Open| {
            open.step_id == step_id && (!response.is_approved() || response.approves(open.asked))
        };
        let answered = self.remove(is_meant);
        let sent = answered.map(|open| open.answer.send(response.into()).is_ok());
        if sent == Some(true) { Ok(()) } else { Err(NotAsked(step_id.to_owned())) }
    }

    /// Answers exactly this question, also if another has the same id: agents that work side by side
    /// may use the same, and a no must not reach the other.
    pub fn answer_to(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), NotAsked> {
        self.settle(request, response.into())
    }

    /// The same for an answer that came through the shared inbox: the item is done when the answer is in the log.
    pub fn answer_taking(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
        item: i64,
    ) -> Result<(), NotAsked> {
        self.settle(request, GivenAnswer { response, item: Some(item) })
    }

    /// Writes down what was answered to a question where it was asked, without having been shown here.
    pub async fn note(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), ToolError> {
        let asked = SessionEvent::ApprovalAsked(Box::new(request.clone()));
        let call_id = request.step_id.clone();
        let answered = SessionEvent::ApprovalAnswered { call_id, response };
        self.log.append(vec![asked, answered]).await.map_err(unwritable)?;
        Ok(())
    }

    fn settle(&self, request: &ApprovalRequest, answer: GivenAnswer) -> Result<(), NotAsked> {
        let GivenAnswer { response, .. } = &answer;
        let answered = match !response.is_approved() || response.approves(request.proposal_hash) {
            true => self.remove(|open| open.is_about(request)),
            false => None,
        };
        let sent = answered.map(|open| open.answer.send(answer).is_ok());
        if sent == Some(true) { Ok(()) } else { Err(NotAsked(request.step_id.clone())) }
    }

    fn remove(&self, is_meant: impl Fn(&Open) -> bool) -> Option<Open> {
        let mut open = self.open();
        let removed = open.iter().position(is_meant).map(|at| open.remove(at));
        drop(open);
        if removed.is_some() {
            self.changes.send_replace(());
        }
        removed
    }

    /// Says yes to the other questions that the remembered answer to this one settles.
    fn answer_equal(&self, number: u64, request: &ApprovalRequest, by: Option<&str>) {
        let mut open = self.open();
        let (equal, others) = std::mem::take(&mut *open).into_iter().partition(|open| {
            let other = open.request.as_ref();
            open.number != number && other.is_some_and(|other| request.remembers_the_same_as(other))
        });
        *open = others;
        drop(open);
        let equal: Vec<Open> = equal;
        if !equal.is_empty() {
            self.changes.send_replace(());
        }
        for Open { request, answer, .. } in equal {
            if let Some(request) = request {
                let mut response = request.approve();
                response.by = by.map(str::to_owned);
                // A call that has stopped waiting needs no answer.
                let _ = answer.send(response.into());
            }
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answered(
        &self,
        request: &ApprovalRequest,
        answered: oneshot::Receiver<GivenAnswer>,
    ) -> Result<GivenAnswer, ToolError> {
        let elsewhere = async {
            let withdrawn = "the question was withdrawn";
            answered.await.map_err(|_| ToolError::new(ErrorCode::Cancelled, withdrawn))
        };
        match &self.approver {
            None => elsewhere.await,
            Some(approver) => tokio::select! {
                response = approver.decide(request) => response.map(GivenAnswer::from),
                Ok(answer) = elsewhere => Ok(answer),
            },
        }
    }
}

/// Keeps nothing.
struct NoLog;

#[async_trait]
impl SessionLog for NoLog {
    async fn append(&self, _: Vec<SessionEvent>) -> Result<Vec<LogEntry>, LogError> {
        Ok(Vec::new())
    }
}

/// A question whose call has stopped waiting is not open.
struct Closes<'a> {
    manager: &'a ApprovalManager,
    number: u64,
}

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.manager.remove(|open| open.number == self.number);
    }
}

/// A number that no other question of this process has.
fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

#[async_trait]
impl Approver for ApprovalManager {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let call_id = request.step_id.clone();
        let (answer, answered) = oneshot::channel();
        // A reader of the log can answer the question as soon as it is there.
        let (step_id, asked, number) = (call_id.clone(), request.proposal_hash, next_number());
        self.open().push(Open { number, step_id, asked, request: None, answer });
        let _closes = Closes { manager: self, number };
        let asked = SessionEvent::ApprovalAsked(Box::new(request.clone()));
        self.log.append(vec![asked]).await.map_err(unwritable)?;
        if let Some(open) = self.open().iter_mut().find(|open| open.number == number) {
            open.request = Some(request.clone());
        }
        self.changes.send_replace(());
        let GivenAnswer { response, item } = self.answered(request, answered).await?;
        if response.remember.is_some() && response.approves(request.proposal_hash) {
            self.answer_equal(number, request, response.by.as_deref());
        }
        let event = SessionEvent::ApprovalAnswered { call_id, response: response.clone() };
        let items: Vec<i64> = item.into_iter().collect();
        self.log.append_taking(vec![event], &items).await.map_err(unwritable)?;
        Ok(response)
    }
}
