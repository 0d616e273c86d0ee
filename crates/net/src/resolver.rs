//! Turning names into addresses.

use std::fmt;
use std::net::{IpAddr, ToSocketAddrs as _};

/// Resolves names. Called once for each connection, on a thread of its own.
pub trait NameResolver: fmt::Debug + Send + Sync {
    /// All addresses of a name.
    fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// Asks the system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl NameResolver for SystemResolver {
    fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        // The port is only there because the call wants one.
        Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}
