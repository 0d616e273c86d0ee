//! What every answer tells a browser.

use std::sync::LazyLock;

use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY as POLICY, CONTENT_TYPE, SET_COOKIE,
};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use crate::assets::IMPORT_MAP_HASH;
use crate::route::RouteAnswer;

/// Only our own files run, nothing is inserted as markup, nothing is sent elsewhere, and no page shows
/// ours in a frame. There are no CORS headers anywhere.
static CONTENT_SECURITY_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let map = IMPORT_MAP_HASH.as_str();
    let policy = format!(
        "default-src 'none'; script-src 'self' '{map}'; style-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    );
    // It is made of ASCII; without a policy nothing may be loaded at all.
    let nothing = HeaderValue::from_static("default-src 'none'");
    HeaderValue::try_from(policy).unwrap_or(nothing)
});

const HEADERS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Whether a browser may keep an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CachePolicy {
    /// Not at all.
    Never,
    /// It asks whether what it has is still right.
    Ask,
}

/// Puts the headers that protect every answer to those of one that was made elsewhere.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(POLICY, HeaderValue::from_static("default-src 'none'"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// The answer with the headers that protect it.
pub(crate) fn secured(answer: RouteAnswer, cached: CachePolicy) -> Response {
    let mut response = Response::new(answer.body);
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    headers.insert(POLICY, CONTENT_SECURITY_POLICY.clone());
    let cached = match cached {
        CachePolicy::Never => "no-store",
        CachePolicy::Ask => "no-cache",
    };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cached));
    for cookie in answer.cookies {
        headers.append(SET_COOKIE, cookie);
    }
    response
}
