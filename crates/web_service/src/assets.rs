//! The page: its files are in the binary, each under the path that it is asked for.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::response_headers::{CachePolicy, secured};
use crate::route::RouteAnswer;

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// A file of the page.
struct Asset {
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! asset {
    ($path:literal, $content_type:expr) => {
        Asset {
            path: concat!("/", $path),
            content_type: $content_type,
            bytes: include_bytes!(concat!("../ui/", $path)),
        }
    };
}

const INDEX: &str = include_str!("../ui/index.html");

static ASSETS: [Asset; 42] = [
    Asset { path: "/", content_type: HTML, bytes: INDEX.as_bytes() },
    asset!("page.css", CSS),
    asset!("app.js", JAVASCRIPT),
    asset!("core.js", JAVASCRIPT),
    asset!("conversation.js", JAVASCRIPT),
    asset!("composer.js", JAVASCRIPT),
    asset!("markdown.js", JAVASCRIPT),
    asset!("question.js", JAVASCRIPT),
    asset!("question.css", CSS),
    asset!("diff.js", JAVASCRIPT),
    asset!("diff_lines.js", JAVASCRIPT),
    asset!("diff_notes.js", JAVASCRIPT),
    asset!("diff.css", CSS),
    asset!("call_detail.js", JAVASCRIPT),
    asset!("completion.js", JAVASCRIPT),
    asset!("commands.js", JAVASCRIPT),
    asset!("attach.js", JAVASCRIPT),
    asset!("menu.js", JAVASCRIPT),
    asset!("news.js", JAVASCRIPT),
    asset!("session_menu.js", JAVASCRIPT),
    asset!("login.js", JAVASCRIPT),
    asset!("highlight.js", JAVASCRIPT),
    asset!("panels/review.js", JAVASCRIPT),
    asset!("panels/review_draft.js", JAVASCRIPT),
    asset!("panels/review_edit.js", JAVASCRIPT),
    asset!("panels/review_effect.js", JAVASCRIPT),
    asset!("panels/review.css", CSS),
    asset!("panels/inbox.js", JAVASCRIPT),
    asset!("panels/inbox.css", CSS),
    asset!("panels/files.js", JAVASCRIPT),
    asset!("panels/history.js", JAVASCRIPT),
    asset!("panels/history.css", CSS),
    asset!("panels/console.js", JAVASCRIPT),
    asset!("panels/analytics.js", JAVASCRIPT),
    asset!("panels/settings.js", JAVASCRIPT),
    asset!("panels/palette.js", JAVASCRIPT),
    asset!("vendor/preact.mjs", JAVASCRIPT),
    asset!("vendor/hooks.mjs", JAVASCRIPT),
    asset!("vendor/htm.mjs", JAVASCRIPT),
    asset!("vendor/signals-core.mjs", JAVASCRIPT),
    asset!("vendor/signals.mjs", JAVASCRIPT),
    asset!("vendor/marked.esm.js", JAVASCRIPT),
];

/// The hash of the import map, which is the only script within the page itself.
pub(crate) static IMPORT_MAP_HASH: LazyLock<String> = LazyLock::new(|| {
    let map = INDEX.split_once("<script type=\"importmap\">").map_or("", |(_, rest)| rest);
    let map = map.split_once("</script>").map_or("", |(map, _)| map);
    format!("sha256-{}", STANDARD.encode(Sha256::digest(map)))
});

/// The answer to a request for a file of the page, if it is one.
pub(crate) fn answer(parts: &Parts) -> Option<Response> {
    let is_reading = [Method::GET, Method::HEAD].contains(&parts.method);
    let asset = ASSETS.iter().find(|asset| is_reading && asset.path == parts.uri.path())?;
    let tag = format!("\"{}\"", &blake3::hash(asset.bytes).to_hex()[..32]);
    let is_known = parts.headers.get(IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let (status, body) = match is_known {
        true => (StatusCode::NOT_MODIFIED, Body::empty()),
        false => (StatusCode::OK, Body::from(asset.bytes)),
    };
    let answer = RouteAnswer { status, content_type: asset.content_type, cookie: None, body };
    let mut response = secured(answer, CachePolicy::Ask);
    response.headers_mut().insert(ETAG, HeaderValue::from_str(&tag).ok()?);
    Some(response)
}
