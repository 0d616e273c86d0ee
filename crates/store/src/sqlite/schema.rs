//! The tables, and how older files get them.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _};

/// How to get from each version of the format to the next. Never changed, only added to.
pub(super) const STEPS: &[&str] = &[include_str!("schema_1.sql"), include_str!("schema_2.sql")];

/// The version of the format that this program writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

pub(super) async fn version(conn: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA user_version").fetch_one(conn).await
}

/// Fails if a file of this version lacks what is needed to read it, as one with a damaged schema does.
pub(super) async fn probe(conn: &mut SqliteConnection, found: i64) -> Result<(), sqlx::Error> {
    if found != VERSION {
        return Ok(());
    }
    let query = "SELECT session, sequence, at, kind, data, checksum, sessions.id, \
                 sessions.last FROM events, sessions LIMIT 0";
    sqlx::query(query).execute(conn).await?;
    Ok(())
}

/// Brings a file up to the last of `steps`, all or nothing. Two processes may try at once.
pub(super) async fn migrate(
    conn: &mut SqliteConnection,
    steps: &[&'static str],
) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
    let done = usize::try_from(version(&mut tx).await?).unwrap_or_default();
    for step in steps.iter().skip(done) {
        sqlx::raw_sql(*step).execute(&mut *tx).await?;
    }
    if done < steps.len() {
        let mark = format!("PRAGMA user_version = {}", steps.len());
        sqlx::raw_sql(AssertSqlSafe(mark)).execute(&mut *tx).await?;
    }
    tx.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_older_file_gets_what_is_new_and_keeps_what_it_has() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let first = ["CREATE TABLE a (x); INSERT INTO a VALUES (7)"];
        migrate(&mut conn, &first).await.unwrap();
        assert_eq!(version(&mut conn).await.unwrap(), 1);
        let both = [first[0], "ALTER TABLE a ADD COLUMN y DEFAULT 8"];
        for _ in 0..2 {
            migrate(&mut conn, &both).await.unwrap();
            let row: (i64, i64) =
                sqlx::query_as("SELECT x, y FROM a").fetch_one(&mut conn).await.unwrap();
            assert_eq!((row, version(&mut conn).await.unwrap()), ((7, 8), 2));
        }
        let broken = [both[0], both[1], "CREATE TABLE b (x); no SQL"];
        assert!(migrate(&mut conn, &broken).await.is_err());
        assert_eq!(version(&mut conn).await.unwrap(), 2);
        let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema")
            .fetch_one(&mut conn)
            .await
            .unwrap();
        assert_eq!(tables, 1);
    }
}
