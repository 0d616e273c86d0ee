//! The stream of events.

use axum::body::Body;
use axum::http::Method;
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::Deserialize;
use store::SessionId;
use team::SessionAct;

use crate::api_error::ApiError;
use crate::event_stream::{EventStream, Follow};
use crate::guard::Need;
use crate::log_stream::LogStream;
use crate::route::{Nothing, Request, Route, RouteAnswer};

/// The type of a stream of events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::raw(
            Method::GET,
            "/api/events",
            Need::Login,
            "One stream over all sessions: items of those that are followed, states and questions of all.",
            EVENT_STREAM,
            events,
        ),
        Route::raw(
            Method::GET,
            "/api/sessions/{session}/log",
            Need::Login,
            "The log of a session as it is written, for clients that draw it themselves.",
            EVENT_STREAM,
            log,
        ),
    ]
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsQuery {
    /// The sessions to follow, with commas between: `ID:SEQUENCE` from after that entry on, `ID` from
    /// now on, `*` for every session that is or will be open. `Last-Event-ID` counts before this.
    #[serde(default)]
    follow: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogQuery {
    /// Only entries after this one; all if left out. `Last-Event-ID` counts before this.
    #[serde(default)]
    after: u64,
}

async fn log(request: Request<LogQuery, Nothing>) -> Result<RouteAnswer, ApiError> {
    let id: SessionId = request.parsed("session")?;
    let resumed = request.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after = resumed.and_then(|value| value.parse().ok()).unwrap_or(request.query.after);
    let room = request.app.room_for_stream()?;
    let session = request.hub.session(&id, SessionAct::Read).await?;
    let stream = LogStream::open(&request.app, session, after).await?;
    let events = unfold((stream, room), |(mut stream, room)| async move {
        let event = stream.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event), (stream, room)))
    });
    Ok(RouteAnswer::text(EVENT_STREAM, Body::from_stream(events)))
}

async fn events(request: Request<EventsQuery, Nothing>) -> Result<RouteAnswer, ApiError> {
    let resumed = request.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let follow = Follow::parse(&request.query.follow, resumed)
        .map_err(|error| ApiError::invalid(error.to_string()))?;
    let room = request.app.room_for_stream()?;
    let stream = EventStream::open(&request.app, request.hub, follow).await?;
    let events = unfold((stream, room), |(mut stream, room)| async move {
        let event = stream.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event), (stream, room)))
    });
    Ok(RouteAnswer::text(EVENT_STREAM, Body::from_stream(events)))
}
