//! Finds, makes and opens the database file.
//!
//! A file that SQLite cannot use is never touched again: the next one beside it is used, and what
//! can be read is copied there. So the file in use is the one with the highest number.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rustix::fs::{Mode, OFlags, stat, statfs};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

use super::db::{Db, explain, is_busy, is_corrupt, is_not_understood};
use super::salvage::{is_complete, salvage};
use super::schema::{self, STEPS, VERSION};
use crate::StoreError;

/// Conversations are readable by their owner only.
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// How long another process may hold the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The write-ahead log is cut back to this size. Reading it back costs time at the next start.
const JOURNAL_BYTES: &str = "1048576";
/// Pages in the write-ahead log before they are written into the file.
const CHECKPOINT_PAGES: &str = "500";
/// Memory for pages of the file, in KiB where SQLite takes a negative number. A log is written at its
/// end and read as a whole, so that more of it would only be kept and not used.
const CACHE_KIB: &str = "-512";
/// So many unusable files in a row mean that something else is wrong.
const MAX_GENERATIONS: u32 = 20;
/// File systems on other machines, where memory cannot be shared between processes: NFS, SMB (both),
/// 9P, AFS, Ceph, Lustre.
const NETWORK_FILE_SYSTEMS: [i64; 7] =
    [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x5346_414f, 0x00c3_6400, 0x0bd0_0bd0];

/// Whether a file can be used.
enum Opened {
    Usable(Box<Db>),
    /// And why not.
    Unusable(String),
}

/// Opens the newest usable file for `base`, with what the user should know about that.
///
/// This is behind a pointer: else the compiler would write it again for every crate that opens a store.
pub(super) fn open(base: &Path) -> BoxFuture<'_, Result<(Db, Vec<String>), StoreError>> {
    open_usable(base).boxed()
}

async fn open_usable(base: &Path) -> Result<(Db, Vec<String>), StoreError> {
    let mut notes = Vec::new();
    let mut why = "it was replaced before".to_owned();
    for generation in newest(base)..=MAX_GENERATIONS {
        let file = generation_path(base, generation);
        match open_file(&file, generation, &mut notes).await? {
            Opened::Usable(mut db) => {
                // Also if the process that began this file did not get to the end.
                if generation > 1 && !is_complete(&mut db).await? {
                    let old = generation_path(base, generation - 1);
                    notes.push(salvage(&old, &why, &mut db).await?);
                }
                return Ok((*db, notes));
            }
            Opened::Unusable(reason) => why = reason,
        }
    }
    let file = base.display().to_string();
    let reason = format!("{MAX_GENERATIONS} files beside it are unusable too; move them away");
    Err(StoreError::Damaged { file, reason })
}

/// Begins the next file after `db` and copies what can be read.
pub(super) async fn replace(base: &Path, db: &mut Db, reason: &str) -> Result<String, StoreError> {
    let generation = db.generation + 1;
    let file = generation_path(base, generation);
    match open_file(&file, generation, &mut Vec::new()).await? {
        Opened::Usable(mut next) => {
            let note = salvage(&db.file, reason, &mut next).await?;
            *db = *next;
            Ok(note)
        }
        Opened::Unusable(reason) => {
            Err(StoreError::Damaged { file: file.display().to_string(), reason })
        }
    }
}

/// The newest file that exists; the first if there is none yet.
pub(super) fn newest(base: &Path) -> u32 {
    let exists = |generation: &u32| stat(generation_path(base, *generation)).is_ok();
    (2..=MAX_GENERATIONS).take_while(exists).last().unwrap_or(1)
}

/// `sessions.db`, then `sessions-2.db` and so on.
pub(super) fn generation_path(base: &Path, generation: u32) -> PathBuf {
    if generation == 1 {
        return base.to_owned();
    }
    let mut name = base.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{generation}"));
    if let Some(extension) = base.extension() {
        name.push(".");
        name.push(extension);
    }
    base.with_file_name(name)
}

async fn open_file(
    file: &Path,
    generation: u32,
    notes: &mut Vec<String>,
) -> Result<Opened, StoreError> {
    let opened = try_open(file, notes).await;
    match opened {
        Ok(Ok((conn, version))) => {
            let last = HashMap::new();
            let db = Db { conn, file: file.to_owned(), generation, version, last };
            Ok(Opened::Usable(Box::new(db)))
        }
        Ok(Err(reason)) => Ok(Opened::Unusable(reason)),
        Err(error) if is_corrupt(&error) => Ok(Opened::Unusable(message(&error))),
        Err(error) => Err(explain(file.display().to_string(), "opening the sessions", &error)),
    }
}

pub(super) fn message(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}

/// The connection and the version in the file, or why the file is not ours.
async fn try_open(
    file: &Path,
    notes: &mut Vec<String>,
) -> Result<Result<(SqliteConnection, i64), String>, sqlx::Error> {
    keep_private(file);
    let mut conn = options(file)
        .create_if_missing(true)
        .pragma("journal_size_limit", JOURNAL_BYTES)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .connect()
        .await?;
    let version = schema::version(&mut conn).await?;
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(&mut conn).await?;
    if version == 0 && tables > 0 {
        return Ok(Err("it is a database of something else".to_owned()));
    }
    if let Err(error) = schema::probe(&mut conn, version).await {
        return if is_not_understood(&error) { Ok(Err(message(&error))) } else { Err(error) };
    }
    if version > VERSION {
        sqlx::raw_sql("PRAGMA query_only = ON").execute(&mut conn).await?;
        let file = file.display().to_string();
        notes.push(StoreError::Newer { file, found: version, known: VERSION }.to_string());
        return Ok(Ok((conn, version)));
    }
    if tables == 0 {
        // There is nothing to lose yet, so making a file need not wait for the disk.
        sqlx::raw_sql("PRAGMA synchronous = OFF").execute(&mut conn).await?;
    }
    let slower = choose_journal(&mut conn, file).await?;
    if version < VERSION {
        schema::migrate(&mut conn, STEPS).await?;
    }
    let level = match slower {
        None => "PRAGMA synchronous = NORMAL",
        // Without the log, the file itself is changed in place, so the disk must be waited for.
        Some(_) => "PRAGMA synchronous = FULL",
    };
    sqlx::raw_sql(level).execute(&mut conn).await?;
    notes.extend(slower);
    Ok(Ok((conn, VERSION)))
}

/// Makes the file before SQLite does, readable by its owner only, and takes other rights back where an
/// older version gave it. The files beside it get the same mode from SQLite. What does not work here
/// does not work for SQLite either, which says so.
fn keep_private(file: &Path) {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    if let Ok(opened) = rustix::fs::open(file, flags, FILE_MODE) {
        let _ = rustix::fs::fchmod(opened, FILE_MODE);
    }
    for beside in ["-wal", "-shm", "-journal"] {
        let mut name = file.as_os_str().to_owned();
        name.push(beside);
        let _ = rustix::fs::chmod(name, FILE_MODE);
    }
}

/// What every connection needs. Files may be damaged, so nothing in them is trusted.
pub(super) fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(false)
        .pragma("trusted_schema", "OFF")
        .pragma("cell_size_check", "ON")
        .pragma("cache_size", CACHE_KIB)
        .disable_statement_logging()
}

/// A write-ahead log where the file system allows it. It needs no wait for the disk and lets others
/// read meanwhile.
async fn choose_journal(
    conn: &mut SqliteConnection,
    file: &Path,
) -> Result<Option<String>, sqlx::Error> {
    let why = if is_on_network(file) {
        "it lies on a network file system".to_owned()
    } else {
        let mode = sqlx::query_scalar::<_, String>("PRAGMA journal_mode = WAL");
        match mode.fetch_one(&mut *conn).await {
            Ok(mode) if mode == "wal" => return Ok(None),
            Ok(mode) => format!("only `{mode}` is possible there"),
            // Another process is changing it this very moment; this connection will notice.
            Err(error) if is_busy(&error) => return Ok(None),
            Err(error) if is_corrupt(&error) => return Err(error),
            Err(error) => message(&error),
        }
    };
    sqlx::raw_sql("PRAGMA journal_mode = DELETE").execute(conn).await?;
    Ok(Some(format!(
        "{} is written without a write-ahead log, which is slower: {why}",
        file.display()
    )))
}

fn is_on_network(file: &Path) -> bool {
    let kind = statfs(file).map(|found| found.f_type & 0xffff_ffff);
    kind.is_ok_and(|kind| NETWORK_FILE_SYSTEMS.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn where_there_can_be_no_write_ahead_log_there_is_a_note() {
        let mut conn = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
        let note = choose_journal(&mut conn, Path::new("s.db")).await.unwrap();
        assert_eq!(
            note.as_deref(),
            Some(
                "s.db is written without a write-ahead log, which is slower: only `memory` is \
                 possible there"
            )
        );
    }

    #[test]
    fn files_are_numbered_before_their_extension() {
        let base = Path::new("/state/sessions.db");
        assert_eq!(generation_path(base, 1), base);
        assert_eq!(generation_path(base, 2), Path::new("/state/sessions-2.db"));
        assert_eq!(generation_path(Path::new("/s/log"), 3), Path::new("/s/log-3"));
    }
}
