//! Sessions: listing, beginning, reading, naming, forking, exporting, deleting.

use axum::http::Method;
use protocol::Usage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{ListFilter, SessionId, SessionState};
use team::SessionAct;
use timeline::{Item, SessionFacts, Timeline};

use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::{AgentNames, KeptWorktree, LiveSession, LiveState};
use crate::route::{Nothing, Request, Route, RouteAnswer};
use crate::view::{HubView, SeenInfo, SessionPlan};

/// Sessions of a list, and items of a window, unless the client says how many.
const USUAL_LIMIT: u32 = 100;
/// The most of either that one answer holds.
const MAX_LIMIT: u32 = 1000;
/// Bytes of a title, which stands in every list.
const MAX_TITLE: usize = 1000;

pub(super) fn routes() -> Vec<Route> {
    let chat = Need::Scope(AccessScope::Chat);
    let one = "/api/sessions/{session}";
    vec![
        Route::new(Method::GET, "/api/sessions", Need::Login, "Sessions, the latest first.", list),
        Route::new(Method::POST, "/api/sessions", chat, "Begins a session.", begin),
        Route::new(Method::GET, one, Need::Login, "A session in short.", get),
        Route::new(
            Method::PATCH,
            one,
            chat,
            "Gives a session a name, another model or role.",
            change,
        ),
        Route::new(Method::DELETE, one, chat, "Deletes a session.", delete),
        Route::new(
            Method::GET,
            "/api/sessions/{session}/timeline",
            Need::Login,
            "A window of what the session looks like. Follow the stream from `through` on.",
            window,
        ),
        Route::new(
            Method::POST,
            "/api/sessions/{session}/fork",
            chat,
            "Begins a session with the log of this one, up to an entry or all of it.",
            fork,
        ),
        Route::raw(
            Method::GET,
            "/api/sessions/{session}/export",
            Need::Login,
            "The whole session as a document.",
            "text/plain; charset=utf-8",
            export,
        ),
    ]
}

/// What a session does, for lists and streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SessionBrief {
    /// The session.
    pub(crate) id: String,
    /// The name of its project.
    pub(crate) project: String,
    /// What it does.
    pub(crate) state: LiveState,
    /// Questions that wait for an answer.
    pub(crate) questions: usize,
    /// Messages that wait for the running turn.
    pub(crate) queued: usize,
    /// Why the last turn broke off, if the log could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
}

impl SessionBrief {
    pub(crate) fn of(live: &LiveSession) -> Self {
        Self {
            id: live.id().to_string(),
            project: live.project().name.clone(),
            state: live.state(),
            questions: live.approvals().count(),
            queued: live.queue().len(),
            failure: live.failure(),
        }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionsQuery {
    /// Only those of this project.
    project: Option<String>,
    /// Only those whose title holds this text.
    title: Option<String>,
    /// At most this many; 100 if left out.
    limit: Option<u32>,
}

/// A session in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedSession {
    #[serde(flatten)]
    pub(crate) brief: SessionBrief,
    title: Option<String>,
    /// Milliseconds since 1970, UTC.
    created: i64,
    /// When it was last written to.
    updated: i64,
    /// The position of its last entry.
    events: u64,
    /// Messages of the user.
    turns: u64,
    provider: String,
    model: String,
    role: Option<String>,
    usage: Usage,
    /// In US dollars, where prices are known.
    cost_usd: Option<f64>,
    /// The process that has it open, if it is another one.
    open_elsewhere: Option<String>,
}

impl ListedSession {
    pub(crate) fn of(SeenInfo { project, info, open }: SeenInfo) -> Self {
        let stored = || SessionBrief {
            id: info.id.to_string(),
            project,
            state: state_of(info.state),
            questions: 0,
            queued: 0,
            failure: None,
        };
        // A session of another replica is as open as one that is open here.
        let holder = info.held_by.as_ref().filter(|_| open.is_none());
        Self {
            brief: open.map_or_else(stored, |open| open.brief()),
            title: info.title,
            created: info.created,
            updated: info.updated,
            events: info.events,
            turns: info.turns,
            provider: info.provider,
            model: info.model,
            role: info.role.map(|role| role.name().to_owned()),
            usage: info.usage,
            cost_usd: info.cost_usd,
            open_elsewhere: holder.map(ToString::to_string),
        }
    }
}

fn state_of(state: SessionState) -> LiveState {
    match state {
        SessionState::Idle => LiveState::Idle,
        SessionState::Working => LiveState::Working,
        SessionState::Waiting => LiveState::Waiting,
        SessionState::Paused => LiveState::Paused,
        SessionState::Interrupted => LiveState::Interrupted,
    }
}

/// Sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionList {
    sessions: Vec<ListedSession>,
}

async fn list(request: Request<SessionsQuery, Nothing>) -> Result<SessionList, ApiError> {
    let SessionsQuery { project, title, limit } = request.query;
    let hub = &request.hub;
    if project.is_some() {
        hub.project(project.as_deref())?;
    }
    let limit = Some(limit.unwrap_or(USUAL_LIMIT).min(MAX_LIMIT));
    let filter = ListFilter { limit, title, updated_since: None };
    Ok(SessionList { sessions: listed_sessions(hub, project.as_deref(), &filter).await? })
}

async fn listed_sessions(
    hub: &HubView,
    project: Option<&str>,
    filter: &ListFilter,
) -> Result<Vec<ListedSession>, ApiError> {
    let listed = hub.list(project, filter).await?;
    Ok(listed.into_iter().map(ListedSession::of).collect())
}

/// The latest sessions of all projects.
pub(super) async fn latest(hub: &HubView) -> Result<Vec<ListedSession>, ApiError> {
    let filter = ListFilter { limit: Some(USUAL_LIMIT), ..ListFilter::default() };
    listed_sessions(hub, None, &filter).await
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BeginBody {
    /// The project; may be left out if only one is served.
    project: Option<String>,
    /// The model, as `GET /api/models` names it.
    model: Option<String>,
    /// The role: planner, actor, or one from the configuration.
    role: Option<String>,
    title: Option<String>,
}

async fn begin(request: Request<Nothing, BeginBody>) -> Result<SessionBrief, ApiError> {
    let BeginBody { project, model, role, title } = request.body;
    check_title(title.as_deref())?;
    let project = request.hub.project(project.as_deref())?;
    let live = project.begin(SessionPlan { names: AgentNames { model, role }, title }).await?;
    Ok(SessionBrief::of(&live))
}

async fn get(request: Request<Nothing, Nothing>) -> Result<ListedSession, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let session = request.hub.session(&id, SessionAct::Read).await?;
    Ok(ListedSession::of(session.info().await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SessionChange {
    title: Option<String>,
    /// The model that answers from now on, as `GET /api/models` names it.
    model: Option<String>,
    /// The role that it acts in from now on: planner, actor, or one from the configuration.
    role: Option<String>,
}

async fn change(request: Request<Nothing, SessionChange>) -> Result<ListedSession, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let SessionChange { title, model, role } = request.body;
    check_title(title.as_deref())?;
    let session = request.hub.session(&id, SessionAct::Write).await?;
    if model.is_some() || role.is_some() {
        session.change(AgentNames { model, role }).await?;
    }
    if let Some(title) = title {
        session.rename(&title).await?;
    }
    Ok(ListedSession::of(session.info().await?))
}

fn check_title(title: Option<&str>) -> Result<(), ApiError> {
    match title {
        Some(title) if title.len() > MAX_TITLE => {
            Err(ApiError::invalid(format!("a title has at most {MAX_TITLE} bytes")))
        }
        _ => Ok(()),
    }
}

/// What is left of a session that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
struct DeletedSession {
    /// The worktree of its own, which holds work that is not committed or not merged; absent if there is none here.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_worktree: Option<KeptWorktree>,
}

async fn delete(request: Request<Nothing, Nothing>) -> Result<DeletedSession, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let kept_worktree = request.hub.session(&id, SessionAct::Manage).await?.delete().await?;
    Ok(DeletedSession { kept_worktree })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WindowQuery {
    /// Only items before this one; the last ones if left out.
    before: Option<usize>,
    /// At most this many; 100 if left out.
    limit: Option<u32>,
}

/// A window of a timeline.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TimelineWindow {
    /// The last entry of the log that the items show.
    through: u64,
    /// How many items there are.
    total: usize,
    /// The items, oldest first.
    items: Vec<Item>,
    /// Facts of the session as a whole.
    facts: SessionFacts,
}

async fn window(request: Request<WindowQuery, Nothing>) -> Result<TimelineWindow, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let WindowQuery { before, limit } = request.query;
    let limit = limit.unwrap_or(USUAL_LIMIT).min(MAX_LIMIT);
    window_of(&request.hub, &id, before, limit).await
}

/// The last items of a session.
pub(super) async fn newest(hub: &HubView, id: &SessionId) -> Result<TimelineWindow, ApiError> {
    window_of(hub, id, None, USUAL_LIMIT).await
}

async fn window_of(
    hub: &HubView,
    id: &SessionId,
    before: Option<usize>,
    limit: u32,
) -> Result<TimelineWindow, ApiError> {
    let feed = hub.session(id, SessionAct::Read).await?.feed();
    feed.load().await?;
    let limit = limit as usize;
    Ok(feed.with(|feed| {
        let items = feed.timeline().items();
        let end = before.unwrap_or(items.len()).min(items.len());
        TimelineWindow {
            through: feed.through(),
            total: items.len(),
            items: items[end.saturating_sub(limit)..end].to_vec(),
            facts: feed.timeline().facts().clone(),
        }
    }))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForkBody {
    /// The last entry that both have; all if left out.
    at: Option<u64>,
}

/// A session that was made.
#[derive(Debug, Serialize, JsonSchema)]
struct MadeSession {
    id: String,
}

async fn fork(request: Request<Nothing, ForkBody>) -> Result<MadeSession, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let session = request.hub.session(&id, SessionAct::Read).await?;
    let made = session.fork(request.body.at).await?;
    Ok(MadeSession { id: made.to_string() })
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExportForm {
    /// The log, one entry a line, to be imported again.
    #[default]
    Jsonl,
    Markdown,
    Html,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportQuery {
    #[serde(default)]
    format: ExportForm,
}

async fn export(request: Request<ExportQuery, Nothing>) -> Result<RouteAnswer, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let session = request.hub.session(&id, SessionAct::Read).await?;
    let text = match request.query.format {
        ExportForm::Jsonl => session.export().await?,
        ExportForm::Markdown => timeline::markdown(&Timeline::of(&session.load().await?.entries)),
        // Sent as text like the others: a document with its own styles is not shown under our origin.
        ExportForm::Html => timeline::html(&Timeline::of(&session.load().await?.entries)),
    };
    Ok(RouteAnswer::text("text/plain; charset=utf-8", text))
}
