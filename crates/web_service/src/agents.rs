//! Other agents over HTTP: the guard of the service before a protocol that it does not know itself.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;

use crate::api::EVENT_STREAM;
use crate::api_error::ApiError;
use crate::app::{WebApp, respond};
use crate::credentials::{AccessScope, Proof};
use crate::guard::{Need, Refusal};
use crate::operation::RequestNotes;
use crate::response_headers::protect;
use crate::view::{HubView, TeamViewer};

/// Bytes of a message, which may hold whole files.
const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// Where agents connect: to the only project, or to one by its name.
pub(crate) const PATHS: [&str; 2] = ["/mcp", "/mcp/{project}"];

pub(crate) async fn answer(
    State(app): State<Arc<WebApp>>,
    path: RawPathParams,
    request: Request,
) -> Response {
    let project = path.iter().next().map(|(_, name)| name.to_owned());
    answered(&app, project.as_deref(), request).await.unwrap_or_else(|error| {
        let is_unknown = error.status == StatusCode::UNAUTHORIZED;
        let mut response = respond(Err(error));
        if is_unknown {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    })
}

async fn answered(
    app: &Arc<WebApp>,
    project: Option<&str>,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    if let Some(notes) = parts.extensions.get::<Arc<RequestNotes>>() {
        notes.is_for(PATHS[usize::from(project.is_some())]);
    }
    let need = Need::Scope(AccessScope::Mcp);
    // Nothing of a body is read before the guard has spoken, and no project is looked at.
    let (client, body) = app.let_in(&parts, body, need, BODY_LIMIT).await?;
    // A browser sends its cookie by itself; agents have tokens.
    let caller =
        client.caller.filter(|caller| caller.by == Proof::Token).ok_or(Refusal::Unknown)?;
    let project = client.hub.project(project)?;
    // Only a stream that waits for news is open for long without an answer in sight.
    let room = match parts.method {
        Method::GET => Some(app.room_for_stream()?),
        _ => None,
    };
    let endpoint = project.direct_calls().agents(project.port(), &app.site().url(), &app.closing);
    // Where two have to agree, the one that calls is not the one that answers.
    let asker = client.hub.user().map(TeamViewer::id);
    let may_approve = caller.may(AccessScope::Approve) && client.hub.may_approve_of(asker);
    let mut response = endpoint.answer(parts, body, may_approve).await;
    protect(response.headers_mut());
    // Requests of the stateless kind wait for news too.
    let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == EVENT_STREAM);
    if room.is_none() && !is_stream {
        return Ok(response);
    }
    // The room is taken for as long as the stream is.
    let held = move |frame| {
        let _ = &room;
        frame
    };
    let gone = is_gone(client.hub, project.name().to_owned());
    Ok(response.map(|body| {
        let frames = Body::new(body.map_frame(held)).into_data_stream();
        Body::from_stream(frames.take_until(gone))
    }))
}

/// Waits until the client may not use the project any more, so that a stream does not outlive a token or a role.
async fn is_gone(mut hub: HubView, project: String) {
    let mut rights = hub.watch_rights();
    loop {
        rights.changed().await;
        let again = hub.watch_rights();
        let Some(renewed) = hub.renewed().await else { return };
        if !renewed.has_scope(AccessScope::Mcp) || renewed.project(Some(&project)).is_err() {
            return;
        }
        rights = again.until_end_of(&renewed);
        hub = renewed;
    }
}
