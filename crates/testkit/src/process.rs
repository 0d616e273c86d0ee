//! A real child process that speaks JSON-RPC, one message a line, over its standard streams.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a test waits for something that must come. It is generous because a healthy server
/// never needs it.
const WATCHDOG: Duration = Duration::from_secs(30);

/// Lines that are kept until the test takes them. Beyond that the server's writes wait, as with a
/// client that reads slowly.
const KEPT_LINES: usize = 64;

/// A running server, killed on drop.
///
/// A line on its standard output that is not JSON fails the test, since it would break any real
/// client. Standard error is kept and shown when something goes wrong.
#[derive(Debug)]
pub struct StdioServer {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    /// Messages that came while the test waited for another one.
    unclaimed: VecDeque<Value>,
    stderr: Arc<Mutex<Vec<u8>>>,
    last_id: u64,
}

/// Why a message did not come.
enum Missing {
    TimedOut,
    Closed,
}

impl StdioServer {
    /// Starts `command` with piped streams. Arguments, environment and directory are the caller's.
    #[track_caller]
    pub fn start(mut command: Command) -> StdioServer {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn();
        let mut child = child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("standard output is piped");
        let stderr = child.stderr.take().expect("standard error is piped");

        let (sender, lines) = sync_channel(KEPT_LINES);
        thread::spawn(move || forward_lines(stdout, sender));
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keeper = Arc::clone(&kept);
        thread::spawn(move || keep(stderr, keeper));

        let unclaimed = VecDeque::new();
        StdioServer { child, stdin, lines, unclaimed, stderr: kept, last_id: 0 }
    }

    /// Sends a request and waits for its response, which is returned whole: look for `result` or
    /// `error` in it.
    ///
    /// Whatever else arrives meanwhile stays available to [`Self::read_message`] and
    /// [`Self::next_notification`].
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        // A request of the server's own may carry the same id.
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        self.expect_message(&format!("the response to `{method}`"), is_answer)
    }

    /// Sends a notification.
    #[track_caller]
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends the bytes and a line break, whether they are a message or not.
    #[track_caller]
    pub fn send_raw_line(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        let line = [bytes, b"\n"].concat();
        if let Err(error) = stdin.write_all(&line).and_then(|()| stdin.flush()) {
            panic!("the server does not read: {error}{}", self.report());
        }
    }

    /// Sends all lines from a thread of their own, and meanwhile hands every message that arrives to
    /// `take` until that answers `true`.
    #[track_caller]
    pub fn send_all(&mut self, lines: Vec<Vec<u8>>, mut take: impl FnMut(Value) -> bool) {
        let mut stdin = self.stdin.take().expect("standard input is open");
        let sending = thread::spawn(move || {
            let sent =
                lines.iter().try_for_each(|line| stdin.write_all(&[line, &b"\n"[..]].concat()));
            sent.map(|()| stdin)
        });
        loop {
            match self.receive(Instant::now() + WATCHDOG) {
                Ok(message) => {
                    if take(message) {
                        break;
                    }
                }
                Err(_) => panic!("a message did not come within {WATCHDOG:?}{}", self.report()),
            }
        }
        let sent = sending.join().expect("the sending thread ends");
        self.stdin = Some(sent.expect("the server reads"));
    }

    /// The most memory that the server had at any time, in kilobytes.
    #[track_caller]
    pub fn peak_memory_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .expect("the server runs");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().strip_suffix(" kB"));
        peak.and_then(|number| number.parse().ok()).expect("the kernel counts memory")
    }

    /// The oldest unclaimed message, of any kind; `None` if there is none within `timeout`
    /// or the server has closed its output.
    #[track_caller]
    pub fn read_message(&mut self, timeout: Duration) -> Option<Value> {
        match self.unclaimed.pop_front() {
            Some(message) => Some(message),
            None => self.receive(Instant::now() + timeout).ok(),
        }
    }

    /// Waits for the next notification; responses and requests stay available to
    /// [`Self::read_message`].
    #[track_caller]
    pub fn next_notification(&mut self) -> Value {
        self.expect_message("a notification", |message| message.get("id").is_none())
    }

    /// Closes the server's input and waits until it has ended by itself. Messages it still sends
    /// are dropped.
    #[track_caller]
    pub fn finish(mut self) -> ExitStatus {
        self.stdin = None;
        let deadline = Instant::now() + WATCHDOG;
        loop {
            match self.receive(deadline) {
                Ok(_) => {}
                Err(Missing::TimedOut) => {
                    panic!("the server runs on although its input is closed{}", self.report())
                }
                // A process that closes its output is about to end, so this wait is short.
                Err(Missing::Closed) => {
                    return self.child.wait().expect("the child can be awaited");
                }
            }
        }
    }

    /// Sends SIGTERM and waits until it has ended. Its input stays open; messages it still sends are dropped.
    #[track_caller]
    pub fn terminate(mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server cannot be signalled");
        let deadline = Instant::now() + WATCHDOG;
        loop {
            match self.receive(deadline) {
                Ok(_) => {}
                Err(Missing::TimedOut) => panic!("the server runs on{}", self.report()),
                Err(Missing::Closed) => {
                    return self.child.wait().expect("the child can be awaited");
                }
            }
        }
    }

    #[track_caller]
    fn send(&mut self, message: &Value) {
        self.send_raw_line(message.to_string().as_bytes());
    }

    #[track_caller]
    fn expect_message(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(message) =
            self.unclaimed.iter().position(&wanted).and_then(|at| self.unclaimed.remove(at))
        {
            return message;
        }
        let deadline = Instant::now() + WATCHDOG;
        loop {
            match self.receive(deadline) {
                Ok(message) if wanted(&message) => return message,
                Ok(message) => self.unclaimed.push_back(message),
                Err(Missing::TimedOut) => {
                    panic!("{what} did not come within {WATCHDOG:?}{}", self.report())
                }
                Err(Missing::Closed) => {
                    panic!("the server closed its output before {what} came{}", self.report())
                }
            }
        }
    }

    #[track_caller]
    fn receive(&mut self, deadline: Instant) -> Result<Value, Missing> {
        let line = match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Err(Missing::TimedOut),
            Err(RecvTimeoutError::Disconnected) => return Err(Missing::Closed),
        };
        match serde_json::from_slice(&line) {
            Ok(message) => Ok(message),
            Err(error) => {
                let line = String::from_utf8_lossy(&line);
                panic!(
                    "the server printed a line that is not JSON ({error}): {line}{}",
                    self.report()
                )
            }
        }
    }

    /// What to add to the message of a failure.
    fn report(&self) -> String {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        if stderr.is_empty() {
            return String::new();
        }
        format!("\nits standard error so far:\n{}", String::from_utf8_lossy(&stderr))
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        // Both fail only for a process that has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward_lines(stdout: ChildStdout, sender: SyncSender<Vec<u8>>) {
    for line in BufReader::new(stdout).split(b'\n') {
        let Ok(line) = line else { return };
        if sender.send(line).is_err() {
            return;
        }
    }
}

fn keep(mut stderr: ChildStderr, kept: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> StdioServer {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        StdioServer::start(command)
    }

    #[test]
    fn a_response_is_found_among_other_messages() {
        let mut server = shell(
            r#"read -r line
            echo '{"method":"log","params":{"line":1}}'
            echo '{"id":1,"method":"roots/list"}'
            echo '{"id":1,"result":"pong"}'
            read -r line"#,
        );
        assert_eq!(server.request("ping", json!({}))["result"], "pong");
        assert_eq!(server.next_notification()["params"]["line"], 1);
        assert_eq!(
            server.read_message(Duration::ZERO),
            Some(json!({"id": 1, "method": "roots/list"}))
        );
        assert_eq!(server.read_message(Duration::from_millis(1)), None);
        assert!(server.finish().code().is_some());
    }

    #[test]
    fn raw_lines_arrive_as_sent() {
        let mut server = shell("cat");
        server.send_raw_line(br#"{"a": [1, 2]}"#);
        assert_eq!(server.read_message(WATCHDOG), Some(json!({"a": [1, 2]})));
        assert!(server.finish().success());
    }

    #[test]
    #[should_panic(expected = "closed its output before the response to `ping` came")]
    fn a_server_that_dies_fails_the_test_at_once() {
        shell("read -r line").request("ping", json!({}));
    }

    #[test]
    #[should_panic(expected = "not JSON")]
    fn chatter_on_standard_output_fails_the_test() {
        shell("read -r line; echo hello").request("ping", json!({}));
    }
}
