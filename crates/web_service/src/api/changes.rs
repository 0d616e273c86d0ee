//! What was changed: the diff of a session, the history of a project, undo and redo.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::Method;
use protocol::visible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::SessionId;
use team::SessionAct;
use tool_system::EntrySummary;

use super::colours::blocking;
use super::tools::{CallResult, call_by_hand};
use crate::api_error::ApiError;
use crate::colours::diff_values;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};

/// Changes of one answer, unless the client says how many.
const USUAL_CHANGES: usize = 50;
/// The most changes of one answer.
const MOST_CHANGES: usize = 500;
/// Paths of one change that are named.
const MOST_PATHS: usize = 20;

pub(super) fn routes() -> Vec<Route> {
    let tools = Need::Scope(AccessScope::Tools);
    vec![
        Route::new(
            Method::GET,
            "/api/sessions/{session}/diff",
            Need::Login,
            "What the session has changed: each file as it was before, against the file as it is now.",
            session_diff,
        ),
        Route::new(
            Method::GET,
            "/api/sessions/{session}/changed",
            Need::Login,
            "The files that the session has left changed, all of them or those since a change.",
            left_changed,
        ),
        Route::new(
            Method::GET,
            "/api/history",
            Need::Login,
            "What was changed in a project, the newest first.",
            list,
        ),
        Route::new(
            Method::POST,
            "/api/history/undo",
            tools,
            "Undoes a change, the last one if none is named. It is asked about as for a model.",
            undo,
        ),
        Route::new(
            Method::POST,
            "/api/history/redo",
            tools,
            "Makes a change again that was undone, the last one if none is named. It is asked about as for a model.",
            redo,
        ),
    ]
}

/// The diff of a session.
#[derive(Debug, Serialize, JsonSchema)]
struct WholeDiff {
    /// By path, hunk by hunk, with spans and words as in an open question.
    files: Vec<Value>,
    /// Files that cannot be compared, and why, one line each.
    notes: Vec<String>,
}

async fn session_diff(request: Request<Nothing, Nothing>) -> Result<WholeDiff, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let session = request.hub.session(&id, SessionAct::Read).await?;
    let history = session.history().await?;
    let app = Arc::clone(&request.app);
    let comparing = move || {
        let diff = history.session_diff(id.as_str())?;
        let files = diff_values(&app.colours, &diff.files);
        let files = files.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(WholeDiff { files, notes: diff.notes })
    };
    blocking(comparing).await?
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangedQuery {
    /// Only by changes after this one; all if left out.
    since: Option<u64>,
}

/// What a session has left changed.
#[derive(Debug, Serialize, JsonSchema)]
struct LeftChanged {
    /// From the project's root. What was undone or changed back is not among them.
    paths: Vec<String>,
    /// The last change of the project, by this session or another.
    newest: u64,
}

async fn left_changed(request: Request<ChangedQuery, Nothing>) -> Result<LeftChanged, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let session = request.hub.session(&id, SessionAct::Read).await?;
    let (history, since) = (session.history().await?, request.query.since);
    let comparing = move || {
        let newest = history.newest()?;
        Ok(LeftChanged { paths: history.left_changed(id.as_str(), since)?, newest })
    };
    blocking(comparing).await?
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HistoryQuery {
    /// The project; may be left out if only one is served.
    project: Option<String>,
    /// Only changes before this one.
    before: Option<u64>,
    /// At most this many; 50 if left out.
    limit: Option<usize>,
}

/// Changes of a project.
#[derive(Debug, Serialize, JsonSchema)]
struct ChangeList {
    /// The newest first.
    changes: Vec<JournalledChange>,
    /// Whether there are older ones.
    more: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct JournalledChange {
    id: u64,
    /// Milliseconds since 1970, UTC.
    at: u64,
    /// The session that made it, or the process of a call by hand.
    session: String,
    call: String,
    tool: String,
    /// One line, safe to show.
    summary: String,
    /// How many files it changed.
    files: usize,
    /// The first of them, safe to show.
    paths: Vec<String>,
    /// The change that has undone it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<u64>,
    /// The changes that it undoes.
    undoes: Vec<u64>,
}

async fn list(request: Request<HistoryQuery, Nothing>) -> Result<ChangeList, ApiError> {
    let HistoryQuery { project, before, limit } = request.query;
    let project = request.hub.project(project.as_deref())?;
    let limit = limit.unwrap_or(USUAL_CHANGES).clamp(1, MOST_CHANGES);
    let (entries, more) = project.changes(before, limit).await?;
    Ok(ChangeList { changes: entries.iter().map(JournalledChange::of).collect(), more })
}

impl JournalledChange {
    fn of(entry: &EntrySummary) -> Self {
        let paths = entry.paths.iter().take(MOST_PATHS);
        Self {
            id: entry.id.0,
            at: milliseconds(entry.time),
            session: entry.session.clone(),
            call: entry.call.clone(),
            tool: entry.tool.clone(),
            summary: visible(&entry.summary),
            files: entry.paths.len(),
            paths: paths.map(|path| visible(&path.to_text())).collect(),
            undone_by: entry.undone_by.map(|id| id.0),
            undoes: entry.undoes.iter().map(|id| id.0).collect(),
        }
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UndoBody {
    /// The project; may be left out if only one is served.
    project: Option<String>,
    /// The change; the last one if left out.
    id: Option<u64>,
}

async fn undo(request: Request<Nothing, UndoBody>) -> Result<CallResult, ApiError> {
    let UndoBody { project, id } = request.body;
    let project = request.hub.project(project.as_deref())?;
    call_by_hand(&project, "undo", named(id)).await
}

/// The arguments of a call for a change, or for the last one.
fn named(id: Option<u64>) -> Map<String, Value> {
    id.map(|id| ("change_id".to_owned(), Value::from(id.to_string()))).into_iter().collect()
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RedoBody {
    /// The project; may be left out if only one is served.
    project: Option<String>,
    /// The change that was undone, or the undo; what was undone last if left out. One undo may have taken back
    /// several changes, which are all made again.
    id: Option<u64>,
}

async fn redo(request: Request<Nothing, RedoBody>) -> Result<CallResult, ApiError> {
    let RedoBody { project, id } = request.body;
    let project = request.hub.project(project.as_deref())?;
    call_by_hand(&project, "redo", named(id)).await
}
