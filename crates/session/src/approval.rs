//! Questions to the person, written down with their answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_manager::SessionLog;
use protocol::{ApprovalRequest, ApprovalResponse, ErrorCode, SessionEvent, ToolError};
use tokio::sync::oneshot;
use tool_system::Approver;

use crate::runtime::unwritable;

/// Asks for one conversation. A question is in the log before anybody sees it, and an answer before
/// anything is done about it. It is answered by the door's own approver or through
/// [`ApprovalManager::answer`], whichever comes first.
pub struct ApprovalManager {
    log: Arc<dyn SessionLog>,
    door: Option<Arc<dyn Approver>>,
    open: Mutex<HashMap<String, Open>>,
}

struct Open {
    request: ApprovalRequest,
    answer: oneshot::Sender<ApprovalResponse>,
}

/// There is no open question of that id.
#[derive(Debug, thiserror::Error)]
#[error("nothing is asked under the id `{0}`; it may have been answered already")]
pub struct NotAsked(String);

impl ApprovalManager {
    /// Asks through `door`; without one, questions wait for [`Self::answer`].
    pub fn new(log: Arc<dyn SessionLog>, door: Option<Arc<dyn Approver>>) -> Self {
        Self { log, door, open: Mutex::default() }
    }

    /// The questions that wait for an answer.
    pub fn pending(&self) -> Vec<ApprovalRequest> {
        self.open().values().map(|open| open.request.clone()).collect()
    }

    /// Answers a question.
    pub fn answer(&self, step_id: &str, response: ApprovalResponse) -> Result<(), NotAsked> {
        let open = self.open().remove(step_id);
        let sent = open.map(|open| open.answer.send(response).is_ok());
        if sent == Some(true) { Ok(()) } else { Err(NotAsked(step_id.to_owned())) }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answered(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let (answer, answered) = oneshot::channel();
        let question = Open { request: request.clone(), answer };
        self.open().insert(request.step_id.clone(), question);
        let _closes = Closes { manager: self, step_id: &request.step_id };
        let elsewhere = async {
            let withdrawn = "the question was withdrawn";
            answered.await.map_err(|_| ToolError::new(ErrorCode::Cancelled, withdrawn))
        };
        match &self.door {
            None => elsewhere.await,
            Some(door) => tokio::select! {
                response = door.decide(request) => response,
                Ok(response) = elsewhere => Ok(response),
            },
        }
    }
}

/// A question that nobody waits for any more is not open.
struct Closes<'a> {
    manager: &'a ApprovalManager,
    step_id: &'a str,
}

impl Drop for Closes<'_> {
    fn drop(&mut self) {
        self.manager.open().remove(self.step_id);
    }
}

#[async_trait]
impl Approver for ApprovalManager {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let asked = SessionEvent::ApprovalAsked(Box::new(request.clone()));
        self.log.append(vec![asked]).await.map_err(unwritable)?;
        let response = self.answered(request).await?;
        let (call_id, response) = (request.step_id.clone(), response);
        let event = SessionEvent::ApprovalAnswered { call_id, response: response.clone() };
        self.log.append(vec![event]).await.map_err(unwritable)?;
        Ok(response)
    }
}
