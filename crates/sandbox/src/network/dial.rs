//! Reaching a host: resolve once, judge every address, connect to one of those.

use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::NetworkRules;
use super::request::{Authority, RequestHost};
use super::resolver::NameResolver;
use super::waiting::{Stop, wait, wait_for};
use crate::cancel::Canceller;

/// More addresses of one name are not tried.
const MAX_ADDRESSES: usize = 8;
/// Names that are being resolved at the same time. The system's resolver cannot be interrupted, so
/// some may be left over from connections that have been given up.
const MAX_RESOLVING: usize = 64;
/// One address that does not answer shall leave time for the next.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a host was not reached.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotReached {
    /// It must not be, for this reason.
    Refused(String),
    /// It could not be.
    Failed(String),
    Stopped(Stop),
}

impl From<Stop> for NotReached {
    fn from(stop: Stop) -> NotReached {
        NotReached::Stopped(stop)
    }
}

/// Whether the rules apply to a connection.
#[derive(Clone, Copy)]
pub(super) enum Trust<'r> {
    /// Not: the operator named the host.
    Operator,
    /// They do: a command named it.
    Command(&'r NetworkRules),
}

/// What connecting takes.
pub(super) struct Dialer {
    pub(super) resolver: Arc<dyn NameResolver>,
    pub(super) ended: Canceller,
    resolving: Arc<AtomicUsize>,
}

impl Dialer {
    pub(super) fn new(resolver: Arc<dyn NameResolver>, ended: Canceller) -> Dialer {
        Dialer { resolver, ended, resolving: Arc::default() }
    }

    /// Connects to a host.
    pub(super) fn dial(
        &self,
        authority: &Authority,
        trust: Trust<'_>,
        deadline: Instant,
    ) -> Result<TcpStream, NotReached> {
        let Authority { host, port } = authority;
        let addresses = match host {
            RequestHost::Address(address) => vec![*address],
            RequestHost::Name(name) => self.resolve(name, deadline)?,
        };
        if let Trust::Command(rules) = trust {
            // One refused address refuses the name: an attacker's name server would mix addresses.
            for address in &addresses {
                let judged = rules.judge(host, *address, *port, is_own(*address));
                judged.map_err(NotReached::Refused)?;
            }
        }
        let mut failure = NotReached::Failed(format!("`{host}` has no address"));
        for address in addresses.into_iter().take(MAX_ADDRESSES) {
            let address = SocketAddr::new(address.to_canonical(), *port);
            match self.connect(address, deadline) {
                Err(NotReached::Failed(why)) => failure = NotReached::Failed(why),
                reached => return reached,
            }
        }
        Err(failure)
    }

    /// Resolves on a thread of its own, because the system's resolver has no timeout of ours.
    fn resolve(&self, name: &str, deadline: Instant) -> Result<Vec<IpAddr>, NotReached> {
        let failed =
            |why: String| NotReached::Failed(format!("`{name}` cannot be resolved: {why}"));
        let place = ResolverSlot::take(&self.resolving);
        let place = place.ok_or_else(|| failed("too many names are being resolved".into()))?;
        let done = Canceller::new().map_err(|error| failed(error.to_string()))?;
        let (sender, receiver) = mpsc::channel();
        let (resolver, owned, signal) = (Arc::clone(&self.resolver), name.to_owned(), done.clone());
        let resolve = move || {
            // The receiver may be gone already.
            let _ = sender.send(resolver.resolve(&owned));
            drop(place);
            signal.cancel();
        };
        let thread = std::thread::Builder::new().name("resolving".into()).spawn(resolve);
        thread.map_err(|error| failed(error.to_string()))?;
        wait(&[PollFd::new(&done, PollFlags::IN)], &self.ended, Some(deadline)).map_err(
            |stop| match stop {
                Stop::TimedOut => failed("it took too long".into()),
                stop => NotReached::Stopped(stop),
            },
        )?;
        let resolved = receiver.try_recv().unwrap_or_else(|_| Ok(Vec::new()));
        resolved.map_err(|error| failed(error.to_string()))
    }

    fn connect(&self, address: SocketAddr, deadline: Instant) -> Result<TcpStream, NotReached> {
        let failed = |errno: Errno| {
            NotReached::Failed(format!("{address}: {}", std::io::Error::from(errno)))
        };
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None);
        let socket: OwnedFd = socket.map_err(failed)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(errno) => return Err(failed(errno)),
        }
        let socket = TcpStream::from(socket);
        let deadline = deadline.min(Instant::now() + CONNECT_TIMEOUT);
        match wait_for(&socket, PollFlags::OUT, &self.ended, deadline) {
            Ok(()) => {}
            Err(Stop::TimedOut) => return Err(failed(Errno::TIMEDOUT)),
            Err(stop) => return Err(stop.into()),
        }
        match rustix::net::sockopt::socket_error(&socket).map_err(failed)? {
            Ok(()) => Ok(socket),
            Err(errno) => Err(failed(errno)),
        }
    }
}

/// One of the [`MAX_RESOLVING`] slots for names that are being resolved.
struct ResolverSlot(Arc<AtomicUsize>);

impl ResolverSlot {
    fn take(count: &Arc<AtomicUsize>) -> Option<ResolverSlot> {
        let place = ResolverSlot(Arc::clone(count));
        let before = count.fetch_add(1, Ordering::Relaxed);
        (before < MAX_RESOLVING).then_some(place)
    }
}

impl Drop for ResolverSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether an address is one of this machine's: packets to it would come from itself. Asking the
/// kernel which address they would come from sends none.
fn is_own(address: IpAddr) -> bool {
    let address = address.to_canonical();
    let any: IpAddr = match address {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = || -> std::io::Result<IpAddr> {
        let socket = UdpSocket::bind((any, 0))?;
        // The port does not matter.
        socket.connect((address, 9))?;
        Ok(socket.local_addr()?.ip())
    };
    source().is_ok_and(|source| source == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_known_by_where_packets_to_it_come_from() {
        for (address, expected) in
            [("127.0.0.1", true), ("::ffff:127.0.0.1", true), ("192.0.2.1", false)]
        {
            assert_eq!(is_own(address.parse().expect("an address")), expected, "{address}");
        }
    }
}
