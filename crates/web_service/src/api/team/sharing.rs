//! Who sees which project, and which session.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SessionId;
use team::{SessionAct, Share};

use super::{named, no_team, told, user};
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};
use crate::view::SessionView;

pub(super) fn routes() -> Vec<Route> {
    let admin = Need::Scope(AccessScope::Admin);
    let one = "/api/projects/{project}/people/{user}";
    let access = "/api/sessions/{session}/access";
    vec![
        Route::new(Method::GET, "/api/shares", admin, "Which project is shared with whom.", shares),
        Route::new(Method::PUT, one, admin, "Shares a project with a user.", share),
        Route::new(Method::DELETE, one, admin, "Ends that a user sees a project.", unshare),
        Route::new(Method::GET, access, Need::Login, "Whose session it is, and who sees it.", get),
        Route::new(
            Method::PUT,
            access,
            Need::Scope(AccessScope::Chat),
            "Decides who sees a session.",
            show_to,
        ),
    ]
}

/// Shares.
#[derive(Debug, Serialize, JsonSchema)]
struct ShareList {
    shares: Vec<ListedShare>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedShare {
    project: String,
    user: String,
}

async fn shares(request: Request<Nothing, Nothing>) -> Result<ShareList, ApiError> {
    let shares = user(&request)?.team.people().shares().await?;
    let listed = |Share { project, user }| ListedShare { project, user: user.to_string() };
    Ok(ShareList { shares: shares.into_iter().map(listed).collect() })
}

async fn share(request: Request<Nothing, Nothing>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    let project = request.hub.project(Some(request.part("project")))?.name().to_owned();
    let share = Share { project, user: named(&request) };
    asking.team.people().share(asking.id(), &share).await?;
    told(&asking.team).await?;
    Ok(Nothing {})
}

async fn unshare(request: Request<Nothing, Nothing>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    let share = Share { project: request.part("project").to_owned(), user: named(&request) };
    asking.team.people().unshare(asking.id(), &share).await?;
    told(&asking.team).await?;
    Ok(Nothing {})
}

/// Whose session it is, and who sees it.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionSharing {
    /// The user that began it.
    owner: Option<String>,
    /// `private`: only the owner, approvers and admins; `project`: everyone whom the project is shared with.
    visibility: String,
}

async fn sharing(session: &SessionView) -> Result<SessionSharing, ApiError> {
    let access = session.access().await?;
    let (owner, visibility) = access.ok_or_else(no_team)?;
    let owner = owner.map(|owner| owner.to_string());
    Ok(SessionSharing { owner, visibility: visibility.to_string() })
}

async fn get(request: Request<Nothing, Nothing>) -> Result<SessionSharing, ApiError> {
    let id: SessionId = request.parsed("session")?;
    sharing(&request.hub.session(&id, SessionAct::Read).await?).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SharingBody {
    /// `private` or `project`.
    visibility: String,
}

async fn show_to(request: Request<Nothing, SharingBody>) -> Result<SessionSharing, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let visibility = request.body.visibility.parse();
    let visibility =
        visibility.map_err(|_| ApiError::invalid("a visibility is private or project"))?;
    let session = request.hub.session(&id, SessionAct::Manage).await?;
    session.show_to(visibility).await?;
    sharing(&session).await
}
