//! What was changed: the diff of a session.

use std::sync::Arc;

use axum::http::Method;
use protocol::{ErrorCode, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::SessionId;
use tool_system::History;

use super::colours::blocking;
use crate::api_error::ApiError;
use crate::colours::diff_values;
use crate::guard::Need;
use crate::hub::ServedProject;
use crate::route::{Nothing, Request, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(
        Method::GET,
        "/api/sessions/{session}/diff",
        Need::Login,
        "What the session has changed: each file as it was before, against the file as it is now.",
        session_diff,
    )]
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
    let project = request.app.hub.project_of(&id).await?;
    let history = history(&project)?;
    let app = Arc::clone(&request.app);
    let comparing = move || {
        let diff = history.session_diff(id.as_str())?;
        let files = diff_values(&app.colours, &diff.files);
        let files = files.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(WholeDiff { files, notes: diff.notes })
    };
    blocking(comparing).await?
}

/// What was changed in a project. Without a place for its state nothing was.
fn history(project: &ServedProject) -> Result<History, ApiError> {
    let history = project.parts.tools.options.history.clone();
    Ok(history.ok_or_else(|| {
        let message = "this project has no history";
        ToolError::new(ErrorCode::ExecutionError, message).suggest("Set XDG_STATE_HOME or HOME.")
    })?)
}
