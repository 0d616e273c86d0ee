//! The one request of a browser that comes back from a login.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::login::LoginAttempt;

/// The head of a request, with everything that a browser adds.
const MAX_HEAD: usize = 32 * 1024;
/// Read at once; most heads are shorter.
const PIECE_BYTES: usize = 2 * 1024;
/// How long a browser may take to send it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections that have not said anything yet. Browsers open a few ahead; with one more, the oldest is closed, so that no
/// program can keep the browser from being heard by holding connections open.
const MOST_CONNECTIONS: usize = 16;
const PATH: &str = "/callback";

/// Waits on this machine for a browser to come back.
pub struct Callback {
    listener: TcpListener,
    port: u16,
}

impl Callback {
    /// Listens at a port of this machine that only programs here can reach; at any that is free, if
    /// none is given.
    pub async fn listen(port: Option<u16>) -> Result<Self, String> {
        let wanted = port.unwrap_or(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).await;
        let listener = listener.and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
        let (port, listener) =
            listener.map_err(|error| format!("port {wanted} of 127.0.0.1 is not free: {error}"))?;
        Ok(Self { listener, port })
    }

    /// The address that the browser is sent back to.
    pub fn redirect(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// The address that the browser came back to. Any page can make a browser ask this address for
    /// something, so all that is not the answer to this login is refused and changes nothing.
    pub async fn redirected(&self, attempt: &Arc<LoginAttempt>) -> String {
        let mut silent = VecDeque::<AbortHandle>::new();
        let (found, mut answers) = mpsc::channel(1);
        loop {
            let accepted = tokio::select! {
                biased;
                Some(answer) = answers.recv() => return answer,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // Too many files are open; others may be closed soon.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let (attempt, found, port) = (Arc::clone(attempt), found.clone(), self.port);
            let heard = tokio::spawn(async move {
                let heard = tokio::time::timeout(PATIENCE, head(stream)).await;
                if let Ok(Some((head, stream))) = heard {
                    // By itself, so that no later connection ends it.
                    tokio::spawn(async move {
                        let redirected = target(&head, port);
                        let redirected = redirected.filter(|url| attempt.is_answered_by(url));
                        let told = answered(stream, redirected.is_some());
                        let _ = tokio::time::timeout(PATIENCE, told).await;
                        if let Some(answer) = redirected {
                            let _ = found.send(answer).await;
                        }
                    });
                }
            });
            silent.retain(|connection| !connection.is_finished());
            silent.push_back(heard.abort_handle());
            if silent.len() > MOST_CONNECTIONS {
                silent.pop_front().into_iter().for_each(|oldest| oldest.abort());
            }
        }
    }
}

/// Shows the browser whether it brought the answer to the login.
async fn answered(mut stream: TcpStream, is_answer: bool) {
    let (status, words) = match is_answer {
        true => ("200 OK", "Toolkiln has the answer. You can close this page."),
        false => ("400 Bad Request", "This is not the answer that Toolkiln waits for."),
    };
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Toolkiln</title><p>{words}</p>\n"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // Whether the browser shows the page does not matter.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// The head of a request, and the connection that it came by; none if it does not come to an end.
async fn head(mut stream: TcpStream) -> Option<(String, TcpStream)> {
    let mut bytes = Vec::new();
    let mut piece = [0; PIECE_BYTES];
    while !bytes.windows(4).any(|four| four == b"\r\n\r\n") {
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        if bytes.len() > MAX_HEAD {
            return None;
        }
    }
    Some((String::from_utf8(bytes).ok()?, stream))
}

/// The whole address that a request asks for, if it asks us.
fn target(head: &str, port: u16) -> Option<String> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next()?.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let is_request = method == "GET" && version.starts_with("HTTP/1.") && words.next().is_none();
    let own = format!("127.0.0.1:{port}");
    let mut hosts = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then_some(value.trim())
    });
    let is_ours = hosts.next() == Some(own.as_str()) && hosts.next().is_none();
    (is_request && is_ours && path.starts_with('/')).then(|| format!("http://{own}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_request_to_this_address_is_read() {
        let of = |head: &str| target(head, 5000);
        let good = "GET /callback?a=b HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n\r\n";
        assert_eq!(of(good).as_deref(), Some("http://127.0.0.1:5000/callback?a=b"));
        for bad in [
            "",
            "GET /callback?a=b HTTP/1.1\r\n\r\n",
            "GET /callback?a=b HTTP/1.1\r\nHost: evil.org\r\n\r\n",
            "GET /callback?a=b HTTP/1.1\r\nHost: 127.0.0.1:5000\r\nHost: evil.org\r\n\r\n",
            "POST /callback?a=b HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n\r\n",
            "GET http://evil.org/callback HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n\r\n",
            "GET /callback b HTTP/1.1\r\nHost: 127.0.0.1:5000\r\n\r\n",
            "GET /callback\r\nHost: 127.0.0.1:5000\r\n\r\n",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
