//! A service that is measured, and clients that cost as little as possible.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use testkit::{Fixture, ModelServer};

use super::super::client::{Memory, memory_in, ticks_in};
use super::program::WebProgram;

/// Longer than anything that is measured may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running service; killed on drop.
pub(in crate::bench) struct WebServer<'a> {
    program: &'a dyn WebProgram,
    child: Child,
    /// Kept open: the service may write more.
    stdout: BufReader<ChildStdout>,
    pub(in crate::bench) address: String,
    pub(in crate::bench) token: String,
}

impl<'a> WebServer<'a> {
    /// Starts it; the time runs from before the start of the process to the last byte of the page.
    pub(in crate::bench) fn start(
        program: &'a dyn WebProgram,
        project: &Fixture,
        model: &ModelServer,
    ) -> Result<(Self, Duration)> {
        let mut command = program.command(project, model);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().context("cannot start the service")?;
        let stdout = BufReader::new(child.stdout.take().context("its output is piped")?);
        let address = String::new();
        let mut server = Self { program, child, stdout, address, token: String::new() };
        server.address = server.told_address()?;
        let page = server.ask("GET", "/", None)?;
        let time = start.elapsed();
        ensure!(page.contains("<html"), "the page is not served: {page}");
        server.token = program.token(project)?;
        Ok((server, time))
    }

    /// The address, from the first line that has one.
    fn told_address(&mut self) -> Result<String> {
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line)?;
            ensure!(read > 0, "{} did not start", self.program.name());
            if let Some((_, url)) = line.split_once("http://") {
                let end = url.find(|c: char| c == '/' || c.is_whitespace());
                return Ok(url[..end.unwrap_or(url.len())].to_owned());
            }
        }
    }

    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = body.map(Value::to_string).unwrap_or_default();
        // The page itself is for everybody.
        let token = match &*self.token {
            "" => String::new(),
            token => format!("authorization: Bearer {token}\r\n"),
        };
        let address = &self.address;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{token}\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes())?;
        Ok(stream)
    }

    /// The body of an answer that is not an error.
    pub(in crate::bench) fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<String> {
        let mut stream = BufReader::new(self.send(method, path, body)?);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            ensure!(stream.read_line(&mut head)? > 0, "half an answer to {method} {path}: {head}");
        }
        // Not every service closes the connection when it is asked to.
        let length = length_in(&head).with_context(|| format!("no length of {path}: {head}"))?;
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let body = String::from_utf8(body)?;
        ensure!(head.starts_with("HTTP/1.1 20"), "{method} {path}: {head}{body}");
        Ok(body)
    }

    pub(in crate::bench) fn json(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        serde_json::from_str(&self.ask(method, path, body)?).with_context(|| path.to_owned())
    }

    /// Begins a session and answers its id.
    pub(in crate::bench) fn begin(&self) -> Result<String> {
        let (path, body) = self.program.beginning();
        let begun = self.json("POST", &path, Some(&body))?;
        Ok(begun["id"].as_str().context("a session has an id")?.to_owned())
    }

    pub(in crate::bench) fn say(&self, session: &str, text: &str) -> Result<()> {
        let (path, body) = self.program.saying(session, text);
        self.ask("POST", &path, Some(&body)).map(drop)
    }

    /// Says something and waits for the end of the turn.
    pub(in crate::bench) fn turn(&self, session: &str, text: &str) -> Result<()> {
        let mut watcher = self.watch(session)?;
        self.say(session, text)?;
        watcher.until(&self.program.turn_end(session)).map(drop)
    }

    /// How many calls a session tells of.
    pub(in crate::bench) fn calls(&self, session: &str) -> Result<usize> {
        let (path, count) = self.program.calls(session);
        Ok(count(&self.json("GET", &path, None)?))
    }

    /// A client of the stream that has been greeted.
    pub(in crate::bench) fn watch(&self, follow: &str) -> Result<StreamClient> {
        let stream = self.send("GET", &self.program.stream(follow), None)?;
        let mut client = StreamClient { lines: BufReader::new(stream), line: Vec::new() };
        client.until(self.program.greeting())?;
        Ok(client)
    }

    pub(in crate::bench) fn memory(&self) -> Result<Memory> {
        let status = self.told_by_kernel("status")?;
        memory_in(&status).context("the kernel does not tell the memory of processes")
    }

    /// The processor time so far, in ticks of the kernel's clock.
    pub(in crate::bench) fn processor_ticks(&self) -> Result<u64> {
        let stat = self.told_by_kernel("stat")?;
        ticks_in(&stat).context("the kernel does not tell the time of processes")
    }

    fn told_by_kernel(&self, file: &str) -> Result<String> {
        Ok(std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))?)
    }
}

impl Drop for WebServer<'_> {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to be done about it here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the stream line by line.
pub(in crate::bench) struct StreamClient {
    lines: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl StreamClient {
    /// The moment at which a line with this text was read.
    pub(in crate::bench) fn until(&mut self, text: &str) -> Result<Instant> {
        loop {
            if holds(self.line()?, text) {
                return Ok(Instant::now());
            }
        }
    }

    /// The next line.
    pub(in crate::bench) fn line(&mut self) -> Result<&[u8]> {
        self.line.clear();
        let read = self.lines.read_until(b'\n', &mut self.line)?;
        ensure!(read > 0, "the stream has ended");
        Ok(&self.line)
    }
}

/// The length of the body, as the head of an answer tells it.
fn length_in(head: &str) -> Option<usize> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, length) = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    length.trim().parse().ok()
}

/// Whether a line has this text.
pub(in crate::bench) fn holds(line: &[u8], text: &str) -> bool {
    line.windows(text.len()).any(|part| part == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_body_is_found_in_whatever_case() {
        assert_eq!(length_in("HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n"), Some(12));
        assert_eq!(length_in("HTTP/1.1 200 OK\r\nContent-Length:7\r\n\r\n"), Some(7));
        assert_eq!(length_in("HTTP/1.1 200 OK\r\n\r\n"), None);
    }
}
