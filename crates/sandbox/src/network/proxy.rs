//! The proxy of one command.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use net::{Authority, Dialer, NameResolver, NotReached, Reach, Stop, Upstream, wait};
use rustix::event::{PollFd, PollFlags};

use super::relay::{Begun, relay};
use super::request::{BodyLength, Plain, Request, Route, Wants};
use super::waiting::{NoHead, is_early, read, read_head, write_all};
use super::{NetworkRules, RefusedConnection};
use crate::cancel::Canceller;
use crate::error::{SandboxError, io};

/// Connections at the same time; more wait until one ends.
const MAX_CONNECTIONS: usize = 64;
/// Refused connections that are reported.
const MAX_REFUSED: usize = 16;
/// From the connection to the end of the request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// From there until the host is reached.
const REACH_TIMEOUT: Duration = Duration::from_secs(40);
/// Without a byte in either direction.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Until a client has read an answer of ours.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// What is still read of a client that was refused, so that it reads why.
const DRAIN_BYTES: usize = 256 * 1024;
/// Read at once of what is thrown away.
const DRAINED_BYTES: usize = 4 * 1024;

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves one command until it is dropped.
pub(crate) struct Proxy {
    shared: Arc<ProxyShared>,
    thread: Option<JoinHandle<()>>,
}

struct ProxyShared {
    reach: Reach,
    /// The proxy through which the operator reaches the network.
    upstream: Option<Upstream>,
    dialer: Dialer,
    ended: Canceller,
    /// Signalled when a connection has ended.
    freed: Canceller,
    open: AtomicUsize,
    refused: Mutex<Vec<RefusedConnection>>,
}

impl Proxy {
    /// Serves a socket that listens in the command's own network namespace.
    pub(crate) fn start(
        listener: OwnedFd,
        rules: NetworkRules,
        resolver: Arc<dyn NameResolver>,
    ) -> Result<Proxy, SandboxError> {
        let failed = io("starting the proxy");
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true).map_err(&failed)?;
        let ended = Canceller::new()?;
        let shared = Arc::new(ProxyShared {
            reach: Reach::Besides(rules.allow),
            upstream: rules.upstream,
            dialer: Dialer::new(resolver),
            ended,
            freed: Canceller::new()?,
            open: AtomicUsize::new(0),
            refused: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("proxy".into());
        let thread = thread.spawn(move || serving.accept(&listener)).map_err(failed)?;
        Ok(Proxy { shared, thread: Some(thread) })
    }

    /// Ends all connections, and returns which were refused.
    pub(crate) fn finish(mut self) -> Vec<RefusedConnection> {
        self.end();
        std::mem::take(&mut *self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&mut self) {
        self.shared.ended.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.end();
    }
}

impl ProxyShared {
    /// Takes connections until the command has ended, and waits for the end of all of them.
    fn accept(self: &Arc<ProxyShared>, listener: &TcpListener) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        // A failure that would come again at once, such as too many descriptors, is waited out.
        let mut has_failed = false;
        loop {
            let open = self.open.load(Ordering::Acquire);
            let mut fds = vec![PollFd::new(&self.freed, PollFlags::IN)];
            if open < MAX_CONNECTIONS && !(has_failed && open > 0) {
                fds.push(PollFd::new(listener, PollFlags::IN));
            }
            let Ok(ready) = wait(&fds, &self.ended, None) else { break };
            if ready[0] {
                let _ = rustix::io::read(&self.freed, &mut [0; 8]);
                threads.retain(|thread| !thread.is_finished());
                has_failed = false;
            }
            if ready.get(1) == Some(&true) {
                match listener.accept() {
                    Ok((client, _)) => match self.begin(client) {
                        Ok(thread) => threads.push(thread),
                        Err(_) => has_failed = true,
                    },
                    Err(error) if is_early(error.kind()) => {}
                    // The client is gone already.
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
                    Err(_) if open == 0 => break,
                    Err(_) => has_failed = true,
                }
            }
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn begin(self: &Arc<ProxyShared>, client: TcpStream) -> std::io::Result<JoinHandle<()>> {
        client.set_nonblocking(true)?;
        let connection = Connection { shared: Arc::clone(self), client };
        self.open.fetch_add(1, Ordering::AcqRel);
        let thread = std::thread::Builder::new().name("proxy connection".into());
        thread.spawn(move || connection.serve())
    }

    fn note(&self, authority: &Authority, why: &str) {
        let refused = RefusedConnection {
            host: authority.host.to_string(),
            port: authority.port,
            why: why.to_owned(),
        };
        let mut all = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_REFUSED && !all.contains(&refused) {
            all.push(refused);
        }
    }
}

struct Connection {
    shared: Arc<ProxyShared>,
    client: TcpStream,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::AcqRel);
        self.shared.freed.cancel();
    }
}

/// An answer of our own.
struct Refusal {
    status: &'static str,
    why: String,
}

/// Why a connection ended.
enum ConnectionEnd {
    Refused(Refusal),
    Stopped,
}

impl From<Stop> for ConnectionEnd {
    fn from(_: Stop) -> ConnectionEnd {
        ConnectionEnd::Stopped
    }
}

fn refuse(status: &'static str, why: impl Into<String>) -> ConnectionEnd {
    ConnectionEnd::Refused(Refusal { status, why: why.into() })
}

impl Connection {
    fn serve(&self) {
        if let Err(ConnectionEnd::Refused(refusal)) = self.answer() {
            let _ = self.send_refusal(&refusal);
        }
    }

    fn answer(&self) -> Result<(), ConnectionEnd> {
        let ended = &self.shared.ended;
        let read = read_head(&self.client, ended, Instant::now() + HEAD_TIMEOUT);
        let (head, rest) = read.map_err(|error| match error {
            NoHead::TooLong => {
                refuse("431 Request Header Fields Too Large", "the head of the request is too long")
            }
            NoHead::Stopped(Stop::TimedOut) => {
                refuse("408 Request Timeout", "the request did not come in time")
            }
            NoHead::Stopped(_) => ConnectionEnd::Stopped,
        })?;
        let request = Request::parse(&head).ok_or_else(|| {
            refuse("400 Bad Request", "this is a proxy for CONNECT and for plain HTTP requests")
        })?;
        let Request { authority, wants } = &request;
        let upstream = self.shared.upstream.as_ref();
        match upstream.filter(|upstream| upstream.serves(&authority.host)) {
            None => self.direct(authority, wants, rest),
            Some(upstream) => {
                let judged = self.shared.reach.judge_unresolved(&authority.host, authority.port);
                judged.map_err(|why| self.forbid(authority, &why))?;
                self.through(upstream, authority, wants, rest)
            }
        }
    }

    fn direct(
        &self,
        authority: &Authority,
        wants: &Wants<'_>,
        rest: Vec<u8>,
    ) -> Result<(), ConnectionEnd> {
        let server = self.reach(authority, &self.shared.reach)?;
        match wants {
            Wants::Tunnel => self.say(&self.client, ESTABLISHED)?,
            Wants::Plain(plain) => {
                self.say(&server, plain.head(authority, Route::Server).as_bytes())?;
            }
        }
        self.pass_on(&server, Begun { by_client: rest, by_server: Vec::new(), client_limit: None })
    }

    /// Through the operator's own proxy, which resolves the name.
    fn through(
        &self,
        upstream: &Upstream,
        authority: &Authority,
        wants: &Wants<'_>,
        rest: Vec<u8>,
    ) -> Result<(), ConnectionEnd> {
        let begun = Begun { by_client: rest, by_server: Vec::new(), client_limit: None };
        match (wants, upstream.authorization()) {
            (Wants::Plain(plain), None) => {
                let client_limit = Some(body_bytes(plain)?);
                let server = self.reach_upstream(upstream)?;
                self.say(&server, plain.head(authority, Route::Proxy).as_bytes())?;
                self.pass_on(&server, Begun { client_limit, ..begun })
            }
            // The command reads what comes back on a plain request, and some proxies repeat in it what
            // they were sent, the password included. So it is only sent when a tunnel is asked for.
            (Wants::Plain(plain), Some(_)) => {
                let (server, by_server) = self.tunnel(upstream, authority)?;
                self.say(&server, plain.head(authority, Route::Server).as_bytes())?;
                self.pass_on(&server, Begun { by_server, ..begun })
            }
            (Wants::Tunnel, _) => {
                let (server, by_server) = self.tunnel(upstream, authority)?;
                self.say(&self.client, ESTABLISHED)?;
                self.pass_on(&server, Begun { by_server, ..begun })
            }
        }
    }

    /// Has the upstream proxy make a tunnel. Returns it with what already came through it.
    fn tunnel(
        &self,
        upstream: &Upstream,
        authority: &Authority,
    ) -> Result<(TcpStream, Vec<u8>), ConnectionEnd> {
        let server = self.reach_upstream(upstream)?;
        let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(value) = upstream.authorization() {
            head.extend(["Proxy-Authorization: ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        self.say(&server, head.as_bytes())?;
        let read = read_head(&server, &self.shared.ended, Instant::now() + REACH_TIMEOUT);
        let (answer, by_server) = read.map_err(|error| match error {
            NoHead::Stopped(Stop::Ended) => ConnectionEnd::Stopped,
            _ => refuse("502 Bad Gateway", "the upstream proxy does not answer"),
        })?;
        let status = answer.get(9..12).unwrap_or_default();
        if answer.starts_with(b"HTTP/1.") && status.starts_with(b"2") {
            return Ok((server, by_server));
        }
        let digits = status.iter().copied().filter(u8::is_ascii_digit).map(char::from);
        let status: String = digits.collect();
        Err(refuse("502 Bad Gateway", format!("the upstream proxy answered {status}")))
    }

    fn reach_upstream(&self, upstream: &Upstream) -> Result<TcpStream, ConnectionEnd> {
        let authority = upstream.authority();
        let authority = authority.map_err(|why| refuse("502 Bad Gateway", why.to_string()))?;
        // The operator named it.
        self.reach(authority, &Reach::Named(vec![authority.clone()]))
    }

    fn reach(&self, authority: &Authority, reach: &Reach) -> Result<TcpStream, ConnectionEnd> {
        let deadline = Instant::now() + REACH_TIMEOUT;
        let dialed = self.shared.dialer.dial(authority, reach, &self.shared.ended, deadline);
        dialed.map_err(|error| match error {
            NotReached::Refused(why) => self.forbid(authority, &why),
            NotReached::Failed(why) => refuse("502 Bad Gateway", why),
            NotReached::Stopped(_) => ConnectionEnd::Stopped,
        })
    }

    fn forbid(&self, authority: &Authority, why: &str) -> ConnectionEnd {
        self.shared.note(authority, why);
        refuse("403 Forbidden", format!("{authority} is not allowed for this command: {why}"))
    }

    fn say(&self, socket: &TcpStream, bytes: &[u8]) -> Result<(), Stop> {
        write_all(socket, bytes, &self.shared.ended, Instant::now() + IDLE_TIMEOUT)
    }

    fn pass_on(&self, server: &TcpStream, begun: Begun) -> Result<(), ConnectionEnd> {
        relay(&self.client, server, begun, &self.shared.ended, IDLE_TIMEOUT)?;
        Ok(())
    }

    /// Sends the reason. Closing a socket with something unread discards the answer, so some of what
    /// the client still sends is read.
    fn send_refusal(&self, refusal: &Refusal) -> Result<(), Stop> {
        let Refusal { status, why } = refusal;
        let (ended, deadline) = (&self.shared.ended, Instant::now() + DRAIN_TIMEOUT);
        let length = why.len() + 1;
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{why}\n"
        );
        write_all(&self.client, answer.as_bytes(), ended, deadline)?;
        let _ = self.client.shutdown(Shutdown::Write);
        let mut buffer = [0; DRAINED_BYTES];
        let mut taken = 0;
        while taken < DRAIN_BYTES {
            match read(&self.client, &mut buffer, ended, deadline)? {
                0 => break,
                count => taken += count,
            }
        }
        Ok(())
    }
}

/// The upstream proxy reads what follows a body as the next request, to any host. So exactly the
/// body is passed on.
fn body_bytes(plain: &Plain<'_>) -> Result<u64, ConnectionEnd> {
    match plain.body() {
        Some(BodyLength::Bytes(count)) => Ok(count),
        Some(BodyLength::Other) => {
            Err(refuse("411 Length Required", "the request does not give the length of its body"))
        }
        None => {
            Err(refuse("400 Bad Request", "the request gives the length of its body in two ways"))
        }
    }
}

#[cfg(test)]
mod tests;
