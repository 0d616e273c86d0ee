//! What was decided by whom: rows of the database, and answers from the logs of sessions.

use axum::http::Method;
use protocol::{LogEntry, SessionEvent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use team::{AuditEntry, AuditFilter, AuditKind, UserId, csv, jsonl};

use super::user;
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::Need;
use crate::route::{Nothing, Request, Route, RouteAnswer};

/// Rows of one answer, unless the client says how many.
const USUAL_ROWS: u32 = 200;
/// The most rows of one answer; an export has all.
const MOST_ROWS: u32 = 1000;

pub(super) fn routes() -> Vec<Route> {
    let admin = Need::Scope(AccessScope::Admin);
    vec![
        Route::new(
            Method::GET,
            "/api/audit",
            admin,
            "What was decided by whom, the latest first: users and rights, and answers to questions.",
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
    /// At most this many; 200 if left out.
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
}

/// Rows of the audit.
#[derive(Debug, Serialize, JsonSchema)]
struct AuditList {
    entries: Vec<AuditRow>,
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

async fn list(request: Request<AuditQuery, Nothing>) -> Result<AuditList, ApiError> {
    let AuditQuery { since, before, user, limit } = &request.query;
    let filter = AuditFilter {
        since: *since,
        before: *before,
        user: user.as_deref().map(UserId::named),
        limit: Some(limit.unwrap_or(USUAL_ROWS).min(MOST_ROWS)),
    };
    let row = |entry: AuditEntry| AuditRow {
        at: entry.at,
        user: entry.user.map(|user| user.to_string()),
        kind: entry.kind.to_string(),
        project: entry.project,
        session: entry.session,
        subject: entry.subject,
        detail: entry.detail,
    };
    let entries = audited(&request, &filter).await?;
    Ok(AuditList { entries: entries.into_iter().map(row).collect() })
}

async fn export(request: Request<AuditExport, Nothing>) -> Result<RouteAnswer, ApiError> {
    let AuditExport { format, since, before, user } = &request.query;
    let user = user.as_deref().map(UserId::named);
    let filter = AuditFilter { since: *since, before: *before, user, limit: None };
    let entries = audited(&request, &filter).await?;
    let text = match format {
        AuditForm::Jsonl => jsonl(&entries),
        AuditForm::Csv => csv(&entries),
    };
    Ok(RouteAnswer::text("text/plain; charset=utf-8", text))
}

/// The rows of the database and those of all logs, the latest first.
async fn audited<Q>(
    request: &Request<Q, Nothing>,
    filter: &AuditFilter,
) -> Result<Vec<AuditEntry>, ApiError> {
    let mut entries = user(request)?.team.people().audit(filter).await?;
    for project in request.hub.projects() {
        for (info, log) in project.logs_since(filter.since).await? {
            let mut asked = AskedTools::default();
            let session = info.id.to_string();
            let found = log.iter().filter_map(|entry| asked.decision(entry));
            entries.extend(found.map(|decision| AuditEntry {
                project: Some(project.name().to_owned()),
                session: Some(session.clone()),
                ..decision
            }));
        }
    }
    entries.retain(|entry| filter.wants(entry));
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.at));
    entries.truncate(filter.limit.map_or(usize::MAX, |limit| limit as usize));
    Ok(entries)
}

/// The tools that were asked about, by the ids of calls.
#[derive(Default)]
struct AskedTools(std::collections::HashMap<String, String>);

impl AskedTools {
    /// What was decided by an entry of a log, or of the log of a sub-agent in it.
    fn decision(&mut self, entry: &LogEntry) -> Option<AuditEntry> {
        match &entry.event {
            SessionEvent::ApprovalAsked(request) => {
                self.0.insert(request.step_id.clone(), request.tool.clone());
                None
            }
            SessionEvent::ApprovalAnswered { call_id, response } => {
                let kind = match response.is_approved() {
                    true => AuditKind::Approved,
                    false => AuditKind::Denied,
                };
                let remembers = response.remember.map(|_| "made a rule of it");
                Some(AuditEntry {
                    at: entry.at,
                    user: response.by.as_deref().map(UserId::named),
                    kind,
                    project: None,
                    session: None,
                    subject: self.0.get(call_id).cloned().unwrap_or_else(|| call_id.clone()),
                    detail: remembers.unwrap_or_default().to_owned(),
                })
            }
            SessionEvent::Nested { entry, .. } => self.decision(entry),
            _ => None,
        }
    }
}
