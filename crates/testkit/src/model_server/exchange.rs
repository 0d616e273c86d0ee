//! One connection: requests are read, replies are written, faults are staged.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::gate::Gate;
use super::reply::{Fault, Reply};
use super::request::{Incoming, read_request};
use super::wire::WireFormat;
use super::{Exchange, Shared, lock};

/// What becomes of the connection after a reply.
#[derive(PartialEq)]
enum After {
    Next,
    Close,
    /// Nothing more is said until the client goes.
    Hang,
}

/// What is written for a request.
struct Answer {
    bytes: Vec<u8>,
    /// What follows, piece by piece, as the gate lets it go.
    held: Option<(Gate, Vec<Vec<u8>>)>,
    after: After,
}

impl Answer {
    fn whole(bytes: Vec<u8>, after: After) -> Self {
        Self { bytes, held: None, after }
    }
}

/// Answers until the client goes away or a fault ends the connection.
pub(super) fn serve(stream: &TcpStream, shared: &Shared) {
    // A client that goes away in the middle is what some tests are about.
    drop(converse(stream, shared));
    drop(stream.shutdown(Shutdown::Both));
}

fn converse(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut body = Vec::new();
    while let Some(incoming) = read_request(&mut reader, &mut body)? {
        let arrived = Instant::now();
        let request_bytes = incoming.body_bytes();
        let closes = incoming.closes();
        let Answer { bytes, held, after } = answer(incoming, shared);
        // Before it is written: a client may well be at its next request, or at its end, before this
        // thread gets to look at the clock again.
        let answered = Instant::now();
        let exchange = Exchange { arrived, answered, request_bytes };
        lock(&shared.state).exchanges.push(exchange);
        (&*stream).write_all(&bytes)?;
        if let Some((gate, pieces)) = held {
            write_held(stream, &gate, &pieces, shared)?;
        }
        match after {
            After::Next if !closes => {}
            After::Next | After::Close => return Ok(()),
            After::Hang => {
                // Ends when the client closes the connection, or the server is dropped.
                drop(reader.read(&mut [0]));
                lock(&shared.state).abandoned += 1;
                shared.changed.notify_all();
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Writes each piece when the gate lets it go, and gives up when the client goes.
fn write_held(
    mut stream: &TcpStream,
    gate: &Gate,
    pieces: &[Vec<u8>],
    shared: &Shared,
) -> io::Result<()> {
    let is_gone = Arc::new(AtomicBool::new(false));
    let watched = stream.try_clone()?;
    let (gone, watched_gate) = (is_gone.clone(), gate.clone());
    let watcher = thread::spawn(move || {
        // Returns when the client closes the connection, or with the first byte of its next request.
        if matches!(watched.peek(&mut [0]), Ok(0) | Err(_)) {
            watched_gate.give_up(&gone);
        }
    });
    {
        let mut state = lock(&shared.state);
        state.gates.push(gate.clone());
        state.threads.push(watcher);
        // The gates that were known when the server was dropped have been opened; this one was not.
        if shared.stopping.load(Ordering::SeqCst) {
            return Err(gone_error());
        }
    }
    for piece in pieces {
        let sent = if gate.wait(&is_gone) { stream.write_all(piece) } else { Err(gone_error()) };
        if let Err(error) = sent {
            lock(&shared.state).abandoned += 1;
            shared.changed.notify_all();
            return Err(error);
        }
    }
    Ok(())
}

fn gone_error() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

fn answer(incoming: Incoming<'_>, shared: &Shared) -> Answer {
    let Some(format) = WireFormat::of_path(&incoming.path) else {
        return Answer::whole(listing(&incoming, &lock(&shared.state).models), After::Next);
    };
    let call = incoming.into_call(format);
    let mut state = lock(&shared.state);
    state.calls.push(call);
    let at = state.calls.len() - 1;
    // The script sees the request while the list of requests is locked: replies are given in the
    // order in which requests are recorded.
    let call = state.calls[at].clone();
    // The client must hear something, else it waits as long as the test does.
    let reply = catch_unwind(AssertUnwindSafe(|| (state.script)(&call))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        state.broken = Some(format!("the script of the model server panicked: {text}"));
        Reply::fault(Fault::status(400, "the script of the model server panicked"))
    });
    shared.changed.notify_all();
    match &reply.gate {
        Some(gate) if reply.fault.is_none() => held(&reply, gate, format, at, state.chunk),
        _ => {
            let (bytes, after) = render(&reply, format, at, state.chunk);
            Answer::whole(bytes, after)
        }
    }
}

fn held(reply: &Reply, gate: &Gate, format: WireFormat, at: usize, chunk: Option<usize>) -> Answer {
    let mut pieces = reply.held_pieces(format, at).into_iter().map(|piece| chunks(&piece, chunk));
    let first = pieces.next().unwrap_or_default();
    let mut rest: Vec<Vec<u8>> = pieces.collect();
    match rest.last_mut() {
        Some(last) => last.extend(LAST_CHUNK),
        None => {
            return Answer::whole(
                [stream_head(), first, LAST_CHUNK.to_vec()].concat(),
                After::Next,
            );
        }
    }
    let held = Some((gate.clone(), rest));
    Answer { bytes: [stream_head(), first].concat(), held, after: After::Next }
}

fn render(reply: &Reply, format: WireFormat, at: usize, chunk: Option<usize>) -> (Vec<u8>, After) {
    let stream = reply.render(format, at);
    let whole = |body: &[u8]| [stream_head(), chunks(body, chunk), LAST_CHUNK.to_vec()].concat();
    let part = |bytes: usize| {
        let body = &stream[..bytes.min(stream.len())];
        [stream_head(), chunks(body, chunk)].concat()
    };
    match &reply.fault {
        None | Some(Fault::InvalidJson | Fault::HalfCall | Fault::ErrorEvent { .. }) => {
            (whole(&stream), After::Next)
        }
        Some(Fault::Status { status, headers, body }) => {
            (plain(*status, "application/json", headers, body.as_bytes()), After::Next)
        }
        Some(Fault::Body { content_type, body }) => {
            (plain(200, content_type, &[], body), After::Next)
        }
        Some(Fault::Encoded { status, encoding, body }) => {
            let encoding = format!("content-encoding: {encoding}\r\n");
            let head = chunked_head(*status, &encoding);
            ([head, chunks(body, chunk), LAST_CHUNK.to_vec()].concat(), After::Next)
        }
        Some(Fault::CloseBefore) => (Vec::new(), After::Close),
        Some(Fault::HangBefore) => (Vec::new(), After::Hang),
        Some(Fault::CutAfter(bytes)) => (part(*bytes), After::Close),
        Some(Fault::HangAfter(bytes)) => (part(*bytes), After::Hang),
    }
}

const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn stream_head() -> Vec<u8> {
    chunked_head(200, "")
}

fn chunked_head(status: u16, headers: &str) -> Vec<u8> {
    let kind = if status == 200 { "text/event-stream" } else { "application/json" };
    format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n{headers}transfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes()
}

fn chunks(body: &[u8], size: Option<usize>) -> Vec<u8> {
    let size = size.unwrap_or(body.len()).max(1);
    let chunk =
        |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
    body.chunks(size).flat_map(chunk).collect()
}

fn plain(status: u16, kind: &str, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Which models there are, as Ollama and as OpenAI say it.
fn listing(incoming: &Incoming<'_>, models: &[String]) -> Vec<u8> {
    let list: Vec<Value> =
        models.iter().map(|name| json!({"id": name, "name": name, "object": "model"})).collect();
    let body = match incoming.path.as_str() {
        "/api/tags" => json!({"models": list}),
        "/api/version" => json!({"version": "0.0.0"}),
        "/v1/models" => json!({"object": "list", "data": list}),
        _ => return plain(404, "application/json", &[], b"{\"error\":\"no such path\"}"),
    };
    plain(200, "application/json", &[], body.to_string().as_bytes())
}
