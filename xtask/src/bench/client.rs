//! A raw JSON-RPC client that costs as little as possible: one blocking write and one blocking
//! read a call, in the thread that holds the clock. `testkit::StdioServer` reads in a thread of its
//! own, and waking it would be part of every figure.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

/// What a server must be able to speak: the last version with the `initialize` handshake.
const PROTOCOL_VERSION: &str = "2025-11-25";

/// A running server, killed on drop.
pub(crate) struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    last_id: u64,
}

/// Resident memory in kilobytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) now: u64,
    pub(crate) peak: u64,
}

impl Client {
    /// Starts the server and shakes hands; the time runs from before the start of the process to
    /// the last byte of the answer to `initialize`.
    pub(crate) fn start(command: &mut Command) -> Result<(Client, Duration)> {
        let start = Instant::now();
        let mut client = Self::spawn(command)?;
        let info = json!({"name": "toolkiln-bench", "version": "1"});
        let params =
            json!({"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": info});
        client.call("initialize", &params)?;
        let time = start.elapsed();
        client.result().context("initialize")?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok((client, time))
    }

    /// Starts the server, and says nothing to it yet.
    pub(crate) fn spawn(command: &mut Command) -> Result<Client> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let stdin = child.stdin.take().context("standard input is piped")?;
        let stdout = BufReader::new(child.stdout.take().context("standard output is piped")?);
        Ok(Client { child, stdin, stdout, line: Vec::new(), last_id: 0 })
    }

    /// Sends a request and reads lines until its response, which [`Self::result`] and
    /// [`Self::size`] then look at.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Result<Duration> {
        self.last_id += 1;
        let id = self.last_id;
        let request =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
                + "\n";
        let start = Instant::now();
        self.stdin.write_all(request.as_bytes()).context("the server does not read")?;
        loop {
            self.line.clear();
            let count = self.stdout.read_until(b'\n', &mut self.line)?;
            let time = start.elapsed();
            ensure!(count > 0, "the server closed its output during `{method}`");
            if is_response_to(&self.line, id) {
                return Ok(time);
            }
        }
    }

    /// The result of the last call; an error, also one of a tool, is an error here, so that a
    /// quick refusal is never measured as speed.
    pub(crate) fn result(&self) -> Result<Value> {
        let mut response = self.response()?;
        if response.get("error").is_some() || response["result"]["isError"] == true {
            bail!("the server answers with an error: {response}");
        }
        Ok(response["result"].take())
    }

    /// The last response as it came.
    pub(crate) fn response(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.line)?)
    }

    /// Calls a tool; its structured answer, and how long it took.
    pub(crate) fn ask(&mut self, tool: &str, arguments: &Value) -> Result<(Value, Duration)> {
        let time = self.call("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let mut result = self.result().with_context(|| format!("{tool} {arguments}"))?;
        Ok((result["structuredContent"].take(), time))
    }

    /// The bytes of the last response, line break included.
    pub(crate) fn size(&self) -> usize {
        self.line.len()
    }

    /// What the kernel says about the process; `None` where there is no `/proc`.
    pub(crate) fn memory(&self) -> Option<Memory> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        memory_in(&status)
    }

    /// The processor time of all its threads, in ticks of the kernel's clock (mostly 10 ms); `None`
    /// where there is no `/proc`.
    pub(crate) fn processor_ticks(&self) -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        ticks_in(&stat)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes()).context("the server does not read")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Both fail only for a process that has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_response_to(line: &[u8], id: u64) -> bool {
    // The clock has been read by now, so the line may as well be parsed properly.
    serde_json::from_slice::<Value>(line)
        .is_ok_and(|message| message["id"] == id && message.get("method").is_none())
}

/// What `/proc/PID/status` says about memory.
pub(crate) fn memory_in(status: &str) -> Option<Memory> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().strip_suffix("kB")?.trim().parse().ok()
    };
    Some(Memory { now: field("VmRSS")?, peak: field("VmHWM")? })
}

pub(crate) fn ticks_in(stat: &str) -> Option<u64> {
    // The name of the program stands in parentheses and may hold anything; what follows are numbers,
    // of which the 12th and 13th are the time in user and in kernel mode.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(str::parse::<u64>);
    Some(times.next()?.ok()? + times.next()?.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_response_to_a_request_is_its_response() {
        let table = [
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, true),
            (r#"{"result":{"text":"\"id\":7"},"jsonrpc":"2.0","id":7}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"error":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#, false),
            (r#"{"jsonrpc":"2.0","id":8,"result":{"id":7}}"#, false),
            (r#"{"jsonrpc":"2.0","method":"notifications/message"}"#, false),
            ("hello", false),
        ];
        for (line, expected) in table {
            assert_eq!(is_response_to(line.as_bytes(), 7), expected, "{line}");
        }
    }

    #[test]
    fn memory_is_read_from_the_status() {
        let status = "Name:\tx\nVmHWM:\t    8192 kB\nVmRSS:\t    4096 kB\nThreads:\t1\n";
        assert_eq!(memory_in(status), Some(Memory { now: 4096, peak: 8192 }));
        assert_eq!(memory_in("Name:\tx\n"), None);
    }

    #[test]
    fn processor_time_is_read_from_the_stat_line() {
        let stat = "42 (a b) c) S 1 42 42 0 -1 4194304 500 0 0 0 17 25 0 0 20 0 3 0 100 0 0";
        assert_eq!(ticks_in(stat), Some(42));
        assert_eq!(ticks_in("42 (a) S 1"), None);
        assert_eq!(ticks_in(""), None);
    }
}
