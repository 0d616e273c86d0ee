//! Reads the summary of a session from a row, whichever database it comes from.

use protocol::{ForkPoint, Opened, Settings, Usage};
use sqlx::Row as _;

use crate::inspection::{Expected, Range};
use crate::{Holder, SessionId, SessionInfo, SessionState};

/// The columns of a row by name.
pub(crate) trait Columns {
    fn text(&self, name: &str) -> Result<Option<String>, sqlx::Error>;
    fn number(&self, name: &str) -> Result<Option<i64>, sqlx::Error>;
    fn fraction(&self, name: &str) -> Result<Option<f64>, sqlx::Error>;
}

macro_rules! columns_of {
    ($row:ty) => {
        impl Columns for $row {
            fn text(&self, name: &str) -> Result<Option<String>, sqlx::Error> {
                self.try_get(name)
            }

            fn number(&self, name: &str) -> Result<Option<i64>, sqlx::Error> {
                self.try_get(name)
            }

            fn fraction(&self, name: &str) -> Result<Option<f64>, sqlx::Error> {
                self.try_get(name)
            }
        }
    };
}

columns_of!(sqlx::sqlite::SqliteRow);
columns_of!(sqlx::postgres::PgRow);

fn needed<T>(name: &str, found: Option<T>) -> Result<T, sqlx::Error> {
    found.ok_or_else(|| sqlx::Error::ColumnNotFound(name.to_owned()))
}

pub(crate) fn text(row: &dyn Columns, name: &str) -> Result<String, sqlx::Error> {
    needed(name, row.text(name)?)
}

pub(crate) fn number(row: &dyn Columns, name: &str) -> Result<i64, sqlx::Error> {
    needed(name, row.number(name)?)
}

pub(crate) fn count(row: &dyn Columns, name: &str) -> Result<u64, sqlx::Error> {
    Ok(u64::try_from(number(row, name)?).unwrap_or_default())
}

/// The session that a row is about.
pub(crate) fn session_id(row: &dyn Columns) -> Result<SessionId, sqlx::Error> {
    SessionId::try_from(text(row, "id")?).map_err(|error| sqlx::Error::Decode(error.into()))
}

/// A session in short.
pub(crate) fn info(row: &dyn Columns, held_by: Option<Holder>) -> Result<SessionInfo, sqlx::Error> {
    let state = SessionState::from_word(&text(row, "state")?);
    Ok(SessionInfo {
        id: session_id(row)?,
        title: row.text("title")?.or(row.text("opening")?),
        root: text(row, "root")?,
        created: number(row, "created")?,
        updated: number(row, "updated")?,
        events: count(row, "last")?,
        turns: count(row, "turns")?,
        provider: text(row, "provider")?,
        model: text(row, "model")?,
        role: serde_json::from_str(&text(row, "role")?).ok(),
        usage: Usage {
            input: count(row, "input")?,
            output: count(row, "output")?,
            cache_read: count(row, "cache_read")?,
            cache_write: count(row, "cache_write")?,
        },
        cost_usd: row.fraction("cost")?,
        state: state.with_holder(held_by.is_some()),
        held_by,
        forked_from: fork_from(row),
    })
}

/// What the summary knows about a log.
pub(crate) fn expected(row: &dyn Columns, set_aside: Vec<Range>) -> Expected {
    let opened = number(row, "created").ok().zip(opened_from(row));
    Expected { last: count(row, "last").unwrap_or_default(), opened, set_aside }
}

fn opened_from(row: &dyn Columns) -> Option<Opened> {
    let role = serde_json::from_str(&text(row, "role").ok()?).ok()?;
    let settings =
        Settings { provider: text(row, "provider").ok()?, model: text(row, "model").ok()?, role };
    Some(Opened { root: text(row, "root").ok()?, settings, forked_from: fork_from(row) })
}

fn fork_from(row: &dyn Columns) -> Option<ForkPoint> {
    let session = row.text("forked_from").ok()??;
    Some(ForkPoint { session, sequence: u64::try_from(number(row, "forked_at").ok()?).ok()? })
}

/// Whether the title, or what stands for it, holds a text in small letters.
pub(crate) fn is_titled(row: &dyn Columns, lower: &str) -> bool {
    let text = |column: &str| row.text(column).ok().flatten();
    let title = text("title").or_else(|| text("opening"));
    title.is_some_and(|title| title.to_lowercase().contains(lower))
}
