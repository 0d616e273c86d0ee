//! Logging in, logging out, and the description of the API.

use axum::http::header::{ACCEPT, HOST};
use axum::http::{HeaderValue, Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_error::ApiError;
use crate::credentials::COOKIE_SECONDS;
use crate::guard::{COOKIE_NAME, Need};
use crate::openapi;
use crate::route::{JSON, Nothing, Request, Route, RouteAnswer};

/// What browsers name when a user opens an address.
const HTML: &str = "text/html";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::raw(Method::GET, "/api", Need::Nothing, "This description.", JSON, describe),
        Route::new(
            Method::GET,
            "/api/proof",
            Need::Nothing,
            "Proves to a program with a token that this is the service it is for.",
            prove,
        ),
        Route::new(Method::GET, "/api/login", Need::Nothing, "How to log in.", ways_to_log_in),
        Route::raw(
            Method::POST,
            "/api/login",
            Need::Nothing,
            "Exchanges the code of a link, or a token with all that its user may do, for a cookie.",
            JSON,
            log_in,
        ),
        Route::raw(
            Method::POST,
            "/api/logout",
            Need::Login,
            "Removes the cookie from this browser. In a team, the login ends on the server too.",
            JSON,
            log_out,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    /// The code behind `#code=` in the link, or the token.
    code: String,
    /// The name of a user that comes into a team by an invitation.
    name: Option<String>,
}

/// How to log in.
#[derive(Debug, Serialize, JsonSchema)]
struct LoginWays {
    /// Whether the service has users, or is that of one.
    team: bool,
    /// The identity provider at which users log in, if there is one.
    provider: Option<String>,
}

async fn ways_to_log_in(request: Request<Nothing, Nothing>) -> Result<LoginWays, ApiError> {
    let team = request.app.team();
    let provider = team.and_then(|team| team.oidc()).map(|provider| provider.host());
    Ok(LoginWays { team: team.is_some(), provider })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProofQuery {
    /// Something that was never asked before, of 16 to 128 characters.
    challenge: String,
}

/// A proof for each token.
#[derive(Debug, Serialize, JsonSchema)]
struct ServiceProofs {
    proofs: Vec<String>,
}

async fn prove(request: Request<ProofQuery, Nothing>) -> Result<ServiceProofs, ApiError> {
    let challenge = &request.query.challenge;
    if !(16..=128).contains(&challenge.len()) {
        return Err(ApiError::invalid("a challenge has 16 to 128 characters"));
    }
    let host = request.headers.get(HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Ok(ServiceProofs { proofs: request.app.proofs(host, challenge) })
}

#[derive(Debug, Serialize)]
struct LoginDone {
    ok: bool,
}

/// A browser that is sent there by its user gets a page, everything else the document itself.
async fn describe(request: Request<Nothing, Nothing>) -> Result<RouteAnswer, ApiError> {
    let document = openapi::document(&request.app.routes());
    let accepts = request.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    match accepts.is_some_and(|accepts| accepts.contains(HTML)) {
        true => Ok(RouteAnswer::text("text/html; charset=utf-8", openapi::shown(&document))),
        false => RouteAnswer::json(StatusCode::OK, &document),
    }
}

async fn log_in(request: Request<Nothing, LoginBody>) -> Result<RouteAnswer, ApiError> {
    if let Some(team) = request.app.team().cloned() {
        let LoginBody { code, name } = &request.body;
        return super::team::log_in(&request, &team, code, name.as_deref()).await;
    }
    let value = request.app.log_in(&request.body.code)?;
    let cookie = cookie(COOKIE_NAME, &value, COOKIE_SECONDS, request.app.site().is_secure())?;
    done(vec![cookie])
}

async fn log_out(request: Request<Nothing, Nothing>) -> Result<RouteAnswer, ApiError> {
    let site = request.app.site();
    let name = match request.app.team() {
        Some(team) => {
            super::team::log_out(&request, team).await?;
            site.team_cookie()
        }
        None => COOKIE_NAME,
    };
    done(vec![cookie(name, "", 0, site.is_secure())?])
}

/// The answer of a login or logout.
pub(super) fn done(cookies: Vec<HeaderValue>) -> Result<RouteAnswer, ApiError> {
    let answer = RouteAnswer::json(StatusCode::OK, &LoginDone { ok: true })?;
    Ok(RouteAnswer { cookies, ..answer })
}

/// A cookie that no script reads and no other page sends.
pub(super) fn cookie(
    name: &str,
    value: &str,
    seconds: u64,
    is_secure: bool,
) -> Result<HeaderValue, ApiError> {
    let secure = if is_secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&text).map_err(|error| ApiError::internal(error.to_string()))
}
