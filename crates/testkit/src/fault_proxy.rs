//! A connection between two programs that can be slow, silent or cut, as networks are.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes that are passed on at once.
const PIECE: usize = 16 * 1024;

/// Listens on a port of its own and passes everything on to another one.
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Nothing arrives, and nothing is said about it.
    is_paused: bool,
    /// New connections end at once.
    is_refusing: bool,
    /// How long each piece takes.
    delay: Duration,
    open: Vec<TcpStream>,
    is_over: bool,
}

impl FaultProxy {
    /// A proxy for a server at `address`, such as `127.0.0.1:5432`.
    pub fn to(address: &str) -> FaultProxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let shared = Arc::new(Shared::default());
        let (address, accepting) = (address.to_owned(), Arc::clone(&shared));
        thread::spawn(move || accept(&listener, &address, &accepting));
        FaultProxy { port, shared }
    }

    /// Where it listens, on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// From here on nothing arrives on either side, and no connection ends.
    pub fn pause(&self) {
        self.shared.change(|state| state.is_paused = true);
    }

    /// Ends a pause; what was held back arrives.
    pub fn resume(&self) {
        self.shared.change(|state| state.is_paused = false);
    }

    /// Ends all connections. What was on its way is lost.
    pub fn cut(&self) {
        self.shared.change(|state| {
            for stream in state.open.drain(..) {
                // One that has ended is what is wanted.
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
    }

    /// Whether new connections end at once.
    pub fn refuse(&self, is_refusing: bool) {
        self.shared.change(|state| state.is_refusing = is_refusing);
    }

    /// How long each piece of data takes from here on.
    pub fn delay(&self, delay: Duration) {
        self.shared.change(|state| state.delay = delay);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.change(|state| state.is_over = true);
        self.cut();
        // Wakes the thread that accepts, so that it ends.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until data may pass, and says how long it takes.
    fn pass(&self) -> Duration {
        let paused = |state: &mut State| state.is_paused && !state.is_over;
        let state = self.changed.wait_while(self.state(), paused);
        state.unwrap_or_else(PoisonError::into_inner).delay
    }
}

fn accept(listener: &TcpListener, address: &str, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        let (is_over, is_refusing) = {
            let state = shared.state();
            (state.is_over, state.is_refusing)
        };
        if is_over {
            return;
        }
        let Ok(client) = client else { continue };
        if is_refusing {
            continue;
        }
        // A server that is not there ends the connection, as it would without a proxy.
        let Ok(server) = TcpStream::connect(address) else { continue };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let copies =
            (client.try_clone(), server.try_clone(), client.try_clone(), server.try_clone());
        let (Ok(from_client), Ok(from_server), Ok(one), Ok(other)) = copies else { continue };
        shared.state().open.extend([one, other]);
        for (from, to) in [(from_client, server), (from_server, client)] {
            let shared = Arc::clone(shared);
            thread::spawn(move || pump(from, to, &shared));
        }
    }
}

fn pump(mut from: TcpStream, mut to: TcpStream, shared: &Shared) {
    let mut buffer = [0; PIECE];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        thread::sleep(shared.pass());
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // The end of one way is the end of both, but not before a pause is over.
    shared.pass();
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends back what it gets.
    fn echo() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut to = stream.try_clone().unwrap();
                thread::spawn(move || std::io::copy(&mut &stream, &mut to));
            }
        });
        address
    }

    fn says(stream: &mut TcpStream, byte: u8) -> std::io::Result<u8> {
        stream.write_all(&[byte])?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        Ok(answer[0])
    }

    #[test]
    fn what_is_paused_arrives_later_and_what_is_cut_never() {
        let proxy = FaultProxy::to(&echo());
        let connect = || TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        let mut stream = connect();
        assert_eq!(says(&mut stream, 1).unwrap(), 1);
        proxy.pause();
        stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        assert!(says(&mut stream, 2).is_err());
        stream.set_read_timeout(None).unwrap();
        proxy.resume();
        let mut answer = [0];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [2]);
        proxy.cut();
        assert!(says(&mut stream, 3).is_err());
        assert_eq!(says(&mut connect(), 4).unwrap(), 4);
        proxy.refuse(true);
        assert!(says(&mut connect(), 5).is_err());
    }
}
