//! As little HTTP as the soak needs.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// How long a replica may take to answer, or to say in a stream that it is there.
const PATIENCE: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(2);

/// A request as it is sent.
pub(super) struct HttpRequest<'a> {
    pub(super) port: u16,
    pub(super) token: &'a str,
    /// Method and path.
    pub(super) target: &'a str,
    /// A line, or nothing.
    pub(super) header: &'a str,
    pub(super) body: Option<&'a Value>,
}

impl HttpRequest<'_> {
    fn connect(&self) -> Result<TcpStream> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect_timeout(&address, CONNECT)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let body = self.body.map(ToString::to_string).unwrap_or_default();
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let header =
            if self.header.is_empty() { String::new() } else { format!("{}\r\n", self.header) };
        // Of HTTP 1.0, so that answers and events come as they are.
        write!(
            stream,
            "{} HTTP/1.0\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {}\r\n{kind}{header}content-length: {}\r\n\r\n{body}",
            self.target,
            self.port,
            self.token,
            body.len()
        )?;
        Ok(stream)
    }

    /// The status and the body.
    pub(super) fn answer(&self) -> Result<(u16, Value)> {
        let mut text = String::new();
        self.connect()?.read_to_string(&mut text)?;
        let (head, body) = text.split_once("\r\n\r\n").context("the answer broke off")?;
        Ok((status(head)?, serde_json::from_str(body).unwrap_or(Value::Null)))
    }

    /// The lines of a stream of events.
    pub(super) fn stream(&self) -> Result<BufReader<TcpStream>> {
        let mut lines = BufReader::new(self.connect()?);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        ensure!(status(&line)? == 200, "{line}");
        while line.trim_end() != "" {
            line.clear();
            ensure!(lines.read_line(&mut line)? > 0, "the answer broke off");
        }
        Ok(lines)
    }
}

fn status(head: &str) -> Result<u16> {
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    status.context("this is no answer")
}
