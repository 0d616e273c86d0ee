//! What a page needs to begin with, in one answer.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SessionId;

use super::approvals::QuestionBrief;
use super::project::{ListedProject, served};
use super::sessions::{ListedSession, TimelineWindow, latest, newest};
use super::team::OwnAccount;
use crate::api_error::ApiError;
use crate::guard::Need;
use crate::route::{Nothing, Request, Route};

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(
        Method::GET,
        "/api/overview",
        Need::Login,
        "What a page needs to begin with: projects as they are configured, the latest sessions, open questions.",
        overview,
    )]
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OverviewQuery {
    /// A session whose last items are wanted too.
    session: Option<String>,
}

/// Everything that stands beside a conversation.
#[derive(Debug, Serialize, JsonSchema)]
struct PageOverview {
    /// The version of Toolkiln.
    version: &'static str,
    /// The user that asks, if the service has a team.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<OwnAccount>,
    projects: Vec<ListedProject>,
    /// The latest sessions of all projects.
    sessions: Vec<ListedSession>,
    questions: Vec<QuestionBrief>,
    /// The last items of the session that was named, if it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<TimelineWindow>,
}

async fn overview(request: Request<OverviewQuery, Nothing>) -> Result<PageOverview, ApiError> {
    let hub = &request.hub;
    let named = request.query.session.as_ref();
    let named: Option<SessionId> = named.and_then(|id| id.parse().ok());
    // A session that is gone is told where it is shown, and hides nothing else.
    let timeline = match &named {
        Some(id) => newest(hub, id).await.ok(),
        None => None,
    };
    Ok(PageOverview {
        version: env!("CARGO_PKG_VERSION"),
        user: OwnAccount::of(&request),
        projects: served(hub),
        sessions: latest(hub).await?,
        questions: QuestionBrief::all(hub).await?,
        timeline,
    })
}
