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

use team::{NewInvitation, PeopleError, SecretKind, SecretText, Spending, TeamRole};

use crate::api;
use crate::api_error::{ApiError, ErrorBody};
use crate::assets;
use crate::colours::ColourCache;
use crate::credentials::{Credentials, KnownClient, NoRandomness, OneTimeCode, Secrets};
use crate::guard::{
    Need, Refusal, RequestParts, Shown, Site, addressed, admitted, judge, judge_page, shown,
};
use crate::hub::SessionHub;
use crate::operation::{Operation, OperationSettings, RequestNotes, reason};
use crate::rate_limit::RateLimit;
use crate::response_headers::{CachePolicy, secured};
use crate::route::{JSON, RawRequest, Route, RouteAnswer};
use crate::strangers::ClientConnection;
use crate::view::{HubView, ShownSecret, TeamAccess, TeamState, TeamViewer, Viewer};

/// Requests a second that are answered, and how many may come at once. A page that opens asks for a
/// dozen things; a program that polls does not need more either. Clients that are logged in and all others are
/// counted apart, because any program of this machine can ask without a login.
const REQUESTS_PER_SECOND: f64 = 500.0;
const REQUESTS_AT_ONCE: f64 = 2_000.0;
/// Refused requests a second that are told why; those beyond are told to wait, and the user not at all.
const REFUSALS_PER_SECOND: f64 = 1.0;
const REFUSALS_AT_ONCE: f64 = 60.0;
/// Logins of a team that are begun a second, and how many at once: each asks the identity provider and is kept for a
/// while, and a team comes in the morning.
const LOGINS_PER_SECOND: f64 = 5.0;
const LOGINS_AT_ONCE: f64 = 100.0;
/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Bytes of a body that is read beside any number of others, and how many larger ones are read at a time. The rest
/// waits, so that clients cannot fill the memory together.
const SMALL_BODY: usize = 1024 * 1024;
const LARGE_BODIES: usize = 4;

/// What requests beyond these are counted as.
const TOO_OFTEN: &str = "rate_limit";

/// How often a replica looks whether another one has changed what users may see. Requests are judged by the database
/// each time; this is for streams that are open.
const RIGHTS_PAUSE: Duration = Duration::from_secs(1);
/// How long the link for the first admin is good for, in seconds: an hour. A new start makes a new one.
const FIRST_ADMIN_SECONDS: u32 = 60 * 60;

/// Where the page is.
const PAGE: &str = "/";

/// Writes a line for the user who runs the service.
pub type WebLog = Arc<dyn Fn(&str) + Send + Sync>;

/// The service.
pub struct WebApp {
    hub: Arc<SessionHub>,
    /// Fires when the service is about to end, so that streams end too.
    pub closing: CancellationToken,
    /// What was coloured before.
    pub(crate) colours: ColourCache,
    site: Site,
    admission: Admission,
    known: Mutex<RateLimit>,
    unknown: Mutex<RateLimit>,
    refusals: Mutex<RateLimit>,
    logins: Mutex<RateLimit>,
    large_bodies: Semaphore,
    operation: OnceLock<Operation>,
    log: WebLog,
}

/// How clients are recognised.
enum Admission {
    /// By the tokens and cookies of the only user.
    Only { credentials: Credentials, code: Mutex<OneTimeCode> },
    /// As users of a team.
    Team(Arc<TeamState>),
}

/// A client, and what it may see.
pub(crate) struct Client {
    pub(crate) caller: Option<KnownClient>,
    pub(crate) hub: HubView,
}

impl WebApp {
    /// The service of a team under an address. Answers also with the code of the link for the first admin, as long as
    /// there is none. This is all that a command has to call: users, logins, keys and budgets are in `access`, and
    /// the service follows changes that other replicas make until it is closed.
    pub async fn for_team(
        hub: Arc<SessionHub>,
        site: Site,
        access: TeamAccess,
        log: WebLog,
    ) -> Result<(Arc<Self>, Option<String>), PeopleError> {
        let code = SecretText::generate(SecretKind::Invitation)?;
        let first = NewInvitation {
            note: "the first admin".to_owned(),
            role: TeamRole::Admin,
            projects: Vec::new(),
            seconds: FIRST_ADMIN_SECONDS,
            hash: code.hash(),
        };
        let has_none = access.people.invite_first_admin(first).await?;
        let team = Arc::new(TeamState::new(access));
        team.refresh().await?;
        hub.belongs_to(Arc::clone(&team) as _);
        let app = Arc::new(Self::with(hub, site, Admission::Team(Arc::clone(&team)), log));
        tokio::spawn(follow_rights(team, app.closing.clone()));
        Ok((app, has_none.then(|| code.expose().to_owned())))
    }

    /// The service under an address. Answers also with the code of the one-time link.
    pub fn new(
        hub: Arc<SessionHub>,
        site: Site,
        secrets: &Secrets,
        log: WebLog,
    ) -> Result<(Arc<Self>, String), NoRandomness> {
        let (code, kept) = OneTimeCode::generate(seconds())?;
        let credentials = Credentials::new(secrets);
        let admission = Admission::Only { credentials, code: Mutex::new(kept) };
        Ok((Arc::new(Self::with(hub, site, admission, log)), code))
    }

    fn with(hub: Arc<SessionHub>, site: Site, admission: Admission, log: WebLog) -> Self {
        let now = Instant::now();
        let requests = || Mutex::new(RateLimit::new(REQUESTS_PER_SECOND, REQUESTS_AT_ONCE, now));
        Self {
            hub,
            closing: CancellationToken::new(),
            colours: ColourCache::default(),
            site,
            admission,
            known: requests(),
            unknown: requests(),
            logins: Mutex::new(RateLimit::new(LOGINS_PER_SECOND, LOGINS_AT_ONCE, now)),
            refusals: Mutex::new(RateLimit::new(REFUSALS_PER_SECOND, REFUSALS_AT_ONCE, now)),
            large_bodies: Semaphore::new(LARGE_BODIES),
            operation: OnceLock::new(),
            log,
        }
    }

    /// The sessions of all users, for what is counted and no client sees.
    pub(crate) fn whole_hub(&self) -> &SessionHub {
        &self.hub
    }

    /// Takes no new work, and returns when the turns that run have ended, if other replicas go on.
    pub(crate) async fn drain(&self) {
        self.hub.drain().await;
    }

    /// Ends all turns, and releases all sessions.
    pub(crate) async fn close_sessions(&self) {
        self.hub.close().await;
    }

    /// The team; none if the service has only one user.
    pub(crate) fn team(&self) -> Option<&Arc<TeamState>> {
        match &self.admission {
            Admission::Team(team) => Some(team),
            Admission::Only { .. } => None,
        }
    }

    /// What was spent today, by user and project, for admins.
    pub(crate) async fn spent_today(&self) -> Result<Vec<Spending>, ApiError> {
        match self.team() {
            Some(team) => Ok(team.spent_today(&self.hub).await?),
            None => Ok(Vec::new()),
        }
    }

    /// All routes of this service.
    pub(crate) fn routes(&self) -> Vec<Route> {
        match self.team() {
            Some(_) => api::team_routes(),
            None => api::routes(),
        }
    }

    /// The addresses under which it is reached.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Proves that this is the service of its tokens.
    pub(crate) fn proofs(&self, host: &str, challenge: &str) -> Vec<String> {
        match &self.admission {
            Admission::Only { credentials, .. } => credentials.proofs(host, challenge),
            // A team is behind TLS, which proves who it is; its tokens are not known, only their hashes.
            Admission::Team(_) => Vec::new(),
        }
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

    /// The value of a cookie, if the code or the token is good for the browser of the only user.
    pub(crate) fn log_in(&self, shown: &str) -> Result<String, ApiError> {
        let Admission::Only { credentials, code } = &self.admission else {
            return Err(Refusal::Unknown.into());
        };
        let now = seconds();
        let by_code = code.lock().unwrap_or_else(PoisonError::into_inner).redeem(shown, now);
        let is_all = |caller: KnownClient| caller.scopes().len() == crate::AccessScope::ALL.len();
        if !by_code && !credentials.by_token(shown).is_some_and(is_all) {
            return Err(self.login_refused());
        }
        (self.log)("a browser has logged in");
        credentials.cookie(now).map_err(|error| ApiError::internal(error.to_string()))
    }

    /// Whether one more login may be tried now.
    pub(crate) fn room_for_login(&self) -> Result<(), ApiError> {
        if allowed(&self.logins) { Ok(()) } else { Err(ApiError::too_often()) }
    }

    /// A login was refused, which is told and counted like any other refusal.
    pub(crate) fn login_refused(&self) -> ApiError {
        self.refused("a login", Refusal::Unknown)
    }

    /// Writes a line for the user who runs the service.
    pub(crate) fn log(&self, line: &str) {
        (self.log)(line);
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
    pub(crate) async fn no_route(&self, parts: &Parts, status: StatusCode) -> Response {
        let refused = match parts.method == Method::GET && parts.uri.path() == PAGE {
            true => self.judged_page(parts).err(),
            false => self.judged(parts, Need::Nothing).await.err(),
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
    ) -> Result<(Client, Bytes), ApiError> {
        let client = self.judged(parts, need).await?;
        let connection = parts.extensions.get::<Arc<ClientConnection>>();
        if let (Some(_), Some(connection)) = (&client.caller, connection) {
            connection.is_recognised();
        }
        if let (Some(caller), Some(notes)) =
            (&client.caller, parts.extensions.get::<Arc<RequestNotes>>())
        {
            match client.hub.user() {
                Some(user) => notes.is_by(user.id().as_str()),
                None => notes.is_by(caller.shown_user()),
            }
        }
        Ok((client, self.read_body(parts, body, body_limit).await?))
    }

    async fn answered(
        self: Arc<Self>,
        route: &Route,
        parts: Parts,
        path: HashMap<String, String>,
        body: Body,
    ) -> Result<RouteAnswer, ApiError> {
        let (client, body) = self.let_in(&parts, body, route.need, route.body_limit).await?;
        let Client { caller, hub } = client;
        let Parts { uri, headers, .. } = parts;
        (route.handler)(RawRequest { app: self, hub, caller, path, uri, headers, body }).await
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

    pub(crate) async fn judged(&self, parts: &Parts, need: Need) -> Result<Client, ApiError> {
        let (judged, viewer) = match &self.admission {
            Admission::Only { credentials, .. } => {
                let judged = judge(judged_parts(parts), &self.site, credentials, need, seconds());
                (judged, Viewer::Only)
            }
            Admission::Team(team) => self.judged_user(team, parts, need).await?,
        };
        let is_known = matches!(judged, Ok(Some(_)));
        let viewer = if is_known { viewer } else { Viewer::Stranger };
        let limit = if is_known { &self.known } else { &self.unknown };
        let caller = self.decided(parts, judged, limit)?;
        Ok(Client { caller, hub: HubView::new(Arc::clone(&self.hub), viewer) })
    }

    /// The same for a user of a team. The database is asked only for what can be a secret at all, and only if the
    /// request is for us.
    async fn judged_user(
        &self,
        team: &Arc<TeamState>,
        parts: &Parts,
        need: Need,
    ) -> Result<(Result<Option<KnownClient>, Refusal>, Viewer), ApiError> {
        let request = judged_parts(parts);
        let before = addressed(request, &self.site)
            .and_then(|page| Ok((page, shown(request.headers, self.site.team_cookie())?)));
        let (page, shown) = match before {
            Ok(before) => before,
            Err(refusal) => return Ok((Err(refusal), Viewer::Stranger)),
        };
        let (secret, is_token) = match shown {
            Shown::Token(text) => (ShownSecret::token(text), true),
            // Two cookies of one name: one of them was put there by another page.
            Shown::Cookies(all) if all.len() > 1 => (None, false),
            Shown::Cookies(all) => (all.first().and_then(|it| ShownSecret::browser(it)), false),
        };
        let found = match &secret {
            Some(secret) => team.recognised(secret).await?,
            None => None,
        };
        let Some((known, shown)) = found.zip(secret) else {
            let judged = match is_token {
                true => Err(Refusal::Unknown),
                false => admitted(request, page, None, need),
            };
            return Ok((judged, Viewer::Stranger));
        };
        let judged = admitted(request, page, Some(KnownClient::of_team(&known)), need);
        let viewer = TeamViewer::new(Arc::clone(team), known, shown);
        Ok((judged, Viewer::User(Arc::new(viewer))))
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

/// Looks again and again whether users may see or do something else, for streams of this replica.
async fn follow_rights(team: Arc<TeamState>, closing: CancellationToken) {
    loop {
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(RIGHTS_PAUSE) => {}
        }
        // A database that cannot be asked refuses every request by itself.
        let _ = team.refresh().await;
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
        RouteAnswer { status, content_type: JSON, cookies: Vec::new(), body: body.into() }
    });
    secured(answer, CachePolicy::Never)
}

/// Seconds since 1970.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
