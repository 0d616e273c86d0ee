//! The tools that a project defines in files, of which only those are used whose exact text is trusted.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use team::AuditKind;

use super::project::ProjectQuery;
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::CustomToolFile;
use crate::route::{Nothing, Request, Route};

pub(super) fn routes() -> Vec<Route> {
    let path = "/api/custom-tools";
    let approve = Need::Scope(AccessScope::Approve);
    let trusting =
        "Trusts the exact text of a file, named by its hash. It is used from the next start on.";
    vec![
        Route::new(
            Method::GET,
            path,
            Need::Login,
            "Files that define tools, with their text.",
            list,
        ),
        Route::new(Method::POST, "/api/custom-tools/trust", approve, trusting, trust),
    ]
}

/// Files that define tools.
#[derive(Debug, Serialize, JsonSchema)]
struct CustomToolList {
    tools: Vec<CustomToolFile>,
}

async fn list(request: Request<ProjectQuery, Nothing>) -> Result<CustomToolList, ApiError> {
    let project = request.hub.project(request.query.project.as_deref())?;
    // In a team, files are for those who may look at them, and for those who decide about these.
    let sees_files = request.may(AccessScope::Tools) || request.may(AccessScope::Approve);
    let tools = match request.hub.user() {
        Some(_) if !sees_files => Vec::new(),
        _ => project.port().custom_tools(),
    };
    Ok(CustomToolList { tools })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TrustBody {
    /// The project; may be left out if only one is served.
    project: Option<String>,
    file: String,
    /// The hash of the text that was read. A file that says something else by now is refused.
    hash: String,
}

/// What was trusted.
#[derive(Debug, Serialize, JsonSchema)]
struct TrustedTool {
    /// What it runs and how, in words.
    message: String,
}

async fn trust(request: Request<Nothing, TrustBody>) -> Result<TrustedTool, ApiError> {
    let TrustBody { project, file, hash } = request.body;
    let project = request.hub.project(project.as_deref())?;
    let message = project.port().trust(&file, &hash)?;
    request.hub.note(AuditKind::ToolTrusted, project.name(), &file, &hash).await?;
    Ok(TrustedTool { message })
}
