//! Connections to the database, and what its errors mean.

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgPool};

use crate::StoreError;

/// How long a caller waits for a free connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that was used so recently is used again without asking the server whether it still works.
const TRUSTED_FOR: Duration = Duration::from_secs(1);
/// What the server is told about every connection of ours. A replica that stops in the middle of a
/// transaction must not keep others from the session for longer than it takes to be declared dead, and
/// nothing that we ask takes longer than the rest.
const SERVER_SETTINGS: [(&str, &str); 5] = [
    ("idle_in_transaction_session_timeout", "5s"),
    ("lock_timeout", "10s"),
    ("statement_timeout", "60s"),
    ("tcp_user_timeout", "10s"),
    ("client_min_messages", "warning"),
];

/// The classes and codes of SQLSTATE that mean something to us.
const DISK_FULL: &str = "53100";
const READ_ONLY: &str = "25006";
const LOCK_NOT_AVAILABLE: &str = "55P03";
const QUERY_CANCELED: &str = "57014";
const DATA_CORRUPTED: &str = "XX001";
const INDEX_CORRUPTED: &str = "XX002";
const CONNECTION_CLASS: &str = "08";
const SHUTDOWN_CLASS: &str = "57P";
const TOO_MANY_CONNECTIONS: &str = "53300";
const IDLE_IN_TRANSACTION: &str = "25P03";

/// How an address begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The database, as messages name it. Never with a password.
#[derive(Clone, Debug)]
pub(super) struct Place(String);

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Place {
    fn of(options: &PgConnectOptions) -> Self {
        let host = options.get_host();
        let name = options.get_database().unwrap_or_else(|| options.get_username());
        Self(format!("the database `{name}` at {host}:{}", options.get_port()))
    }

    /// An error of the database as a [`StoreError`].
    pub(super) fn error(&self, doing: &str, error: &sqlx::Error) -> StoreError {
        let place = self.to_string();
        if is_lost_connection(error) {
            return StoreError::Unreachable { database: place, reason: message(error) };
        }
        match code(error).as_deref() {
            Some(DISK_FULL) => StoreError::DiskFull { file: place },
            Some(READ_ONLY) => StoreError::ReadOnly { file: place, reason: message(error) },
            Some(LOCK_NOT_AVAILABLE | QUERY_CANCELED) => StoreError::Busy { file: place },
            Some(DATA_CORRUPTED | INDEX_CORRUPTED) => {
                StoreError::Failed { doing: format!("{doing} ({place})"), reason: message(error) }
            }
            _ => StoreError::Failed { doing: format!("{doing} ({place})"), reason: message(error) },
        }
    }
}

fn message(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}

fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error()?.code().map(|code| code.into_owned())
}

/// Whether it is not known if the server has done what it was asked.
pub(super) fn is_lost_connection(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(_) => code(error).is_some_and(|code| {
            code.starts_with(CONNECTION_CLASS)
                || code.starts_with(SHUTDOWN_CLASS)
                || code == TOO_MANY_CONNECTIONS
                || code == IDLE_IN_TRANSACTION
        }),
        _ => false,
    }
}

/// How to connect, from an address such as `postgres://user:password@host/database`.
pub(super) fn connect_options(url: &str) -> Result<(PgConnectOptions, Place), StoreError> {
    // The address may hold a password, so it is not repeated.
    let refused = |reason: &str| StoreError::failed("reading the address of the database", reason);
    if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return Err(refused("it does not begin with `postgres://`"));
    }
    let options = PgConnectOptions::from_str(url).map_err(|error| refused(&message(&error)))?;
    let place = Place::of(&options);
    let options =
        options.application_name("toolkiln").options(SERVER_SETTINGS).disable_statement_logging();
    Ok((options, place))
}

/// The connections for everything but this replica's presence.
pub(super) async fn pool(
    options: PgConnectOptions,
    place: &Place,
    connections: u32,
) -> Result<PgPool, StoreError> {
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|conn, known| {
            Box::pin(async move {
                if known.idle_for > TRUSTED_FOR {
                    conn.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_with(options)
        .await;
    pool.map_err(|error| place.error("connecting to the database", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_without_its_password() {
        let (_, place) = connect_options("postgres://me:secret@db.example:6000/team").unwrap();
        assert_eq!(place.to_string(), "the database `team` at db.example:6000");
        let broken = connect_options("mysql://me:secret@db").unwrap_err().to_string();
        assert!(!broken.contains("secret"), "{broken}");
    }
}
