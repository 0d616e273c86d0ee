//! A client as plain as possible: what is sent is what the test wrote.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a test waits for what must come.
const WATCHDOG: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The values of a header.
    pub(crate) fn headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(told, _)| told.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }

    /// The cookies that it sets, as a browser sends them back.
    pub(crate) fn cookies(&self) -> Vec<String> {
        let set = self.headers("set-cookie").into_iter();
        set.map(|line| line.split(';').next().unwrap().to_owned()).collect()
    }
}

/// Sends a request and reads the whole answer.
pub(crate) async fn send(address: &str, target: &str, headers: &[&str], body: &str) -> Answer {
    let reading = async {
        let mut stream = begin(address, target, headers, body).await;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let text = tokio::time::timeout(WATCHDOG, reading).await.expect("an answer");
    answer(&text)
}

/// Sends a request and reads the head of the answer, which may never end.
pub(crate) async fn open(
    address: &str,
    target: &str,
    headers: &[&str],
    body: &str,
) -> (u16, EventReader) {
    let stream = begin(address, target, headers, body).await;
    let mut reader = EventReader { stream, read: String::new() };
    let head = reader.until("\r\n\r\n").await.expect("a head");
    let status = answer(&head).status;
    (status, reader)
}

async fn begin(address: &str, target: &str, headers: &[&str], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let has_host = headers.iter().any(|line| line.to_lowercase().starts_with("host:"));
    let host = if has_host { String::new() } else { format!("host: {address}\r\n") };
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let has_kind = headers.to_lowercase().contains("content-type:");
    let kind = if body.is_empty() || has_kind { "" } else { "content-type: application/json\r\n" };
    let length = body.len();
    let text = format!(
        "{target} HTTP/1.1\r\n{host}{headers}{kind}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

fn answer(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    let status = status.unwrap_or_else(|| panic!("not an answer: {text}"));
    let body = match head.to_lowercase().contains("transfer-encoding: chunked") {
        true => unchunked(body),
        false => body.to_owned(),
    };
    Answer { status, head: head.to_owned(), body }
}

fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        text.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    text
}

/// Reads a stream of events.
pub(crate) struct EventReader {
    stream: TcpStream,
    read: String,
}

impl EventReader {
    /// Reads until a text has come; none if the stream ends before. Answers all that was read since the last time.
    pub(crate) async fn until(&mut self, text: &str) -> Option<String> {
        let reading = async {
            loop {
                if let Some(at) = self.read.find(text) {
                    let rest = self.read.split_off(at + text.len());
                    return Some(std::mem::replace(&mut self.read, rest));
                }
                let mut bytes = [0; 4096];
                let count = self.stream.read(&mut bytes).await.unwrap_or(0);
                if count == 0 {
                    return None;
                }
                self.read.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        };
        tokio::time::timeout(WATCHDOG, reading).await.unwrap_or_else(|_| panic!("no `{text}`"))
    }

    /// Reads to the end of a long answer, and says whether its last part has a text.
    pub(crate) async fn ends_with(mut self, text: &str) -> bool {
        let mut bytes = Vec::new();
        let reading = self.stream.read_to_end(&mut bytes);
        tokio::time::timeout(WATCHDOG, reading).await.expect("an end").unwrap();
        let from = bytes.len().saturating_sub(4 * text.len() + 4096);
        String::from_utf8_lossy(&bytes[from..]).contains(text)
    }

    /// Reads to the end, and answers what was left.
    pub(crate) async fn rest(mut self) -> String {
        assert_eq!(self.until("\u{0}never").await, None);
        self.read
    }
}
