//! The network of a command that may use it.
//!
//! Every command has a network namespace of its own, with nothing in it but its own loopback device.
//! A command that may use the network finds an HTTP proxy on that device: the first process inside
//! makes the listening socket and hands it to us, and threads of our process serve it. The proxy
//! resolves names itself, judges every address, and connects to exactly the address that it judged.

mod proxy;
mod relay;
mod request;
mod waiting;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use net::{Allowance, Upstream};
use serde::{Deserialize, Serialize};

pub(crate) use proxy::Proxy;

/// Where the proxy listens inside. The port lies outside the range that the kernel gives out.
pub(crate) const PROXY_ADDRESS: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 61_080);

/// What commands that may use the network can reach. The default is the public Internet on the ports
/// of HTTP and HTTPS.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkRules {
    /// Hosts, addresses and ports that are allowed besides.
    #[serde(default)]
    pub allow: Vec<Allowance>,
    /// A file with the certificates to trust in place of the system's. It is visible inside.
    #[serde(default)]
    pub certificates: Option<PathBuf>,
    /// The proxy through which the operator reaches the network. It is never written down, because it
    /// may hold a password.
    #[serde(skip)]
    pub upstream: Option<Upstream>,
}

/// A connection that a command wanted and did not get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedConnection {
    /// The name or address that the command asked for.
    pub host: String,
    /// The port that it asked for.
    pub port: u16,
    /// Why it was refused; names the address that the host resolved to, if that was the reason.
    pub why: String,
}

impl fmt::Display for RefusedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.host, self.port, self.why)
    }
}
