//! A server on this machine that says what a test wants, and names that lead to it.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;
use crate::dial::Dialer;
use crate::resolver::NameResolver;

/// What tests read of an answer.
pub(super) const MAX_BODY: usize = 100_000;

pub(super) struct LoopbackServer {
    pub(super) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

/// `a.test` and `b.test` are this machine; `metadata.test` is a metadata service.
#[derive(Debug)]
struct TestNames;

impl NameResolver for TestNames {
    fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec![match name {
            "metadata.test" => Ipv4Addr::new(169, 254, 169, 254).into(),
            _ => Ipv4Addr::LOCALHOST.into(),
        }])
    }
}

pub(super) fn names() -> Dialer {
    Dialer::new(Arc::new(TestNames))
}

impl LoopbackServer {
    /// Answers every request with bytes, and closes.
    pub(super) fn start(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::start_raw(move |head, socket| {
            let _ = socket.write_all(answer(head).as_bytes());
        })
    }

    /// Leaves the socket to the test.
    pub(super) fn start_raw(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (noted, answer) = (Arc::clone(&heads), Arc::new(answer));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (mut socket, noted, answer) = (socket, Arc::clone(&noted), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let head = head_of(&mut socket);
                    if !head.is_empty() {
                        noted.lock().expect("no panic").push(head.clone());
                        answer(&head, &mut socket);
                    }
                });
            }
        });
        Self { port, heads }
    }

    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }

    pub(super) fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}/{path}", self.port)
    }

    pub(super) fn network(&self) -> Network {
        Network { dialer: names(), ..Network::default() }
    }

    /// Reaches this server too.
    pub(super) fn client(&self) -> WebClient {
        let allowance = format!("127.0.0.1:{}", self.port).parse().expect("an allowance");
        WebClient::new(&self.network(), Reach::Besides(vec![allowance])).expect("no proxy")
    }

    pub(super) fn public_client(&self) -> WebClient {
        WebClient::new(&self.network(), Reach::Public).expect("no proxy")
    }
}

fn head_of(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).is_ok_and(|count| count > 0) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

pub(super) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

pub(super) fn redirect_to(status: &str, place: &str) -> String {
    answer(status, &format!("location: {place}\r\n"), "")
}

pub(super) fn call(url: &str) -> WebCall {
    WebCall {
        method: Method::GET,
        url: WebUrl::parse(url).expect(url),
        headers: HeaderMap::new(),
        body: None,
        timeout: 30 * SECOND,
        max_body: MAX_BODY,
    }
}

pub(super) async fn fetch(client: &WebClient, url: &str) -> Result<WebReply, WebError> {
    client.fetch(call(url), &|_| Ok(())).await
}
