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
        Route::raw(
            Method::POST,
            "/api/login",
            Need::Nothing,
            "Exchanges the code of the one-time link, or the token, for a cookie.",
            JSON,
            log_in,
        ),
        Route::raw(
            Method::POST,
            "/api/logout",
            Need::Login,
            "Removes the cookie from this browser.",
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
    let document = openapi::document(&super::routes());
    let accepts = request.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    match accepts.is_some_and(|accepts| accepts.contains(HTML)) {
        true => Ok(RouteAnswer::text("text/html; charset=utf-8", openapi::shown(&document))),
        false => RouteAnswer::json(StatusCode::OK, &document),
    }
}

async fn log_in(request: Request<Nothing, LoginBody>) -> Result<RouteAnswer, ApiError> {
    let value = request.app.log_in(&request.body.code)?;
    let cookie = cookie(&value, COOKIE_SECONDS, request.app.site().is_secure())?;
    let answer = RouteAnswer::json(StatusCode::OK, &LoginDone { ok: true })?;
    Ok(RouteAnswer { cookie: Some(cookie), ..answer })
}

async fn log_out(request: Request<Nothing, Nothing>) -> Result<RouteAnswer, ApiError> {
    let cookie = cookie("", 0, request.app.site().is_secure())?;
    let answer = RouteAnswer::json(StatusCode::OK, &LoginDone { ok: true })?;
    Ok(RouteAnswer { cookie: Some(cookie), ..answer })
}

fn cookie(value: &str, seconds: u64, is_secure: bool) -> Result<HeaderValue, ApiError> {
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!(
        "{COOKIE_NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    HeaderValue::from_str(&text).map_err(|error| ApiError::internal(error.to_string()))
}
