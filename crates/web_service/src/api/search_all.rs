//! One search over sessions, files, symbols and text.

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::ListFilter;
use tool_system::extensions::search::grep;

use super::project::{arguments, look};
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::{Mentionable, MentionableKind};
use crate::route::{Nothing, Request, Route};
use crate::view::ProjectView;

/// The most of each group.
const MOST_SESSIONS: usize = 20;
const MOST_FILES: usize = 20;
const MOST_SYMBOLS: usize = 10;
const MOST_LINES: usize = 20;
/// Bytes of what is looked for.
const LONGEST_QUERY: usize = 1000;

pub(super) fn routes() -> Vec<Route> {
    let about =
        "Sessions by title and text; with the scope `tools` also files, symbols and text of files.";
    vec![Route::new(Method::GET, "/api/search/all", Need::Login, about, search)]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AllQuery {
    /// Only this project; all if left out.
    project: Option<String>,
    query: String,
}

/// What was found, in groups. Each says whether there is more of it.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct FoundAnywhere {
    sessions: FoundGroup<FoundSession>,
    /// By letters, like the completion of `@`.
    files: FoundGroup<FoundName>,
    /// Definitions of names that hold the letters in their order, the best first.
    symbols: FoundGroup<FoundName>,
    /// Lines that hold the query as it is.
    text: FoundGroup<FoundLine>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundGroup<T> {
    found: Vec<T>,
    more: bool,
    /// Whether not everything could be looked at yet: the same question finds more in a moment.
    unfinished: bool,
}

impl<T> Default for FoundGroup<T> {
    fn default() -> Self {
        Self { found: Vec::new(), more: false, unfinished: false }
    }
}

impl<T> FoundGroup<T> {
    fn extend(&mut self, found: impl IntoIterator<Item = T>, most: usize) {
        self.found.extend(found);
        self.more |= self.found.len() > most;
        self.found.truncate(most);
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundSession {
    project: String,
    session: String,
    title: Option<String>,
    /// When it was last written to, or the message was written: milliseconds since 1970, UTC.
    at: i64,
    /// The entry of the message that was found; absent if it is the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence: Option<u64>,
    /// The part of the message around what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundName {
    project: String,
    #[serde(flatten)]
    name: Mentionable,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundLine {
    project: String,
    /// As `grep` tells it: path, line and text.
    #[serde(flatten)]
    line: Value,
}

async fn search(request: Request<AllQuery, Nothing>) -> Result<FoundAnywhere, ApiError> {
    let may_look = request.may(AccessScope::Tools);
    let AllQuery { project, query } = request.query;
    let hub = &request.hub;
    let query = query.trim();
    if query.is_empty() || query.len() > LONGEST_QUERY {
        return Err(ApiError::invalid(format!("a query has 1 to {LONGEST_QUERY} bytes")));
    }
    if project.is_some() {
        hub.project(project.as_deref())?;
    }
    let mut all = FoundAnywhere::default();
    let wanted = |seen: &ProjectView| project.as_ref().is_none_or(|name| name == seen.name());
    for seen in hub.projects().into_iter().filter(wanted) {
        let looking = async {
            match may_look {
                true => Some(tokio::join!(
                    seen.port().mentions(query),
                    seen.port().symbols(query),
                    lines(&seen, query)
                )),
                false => None,
            }
        };
        let (sessions, beside) = tokio::join!(sessions(&seen, query), looking);
        let (sessions, more) = sessions?;
        all.sessions.more |= more;
        all.sessions.extend(sessions, MOST_SESSIONS);
        let Some((names, (symbols, is_complete), (lines, more))) = beside else { continue };
        all.symbols.unfinished |= !is_complete;
        let found = |name| FoundName { project: seen.name().to_owned(), name };
        let files = names.into_iter().filter(|name| name.kind != MentionableKind::Symbol);
        all.files.extend(files.map(found), MOST_FILES);
        all.symbols.extend(symbols.into_iter().map(found), MOST_SYMBOLS);
        all.text.more |= more;
        all.text.extend(lines, MOST_LINES);
    }
    Ok(all)
}

/// Sessions whose title holds the query, then those in which it was said.
async fn sessions(
    project: &ProjectView,
    query: &str,
) -> Result<(Vec<FoundSession>, bool), ApiError> {
    // One more than is shown tells whether there are more.
    let limit = u32::try_from(MOST_SESSIONS + 1).ok();
    let filter = ListFilter { limit, title: Some(query.to_owned()), updated_since: None };
    let titled = project.sessions(&filter).await?.into_iter().map(|info| FoundSession {
        project: project.name().to_owned(),
        session: info.id.to_string(),
        title: info.title,
        at: info.updated,
        sequence: None,
        excerpt: None,
    });
    let mut found: Vec<FoundSession> = titled.collect();
    let said = project.search(query, MOST_SESSIONS).await?;
    for message in said.messages {
        let session = message.session.to_string();
        match found.iter_mut().find(|known| known.session == session) {
            Some(known) => {
                known.sequence = Some(message.sequence);
                known.excerpt = Some(message.excerpt);
            }
            None => found.push(FoundSession {
                project: project.name().to_owned(),
                title: project.title(&message.session).await?,
                session,
                at: message.at,
                sequence: Some(message.sequence),
                excerpt: Some(message.excerpt),
            }),
        }
    }
    Ok((found, said.more))
}

/// Lines of files that hold the query as it is.
async fn lines(project: &ProjectView, query: &str) -> (Vec<FoundLine>, bool) {
    let arguments = arguments([
        ("pattern", Some(Value::from(regex_syntax::escape(query)))),
        ("context", Some(Value::from(0))),
        ("max_results", Some(Value::from(MOST_LINES))),
    ]);
    // A search that fails hides nothing else.
    let Ok(mut found) = look(project, grep::NAME, arguments).await else {
        return Default::default();
    };
    let Value::Array(matches) = found["matches"].take() else { return Default::default() };
    let total = found["total"].as_u64().unwrap_or_default();
    let more = total > matches.len() as u64;
    let line = |line| FoundLine { project: project.name().to_owned(), line };
    (matches.into_iter().map(line).collect(), more)
}
