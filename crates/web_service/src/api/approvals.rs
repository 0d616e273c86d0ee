//! Questions over all sessions and calls by hand, and their answers. The first answer counts.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::Method;
use protocol::{
    ApprovalRequest, ApprovalResponse, ContentHash, DiffKind, FileBytes, LineComment, Proposal,
    QuestionText, Remember, ToolCall, ToolPermission, visible,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use session::ApprovalManager;
use team::UserId;
use timeline::safe_text::one_line;
use tool_system::ToolExecutor;

use super::colours::blocking;
use crate::api_error::ApiError;
use crate::colours::diff_values;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::{DirectCalls, HubError, OpenSession, QuestionElsewhere, name_by_hand};
use crate::route::{Nothing, Request, Route};
use crate::view::{HubView, ProjectView};

/// Bytes of an answer, which may hold whole files.
const ANSWER_BODY: usize = 16 * 1024 * 1024;

pub(super) fn routes() -> Vec<Route> {
    let one = "/api/approvals/{owner}/{question}";
    let approve = Need::Scope(AccessScope::Approve);
    vec![
        Route::new(Method::GET, "/api/approvals", Need::Login, "All open questions.", list),
        Route::new(Method::GET, one, Need::Login, "An open question with all it is about.", get),
        Route::new(Method::POST, one, approve, "Answers an open question.", answer)
            .up_to(ANSWER_BODY),
    ]
}

/// An open question in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct QuestionBrief {
    /// The session that asks; `project:NAME` for a call by hand.
    owner: String,
    /// The hash of the proposal, which is the name of the question.
    question: String,
    /// The name of the project.
    project: String,
    /// The call that asks.
    call_id: String,
    tool: String,
    /// What the call does, in the words of its card: `Write src/main.rs`.
    title: String,
    /// The call with its arguments on one line.
    call: String,
    kind: QuestionKind,
    /// Why it asks.
    reason: String,
    /// Whether `reason` says no more than that no rule allows it.
    is_routine: bool,
    /// What a careful reader should know first.
    warnings: Vec<String>,
    /// The exact rule that "always" would make; absent where it is not offered.
    always: Option<String>,
    /// The files that would change, with lines that come and go.
    files: Vec<ChangedFile>,
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum QuestionKind {
    /// Changes of files.
    Changes,
    /// Changes of files that a command has left behind on its copy.
    LeftBehind,
    /// A command, before it runs.
    Command,
    /// A request to a web server.
    Web,
    /// A call of a tool of a foreign server, or a question that one asks.
    Foreign,
}

impl QuestionKind {
    fn of(proposal: &Proposal, executor: &ToolExecutor, call: &ToolCall) -> Self {
        let runs_commands = || {
            let tool = executor.tool_of(call);
            let needed = tool.map(|tool| tool.definition().required_permissions);
            needed.is_ok_and(|needed| needed.contains(ToolPermission::ExecuteCommands))
        };
        match proposal {
            Proposal::Changes(_) if runs_commands() => Self::LeftBehind,
            Proposal::Changes(_) => Self::Changes,
            Proposal::Command(_) => Self::Command,
            Proposal::Web(_) => Self::Web,
            Proposal::Foreign(_) => Self::Foreign,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct ChangedFile {
    /// The path, safe to show.
    path: String,
    added: usize,
    removed: usize,
}

impl QuestionBrief {
    fn of(owner: &Owner, request: &ApprovalRequest) -> Self {
        // The diff is not taken from the text.
        let text = QuestionText::of(request, 0);
        let call = ToolCall::new("", request.tool.clone(), request.args.clone());
        let title = owner.executor.title(&call).map(|title| one_line(&title));
        let title = title.filter(|title| !title.is_empty());
        // New directories come with what is in them.
        let is_alone = request.diffs.iter().all(|diff| diff.kind == DiffKind::MakeDir);
        let named = request.diffs.iter().filter(|diff| is_alone || diff.kind != DiffKind::MakeDir);
        let files = named.map(|diff| ChangedFile {
            path: visible(&diff.path),
            added: diff.added,
            removed: diff.removed,
        });
        Self {
            owner: owner.name.clone(),
            question: request.proposal_hash.to_string(),
            project: owner.project.clone(),
            call_id: request.step_id.clone(),
            tool: request.tool.clone(),
            title: title.unwrap_or_else(|| text.title.clone()),
            call: text.title,
            kind: QuestionKind::of(&request.proposal, &owner.executor, &call),
            reason: text.reason,
            is_routine: request.is_routine,
            warnings: text.warnings,
            always: request.remembers.clone(),
            files: files.collect(),
        }
    }

    /// All open questions, in a fixed order.
    pub(crate) async fn all(hub: &HubView) -> Result<Vec<Self>, ApiError> {
        let mut all: Vec<Self> = Vec::new();
        for owner in owners(hub).await? {
            let pending = owner.questions();
            all.extend(pending.iter().map(|request| Self::of(&owner, request)));
        }
        Ok(all)
    }

    /// What tells the open questions apart, without copying any of them: for each that asks, its name and
    /// what it asks about.
    pub(crate) async fn names(hub: &HubView) -> Result<QuestionNames, ApiError> {
        let owners = owners(hub).await?;
        let named = owners.into_iter().map(|owner| (owner.question_names(), owner.name));
        let asked = named.filter(|(asked, _)| !asked.is_empty());
        Ok(asked.map(|(asked, name)| (name, asked)).collect())
    }
}

/// What tells open questions apart.
pub(crate) type QuestionNames = Vec<(String, Vec<(String, ContentHash)>)>;

/// Something that asks.
struct Owner {
    name: String,
    project: String,
    asks: Asker,
    /// Knows the words for its calls.
    executor: ToolExecutor,
    /// The user whose calls they are; none without a team.
    asker: Option<UserId>,
}

/// Who asks.
enum Asker {
    Session(OpenSession),
    ByHand(Arc<ApprovalManager>),
    /// A call by hand at another replica.
    Elsewhere(Arc<QuestionElsewhere>),
}

impl Owner {
    fn questions(&self) -> Vec<ApprovalRequest> {
        match &self.asks {
            Asker::Session(open) => open.questions(),
            Asker::ByHand(approvals) => approvals.pending(),
            Asker::Elsewhere(question) => vec![question.asked.clone()],
        }
    }

    fn question_names(&self) -> Vec<(String, ContentHash)> {
        match &self.asks {
            Asker::Session(open) => open.question_names(),
            Asker::ByHand(approvals) => approvals.pending_names(),
            Asker::Elsewhere(question) => {
                vec![(question.asked.step_id.clone(), question.asked.proposal_hash)]
            }
        }
    }

    /// What answers its questions, if that is here.
    fn approvals(&self) -> Option<Arc<ApprovalManager>> {
        match &self.asks {
            Asker::Session(OpenSession::Here(live)) => Some(live.approvals()),
            Asker::Session(OpenSession::Elsewhere(_)) | Asker::Elsewhere(_) => None,
            Asker::ByHand(approvals) => Some(Arc::clone(approvals)),
        }
    }

    fn of_direct_calls(project: &str, calls: &DirectCalls) -> Self {
        Self {
            name: name_by_hand(project, calls.user()),
            project: project.to_owned(),
            asks: Asker::ByHand(Arc::clone(calls.approvals())),
            executor: calls.executor().clone(),
            asker: calls.user().cloned(),
        }
    }

    fn of_question_elsewhere(project: &ProjectView, question: Arc<QuestionElsewhere>) -> Self {
        Self {
            name: name_by_hand(project.name(), question.user.as_ref()),
            project: project.name().to_owned(),
            executor: project.direct_calls().executor().clone(),
            asker: question.user.clone(),
            asks: Asker::Elsewhere(question),
        }
    }
}

/// Everything that asks and that the client may see.
async fn owners(hub: &HubView) -> Result<Vec<Owner>, ApiError> {
    let mut open = hub.open_sessions().await;
    open.sort_by(|one, other| one.id().cmp(other.id()));
    let mut owners = Vec::new();
    for open in open {
        owners.push(Owner {
            asker: hub.owner(open.id()).await?,
            name: open.id().to_string(),
            project: open.project().name.clone(),
            executor: hub.words_of(&open),
            asks: Asker::Session(open),
        });
    }
    for project in hub.projects() {
        let mut by_hand: Vec<Owner> = project
            .seen_direct_calls()
            .iter()
            .map(|calls| Owner::of_direct_calls(project.name(), calls))
            .collect();
        let elsewhere = project.questions_elsewhere().into_iter();
        by_hand.extend(elsewhere.map(|question| Owner::of_question_elsewhere(&project, question)));
        by_hand.sort_by(|one, other| one.name.cmp(&other.name));
        owners.extend(by_hand);
    }
    Ok(owners)
}

/// Open questions.
#[derive(Debug, Serialize, JsonSchema)]
struct QuestionList {
    questions: Vec<QuestionBrief>,
}

async fn list(request: Request<Nothing, Nothing>) -> Result<QuestionList, ApiError> {
    Ok(QuestionList { questions: QuestionBrief::all(&request.hub).await? })
}

/// A question with all it is about.
#[derive(Debug, Serialize, JsonSchema)]
struct WholeQuestion {
    #[serde(flatten)]
    brief: QuestionBrief,
    /// The arguments of the call.
    arguments: Map<String, Value>,
    /// Exactly what would happen.
    proposal: Value,
    /// What the changes look like, hunk by hunk. Each line has `spans`, `[length, kind]` from its
    /// beginning, and `words`, `[from, to]` of what its counterpart has not; both in UTF-16 units.
    diffs: Vec<Value>,
    /// How long the question stands, in milliseconds.
    expires_in_ms: u64,
}

async fn get(request: Request<Nothing, Nothing>) -> Result<WholeQuestion, ApiError> {
    let (owner, asked) = found(&request).await?;
    let internal = |error: serde_json::Error| ApiError::internal(error.to_string());
    let (app, shown) = (Arc::clone(&request.app), asked.diffs.clone());
    let diffs = blocking(move || diff_values(&app.colours, &shown)).await?;
    Ok(WholeQuestion {
        brief: QuestionBrief::of(&owner, &asked),
        proposal: serde_json::to_value(&asked.proposal).map_err(internal)?,
        diffs: diffs.map_err(internal)?,
        arguments: asked.args,
        expires_in_ms: asked.expires_in_ms,
    })
}

async fn found<B>(request: &Request<Nothing, B>) -> Result<(Owner, ApprovalRequest), ApiError> {
    let (name, question) = (request.part("owner"), request.part("question"));
    let missing =
        || ApiError::conflict("the question is not open; it may have been answered already");
    // A user can call tools by hand at several replicas.
    let named = owners(&request.hub).await?.into_iter().filter(|owner| owner.name == name);
    let mut asking = named.filter_map(|owner| {
        let mut asked = owner.questions().into_iter();
        let asked = asked.find(|asked| asked.proposal_hash.to_string() == question)?;
        Some((owner, asked))
    });
    asking.next().ok_or_else(missing)
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RememberScope {
    /// Until the session is left.
    Session,
    /// For good, in this project.
    Project,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RememberBody {
    scope: RememberScope,
    /// The rule as the question has shown it in `always`. Another text is refused: what is kept is
    /// what was read.
    rule: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CommentBody {
    path: String,
    /// The line as it would be after the change, from 1.
    line: usize,
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerBody {
    /// Whether the proposal may be performed.
    approve: bool,
    /// What the model is told.
    reason: Option<String>,
    /// Other arguments for the call. The new proposal is asked about again.
    arguments: Option<Map<String, Value>>,
    /// Other text for some of the files, by path. The new proposal is asked about again.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// For some of the files, the only hunks that are wanted, from 0. The new proposal is asked about
    /// again.
    #[serde(default)]
    hunks: BTreeMap<String, Vec<usize>>,
    /// Remarks about single lines, which the model is told.
    #[serde(default)]
    comments: Vec<CommentBody>,
    /// Keeps the rule that the question offers.
    remember: Option<RememberBody>,
}

async fn answer(request: Request<Nothing, AnswerBody>) -> Result<Nothing, ApiError> {
    let (owner, asked) = found(&request).await?;
    let hub = &request.hub;
    let mut response = response(&asked, request.body)?;
    check_answer(hub, &owner, &response)?;
    response.by = hub.user().map(|user| user.id().to_string());
    if let (true, Asker::Session(open)) = (hub.is_shared(), &owner.asks) {
        hub.answer(open, asked, response).await?;
        return Ok(Nothing {});
    }
    let settles_equal = response.remember == Some(Remember::Project);
    let approvals = owner.approvals();
    match (&owner.asks, &approvals) {
        (Asker::Elsewhere(question), _) => hub.answer_elsewhere(question, response).await?,
        (_, Some(approvals)) => {
            let answered = approvals.answer_to(&asked, response);
            answered.map_err(|error| ApiError::conflict(error.to_string()))?;
        }
        (_, None) => return Err(HubError::AnsweredAlready.into()),
    }
    if let Some(approvals) = approvals.filter(|_| settles_equal) {
        hub.answer_equal(&approvals, &owner.project, &asked).await;
    }
    Ok(Nothing {})
}

/// Whether the client may give this answer. A no is always good: it can only keep something from being done.
fn check_answer(hub: &HubView, owner: &Owner, response: &ApprovalResponse) -> Result<(), ApiError> {
    if response.is_approved() && !hub.may_approve_of(owner.asker.as_ref()) {
        return Err(ApiError::forbidden("the user who asks may not approve: ask another approver"));
    }
    let is_written_anew = response.modified_args.is_some() || !response.modified_files.is_empty();
    // A yes to what the approver has written would be that of one user alone.
    if is_written_anew && hub.needs_two_users() {
        let message = "approvals need two users: say no, and why, in place of writing it anew";
        return Err(ApiError::forbidden(message));
    }
    if response.remember == Some(Remember::Project) && !hub.may_rule() {
        let message = "only an admin makes rules for a project whose approvals need two users";
        return Err(ApiError::forbidden(message));
    }
    Ok(())
}

fn response(asked: &ApprovalRequest, body: AnswerBody) -> Result<ApprovalResponse, ApiError> {
    let AnswerBody { approve, reason, arguments, files, hunks, comments, remember } = body;
    if !approve
        && (arguments.is_some() || !files.is_empty() || !hunks.is_empty() || remember.is_some())
    {
        return Err(ApiError::invalid("a refusal has a reason and comments, and nothing else"));
    }
    let remember = match remember {
        None => None,
        Some(RememberBody { rule, .. }) if asked.remembers.as_ref() != Some(&rule) => {
            return Err(ApiError::conflict("the question offers another rule, or none"));
        }
        Some(RememberBody { scope: RememberScope::Session, .. }) => Some(Remember::Session),
        Some(RememberBody { scope: RememberScope::Project, .. }) => Some(Remember::Project),
    };
    let files = files.into_iter().map(|(path, text)| (path, FileBytes(text.into_bytes())));
    let comments = comments.into_iter().map(|CommentBody { path, line, text }| LineComment {
        path,
        line,
        text,
    });
    let mut response = if approve { asked.approve() } else { ApprovalResponse::no(None) };
    response.modified_args = arguments;
    response.modified_files = files.collect();
    response.accepted_hunks = hunks;
    response.remember = remember;
    response.reason = reason;
    response.comments = comments.collect();
    Ok(response)
}
