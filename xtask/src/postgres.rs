//! The PostgreSQL server that all steps of a run share.

use anyhow::{Result, bail};
use testkit::Postgres;

use crate::fetch::install_debian;

/// Starts a server that ends with this process. Where PostgreSQL is missing, Debian's package is installed, if that
/// is allowed.
pub(crate) fn server() -> Result<Postgres> {
    if !Postgres::is_installed() {
        install_debian("postgresql")?;
    }
    // Tests of many crates use it at once, and nothing on it has to outlive the machine.
    let settings = ["fsync=off", "full_page_writes=off", "max_connections=300"];
    match Postgres::is_installed().then(|| Postgres::start(&settings)).flatten() {
        Some(server) => Ok(server),
        None => bail!("the package has been installed, but its programs are not found"),
    }
}
