//! Reaching a host: resolve once, judge every address, connect to one of those and to nothing else.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use crate::authority::{Authority, RequestHost};
use crate::reach::Reach;
use crate::resolver::{NameResolver, SystemResolver};
use crate::signal::Signal;
use crate::waiting::{Stop, wait};

/// More addresses of one name are not tried.
const MAX_ADDRESSES: usize = 8;
/// Names that are being resolved at the same time. The system's resolver cannot be interrupted, so
/// some may be left over from connections that have been given up.
const MAX_RESOLVING: usize = 64;
/// How long one address may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the next address waits for the one before: many machines have an IPv6 address and no
/// way to the Internet by it.
const STAGGER: Duration = Duration::from_millis(250);

/// Why a host was not reached.
#[derive(Debug, PartialEq, Eq)]
pub enum NotReached {
    /// It must not be, for this reason.
    Refused(String),
    /// It could not be, for this reason.
    Failed(String),
    /// There was no more time, or the connection is no longer wanted.
    Stopped(Stop),
}

impl From<Stop> for NotReached {
    fn from(stop: Stop) -> NotReached {
        NotReached::Stopped(stop)
    }
}

/// Opens connections. A clone shares the bound on names that are being resolved.
#[derive(Clone, Debug)]
pub struct Dialer {
    resolver: Arc<dyn NameResolver>,
    resolving: Arc<AtomicUsize>,
}

impl Default for Dialer {
    fn default() -> Dialer {
        Dialer::new(Arc::new(SystemResolver))
    }
}

impl Dialer {
    /// A dialler that asks this resolver.
    pub fn new(resolver: Arc<dyn NameResolver>) -> Dialer {
        Dialer { resolver, resolving: Arc::default() }
    }

    /// Connects to a host, if every address that it stands for may be reached. Blocks until the
    /// deadline at the latest, or until `ended` can be read. The socket does not block.
    pub fn dial(
        &self,
        authority: &Authority,
        reach: &Reach,
        ended: impl AsFd,
        deadline: Instant,
    ) -> Result<TcpStream, NotReached> {
        let Authority { host, port } = authority;
        let addresses = match host {
            RequestHost::Address(address) => vec![*address],
            RequestHost::Name(name) => self.resolve(name, &ended, deadline)?,
        };
        // One refused address refuses the name: an attacker's name server would mix addresses.
        for address in &addresses {
            let judged = reach.judge(host, *address, *port, is_own(*address));
            judged.map_err(NotReached::Refused)?;
        }
        if addresses.is_empty() {
            return Err(NotReached::Failed(format!("`{host}` has no address")));
        }
        let addresses = in_turns(addresses).into_iter().take(MAX_ADDRESSES);
        let addresses = addresses.map(|address| SocketAddr::new(address.to_canonical(), *port));
        connect_to_one(addresses.collect(), ended, deadline)
    }

    /// The same for async code. Dropping the future ends the attempt.
    pub async fn dial_async(
        &self,
        authority: Authority,
        reach: Arc<Reach>,
        deadline: Instant,
    ) -> Result<tokio::net::TcpStream, NotReached> {
        let failed = |error: std::io::Error| NotReached::Failed(error.to_string());
        let wanted = GivenOnDrop(Signal::new().map_err(failed)?);
        let (dialer, ended) = (self.clone(), wanted.0.clone());
        let dialling = move || dialer.dial(&authority, &reach, ended, deadline);
        let dialled = tokio::task::spawn_blocking(dialling).await;
        let socket = dialled.unwrap_or_else(|error| Err(NotReached::Failed(error.to_string())))?;
        tokio::net::TcpStream::from_std(socket).map_err(failed)
    }

    /// Resolves on a thread of its own, because the system's resolver has no timeout of ours.
    fn resolve(
        &self,
        name: &str,
        ended: impl AsFd,
        deadline: Instant,
    ) -> Result<Vec<IpAddr>, NotReached> {
        let failed =
            |why: String| NotReached::Failed(format!("`{name}` cannot be resolved: {why}"));
        let place = ResolverSlot::take(&self.resolving);
        let place = place.ok_or_else(|| failed("too many names are being resolved".into()))?;
        let done = Signal::new().map_err(|error| failed(error.to_string()))?;
        let (sender, receiver) = mpsc::channel();
        let (resolver, owned, signal) = (Arc::clone(&self.resolver), name.to_owned(), done.clone());
        let resolve = move || {
            // The receiver may be gone already.
            let _ = sender.send(resolver.resolve(&owned));
            drop(place);
            signal.give();
        };
        let thread = std::thread::Builder::new().name("resolving".into()).spawn(resolve);
        thread.map_err(|error| failed(error.to_string()))?;
        let resolved = loop {
            let waited = wait(&[PollFd::new(&done, PollFlags::IN)], &ended, Some(deadline));
            waited.map_err(|stop| match stop {
                Stop::TimedOut => failed("it took too long".into()),
                stop => NotReached::Stopped(stop),
            })?;
            // A wait can end early; the signal is given after the answer.
            match receiver.try_recv() {
                Ok(resolved) => break resolved,
                Err(mpsc::TryRecvError::Empty) => {}
                Err(mpsc::TryRecvError::Disconnected) => break Ok(Vec::new()),
            }
        };
        resolved.map_err(|error| failed(error.to_string()))
    }
}

/// Ends a blocking attempt whose future is gone.
struct GivenOnDrop(Signal);

impl Drop for GivenOnDrop {
    fn drop(&mut self) {
        self.0.give();
    }
}

/// The addresses with the two families in turns, each in its own order.
fn in_turns(addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    let first_is_v4 = addresses.first().is_some_and(IpAddr::is_ipv4);
    let (one, other): (Vec<IpAddr>, Vec<IpAddr>) =
        addresses.into_iter().partition(|address| address.is_ipv4() == first_is_v4);
    let mut other = other.into_iter();
    let mut turns: Vec<IpAddr> =
        one.into_iter().flat_map(|address| [Some(address), other.next()]).flatten().collect();
    turns.extend(other);
    turns
}

/// An attempt that has not ended.
struct Attempt {
    address: SocketAddr,
    socket: TcpStream,
    until: Instant,
}

/// Connects to the first address that answers. Each waits a moment for those before it.
fn connect_to_one(
    mut addresses: VecDeque<SocketAddr>,
    ended: impl AsFd,
    deadline: Instant,
) -> Result<TcpStream, NotReached> {
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut failure = NotReached::Stopped(Stop::TimedOut);
    let mut next_start = Instant::now();
    loop {
        let now = Instant::now();
        if (now >= next_start || attempts.is_empty())
            && let Some(address) = addresses.pop_front()
        {
            match begin(address) {
                Ok(socket) => {
                    let until = deadline.min(now + CONNECT_TIMEOUT);
                    attempts.push(Attempt { address, socket, until });
                    next_start = now + STAGGER;
                }
                Err(errno) => failure = failed(address, errno),
            }
            continue;
        }
        let expired = |attempt: &Attempt| attempt.until <= now;
        if let Some(attempt) = attempts.iter().find(|attempt| expired(attempt)) {
            failure = failed(attempt.address, Errno::TIMEDOUT);
            attempts.retain(|attempt| !expired(attempt));
            continue;
        }
        let Some(until) = attempts.iter().map(|attempt| attempt.until).min() else {
            return Err(failure);
        };
        let until = if addresses.is_empty() { until } else { until.min(next_start) };
        let fds: Vec<PollFd<'_>> = attempts
            .iter()
            .map(|attempt| PollFd::from_borrowed_fd(attempt.socket.as_fd(), PollFlags::OUT))
            .collect();
        let ready = match wait(&fds, &ended, Some(until)) {
            Err(Stop::TimedOut) => continue,
            waited => waited?,
        };
        for at in (0..attempts.len()).rev().filter(|at| ready[*at]) {
            let Attempt { address, socket, .. } = attempts.swap_remove(at);
            match rustix::net::sockopt::socket_error(&socket) {
                Ok(Ok(())) => return Ok(socket),
                Ok(Err(errno)) | Err(errno) => {
                    failure = failed(address, errno);
                    next_start = now;
                }
            }
        }
    }
}

/// Begins to connect.
fn begin(address: SocketAddr) -> Result<TcpStream, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(errno) => Err(errno),
    }
}

fn failed(address: SocketAddr, errno: Errno) -> NotReached {
    NotReached::Failed(format!("{address}: {}", std::io::Error::from(errno)))
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
mod tests;
