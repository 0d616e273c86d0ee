//! What was decided by whom: changes of users and rights as rows of their own, answers to questions from the logs
//! of sessions.

use serde::Serialize;
use strum::{Display, EnumString};

use crate::UserId;

/// What kind of thing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display, EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AuditKind {
    /// A user has logged in.
    LoggedIn,
    /// A user has logged out.
    LoggedOut,
    /// An invitation was made.
    Invited,
    /// An invitation was taken back.
    InvitationWithdrawn,
    /// A user was added.
    UserAdded,
    /// Another role, name, or disabled.
    UserChanged,
    /// A token was made.
    TokenMade,
    /// A token was revoked.
    TokenRevoked,
    /// A project was shared with a user.
    Shared,
    /// A project is not shared with a user any more.
    Unshared,
    /// Another may or may not see a session.
    VisibilityChanged,
    /// A budget was set.
    BudgetSet,
    /// A budget was removed.
    BudgetRemoved,
    /// A key of a provider was kept.
    KeyKept,
    /// A key of a provider was removed.
    KeyRemoved,
    /// A question of a session was answered with yes. Read from the log.
    Approved,
    /// A question of a session was answered with no. Read from the log.
    Denied,
    /// A rule was taken back.
    RuleRevoked,
    /// A tool of a project was trusted.
    ToolTrusted,
    /// A message was not taken because a budget is used up.
    BudgetRefused,
}

/// One row of the audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditEntry {
    /// When: milliseconds since 1970, UTC.
    pub at: i64,
    /// Who; absent for what the service or an approver without a name did.
    pub user: Option<UserId>,
    /// What.
    pub kind: AuditKind,
    /// The project, if it is about one.
    pub project: Option<String>,
    /// The session, if it is about one.
    pub session: Option<String>,
    /// What it is about: a user, a token, a call. Never a secret.
    pub subject: String,
    /// More, in words.
    pub detail: String,
}

/// Which rows are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Since then: milliseconds since 1970, UTC.
    pub since: Option<i64>,
    /// Before then.
    pub before: Option<i64>,
    /// Only by this user.
    pub user: Option<UserId>,
    /// At most this many.
    pub limit: Option<u32>,
}

impl AuditFilter {
    /// Whether an entry is wanted.
    pub fn wants(&self, entry: &AuditEntry) -> bool {
        self.since.is_none_or(|since| entry.at >= since)
            && self.before.is_none_or(|before| entry.at < before)
            && self.user.as_ref().is_none_or(|user| entry.user.as_ref() == Some(user))
    }
}

/// The rows, one JSON object a line.
pub fn jsonl(entries: &[AuditEntry]) -> String {
    let line = |entry: &AuditEntry| serde_json::to_string(entry).unwrap_or_default() + "\n";
    entries.iter().map(line).collect()
}

/// The rows as a table for spreadsheets (RFC 4180).
pub fn csv(entries: &[AuditEntry]) -> String {
    let mut table = "at,user,kind,project,session,subject,detail\r\n".to_owned();
    for entry in entries {
        let user = entry.user.as_ref().map_or("", UserId::as_str);
        let (project, session) = (entry.project.as_deref(), entry.session.as_deref());
        let cells = [
            entry.at.to_string(),
            cell(user),
            entry.kind.to_string(),
            cell(project.unwrap_or_default()),
            cell(session.unwrap_or_default()),
            cell(&entry.subject),
            cell(&entry.detail),
        ];
        table.push_str(&cells.join(","));
        table.push_str("\r\n");
    }
    table
}

/// A cell that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let text = match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(subject: &str, detail: &str) -> AuditEntry {
        AuditEntry {
            at: 5,
            user: Some(UserId::named("ada")),
            kind: AuditKind::Approved,
            project: Some("web".to_owned()),
            session: None,
            subject: subject.to_owned(),
            detail: detail.to_owned(),
        }
    }

    #[test]
    fn a_table_has_quoted_cells_and_no_formulas() {
        let entries = [entry("=cmd()", "a, \"b\"\nc"), entry("plain", "")];
        insta::assert_snapshot!(csv(&entries).replace("\r\n", "|"), @r#"
        at,user,kind,project,session,subject,detail|5,ada,approved,web,,'=cmd(),"a, ""b""
        c"|5,ada,approved,web,,plain,|
        "#);
        assert_eq!(jsonl(&entries).lines().count(), 2);
    }

    #[test]
    fn a_filter_takes_what_lies_within() {
        let filter = |since, before, user: Option<&str>| AuditFilter {
            since,
            before,
            user: user.map(UserId::named),
            limit: None,
        };
        let row = entry("x", "");
        assert!(filter(Some(5), Some(6), Some("ada")).wants(&row));
        for not in [
            filter(Some(6), None, None),
            filter(None, Some(5), None),
            filter(None, None, Some("bob")),
        ] {
            assert!(!not.wants(&row));
        }
    }
}
