//! The tables, and how an older database gets them.

use sqlx::postgres::PgConnection;
use sqlx::{Connection as _, PgPool};

use super::connect::Place;
use crate::StoreError;

/// How to get from each state of the tables to the next. Never changed, only added to.
struct Migration {
    number: i64,
    name: &'static str,
    sql: &'static str,
}

macro_rules! migration {
    ($number:literal, $name:literal) => {
        Migration {
            number: $number,
            name: $name,
            sql: include_str!(concat!("migrations/", $name, ".sql")),
        }
    };
}

/// In order. Those below 100 are about sessions, the others about people.
const MIGRATIONS: &[Migration] = &[
    migration!(1, "001_sessions"),
    migration!(2, "002_counted"),
    migration!(3, "003_questions"),
    migration!(4, "004_spent_today"),
    migration!(5, "005_revoked_rules"),
    migration!(100, "100_people"),
    migration!(101, "101_audit_pages"),
    migration!(102, "102_removed_sessions"),
    migration!(103, "103_token_makers"),
];

/// Replicas that start together take turns. The number is ours among all that use the database.
const LOCK: i64 = 0x746f_6f6c_6b69_6c6e;

const DOING: &str = "preparing the database";

/// Brings the tables up to date, all or nothing.
pub(super) async fn migrate(pool: &PgPool, place: &Place) -> Result<(), StoreError> {
    let mut conn = pool.acquire().await.map_err(|error| place.error(DOING, &error))?;
    let unknown = apply(&mut conn, MIGRATIONS).await.map_err(|error| place.error(DOING, &error))?;
    match unknown {
        None => Ok(()),
        Some(found) => Err(StoreError::Newer {
            file: place.to_string(),
            found,
            known: MIGRATIONS.iter().map(|it| it.number).max().unwrap_or_default(),
        }),
    }
}

/// Applies what is missing. Returns a number that is there and that this program does not know; then
/// nothing is changed.
async fn apply(
    conn: &mut PgConnection,
    migrations: &[Migration],
) -> Result<Option<i64>, sqlx::Error> {
    let mut tx = conn.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *tx).await?;
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, \
         applied TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp())",
    )
    .execute(&mut *tx)
    .await?;
    let done: Vec<i64> =
        sqlx::query_scalar("SELECT number FROM migrations").fetch_all(&mut *tx).await?;
    let is_known = |number: &i64| migrations.iter().any(|it| it.number == *number);
    if let Some(unknown) = done.iter().find(|number| !is_known(number)) {
        return Ok(Some(*unknown));
    }
    for Migration { number, name, sql } in migrations {
        if !done.contains(number) {
            sqlx::raw_sql(*sql).execute(&mut *tx).await?;
            let mark = "INSERT INTO migrations (number, name) VALUES ($1, $2)";
            sqlx::query(mark).bind(number).bind(*name).execute(&mut *tx).await?;
        }
    }
    tx.commit().await?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow_and_are_those_of_the_files() {
        assert!(MIGRATIONS.is_sorted_by(|one, next| one.number < next.number));
        for Migration { number, name, .. } in MIGRATIONS {
            assert!(name.starts_with(&format!("{number:03}_")), "{name}");
        }
    }

    #[tokio::test]
    async fn an_older_database_gets_what_is_new_and_a_newer_one_is_left_alone() {
        let Some(server) = testkit::Postgres::shared() else { return };
        let database = server.database();
        let mut conn = PgConnection::connect(database.url()).await.unwrap();
        let step = |number, sql| Migration { number, name: "x", sql };
        let first = || step(1, "CREATE TABLE a (x INT); INSERT INTO a VALUES (7)");
        let second = || step(2, "ALTER TABLE a ADD COLUMN y INT DEFAULT 8");
        assert_eq!(apply(&mut conn, &[first()]).await.unwrap(), None);
        for _ in 0..2 {
            assert_eq!(apply(&mut conn, &[first(), second()]).await.unwrap(), None);
            let row: (i32, i32) =
                sqlx::query_as("SELECT x, y FROM a").fetch_one(&mut conn).await.unwrap();
            assert_eq!(row, (7, 8));
        }
        assert_eq!(apply(&mut conn, &[first()]).await.unwrap(), Some(2));
        let broken = [first(), second(), step(3, "CREATE TABLE b (x INT); no SQL")];
        assert!(apply(&mut conn, &broken).await.is_err());
        let b: Option<String> =
            sqlx::query_scalar("SELECT to_regclass('b')::text").fetch_one(&mut conn).await.unwrap();
        assert_eq!(b, None);
    }
}
