//! The way of every request into the service and of its answer out of it: probes, room, names, counts and the log.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, FORWARDED, HeaderName, ORIGIN, RETRY_AFTER};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::Response;
use tower_service::Service as _;

use super::bounds::RETRY_AFTER_S;
use super::request_log::{RequestNotes, RequestRecord, known_method};
use super::{exposition, gauges};
use crate::api_error::ApiError;
use crate::app::{WebApp, respond};
use crate::guard::{Need, Refusal};
use crate::route::RouteAnswer;
use crate::strangers::ClientConnection;

const HEALTHZ: &str = "/healthz";
const READYZ: &str = "/readyz";
const METRICS: &str = "/metrics";
/// The name of the request, for those who look for it in the log.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const PLAIN: &str = "text/plain; charset=utf-8";
const MS_PER_S: f64 = 1_000.0;
/// What proxies say of the client that they speak for.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Answers a request.
pub(crate) async fn enter(
    app: Arc<WebApp>,
    router: Router,
    client: Arc<ClientConnection>,
    mut request: Request<Body>,
) -> Result<Response, Infallible> {
    let began = Instant::now();
    let method = known_method(request.method());
    let notes = Arc::new(RequestNotes::default());
    request.extensions_mut().insert(Arc::clone(&notes));
    request.extensions_mut().insert(Arc::clone(&client));
    let mut response = match probe(request.uri().path()) {
        Some(probe) => {
            notes.is_for(probe);
            probed(&app, probe, &request.into_parts().0).await
        }
        None => admitted(&app, router, &client, request).await,
    };
    finish(&mut response);
    let name = app.operation().names.next();
    if let Ok(value) = HeaderValue::try_from(name.as_str()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    let took = began.elapsed();
    let record = RequestRecord {
        request: name,
        user: notes.user(),
        method,
        route: notes.route(),
        status: response.status().as_u16(),
        duration_ms: milliseconds(took),
    };
    app.operation().requests.answered(&record, took);
    if let Some(log) = &app.operation().request_log {
        log(&record);
    }
    Ok(response)
}

/// Microseconds are as exact as any reader needs.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * MS_PER_S * MS_PER_S).round() / MS_PER_S
}

fn probe(path: &str) -> Option<&'static str> {
    [HEALTHZ, READYZ, METRICS].into_iter().find(|probe| *probe == path)
}

async fn admitted(
    app: &Arc<WebApp>,
    mut router: Router,
    client: &ClientConnection,
    request: Request<Body>,
) -> Response {
    let operation = app.operation();
    if client.is_spare {
        operation.requests.shed("connection");
        return closing(respond(Err(operation.room.no_connection())));
    }
    let _room = match operation.room.request() {
        Ok(room) => room,
        Err(error) => {
            operation.requests.shed("request");
            // The body was not read, so that the connection cannot be used again.
            return closing(respond(Err(error)));
        }
    };
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

fn closing(mut response: Response) -> Response {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Whoever is turned away for the moment is told when to come back.
fn finish(response: &mut Response) {
    let is_for_now = matches!(
        response.status(),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
    );
    if is_for_now && !response.headers().contains_key(RETRY_AFTER) {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
}

async fn probed(app: &Arc<WebApp>, probe: &str, parts: &Parts) -> Response {
    if !matches!(parts.method.as_str(), "GET" | "HEAD") {
        let message = "this path is only read";
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return respond(Err(ApiError::new(status, "METHOD_NOT_ALLOWED", message)));
    }
    match probe {
        HEALTHZ => respond(Ok(RouteAnswer::text(PLAIN, "ok\n"))),
        READYZ => ready(app).await,
        _ => match may_read_metrics(app, parts).await {
            Ok(()) => {
                let is_ending = app.closing.is_cancelled();
                let text = gauges::metrics(app.operation(), app.whole_hub(), is_ending);
                respond(Ok(RouteAnswer::text(exposition::CONTENT_TYPE, text)))
            }
            Err(error) => respond(Err(error)),
        },
    }
}

async fn ready(app: &Arc<WebApp>) -> Response {
    if app.closing.is_cancelled() {
        let message = "the service is about to end";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return respond(Err(ApiError::new(status, "CLOSING", message)));
    }
    let (verdict, is_news) = app.operation().health.verdict().await;
    if is_news {
        let told = match verdict.ready {
            true => "ready again".to_owned(),
            false => format!("not ready: {}", verdict.problems.join("; ")),
        };
        app.log(&told);
    }
    let status = if verdict.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    respond(RouteAnswer::json(status, &verdict))
}

/// A client with a login may; so may a program of this machine, which is not a page in a browser, unless a proxy stands
/// before the service: then everybody seems to be of this machine.
async fn may_read_metrics(app: &WebApp, parts: &Parts) -> Result<(), ApiError> {
    let is_local = parts
        .extensions
        .get::<Arc<ClientConnection>>()
        .is_some_and(|client| client.peer.is_some_and(is_loopback));
    let strange = [ORIGIN, FORWARDED, FORWARDED_FOR, SEC_FETCH_SITE];
    let is_plain = !strange.iter().any(|name| parts.headers.contains_key(name));
    let need = match is_local && is_plain && !app.site().is_secure() {
        true => Need::Nothing,
        false => Need::Login,
    };
    app.judged(parts, need).await.map(|_| ())
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// What refusals are counted as.
pub(crate) fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Host => "host",
        Refusal::Origin => "origin",
        Refusal::Unknown => "unknown_client",
        Refusal::Scope => "scope",
    }
}
