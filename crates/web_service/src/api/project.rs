//! Projects: their files, searches, statistics and models.

use std::sync::Arc;

use axum::http::Method;
use protocol::ToolCall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::extensions::intelligence::{find_definition, outline};
use tool_system::extensions::reading::read_file;
use tool_system::extensions::search::{glob, grep, list_directory};

use super::colours::blocking;
use crate::api_error::ApiError;
use crate::colours::{ColourCache, LineSpans, text_spans};
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::ConfiguredFacts;
use crate::route::{Nothing, Request, Route};
use crate::view::{HubView, ProjectView};

/// Lines before a window of a file that are read for its colours.
const LINES_BEFORE: u64 = 1_000;

pub(super) fn routes() -> Vec<Route> {
    let tools = Need::Scope(AccessScope::Tools);
    let login = Need::Login;
    vec![
        Route::new(Method::GET, "/api/projects", login, "The projects.", projects),
        Route::new(Method::GET, "/api/models", login, "The models that can be chosen.", models),
        Route::new(Method::GET, "/api/stats", login, "Calls, tokens, costs.", stats),
        Route::new(Method::GET, "/api/files", tools, "What a directory holds.", directory),
        Route::new(
            Method::GET,
            "/api/files/content",
            tools,
            "Lines of a file with its outline.",
            content,
        ),
        Route::new(Method::GET, "/api/search", tools, "Text, files or symbols.", search),
    ]
}

/// Which project is meant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ProjectQuery {
    /// The project; may be left out if only one is served.
    pub(super) project: Option<String>,
}

/// The projects.
#[derive(Debug, Serialize, JsonSchema)]
struct ProjectList {
    projects: Vec<ListedProject>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedProject {
    name: String,
    /// Its directory.
    root: String,
    /// The model that answers in new sessions.
    model: String,
    provider: String,
    roles: Vec<String>,
    /// What needs approval where no rule decides; absent if the rules cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(flatten)]
    configured: ConfiguredFacts,
}

async fn projects(request: Request<Nothing, Nothing>) -> Result<ProjectList, ApiError> {
    Ok(ProjectList { projects: served(&request.hub) })
}

/// All projects.
pub(super) fn served(hub: &HubView) -> Vec<ListedProject> {
    let listed = hub.projects().into_iter().map(|project| ListedProject {
        name: project.name().to_owned(),
        root: project.root().to_owned(),
        model: project.usual_model().name.clone(),
        provider: project.usual_model().provider.name().to_owned(),
        roles: project.roles().iter().map(|role| role.name().to_owned()).collect(),
        mode: project
            .direct_calls()
            .executor()
            .policy()
            .ok()
            .map(|policy| policy.mode().to_string()),
        configured: project.port().configured(),
    });
    listed.collect()
}

/// Models.
#[derive(Debug, Serialize, JsonSchema)]
struct ModelList {
    /// The one that answers in new sessions.
    present: String,
    models: Vec<String>,
}

async fn models(request: Request<ProjectQuery, Nothing>) -> Result<ModelList, ApiError> {
    let project = request.hub.project(request.query.project.as_deref())?;
    let present = project.usual_model().name.clone();
    Ok(ModelList { present, models: project.port().models().await })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatsQuery {
    project: Option<String>,
    /// Only what was written since then: milliseconds since 1970, UTC.
    since: Option<i64>,
}

/// Statistics over sessions.
#[derive(Debug, Serialize, JsonSchema)]
struct StatsReport {
    /// Per tool, the one called most first.
    tools: Vec<Value>,
    /// Per model, the one used most first.
    models: Vec<Value>,
    /// Per session, the one written last first.
    sessions: Vec<Value>,
}

async fn stats(request: Request<StatsQuery, Nothing>) -> Result<StatsReport, ApiError> {
    let project = request.hub.project(request.query.project.as_deref())?;
    let stats = project.stats(request.query.since).await?;
    let mut value = json!(stats);
    let mut rows = |name: &str| match value[name].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    };
    Ok(StatsReport { tools: rows("tools"), models: rows("models"), sessions: rows("sessions") })
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DirectoryQuery {
    project: Option<String>,
    /// From the project's root, which it is if left out.
    path: Option<String>,
    /// From 1.
    page: Option<u64>,
}

/// What a tool has found.
#[derive(Debug, Serialize, JsonSchema)]
struct FoundThings {
    result: Value,
}

async fn directory(request: Request<DirectoryQuery, Nothing>) -> Result<FoundThings, ApiError> {
    let DirectoryQuery { project, path, page } = request.query;
    let project = request.hub.project(project.as_deref())?;
    let arguments = arguments([("path", path.map(Value::from)), ("page", page.map(Value::from))]);
    Ok(FoundThings { result: look(&project, list_directory::NAME, arguments).await? })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContentQuery {
    project: Option<String>,
    /// From the project's root.
    path: String,
    /// The first line, from 1.
    offset: Option<u64>,
    /// How many lines.
    limit: Option<u64>,
}

/// A file.
#[derive(Debug, Serialize, JsonSchema)]
struct FileContent {
    /// Lines of it.
    file: Value,
    /// For each line of `file.content`, `[length, kind]` from behind its number, in UTF-16 units. They
    /// are told with the lines before them in mind.
    spans: Vec<LineSpans>,
    /// What it defines; absent where that is not known.
    outline: Option<Value>,
}

async fn content(request: Request<ContentQuery, Nothing>) -> Result<FileContent, ApiError> {
    let ContentQuery { project, path, offset, limit } = request.query;
    let project = request.hub.project(project.as_deref())?;
    let read = arguments([
        ("path", Some(Value::from(path.as_str()))),
        ("offset", offset.map(Value::from)),
        ("limit", limit.map(Value::from)),
    ]);
    let file = look(&project, read_file::NAME, read).await?;
    let outline = arguments([("path", Some(Value::from(path.as_str())))]);
    let outline = look(&project, outline::NAME, outline).await;
    let shown = file["content"].as_str().unwrap_or_default().to_owned();
    let first = offset.unwrap_or(1);
    let before = match first.checked_sub(1).filter(|before| *before > 0) {
        Some(before) => lines_before(&project, &path, before).await,
        None => String::new(),
    };
    let app = Arc::clone(&request.app);
    let spans = blocking(move || content_spans(&app.colours, &path, &before, &shown)).await?;
    Ok(FileContent { file, outline: outline.ok(), spans })
}

/// Some lines before a window, which say whether it begins within a comment or a text. None if they
/// cannot be read, or not to their end.
async fn lines_before(project: &ProjectView, path: &str, last: u64) -> String {
    let limit = last.min(LINES_BEFORE);
    let read = arguments([
        ("path", Some(Value::from(path))),
        ("offset", Some(Value::from(last - limit + 1))),
        ("limit", Some(Value::from(limit))),
        ("line_numbers", Some(Value::from(false))),
    ]);
    let read = look(project, read_file::NAME, read).await.unwrap_or_default();
    let text = read["content"].as_str().unwrap_or_default();
    let text = text.strip_suffix('\n').unwrap_or(text);
    let is_whole = text.split('\n').count() as u64 == limit;
    if is_whole { text.to_owned() } else { String::new() }
}

fn content_spans(cache: &ColourCache, path: &str, before: &str, shown: &str) -> Vec<LineSpans> {
    let unnumbered = |line| match str::split_once(line, '\t') {
        Some((number, text)) if number.trim().parse::<u64>().is_ok() => text,
        _ => line,
    };
    let shown = shown.split('\n').map(unnumbered);
    let before = before.split('\n').filter(|_| !before.is_empty());
    let all: Vec<&str> = before.clone().chain(shown).collect();
    text_spans(cache, path, &all).split_off(before.count())
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SearchKind {
    /// A regular expression in files.
    #[default]
    Text,
    /// Paths by a glob.
    Files,
    /// Where a name is defined.
    Symbols,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchQuery {
    project: Option<String>,
    query: String,
    #[serde(default)]
    kind: SearchKind,
}

async fn search(request: Request<SearchQuery, Nothing>) -> Result<FoundThings, ApiError> {
    let SearchQuery { project, query, kind } = request.query;
    let project = request.hub.project(project.as_deref())?;
    let (tool, argument) = match kind {
        SearchKind::Text => (grep::NAME, "pattern"),
        SearchKind::Files => (glob::NAME, "pattern"),
        SearchKind::Symbols => (find_definition::NAME, "symbol"),
    };
    let arguments = arguments([(argument, Some(Value::from(query)))]);
    Ok(FoundThings { result: look(&project, tool, arguments).await? })
}

pub(super) fn arguments<const N: usize>(given: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect()
}

/// Looks with the tool that models look with, so that the same limits and rules hold.
pub(super) async fn look(
    project: &ProjectView,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<Value, ApiError> {
    let call = ToolCall::new("look", tool, arguments);
    Ok(project.direct_calls().executor().execute_tool(&call, &CancellationToken::new()).await?)
}
