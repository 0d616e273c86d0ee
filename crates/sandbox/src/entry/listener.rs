//! The socket of the proxy: made inside, in the network namespace of the command, and served outside.

use std::net::TcpListener;
use std::os::fd::OwnedFd;

use super::error::{During as _, EntryError};
use crate::network::PROXY_ADDRESS;
use crate::plan::SandboxPart;

/// Listens where the variables of the command say that the proxy is.
pub(super) fn listen() -> Result<OwnedFd, EntryError> {
    let listener = TcpListener::bind(PROXY_ADDRESS);
    listener.map(OwnedFd::from).during(SandboxPart::Namespaces, "listening for the proxy")
}
