//! One opened database file, and what its errors mean.

use std::collections::HashMap;
use std::path::PathBuf;

use sqlx::sqlite::SqliteConnection;

use super::schema::VERSION;
use crate::{SessionId, StoreError};

/// The codes of SQLite that mean something to us, without their extended part.
const ERROR: i64 = 1;
const BUSY: i64 = 5;
const LOCKED: i64 = 6;
const READ_ONLY: i64 = 8;
const CORRUPT: i64 = 11;
const FULL: i64 = 13;
const CONSTRAINT: i64 = 19;
const NOT_A_DATABASE: i64 = 26;
const EXTENDED_BITS: i64 = 0xff;

pub(super) struct Db {
    pub(super) conn: SqliteConnection,
    pub(super) file: PathBuf,
    /// How many files this one has replaced, plus one.
    pub(super) generation: u32,
    /// The version of the format in the file.
    pub(super) version: i64,
    /// The last positions of sessions that were written to.
    pub(super) last: HashMap<SessionId, u64>,
}

impl Db {
    pub(super) fn shown(&self) -> String {
        self.file.display().to_string()
    }

    /// An error of the database as a [`StoreError`].
    pub(super) fn error(&self, doing: &str, error: &sqlx::Error) -> StoreError {
        if self.version > VERSION {
            return StoreError::Newer { file: self.shown(), found: self.version, known: VERSION };
        }
        explain(self.shown(), doing, error)
    }
}

pub(super) fn explain(file: String, doing: &str, error: &sqlx::Error) -> StoreError {
    let reason = match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    };
    match code(error) {
        Some(BUSY | LOCKED) => StoreError::Busy { file },
        Some(READ_ONLY) => StoreError::ReadOnly { file, reason },
        Some(CORRUPT | NOT_A_DATABASE) => StoreError::Damaged { file, reason },
        Some(FULL) => StoreError::DiskFull { file },
        _ => StoreError::Failed { doing: format!("{doing} ({file})"), reason },
    }
}

fn code(error: &sqlx::Error) -> Option<i64> {
    let sqlx::Error::Database(error) = error else { return None };
    error.code()?.parse::<i64>().ok().map(|code| code & EXTENDED_BITS)
}

/// Whether the file itself is broken.
pub(super) fn is_corrupt(error: &sqlx::Error) -> bool {
    matches!(code(error), Some(CORRUPT | NOT_A_DATABASE))
}

/// Whether the file has no such table or column.
pub(super) fn is_not_understood(error: &sqlx::Error) -> bool {
    code(error) == Some(ERROR)
}

pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(code(error), Some(BUSY | LOCKED))
}

/// Whether a row is there already.
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    code(error) == Some(CONSTRAINT)
}
