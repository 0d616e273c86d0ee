//! A model server that answers from a script, over real HTTP on this machine.
//!
//! It speaks Anthropic Messages, OpenAI Responses and OpenAI Chat Completions: a reply is written
//! down once and rendered in the form of the path that was asked. Nothing sleeps; a reply that hangs
//! does so until the client goes away.

mod anthropic;
mod chat;
mod exchange;
mod gate;
mod reply;
mod request;
mod responses;
pub mod validity;
mod wire;

use std::collections::VecDeque;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use gate::Gate;
pub use reply::{Fault, Part, Reply, ReplyUsage, Stop};
pub use request::{ModelCall, ToolAnswer};
pub use wire::{WireEvent, WireFormat};

/// How long a test waits for what must happen, before it counts as not happening.
const LONG: Duration = Duration::from_secs(20);

/// When a request and its answer passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The request had been read to the last byte of its body, and nothing more had been done with it.
    pub arrived: Instant,
    /// The answer was complete and about to be written.
    pub answered: Instant,
    /// The size of the request's body.
    pub request_bytes: usize,
}

type Script = Box<dyn FnMut(&ModelCall) -> Reply + Send>;

/// A scripted model server. It ends, with all its connections, when it is dropped.
///
/// ```
/// use std::io::{Read as _, Write as _};
/// use serde_json::json;
/// use testkit::{ModelServer, Reply};
///
/// let server = ModelServer::start([
///     Reply::text("I look. ").and_call("read_file", json!({"path": "a.txt"})),
///     Reply::text("It is empty."),
/// ]);
/// let body = json!({"model": "m", "messages": [{"role": "user", "content": "What is in a.txt?"}]}).to_string();
/// let mut wire = std::net::TcpStream::connect(server.address()).unwrap();
/// write!(wire, "POST /v1/messages HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
/// let mut answer = String::new();
/// wire.read_to_string(&mut answer).unwrap();
/// assert!(answer.contains("event: content_block_start"));
/// assert_eq!(server.calls()[0].user_texts(), ["What is in a.txt?"]);
/// assert_eq!(server.unused(), 1);
/// ```
#[derive(Debug)]
pub struct ModelServer {
    shared: Arc<Shared>,
    port: u16,
    listener: Option<JoinHandle<()>>,
}

/// What the threads of a server share.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

struct State {
    script: Script,
    /// How many replies of a list are left.
    left: Arc<Mutex<usize>>,
    calls: Vec<ModelCall>,
    models: Vec<String>,
    chunk: Option<usize>,
    accepted: usize,
    /// Hanging replies whose client has gone.
    abandoned: usize,
    /// What a script said when it panicked.
    broken: Option<String>,
    exchanges: Vec<Exchange>,
    gates: Vec<Gate>,
    open: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl ModelServer {
    /// A server that gives these replies, one for each request, in this order.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let left = Arc::new(Mutex::new(replies.len()));
        let count = left.clone();
        let script = move |call: &ModelCall| {
            let reply = replies.pop_front();
            *lock(&count) = replies.len();
            reply.unwrap_or_else(|| {
                let told = format!("the script has no reply left for {}", call.path);
                Reply::fault(Fault::status(400, &told))
            })
        };
        Self::listen(Box::new(script), left)
    }

    /// A server whose reply depends on the request.
    pub fn answering(script: impl FnMut(&ModelCall) -> Reply + Send + 'static) -> Self {
        Self::listen(Box::new(script), Arc::default())
    }

    fn listen(script: Script, left: Arc<Mutex<usize>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let port = listener.local_addr().expect("a bound port has a number").port();
        let state = State {
            script,
            left,
            calls: Vec::new(),
            models: Vec::new(),
            chunk: None,
            accepted: 0,
            abandoned: 0,
            broken: None,
            exchanges: Vec::new(),
            gates: Vec::new(),
            open: Vec::new(),
            threads: Vec::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
        });
        let listening = shared.clone();
        let thread = thread::spawn(move || accept(&listener, &listening));
        Self { shared, port, listener: Some(thread) }
    }

    /// When requests and answers passed, in the order of the answers.
    pub fn exchanges(&self) -> Vec<Exchange> {
        lock(&self.shared.state).exchanges.clone()
    }

    /// Sends every answer in pieces of this many bytes, each of them a chunk of its own.
    #[must_use]
    pub fn in_pieces_of(self, bytes: usize) -> Self {
        lock(&self.shared.state).chunk = Some(bytes.max(1));
        self
    }

    /// Names these models when asked which there are, in the forms of Ollama and of OpenAI.
    #[must_use]
    pub fn with_models(self, models: &[&str]) -> Self {
        lock(&self.shared.state).models = models.iter().map(ToString::to_string).collect();
        self
    }

    /// Host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The address to configure, with the version that OpenAI's addresses have.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address())
    }

    /// The requests for an answer so far, in the order in which they came.
    pub fn calls(&self) -> Vec<ModelCall> {
        lock(&self.shared.state).calls.clone()
    }

    /// How many connections were opened.
    pub fn connections(&self) -> usize {
        lock(&self.shared.state).accepted
    }

    /// How many replies of the list were not asked for.
    pub fn unused(&self) -> usize {
        let left = lock(&self.shared.state).left.clone();
        *lock(&left)
    }

    /// A handle for another thread than the test's, to wait for what happens.
    pub fn watch(&self) -> Watch {
        Watch(self.shared.clone())
    }
}

/// Waits for what a server sees. It does not keep the server alive.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Shared>);

impl Watch {
    /// Waits until so many requests have come.
    pub fn wait_for_calls(&self, count: usize) {
        self.wait(&format!("{count} requests"), |state| state.calls.len() >= count);
    }

    /// Waits until the clients of so many hanging replies have closed their connections.
    pub fn wait_for_abandoned(&self, count: usize) {
        self.wait(&format!("{count} closed connections"), |state| state.abandoned >= count);
    }

    fn wait(&self, what: &str, come: impl Fn(&State) -> bool) {
        let state = lock(&self.0.state);
        let waiting = self.0.changed.wait_timeout_while(state, LONG, |state| !come(state));
        let (state, timeout) = waiting.unwrap_or_else(PoisonError::into_inner);
        drop(state);
        assert!(!timeout.timed_out(), "the model server has waited in vain for {what}");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the listener, which then sees that it is to stop.
        drop(TcpStream::connect(self.address()));
        if let Some(listener) = self.listener.take() {
            drop(listener.join());
        }
        let threads = {
            let mut state = lock(&self.shared.state);
            for stream in state.open.drain(..) {
                drop(stream.shutdown(Shutdown::Both));
            }
            state.gates.iter().for_each(Gate::open);
            std::mem::take(&mut state.threads)
        };
        for thread in threads {
            drop(thread.join());
        }
        let broken = lock(&self.shared.state).broken.take();
        // What a script asserts is the test's own assertion.
        assert!(thread::panicking() || broken.is_none(), "{}", broken.unwrap_or_default());
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Ok(kept) = stream.try_clone() else { continue };
        let serving = shared.clone();
        let mut state = lock(&shared.state);
        state.accepted += 1;
        state.open.push(kept);
        state.threads.push(thread::spawn(move || exchange::serve(&stream, &serving)));
    }
}

/// A panic of a test is that test's failure and must not become another one here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
