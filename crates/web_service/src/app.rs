//! The service: what all requests share, and the way of a request from the guard to its answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::api_error::{ApiError, ErrorBody};
use crate::assets;
use crate::colours::ColourCache;
use crate::credentials::{Caller, Credentials, NoRandomness, OneTimeCode, Secrets};
use crate::guard::{Need, Refusal, RequestParts, Site, judge, judge_page};
use crate::hub::SessionHub;
use crate::operation::{Operation, OperationSettings, RequestNotes, reason};
use crate::rate_limit::RateLimit;
use crate::response_headers::{CachePolicy, secured};
use crate::route::{JSON, RawRequest, Route, RouteAnswer};
use crate::strangers::ClientConnection;

/// Requests a second that are answered, and how many may come at once. A page that opens asks for a
/// dozen things; a program that polls does not need more either. Clients that are logged in and all others are
/// counted apart, because any program of this machine can ask without a login.
const REQUESTS_PER_SECOND: f64 = 500.0;
const REQUESTS_AT_ONCE: f64 = 2_000.0;
/// Refused requests a second that are told why; those beyond are told to wait, and the user not at all.
const REFUSALS_PER_SECOND: f64 = 1.0;
const REFUSALS_AT_ONCE: f64 = 60.0;
/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Bytes of a body that is read beside any number of others, and how many larger ones are read at a time. The rest
/// waits, so that clients cannot fill the memory together.
const SMALL_BODY: usize = 1024 * 1024;
const LARGE_BODIES: usize = 4;

/// What requests beyond these are counted as.
const TOO_OFTEN: &str = "rate_limit";

/// Where the page is.
const PAGE: &str = "/";

/// Writes a line for the user who runs the service.
pub type WebLog = Arc<dyn Fn(&str) + Send + Sync>;

/// The service.
pub struct WebApp {
    /// The sessions.
    pub hub: Arc<SessionHub>,
    /// Fires when the service is about to end, so that streams end too.
    pub closing: CancellationToken,
    /// What was coloured before.
    pub(crate) colours: ColourCache,
    site: Site,
    credentials: Credentials,
    code: Mutex<OneTimeCode>,
    known: Mutex<RateLimit>,
    unknown: Mutex<RateLimit>,
    refusals: Mutex<RateLimit>,
    large_bodies: Semaphore,
    operation: OnceLock<Operation>,
    log: WebLog,
}

impl WebApp {
    /// The service under an address. Answers also with the code of the one-time link.
    pub fn new(
        hub: Arc<SessionHub>,
        site: Site,
        secrets: &Secrets,
        log: WebLog,
    ) -> Result<(Arc<Self>, String), NoRandomness> {
        let (code, kept) = OneTimeCode::generate(seconds())?;
        let now = Instant::now();
        let requests = || Mutex::new(RateLimit::new(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, now));
        let app = Self {
            hub,
            closing: CancellationToken::new(),
            colours: ColourCache::default(),
            site,
            credentials: Credentials::new(secrets),
            code: Mutex::new(kept),
            known: requests(),
            unknown: requests(),
            refusals: Mutex::new(RateLimit::new(REFUSALS_PER_SECOND, REFUSALS_AT_ONCE, now)),
            large_bodies: Semaphore::new(LARGE_BODIES),
            operation: OnceLock::new(),
            log,
        };
        Ok((Arc::new(app), code))
    }

    /// The addresses under which it is reached.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Proves that this is the service of its tokens.
    pub(crate) fn proofs(&self, host: &str, challenge: &str) -> Vec<String> {
        self.credentials.proofs(host, challenge)
    }

    /// Room for one more stream, until it is dropped.
    pub(crate) fn room_for_stream(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        self.operation().room.stream().inspect_err(|_| self.operation().requests.shed("stream"))
    }

    /// Says how the service is run. It counts the first time, and before anything is served.
    pub fn operate(&self, settings: OperationSettings) {
        let mut settings = settings;
        settings.checks.extend(self.hub.checks());
        let _ = self.operation.set(Operation::new(settings));
    }

    /// How the service is run.
    pub(crate) fn operation(&self) -> &Operation {
        self.operation.get_or_init(|| {
            let checks = self.hub.checks();
            Operation::new(OperationSettings { checks, ..OperationSettings::default() })
        })
    }

    /// Writes a line for the user who runs the service.
    pub(crate) fn tell(&self, line: &str) {
        (self.log)(line);
    }

    /// The value of a cookie, if the code or the token is good for a browser.
    pub(crate) fn log_in(&self, shown: &str) -> Result<String, ApiError> {
        let now = seconds();
        let by_code = self.code.lock().unwrap_or_else(PoisonError::into_inner).redeem(shown, now);
        let is_all = |caller: Caller| caller.scopes().len() == crate::AccessScope::ALL.len();
        if !by_code && !self.credentials.by_token(shown).is_some_and(is_all) {
            return Err(self.refused("a login", Refusal::Unknown));
        }
        (self.log)("a browser has logged in");
        self.credentials.cookie(now).map_err(|error| ApiError::internal(error.to_string()))
    }

    /// Judges, reads and answers a request to a route.
    pub(crate) async fn answer(
        self: Arc<Self>,
        route: &Route,
        parts: Parts,
        path: HashMap<String, String>,
        body: Body,
    ) -> Response {
        if let Some(notes) = parts.extensions.get::<Arc<RequestNotes>>() {
            notes.is_for(route.path);
        }
        let answered = self.answered(route, parts, path, body).await;
        respond(answered)
    }

    /// Answers a request that no route is for: with a file of the page, or not at all. It is judged all the
    /// same.
    pub(crate) fn no_route(&self, parts: &Parts, status: StatusCode) -> Response {
        let refused = match parts.method == Method::GET && parts.uri.path() == PAGE {
            true => self.judged_page(parts).err(),
            false => self.judged(parts, Need::Nothing).err(),
        };
        if refused.is_none()
            && let Some(file) = assets::answer(parts)
        {
            return file;
        }
        respond(Err(refused.unwrap_or_else(|| match status {
            StatusCode::METHOD_NOT_ALLOWED => {
                ApiError::new(status, "METHOD_NOT_ALLOWED", "this path has other methods")
            }
            _ => ApiError::not_found("there is nothing here; /api describes what there is"),
        })))
    }

    /// The client of a request to a part of the service that answers by itself, and the body of the request.
    pub(crate) async fn let_in(
        &self,
        parts: &Parts,
        body: Body,
        need: Need,
        body_limit: usize,
    ) -> Result<(Option<Caller>, Bytes), ApiError> {
        let caller = self.judged(parts, need)?;
        let connection = parts.extensions.get::<Arc<ClientConnection>>();
        if let (Some(_), Some(connection)) = (&caller, connection) {
            connection.is_recognised();
        }
        if let (Some(caller), Some(notes)) = (&caller, parts.extensions.get::<Arc<RequestNotes>>())
        {
            notes.is_by(caller.person());
        }
        Ok((caller, self.read_body(parts, body, body_limit).await?))
    }

    async fn answered(
        self: Arc<Self>,
        route: &Route,
        parts: Parts,
        path: HashMap<String, String>,
        body: Body,
    ) -> Result<RouteAnswer, ApiError> {
        let (caller, body) = self.let_in(&parts, body, route.need, route.body_limit).await?;
        let Parts { uri, headers, .. } = parts;
        (route.handler)(RawRequest { app: self, caller, path, uri, headers, body }).await
    }

    /// Reads the body, which is JSON or nothing.
    async fn read_body(&self, parts: &Parts, body: Body, limit: usize) -> Result<Bytes, ApiError> {
        let told = told_length(&parts.headers);
        if told.is_some_and(|length| length > limit) {
            return Err(ApiError::too_large(limit));
        }
        // The semaphore is never closed.
        let _turn = match told.unwrap_or(limit).min(limit) > SMALL_BODY {
            true => self.large_bodies.acquire().await.ok(),
            false => None,
        };
        read_body(&parts.method, &parts.headers, body, limit).await
    }

    pub(crate) fn judged(&self, parts: &Parts, need: Need) -> Result<Option<Caller>, ApiError> {
        let judged = judge(judged_parts(parts), &self.site, &self.credentials, need, seconds());
        let is_known = matches!(judged, Ok(Some(_)));
        self.decided(parts, judged, if is_known { &self.known } else { &self.unknown })
    }

    fn judged_page(&self, parts: &Parts) -> Result<(), ApiError> {
        self.decided(parts, judge_page(judged_parts(parts), &self.site), &self.unknown)
    }

    fn decided<T>(
        &self,
        parts: &Parts,
        judged: Result<T, Refusal>,
        limit: &Mutex<RateLimit>,
    ) -> Result<T, ApiError> {
        if !allowed(limit) {
            self.operation().requests.refused(TOO_OFTEN);
            return Err(ApiError::too_often());
        }
        // Only what cannot be anything secret: no header, no query.
        judged.map_err(|refusal| self.refused(parts.method.as_str(), refusal))
    }

    fn refused(&self, what: &str, refusal: Refusal) -> ApiError {
        self.operation().requests.refused(reason(refusal));
        if !allowed(&self.refusals) {
            return ApiError::too_often();
        }
        (self.log)(&format!("refused {what}: {refusal}"));
        refusal.into()
    }
}

fn judged_parts(Parts { method, uri, headers, .. }: &Parts) -> RequestParts<'_> {
    RequestParts { method, uri, headers }
}

fn allowed(limit: &Mutex<RateLimit>) -> bool {
    limit.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now())
}

fn told_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok())
}

async fn read_body(
    method: &Method,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Bytes, ApiError> {
    let reading = tokio::time::timeout(BODY_TIME, Limited::new(body, limit).collect()).await;
    let Ok(read) = reading else {
        let message = "the body took too long";
        return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", message));
    };
    let read = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => ApiError::too_large(limit),
        None => ApiError::invalid("the body broke off"),
    })?;
    let bytes = read.to_bytes();
    // A form of another page can send anything but this type without asking first.
    if !bytes.is_empty() && *method != Method::GET && !is_json(headers) {
        let message = "the body must be application/json";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(ApiError::new(status, "UNSUPPORTED_MEDIA_TYPE", message));
    }
    Ok(bytes)
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(JSON))
}

pub(crate) fn respond(answered: Result<RouteAnswer, ApiError>) -> Response {
    let answer = answered.unwrap_or_else(|ApiError { status, told }| {
        let body = serde_json::to_vec(&ErrorBody { error: *told }).unwrap_or_default();
        RouteAnswer { status, content_type: JSON, cookie: None, body: body.into() }
    });
    secured(answer, CachePolicy::Never)
}

/// Seconds since 1970.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
