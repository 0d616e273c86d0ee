//! The page: its files are in the binary, each under the path that it is asked for.

use std::io::Write as _;
use std::sync::{LazyLock, OnceLock};

use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
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

static ASSETS: &[Asset] = &[
    Asset { path: "/", content_type: HTML, bytes: INDEX.as_bytes() },
    asset!("page.css", CSS),
    asset!("app.js", JAVASCRIPT),
    asset!("arrival.js", JAVASCRIPT),
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
    asset!("message_menu.js", JAVASCRIPT),
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
    asset!("panels/files.css", CSS),
    asset!("panels/file_tree.js", JAVASCRIPT),
    asset!("panels/file_lines.js", JAVASCRIPT),
    asset!("panels/file_view.js", JAVASCRIPT),
    asset!("panels/hidden.js", JAVASCRIPT),
    asset!("panels/places.js", JAVASCRIPT),
    asset!("panels/impact.js", JAVASCRIPT),
    asset!("panels/impact_facts.js", JAVASCRIPT),
    asset!("panels/impact_layout.js", JAVASCRIPT),
    asset!("panels/impact.css", CSS),
    asset!("panels/palette_sources.js", JAVASCRIPT),
    asset!("panels/palette.css", CSS),
    asset!("panels/hidden.css", CSS),
    asset!("panels/console.css", CSS),
    asset!("panels/schema_form.js", JAVASCRIPT),
    asset!("panels/json_tree.js", JAVASCRIPT),
    asset!("panels/analytics.css", CSS),
    asset!("panels/analytics_days.js", JAVASCRIPT),
    asset!("panels/charts.js", JAVASCRIPT),
    asset!("panels/settings.css", CSS),
    asset!("panels/settings_policy.js", JAVASCRIPT),
    asset!("panels/settings_team.js", JAVASCRIPT),
    asset!("panels/settings_tools.js", JAVASCRIPT),
    asset!("panels/team.js", JAVASCRIPT),
    asset!("panels/team.css", CSS),
    asset!("panels/team_audit.js", JAVASCRIPT),
    asset!("panels/team_budgets.js", JAVASCRIPT),
    asset!("panels/team_lists.js", JAVASCRIPT),
    asset!("panels/team_projects.js", JAVASCRIPT),
    asset!("panels/team_users.js", JAVASCRIPT),
    asset!("panels/theme.js", JAVASCRIPT),
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

/// What a browser is sent of a file, made when the first one asks.
struct PackedAsset {
    tag: String,
    /// In the form that every browser understands.
    gzip: Vec<u8>,
}

static PACKED: LazyLock<Vec<OnceLock<PackedAsset>>> =
    LazyLock::new(|| ASSETS.iter().map(|_| OnceLock::new()).collect());

fn packed(asset: &Asset) -> PackedAsset {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; a browser without it gets the file as it is.
    let gzip = packer.write_all(asset.bytes).and_then(|()| packer.finish()).unwrap_or_default();
    PackedAsset { tag: format!("\"{}\"", &blake3::hash(asset.bytes).to_hex()[..32]), gzip }
}

/// The answer to a request for a file of the page, if it is one.
pub(crate) fn answer(parts: &Parts) -> Option<Response> {
    let is_reading = [Method::GET, Method::HEAD].contains(&parts.method);
    let at = ASSETS.iter().position(|asset| is_reading && asset.path == parts.uri.path())?;
    let asset = &ASSETS[at];
    let PackedAsset { tag, gzip } = PACKED.get(at)?.get_or_init(|| packed(asset));
    let is_known = parts.headers.get(IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let understood = parts.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let is_packed = !gzip.is_empty() && understood.is_some_and(|it| it.contains("gzip"));
    let (status, body) = match (is_known, is_packed) {
        (true, _) => (StatusCode::NOT_MODIFIED, Body::empty()),
        (false, true) => (StatusCode::OK, Body::from(gzip.as_slice())),
        (false, false) => (StatusCode::OK, Body::from(asset.bytes)),
    };
    let answer =
        RouteAnswer { status, content_type: asset.content_type, cookies: Vec::new(), body };
    let mut response = secured(answer, CachePolicy::Ask);
    let headers = response.headers_mut();
    headers.insert(ETAG, HeaderValue::from_str(tag).ok()?);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_packed && !is_known {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Some(response)
}
