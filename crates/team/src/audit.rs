//! What was decided by whom: changes of users and rights as rows of their own, answers to questions from the logs
//! of sessions.

use std::fmt;
use std::str::FromStr;

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
    UserAdded,
    /// Another role, name, or disabled.
    UserChanged,
    TokenMade,
    TokenRevoked,
    /// A project was shared with a user.
    Shared,
    /// A project is not shared with a user any more.
    Unshared,
    /// Another may or may not see a session.
    VisibilityChanged,
    SessionDeleted,
    BudgetSet,
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

/// Where a row stands among all rows, whether they are kept with the users or in the logs of sessions: by its moment,
/// and among those of one moment by where it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditPlace {
    /// Milliseconds since 1970, UTC.
    pub at: i64,
    /// The session in whose log it is; empty for rows of their own.
    pub session: String,
    /// The entry of that log, or the number of the row.
    pub number: i64,
}

/// As clients carry it from one page to the next.
impl fmt::Display for AuditPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.at, self.session, self.number)
    }
}

impl FromStr for AuditPlace {
    type Err = InvalidAuditPlace;

    fn from_str(text: &str) -> Result<Self, InvalidAuditPlace> {
        let mut parts = text.split('.');
        let (Some(at), Some(session), Some(number), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidAuditPlace);
        };
        Ok(Self {
            at: at.parse().map_err(|_| InvalidAuditPlace)?,
            session: session.to_owned(),
            number: number.parse().map_err(|_| InvalidAuditPlace)?,
        })
    }
}

/// A text is not where a page of the audit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a place in the audit; take `next` of the page before")]
pub struct InvalidAuditPlace;

/// A row and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedEntry {
    /// Where it stands.
    pub place: AuditPlace,
    /// What it says.
    pub entry: AuditEntry,
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
    /// Only about this project.
    pub project: Option<String>,
    /// Only those that come behind this place, the latest first.
    pub behind: Option<AuditPlace>,
    /// At most this many.
    pub limit: Option<u32>,
}

impl AuditFilter {
    /// Whether a row is wanted.
    pub fn wants(&self, PlacedEntry { place, entry }: &PlacedEntry) -> bool {
        self.behind.as_ref().is_none_or(|behind| place < behind)
            && self.project.as_ref().is_none_or(|of| entry.project.as_ref() == Some(of))
            && self.since.is_none_or(|since| entry.at >= since)
            && self.before.is_none_or(|before| entry.at < before)
            && self.user.as_ref().is_none_or(|user| entry.user.as_ref() == Some(user))
    }
}

/// The first line of a table of rows for spreadsheets (RFC 4180).
pub const CSV_HEAD: &str = "at,user,kind,project,session,subject,detail\r\n";

impl AuditEntry {
    /// The row as a JSON object on a line.
    pub fn json_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// The row as a line of a table below [`CSV_HEAD`].
    pub fn csv_line(&self) -> String {
        let user = self.user.as_ref().map_or("", UserId::as_str);
        let (project, session) = (self.project.as_deref(), self.session.as_deref());
        let cells = [
            self.at.to_string(),
            cell(user),
            self.kind.to_string(),
            cell(project.unwrap_or_default()),
            cell(session.unwrap_or_default()),
            cell(&self.subject),
            cell(&self.detail),
        ];
        cells.join(",") + "\r\n"
    }
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
        let table: String = entries.iter().map(AuditEntry::csv_line).collect();
        insta::assert_snapshot!((CSV_HEAD.to_owned() + &table).replace("\r\n", "|"), @r#"
        at,user,kind,project,session,subject,detail|5,ada,approved,web,,'=cmd(),"a, ""b""
        c"|5,ada,approved,web,,plain,|
        "#);
        assert_eq!(entries[0].json_line().lines().count(), 1);
    }

    #[test]
    fn a_filter_takes_what_lies_within() {
        let filter = |since, before, user: Option<&str>| AuditFilter {
            since,
            before,
            user: user.map(UserId::named),
            ..AuditFilter::default()
        };
        let place = AuditPlace { at: 5, session: "s".into(), number: 3 };
        let row = PlacedEntry { place: place.clone(), entry: entry("x", "") };
        assert!(filter(Some(5), Some(6), Some("ada")).wants(&row));
        let of =
            |project: &str| AuditFilter { project: Some(project.into()), ..Default::default() };
        let behind = |number| {
            let behind = Some(AuditPlace { number, ..place.clone() });
            AuditFilter { behind, ..AuditFilter::default() }
        };
        assert!(of("web").wants(&row) && behind(4).wants(&row));
        for not in [
            filter(Some(6), None, None),
            filter(None, Some(5), None),
            filter(None, None, Some("bob")),
            of("secret"),
            behind(3),
        ] {
            assert!(!not.wants(&row));
        }
    }

    #[test]
    fn places_are_carried_as_text() {
        for session in ["", "1hf7yat00zzzzzzzzzzz"] {
            let place = AuditPlace { at: -5, session: session.into(), number: 7 };
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for text in ["", "5", "5.s", "5.s.x", "x..1", "1.2.3.4"] {
            assert_eq!(text.parse::<AuditPlace>(), Err(InvalidAuditPlace), "{text}");
        }
    }
}
