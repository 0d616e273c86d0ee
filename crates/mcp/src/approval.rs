//! Asking the user through the host, by elicitation in the way of either protocol era.
//!
//! Up to revision 2025-11-25 the server asks the client while the call is open. From 2026-07-28 on
//! the call ends with "input required", and the client repeats it with the answer. What was asked
//! is then remembered here under a handle that the client brings back; the answer counts once, for
//! a while, and only for the very proposal that was shown.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use protocol::{ApprovalRequest, ApprovalResponse, ContentHash, ErrorCode, ToolCall, ToolError};
use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientResult, ElicitRequest, InputRequest,
    InputRequiredResult, InputResponses, ProtocolVersion, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tool_system::{Approver, RefuseAll};

use crate::question::{form, response_to};

/// Questions that are remembered at once; the oldest make room.
const MAX_PENDING: usize = 64;
/// The name of the question among the inputs of a call.
const QUESTION: &str = "approval";
/// What the user can do where nobody can be asked.
const HOW_TO_ALLOW: &str = "This host cannot ask the user. The user can allow it with a rule in the \
     configuration or with --allow TOOL:WHAT, or start `toolkiln mcp` with --yes if the host asks \
     before it calls.";

/// Who answers for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// The host, by elicitation, if it can.
    TheHost,
    /// Whoever the executor was made with.
    AsConfigured,
}

/// Whether a client can show a form. One that names no way of asking means forms.
pub(crate) fn shows_forms(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// For hosts that cannot ask.
pub(crate) fn nobody() -> RefuseAll {
    RefuseAll { how_to_allow: HOW_TO_ALLOW.into() }
}

/// What has been asked and not yet answered.
#[derive(Default)]
pub(crate) struct Questions {
    pending: Mutex<VecDeque<Pending>>,
}

struct Pending {
    handle: String,
    call: ContentHash,
    proposal: ContentHash,
    expires: Instant,
}

impl Questions {
    fn ask(&self, call: ContentHash, request: &ApprovalRequest) -> String {
        // The handle is hard to guess, though nothing hangs on that: who could bring a guessed one
        // is the client, which answers for the user anyway.
        let random = || RandomState::new().build_hasher().finish();
        let handle = format!("{:016x}{:016x}", random(), random());
        let mut pending = locked(&self.pending);
        pending.push_back(Pending {
            handle: handle.clone(),
            call,
            proposal: request.proposal_hash,
            expires: Instant::now() + Duration::from_millis(request.expires_in_ms),
        });
        if pending.len() > MAX_PENDING {
            pending.pop_front();
        }
        handle
    }

    /// The question behind a handle, which is used up by this.
    fn take(&self, handle: &str) -> Option<Pending> {
        let mut pending = locked(&self.pending);
        let index = pending.iter().position(|pending| pending.handle == handle)?;
        pending.remove(index).filter(|pending| Instant::now() < pending.expires)
    }
}

/// Asks by ending the call: for clients of revision 2026-07-28 and later.
pub(crate) struct ByRepetition<'a> {
    questions: &'a Questions,
    version: ProtocolVersion,
    call: ContentHash,
    answer: Mutex<Option<(Pending, Value)>>,
    asking: Mutex<Option<InputRequiredResult>>,
}

impl<'a> ByRepetition<'a> {
    /// For one call, which may bring the answer to a question that an earlier one ended with.
    pub(crate) fn new(
        questions: &'a Questions,
        version: ProtocolVersion,
        call: &ToolCall,
        state: Option<&str>,
        inputs: Option<InputResponses>,
    ) -> Self {
        let pending = state.and_then(|handle| questions.take(handle));
        let input = inputs.and_then(|mut inputs| inputs.remove(QUESTION));
        let answer = Mutex::new(pending.zip(input));
        Self { questions, version, call: identity(call), answer, asking: Mutex::default() }
    }

    /// What to end the call with, if a question came up.
    pub(crate) fn into_question(self) -> Option<InputRequiredResult> {
        self.asking.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Approver for ByRepetition<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let answer = locked(&self.answer).take();
        if let Some((pending, answer)) = answer
            && (pending.call, pending.proposal) == (self.call, request.proposal_hash)
        {
            return Ok(response_to(&answer));
        }
        let form = ElicitRequest::new(form(request, &self.version)?);
        let questions = [(QUESTION.to_owned(), InputRequest::Elicitation(form))].into();
        let handle = self.questions.ask(self.call, request);
        let asking = InputRequiredResult::new(Some(questions), Some(handle));
        *locked(&self.asking) = Some(asking);
        Err(ToolError::new(ErrorCode::ApprovalRequired, "the user is being asked"))
    }
}

/// What makes a repeated call the same call. The order of the arguments does not.
fn identity(call: &ToolCall) -> ContentHash {
    let mut call = json!([call.name, call.arguments]);
    call.sort_all_objects();
    ContentHash::of(call.to_string().as_bytes())
}

/// Asks while the call is open: for clients of earlier revisions.
pub(crate) struct ByRequest<'a> {
    pub(crate) peer: &'a Peer<RoleServer>,
    pub(crate) version: ProtocolVersion,
}

#[async_trait]
impl Approver for ByRequest<'_> {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let form = ElicitRequest::new(form(request, &self.version)?);
        match self.ask(form).await {
            Ok(ClientResult::ElicitResult(answer)) => {
                Ok(response_to(&serde_json::to_value(answer).unwrap_or_default()))
            }
            Ok(_) => Err(unanswered("the answer is not one to this question")),
            Err(error) => Err(unanswered(&error.to_string())),
        }
    }
}

impl ByRequest<'_> {
    /// The gate drops this when the call is cancelled or nobody answers in time.
    async fn ask(&self, form: ElicitRequest) -> Result<ClientResult, ServiceError> {
        let (request, options) =
            (ServerRequest::ElicitRequest(form), PeerRequestOptions::no_options());
        let asked = self.peer.send_request_with_option(request, options).await?;
        let mut open = OpenQuestion { peer: self.peer, id: Some(asked.id.clone()) };
        let answer = asked.await_response().await;
        open.id = None;
        answer
    }
}

fn unanswered(why: &str) -> ToolError {
    let message = format!("the change needs approval and the user could not be asked: {why}");
    ToolError::new(ErrorCode::ApprovalRequired, message).suggest(HOW_TO_ALLOW)
}

/// A question at the client, which is withdrawn if it is given up: otherwise the client would keep
/// showing it, and we would wait for ever for an answer that no longer matters.
struct OpenQuestion<'a> {
    peer: &'a Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let why = Some("the question no longer matters".to_owned());
        let (peer, withdrawal) =
            (self.peer.clone(), CancelledNotificationParam::new(Some(id), why));
        // Nobody waits for this: a connection that is closing takes no notifications any more and
        // would hold up the end of the call. If the client or the runtime is gone, so is the
        // question.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { peer.notify_cancelled(withdrawal).await });
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
