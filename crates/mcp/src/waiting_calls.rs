//! Calls that wait for the user between two requests: for clients of revision 2026-07-28 and later.
//!
//! Such a client gets a question as the result of its call and repeats the call with the answer. The
//! call itself is not repeated: it runs on a task of its own and waits here, with everything that it
//! has done so far, under a random id that the client brings back. An id counts once, for a while,
//! and only with the tool and the arguments of the call that it was given out for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use protocol::{
    ApprovalRequest, ApprovalResponse, CallReport, Change, ContentHash, ErrorCode, Proposal,
    ToolCall, ToolError,
};
use rmcp::ErrorData;
use rmcp::model::{
    ElicitRequest, InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tool_system::{Approver, ToolExecutor};

use crate::approval::{LeadingEnd, QuestionPage, decided_on, kept, withdrawn};
use crate::http_client::HttpClient;
use crate::question::{form, link, not_opened, response_to};
use crate::random_id::random_id;

/// Calls that wait at once; the oldest is given up for a new one.
const MAX_WAITING: usize = 64;
/// Bytes of all files together that calls which wait would write. Each holds them several times.
const MAX_WAITING_BYTES: usize = 256 * 1024 * 1024;
/// How long the result of a call is kept for its client after the question would have expired: it was answered on the
/// page, and what was agreed to may take as long as a command may run.
const SETTLED_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The name of the question among the inputs of a call.
const QUESTION: &str = "approval";

type ApprovalReply = oneshot::Sender<Result<ApprovalResponse, ToolError>>;

/// How far a call has come.
pub(crate) enum CallStep {
    /// It waits for the user.
    Asks(Box<ApprovalRequest>, ApprovalReply),
    Done(CallReport),
}

/// A call on a task of its own. It is cancelled when this is dropped.
pub(crate) struct RunningCall {
    identity: ContentHash,
    /// The id that its events carry.
    pub(crate) id: String,
    steps: mpsc::Receiver<CallStep>,
    cancel: CancellationToken,
    _given_up: DropGuard,
    /// Kept while the question is answered on the page.
    declining: Option<ApprovalReply>,
}

impl RunningCall {
    /// Begins a call, whose questions are answered as `asking` says.
    pub(crate) fn start(
        executor: Arc<ToolExecutor>,
        call: ToolCall,
        client: HttpClient,
        asking: StepAsking,
    ) -> Self {
        let (sender, steps) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let running = Self {
            identity: identity(&call, client),
            id: call.id.clone(),
            steps,
            cancel: cancel.clone(),
            _given_up: cancel.clone().drop_guard(),
            declining: None,
        };
        tokio::spawn(async move {
            let approver = StepApprover { steps: sender, asking };
            let result = executor.report(&call, &cancel, &approver).await;
            // It fails if the call was given up, and then the result does not matter.
            let _ = approver.steps.send(CallStep::Done(result)).await;
        });
        running
    }

    /// Waits for the next question or the end. A request that is cancelled cancels the call, and whatever that
    /// has asked does not matter any more.
    pub(crate) async fn next(&mut self, request: &CancellationToken) -> CallStep {
        let step = tokio::select! {
            biased;
            () = request.cancelled() => {
                self.cancel.cancel();
                let mut step = self.steps.recv().await;
                while let Some(CallStep::Asks(..)) = step {
                    step = self.steps.recv().await;
                }
                step
            }
            step = self.steps.recv() => step,
        };
        step.unwrap_or_else(|| {
            let message = "the call ended without a result";
            CallStep::Done(Err(ToolError::new(ErrorCode::Internal, message)).into())
        })
    }
}

/// Where the questions of a call are answered.
pub(crate) enum StepAsking {
    /// On the page, to which the client leads.
    OnPage(Arc<dyn QuestionPage>),
    /// By a form at the client. The page, if there is one, keeps the answers.
    ByForm(Option<Arc<dyn QuestionPage>>),
}

/// Hands the questions of a call to the request that waits for its next step.
struct StepApprover {
    steps: mpsc::Sender<CallStep>,
    asking: StepAsking,
}

#[async_trait]
impl Approver for StepApprover {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        let by_client = async {
            let (reply, answer) = oneshot::channel();
            self.steps.send(CallStep::Asks(Box::new(request.clone()), reply)).await.ok()?;
            answer.await.ok()
        };
        match &self.asking {
            StepAsking::ByForm(page) => {
                let answer = by_client.await.ok_or_else(withdrawn)?;
                kept(page.as_deref(), request, answer).await
            }
            StepAsking::OnPage(page) => {
                // A client that accepts says nothing more.
                let end = |answer: Option<_>| {
                    answer.map_or(LeadingEnd::Withdrawn, |_| LeadingEnd::Declined)
                };
                decided_on(&**page, request, by_client.map(end)).await
            }
        }
    }
}

/// The calls that wait for an answer.
#[derive(Default)]
pub(crate) struct WaitingCalls {
    calls: Mutex<VecDeque<WaitingCall>>,
}

struct WaitingCall {
    id: String,
    call: RunningCall,
    request: Box<ApprovalRequest>,
    reply: ApprovalReply,
    question: InputRequiredResult,
    /// Whether the client only leads to the page where the answer is given.
    is_link: bool,
    expires: Instant,
    bytes: usize,
}

impl WaitingCall {
    /// Whether the answer was given on the page, or will never be: the call goes on without the client.
    fn is_settled(&self) -> bool {
        self.is_link && self.reply.is_closed()
    }

    /// Whether the client has taken too long to come back.
    fn is_over(&self) -> bool {
        let longer = if self.is_settled() { SETTLED_LIFETIME } else { Duration::ZERO };
        self.expires + longer <= Instant::now()
    }
}

/// What a request that brings an id back comes to.
pub(crate) enum Resumption {
    /// The call goes on.
    Answered(RunningCall),
    /// The answer is missing; the question still stands.
    Unanswered(InputRequiredResult),
}

impl WaitingCalls {
    /// Keeps a call until its question is answered; gives what its request ends with.
    pub(crate) fn keep(
        &self,
        call: RunningCall,
        request: Box<ApprovalRequest>,
        reply: ApprovalReply,
        version: &ProtocolVersion,
        page: Option<&dyn QuestionPage>,
    ) -> Result<InputRequiredResult, ToolError> {
        let asked = match page {
            Some(page) => link(&request, page)?,
            None => form(&request, version)?,
        };
        let asked = InputRequest::Elicitation(ElicitRequest::new(asked));
        let questions = [(QUESTION.to_owned(), asked)].into();
        let id = random_id()?;
        let question = InputRequiredResult::new(Some(questions), Some(id.clone()));
        let expires = Instant::now() + Duration::from_millis(request.expires_in_ms);
        let mut calls = self.calls();
        calls.retain(|waiting| !waiting.is_over());
        let bytes = bytes_of(&request.proposal);
        let held: Vec<usize> = calls.iter().map(|waiting| waiting.bytes).collect();
        calls.drain(..given_up_for(bytes, &held));
        let (question, is_link) = (question.clone(), page.is_some());
        let waiting = WaitingCall {
            id,
            call,
            request,
            reply,
            question: question.clone(),
            is_link,
            expires,
            bytes,
        };
        calls.push_back(waiting);
        Ok(question)
    }

    /// Lets the call behind `id` go on with the answer among `inputs`. Whatever the id is tried on,
    /// it is used up unless the answer is missing.
    pub(crate) fn resume(
        &self,
        id: &str,
        call: &ToolCall,
        client: HttpClient,
        inputs: Option<InputResponses>,
    ) -> Result<Resumption, ErrorData> {
        let mut calls = self.calls();
        let index =
            calls.iter().position(|waiting| waiting.id == id).ok_or_else(no_such_question)?;
        let waiting = calls.remove(index).ok_or_else(no_such_question)?;
        if waiting.is_over() || waiting.call.identity != identity(call, client) {
            return Err(no_such_question());
        }
        let Some(answer) = inputs.and_then(|mut inputs| inputs.remove(QUESTION)) else {
            let question = waiting.question.clone();
            calls.push_back(waiting);
            return Ok(Resumption::Unanswered(question));
        };
        let WaitingCall { mut call, request, reply, is_link, .. } = waiting;
        if !is_link {
            let response = response_to(&request, &answer);
            reply.send(response).map_err(|_| no_such_question())?;
        } else if answer["action"] == "accept" {
            call.declining = Some(reply);
        } else {
            // If this fails, the page was faster.
            let _ = reply.send(Err(not_opened()));
        }
        Ok(Resumption::Answered(call))
    }

    fn calls(&self) -> MutexGuard<'_, VecDeque<WaitingCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of the calls that wait, oldest first, are given up for one more of so many bytes.
fn given_up_for(bytes: usize, held: &[usize]) -> usize {
    let mut left = bytes;
    let fits = |bytes: &&usize| {
        left = left.saturating_add(**bytes);
        left <= MAX_WAITING_BYTES
    };
    let kept = held.iter().rev().take(MAX_WAITING - 1).take_while(fits).count();
    held.len() - kept
}

/// Bytes that a proposal would write.
fn bytes_of(proposal: &Proposal) -> usize {
    let Proposal::Changes(set) = proposal else { return 0 };
    let written = set.changes.iter().map(|change| match change {
        Change::Write { content, .. } => content.0.len(),
        _ => 0,
    });
    written.sum()
}

/// Nothing is run for an answer that belongs to no question. It is the client that has brought it, not the
/// model, so this is an error of the request and not a result of the tool.
pub(crate) fn no_such_question() -> ErrorData {
    let message = "this answer belongs to no open question: the question may have expired, may \
                   have been answered already, or was about another call; nothing is done for it";
    let error = ToolError::new(ErrorCode::ApprovalRequired, message)
        .suggest("Call the tool again without `requestState`; the user is then asked again.");
    ErrorData::invalid_params(error.full_message(), serde_json::to_value(&error).ok())
}

/// What makes a repeated call the same call, of a client that may do the same. The order of the
/// arguments does not.
fn identity(call: &ToolCall, client: HttpClient) -> ContentHash {
    let mut call = json!([call.name, call.arguments, client.may_answer]);
    call.sort_all_objects();
    ContentHash::of(call.to_string().as_bytes())
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::Map;

    use super::*;

    pub(crate) fn request() -> ApprovalRequest {
        let proposal = Proposal::Changes(Default::default());
        ApprovalRequest {
            step_id: "c1".into(),
            tool: "t".into(),
            args: Map::new(),
            reason: String::new(),
            is_routine: false,
            proposal_hash: proposal.hash(),
            proposal,
            diffs: Vec::new(),
            remembers: None,
            expires_in_ms: 1,
        }
    }

    fn asked() -> CallStep {
        CallStep::Asks(Box::new(request()), oneshot::channel().0)
    }

    #[tokio::test]
    async fn a_request_that_is_cancelled_is_not_answered_with_what_the_call_has_asked_before() {
        let (sender, steps) = mpsc::channel(2);
        let cancel = CancellationToken::new();
        let mut running = RunningCall {
            identity: ContentHash::of(b""),
            id: "c1".into(),
            steps,
            cancel: cancel.clone(),
            _given_up: CancellationToken::new().drop_guard(),
            declining: None,
        };
        sender.send(asked()).await.unwrap();
        let request = CancellationToken::new();
        assert!(matches!(running.next(&request).await, CallStep::Asks(..)));
        sender.send(asked()).await.unwrap();
        sender.send(CallStep::Done(Ok(json!({})).into())).await.unwrap();
        request.cancel();
        assert!(matches!(running.next(&request).await, CallStep::Done(_)));
        assert!(cancel.is_cancelled());
    }

    #[test]
    fn the_oldest_calls_are_given_up_for_new_ones() {
        let large = MAX_WAITING_BYTES / 4;
        let cases: [(usize, Vec<usize>, usize); 6] = [
            (0, vec![], 0),
            (10, vec![0; MAX_WAITING - 1], 0),
            (10, vec![0; MAX_WAITING], 1),
            (large, vec![large; 3], 0),
            (large, vec![0, large, large, large, large, 0], 2),
            (MAX_WAITING_BYTES + 1, vec![0; 3], 3),
        ];
        for (bytes, held, given_up) in cases {
            assert_eq!(given_up_for(bytes, &held), given_up, "{bytes} {held:?}");
        }
    }
}
