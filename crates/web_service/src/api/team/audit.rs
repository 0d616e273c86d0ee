//! What was decided by whom: rows of the database, and answers from the logs of sessions.

use std::io;

use axum::body::Body;
use axum::http::Method;
use futures_util::stream::try_unfold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{DecisionFilter, LoggedDecision};
use team::{AuditEntry, AuditFilter, AuditPlace, CSV_HEAD, PlacedEntry, UserId};

use super::user;
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::hub::HubError;
use crate::route::{Nothing, Request, Route, RouteAnswer};
use crate::view::{HubView, logged_entry};

/// Rows of one answer, unless the client says how many.
const USUAL_ROWS: u32 = 200;
/// The most rows of one answer, and those of an export that are in memory at a time.
const MOST_ROWS: u32 = 1000;

pub(super) fn routes() -> Vec<Route> {
    let admin = Need::Scope(AccessScope::Admin);
    vec![
        Route::new(
            Method::GET,
            "/api/audit",
            admin,
            "A page of what was decided by whom, the latest first: users and rights, and answers to questions.",
            list,
        ),
        Route::raw(
            Method::GET,
            "/api/audit/export",
            admin,
            "The whole audit as a document.",
            "text/plain; charset=utf-8",
            export,
        ),
    ]
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditQuery {
    /// Since then: milliseconds since 1970, UTC.
    since: Option<i64>,
    /// Before then.
    before: Option<i64>,
    /// Only by this user.
    user: Option<String>,
    /// Only about this project.
    project: Option<String>,
    /// Where the page before has ended: its `next`.
    cursor: Option<String>,
    /// At most this many; 200 if left out, and never more than 1000.
    limit: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AuditForm {
    /// One object a line.
    #[default]
    Jsonl,
    /// For spreadsheets.
    Csv,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditExport {
    #[serde(default)]
    format: AuditForm,
    /// Since then: milliseconds since 1970, UTC.
    since: Option<i64>,
    /// Before then.
    before: Option<i64>,
    /// Only by this user.
    user: Option<String>,
    /// Only about this project.
    project: Option<String>,
}

/// Rows of the audit.
#[derive(Debug, Serialize, JsonSchema)]
struct AuditList {
    entries: Vec<AuditRow>,
    /// The `cursor` of the next page; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct AuditRow {
    /// Milliseconds since 1970, UTC.
    at: i64,
    /// Who; absent for what the service did.
    user: Option<String>,
    /// What, in a word.
    kind: String,
    project: Option<String>,
    session: Option<String>,
    /// What it is about: a user, a token, a tool.
    subject: String,
    detail: String,
}

impl From<AuditEntry> for AuditRow {
    fn from(entry: AuditEntry) -> Self {
        Self {
            at: entry.at,
            user: entry.user.map(|user| user.to_string()),
            kind: entry.kind.to_string(),
            project: entry.project,
            session: entry.session,
            subject: entry.subject,
            detail: entry.detail,
        }
    }
}

async fn list(request: Request<AuditQuery, Nothing>) -> Result<AuditList, ApiError> {
    user(&request)?;
    let AuditQuery { since, before, user, project, cursor, limit } = request.query;
    let behind = cursor.map(|cursor| cursor.parse::<AuditPlace>()).transpose();
    let filter = AuditFilter {
        since,
        before,
        user: user.map(UserId::named),
        project,
        behind: behind.map_err(|error| ApiError::invalid(error.to_string()))?,
        limit: Some(limit.unwrap_or(USUAL_ROWS).clamp(1, MOST_ROWS)),
    };
    let (rows, next) = page(&request.hub, &filter).await?;
    let entries = rows.into_iter().map(AuditRow::from).collect();
    Ok(AuditList { entries, next: next.map(|place| place.to_string()) })
}

/// The pages are read while the client takes them. If one cannot be read, the answer breaks off, so that the client does
/// not take it for the whole.
async fn export(request: Request<AuditExport, Nothing>) -> Result<RouteAnswer, ApiError> {
    user(&request)?;
    let AuditExport { format, since, before, user, project } = request.query;
    let user = user.map(UserId::named);
    let limit = Some(MOST_ROWS);
    let filter = AuditFilter { since, before, user, project, behind: None, limit };
    let (line, head): (fn(&AuditEntry) -> String, _) = match format {
        AuditForm::Jsonl => (AuditEntry::json_line, ""),
        AuditForm::Csv => (AuditEntry::csv_line, CSV_HEAD),
    };
    let text = move |rows: &[AuditEntry]| rows.iter().map(line).collect::<String>();
    // The first one is read here, so that the answer can still be an error.
    let (rows, next) = page(&request.hub, &filter).await?;
    let begin = (Some(head.to_owned() + &text(&rows)), next, request.hub);
    let pages = try_unfold(begin, move |(first, next, hub)| {
        let filter = filter.clone();
        async move {
            if let Some(first) = first {
                return Ok(Some((first, (None, next, hub))));
            }
            let Some(behind) = next else { return Ok(None) };
            let filter = AuditFilter { behind: Some(behind), ..filter };
            let page = page(&hub, &filter).await;
            let (rows, next) = page.map_err(|error| io::Error::other(error.told.message))?;
            Ok::<_, io::Error>(Some((text(&rows), (None, next, hub))))
        }
    });
    Ok(RouteAnswer::text("text/plain; charset=utf-8", Body::from_stream(pages)))
}

/// A page of the rows of the database and those of all logs, the latest first, and where it ends if there is more.
async fn page(
    hub: &HubView,
    filter: &AuditFilter,
) -> Result<(Vec<AuditEntry>, Option<AuditPlace>), ApiError> {
    let wanted = filter.limit.unwrap_or(MOST_ROWS);
    let user = hub.user().ok_or_else(|| ApiError::not_found("this service has no team"))?;
    let one_more = AuditFilter { limit: Some(wanted + 1), ..filter.clone() };
    let mut found = user.team.people().audit(&one_more).await?;
    let of_logs = DecisionFilter {
        since: filter.since,
        before: filter.before,
        by: filter.user.as_ref().map(ToString::to_string),
        behind: filter.behind.clone().map(|place| (place.at, place.session, place.number)),
        limit: wanted + 1,
        leaving: None,
    };
    let is_wanted = |name: &str| filter.project.as_deref().is_none_or(|wanted| wanted == name);
    for (project, store) in hub.audited_projects().await? {
        if is_wanted(&project) {
            let decisions = store.decisions(&of_logs).await.map_err(HubError::from)?;
            found.extend(decisions.into_iter().map(|decision| placed(decision, &project)));
        }
    }
    found.sort_by(|one, other| other.place.cmp(&one.place));
    let wanted = wanted as usize;
    let more = found.len() > wanted;
    found.truncate(wanted);
    let next = found.last().filter(|_| more).map(|last| last.place.clone());
    Ok((found.into_iter().map(|placed| placed.entry).collect(), next))
}

fn placed(decision: LoggedDecision, project: &str) -> PlacedEntry {
    let session = decision.session.to_string();
    let number = i64::try_from(decision.sequence).unwrap_or(i64::MAX);
    let place = AuditPlace { at: decision.at, session, number };
    PlacedEntry { place, entry: logged_entry(decision, project) }
}
