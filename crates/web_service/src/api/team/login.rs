//! Logging in to the service of a team: by an invitation, a token, or at the identity provider.
//!
//! A browser always gets a new secret, made here; whatever it showed before is ended. The provider sends browsers back
//! to our page, which hands the code on from there, so that nothing is done by following a link of another page.

use axum::http::{HeaderMap, Method};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use team::oidc::{ATTEMPT_SECONDS, LoginAnswer, OidcError, OidcProvider};
use team::{
    BROWSER_SECONDS, Credential, KeptAttempt, NewBrowser, NewUser, SecretHash, SecretKind,
    SecretText, User, usable_scopes,
};

use super::super::access::{cookie, done};
use super::told;
use crate::api_error::ApiError;
use crate::guard::{Need, Site, cookies};
use crate::route::{JSON, Nothing, Request, Route, RouteAnswer};
use crate::view::{ShownSecret, TeamState};

/// Milliseconds of a second.
const SECOND_MS: i64 = 1000;
/// The name of a user whom the provider gives none.
const UNNAMED: &str = "Unnamed";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::raw(
            Method::POST,
            "/api/login/oidc",
            Need::Nothing,
            "Begins a login at the identity provider, and says where the browser goes.",
            JSON,
            begin,
        ),
        Route::raw(
            Method::POST,
            "/api/login/oidc/finish",
            Need::Nothing,
            "Ends a login with what the provider has sent the browser back with.",
            JSON,
            finish,
        ),
    ]
}

/// The name of the cookie of a browser that is about to log in.
fn attempt_cookie(site: &Site) -> String {
    format!("{}-login", site.team_cookie())
}

/// Logs a browser in by an invitation or a token.
pub(in crate::api) async fn log_in<B>(
    request: &Request<Nothing, B>,
    team: &TeamState,
    code: &str,
    name: Option<&str>,
) -> Result<RouteAnswer, ApiError> {
    request.app.room_for_login()?;
    let found = match SecretText::shown(SecretKind::Invitation, code) {
        Some(invitation) => {
            let invited = invited(request, team, &invitation.hash(), name).await?;
            invited.map(|user| Login { user, seconds: BROWSER_SECONDS, token: None })
        }
        None => by_token(team, code).await?,
    };
    match found {
        Some(login) => logged_in(request, team, login, Vec::new()).await,
        None => Err(request.app.login_refused()),
    }
}

async fn invited<B>(
    request: &Request<Nothing, B>,
    team: &TeamState,
    invitation: &SecretHash,
    name: Option<&str>,
) -> Result<Option<User>, ApiError> {
    let Some(open) = team.people().open_invitation(invitation).await? else { return Ok(None) };
    // A link alone is enough for the first admin only, so that a provider that does not work locks no team out.
    if team.oidc().is_some() && open.made_by.is_some() {
        return Err(ApiError::conflict("accept the invitation by logging in at the provider"));
    }
    let name = name.ok_or_else(|| ApiError::invalid("a new user needs a `name`"))?;
    let new = NewUser { name: name.to_owned(), email: None, identity: None };
    let user = team.people().accept(invitation, new).await?;
    if let Some(user) = &user {
        request.app.log(&format!("{} has come in by invitation as {}", user.name, user.role));
        told(team).await?;
    }
    Ok(user)
}

/// The login of a browser.
struct Login {
    user: User,
    seconds: u32,
    /// The token that it comes with, and ends with.
    token: Option<String>,
}

/// The user of a token that may do all that its user may. One that may do less, or is good for less time, does not become
/// a browser that may more.
async fn by_token(team: &TeamState, code: &str) -> Result<Option<Login>, ApiError> {
    let Some(ShownSecret::Token(secret)) = ShownSecret::token(code) else { return Ok(None) };
    let Some(known) = team.people().by_token(&secret.hash()).await? else { return Ok(None) };
    let Credential::Token { id, scopes } = known.credential else { return Ok(None) };
    let has_all = usable_scopes(known.user.role, Some(&scopes)) == known.user.role.scopes();
    let left = u32::try_from(known.good_for.as_secs()).unwrap_or(u32::MAX);
    let login = Login { user: known.user, seconds: left.min(BROWSER_SECONDS), token: Some(id) };
    Ok(Some(login).filter(|_| has_all))
}

/// A new login of a browser. An earlier one of it ends.
async fn logged_in<Q, B>(
    request: &Request<Q, B>,
    team: &TeamState,
    Login { user, seconds, token: made_with }: Login,
    more: Vec<axum::http::HeaderValue>,
) -> Result<RouteAnswer, ApiError> {
    end_shown(&request.headers, request.app.site(), team).await?;
    let secret = SecretText::generate(SecretKind::Browser);
    let secret = secret.map_err(|error| ApiError::internal(error.to_string()))?;
    let new = NewBrowser { user: user.id, hash: secret.hash(), seconds, made_with };
    team.people().begin_browser(new).await?;
    request.app.log(&format!("{} has logged in", user.name));
    let site = request.app.site();
    let own = cookie(site.team_cookie(), secret.expose(), seconds.into(), site.is_secure())?;
    done(std::iter::once(own).chain(more).collect())
}

async fn end_shown(headers: &HeaderMap, site: &Site, team: &TeamState) -> Result<(), ApiError> {
    for value in cookies(headers, site.team_cookie()) {
        if let Some(ShownSecret::Browser(secret)) = ShownSecret::browser(value) {
            team.people().end_browser(&secret.hash()).await?;
        }
    }
    told(team).await
}

/// Ends the login of the browser that asks.
pub(in crate::api) async fn log_out(
    request: &Request<Nothing, Nothing>,
    team: &TeamState,
) -> Result<(), ApiError> {
    end_shown(&request.headers, request.app.site(), team).await
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BeginLogin {
    /// The code of the invitation that led here.
    invitation: Option<String>,
}

/// Where the browser goes.
#[derive(Debug, Serialize, JsonSchema)]
struct LoginPlace {
    /// The page of the identity provider.
    url: String,
}

fn provider<Q, B>(request: &Request<Q, B>) -> Result<(&TeamState, &OidcProvider), ApiError> {
    let team = request.app.team().map(|team| &**team);
    let found = team.and_then(|team| Some((team, team.oidc()?)));
    found.ok_or_else(|| ApiError::not_found("this service has no identity provider"))
}

async fn begin(request: Request<Nothing, BeginLogin>) -> Result<RouteAnswer, ApiError> {
    let (team, provider) = provider(&request)?;
    request.app.room_for_login()?;
    let invitation = match &request.body.invitation {
        None => None,
        Some(code) => {
            let shown = SecretText::shown(SecretKind::Invitation, code);
            let hash = shown.ok_or_else(|| request.app.login_refused())?.hash();
            let open = team.people().open_invitation(&hash).await?;
            Some(open.map(|_| hash).ok_or_else(|| request.app.login_refused())?)
        }
    };
    let begun = provider.begin().await.map_err(|error| refused(&request, &error))?;
    let browser = SecretText::generate(SecretKind::Attempt);
    let browser = browser.map_err(|error| ApiError::internal(error.to_string()))?;
    let attempt = KeptAttempt {
        state: SecretHash::of(&begun.state),
        browser: browser.hash(),
        nonce: begun.nonce,
        verifier: begun.verifier,
        invitation,
    };
    team.people().keep_attempt(attempt, ATTEMPT_SECONDS).await?;
    let site = request.app.site();
    let seconds = u64::from(ATTEMPT_SECONDS);
    let cookie = cookie(&attempt_cookie(site), browser.expose(), seconds, site.is_secure())?;
    let place = LoginPlace { url: begun.url };
    let answer = RouteAnswer::json(axum::http::StatusCode::OK, &place)?;
    Ok(RouteAnswer { cookies: vec![cookie], ..answer })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FinishLogin {
    code: String,
    state: String,
    /// Which provider says so.
    iss: Option<String>,
}

async fn finish(request: Request<Nothing, FinishLogin>) -> Result<RouteAnswer, ApiError> {
    let (team, provider) = provider(&request)?;
    request.app.room_for_login()?;
    let FinishLogin { code, state, iss } = &request.body;
    let site = request.app.site();
    let name = attempt_cookie(site);
    let shown = cookies(&request.headers, &name);
    let [browser] = shown.as_slice() else { return Err(request.app.login_refused()) };
    let browser = SecretText::shown(SecretKind::Attempt, browser);
    let browser = browser.ok_or_else(|| request.app.login_refused())?;
    // It is used up, whatever comes of it.
    let attempt = team.people().take_attempt(&SecretHash::of(state), &browser.hash()).await?;
    let attempt = attempt.ok_or_else(|| request.app.login_refused())?;
    let now = team.people().now().await? / SECOND_MS;
    let answer = LoginAnswer { code, issuer: iss.as_deref() };
    let claims = provider.finish(answer, &attempt.nonce, &attempt.verifier, now).await;
    let claims = claims.map_err(|error| refused(&request, &error))?;
    let new = NewUser {
        name: claims.name.clone().unwrap_or_else(|| UNNAMED.to_owned()),
        email: claims.email.clone(),
        identity: Some(claims.identity.clone()),
    };
    let user = admitted_user(team, provider, attempt.invitation.as_ref(), new).await?;
    let user = user.filter(|user| !user.is_disabled);
    let user = user.ok_or_else(|| {
        request.app.log("refused a login: the provider knows the user, and the team does not");
        ApiError::forbidden("you are not a user of this team: ask an admin for an invitation")
    })?;
    let gone = cookie(&name, "", 0, site.is_secure())?;
    let login = Login { user, seconds: BROWSER_SECONDS, token: None };
    logged_in(&request, team, login, vec![gone]).await
}

/// The user of an identity: one that is known, or comes in by an invitation, or because the team is open.
async fn admitted_user(
    team: &TeamState,
    provider: &OidcProvider,
    invitation: Option<&SecretHash>,
    new: NewUser,
) -> Result<Option<User>, ApiError> {
    let known = match &new.identity {
        Some(identity) => team.people().user_of(identity).await?,
        None => None,
    };
    if let Some(invitation) = invitation.filter(|_| known.as_ref().is_none_or(|it| !it.is_disabled))
        && let Some(user) = team.people().accept(invitation, new.clone()).await?
    {
        told(team).await?;
        return Ok(Some(user));
    }
    match (known, provider.new_users()) {
        (Some(user), _) => Ok(Some(user)),
        (None, Some(role)) => Ok(Some(team.people().add_user(new, role).await?)),
        (None, None) => Ok(None),
    }
}

/// What went wrong at the provider, for the operator; the client is told no more than it needs.
fn refused<Q, B>(request: &Request<Q, B>, error: &OidcError) -> ApiError {
    request.app.log(&format!("refused a login: {error}"));
    match error {
        OidcError::Provider(_) => {
            let status = axum::http::StatusCode::BAD_GATEWAY;
            ApiError::new(status, "PROVIDER", "the identity provider cannot be used; try again")
        }
        OidcError::Refused(_) | OidcError::Token(_) => request.app.login_refused(),
    }
}
