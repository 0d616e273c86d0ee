//! Encrypted connections, directly and through a proxy.
//!
//! The certificate in `tls/` is for `localhost` and signed by itself; its key is public, being here,
//! and of no use elsewhere.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use net::{Roots, Upstream};
use providers::{Api, HttpProvider};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use testkit::Reply;
use testkit::model_server::WireFormat;

use crate::talk::{config, told};

const CERTIFICATE: &[u8] = include_bytes!("tls/localhost.pem");
const PRIVATE_KEY: &[u8] = include_bytes!("tls/localhost_key.pem");

/// Answers `hello` to one request over TLS, and returns its port.
fn encrypted_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a bound port has a number").port();
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_slice(PRIVATE_KEY).expect("a key");
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_no_client_auth().with_single_cert(chain, key);
    let config = Arc::new(config.expect("the key fits"));
    thread::spawn(move || {
        let (tcp, _) = listener.accept().expect("a client connects");
        let connection = ServerConnection::new(config).expect("a good configuration");
        // A client that does not trust us goes away, which is what one test is about.
        drop(answer(StreamOwned::new(connection, tcp)));
    });
    port
}

fn answer(mut stream: StreamOwned<ServerConnection, TcpStream>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let body = Reply::text("hello").render(WireFormat::Anthropic, 0);
    let length = body.len();
    let kind = "content-type: text/event-stream";
    write!(stream, "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {length}\r\n\r\n")?;
    stream.write_all(&body)?;
    stream.flush()
}

fn provider(port: u16, roots: Roots, proxy: Option<String>) -> HttpProvider {
    let mut config = config(Api::Anthropic, &format!("https://localhost:{port}"));
    config.network.roots = roots;
    config.network.https_proxy = proxy.map(|proxy| Upstream::new(&proxy));
    HttpProvider::new(config).expect("a good configuration")
}

#[tokio::test]
async fn a_trusted_server_is_talked_to() {
    let provider = provider(encrypted_server(), Roots::Pem(CERTIFICATE.to_vec()), None);
    assert_eq!(told(&provider).await, "text \"hello\"\ndone EndOfTurn");
}

#[tokio::test]
async fn a_server_without_a_known_authority_is_not() {
    let other = Roots::Pem(include_bytes!("tls/other.pem").to_vec());
    let told = told(&provider(encrypted_server(), other, None)).await;
    assert!(told.contains("TLS failed: invalid peer certificate"), "{told}");
}

/// Passes one connection on, after checking who asks. Returns its port.
fn proxy() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a bound port has a number").port();
    thread::spawn(move || {
        let (client, _) = listener.accept().expect("a client connects");
        let mut reader = BufReader::new(client.try_clone().expect("a socket can be shared"));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).expect("a request for a tunnel");
        }
        let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
        // `user:word` in base 64.
        let allowed = head.to_ascii_lowercase().contains("proxy-authorization: basic dxnlcjp3b3jk");
        let reply = if allowed { "200 OK" } else { "407 Proxy Authentication Required" };
        write!(&client, "HTTP/1.1 {reply}\r\n\r\n").expect("the client listens");
        let target = target.filter(|_| allowed);
        if let Some(server) = target.and_then(|target| TcpStream::connect(target).ok()) {
            let (mut from, mut to) =
                (client.try_clone().expect("shared"), server.try_clone().expect("shared"));
            thread::spawn(move || drop(io::copy(&mut from, &mut to)));
            drop(io::copy(&mut &server, &mut &client));
        }
    });
    port
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_tunnel() {
    let roots = || Roots::Pem(CERTIFICATE.to_vec());
    let through = |user: &str| Some(format!("http://{user}localhost:{}", proxy()));
    let allowed = provider(encrypted_server(), roots(), through("user:word@"));
    assert_eq!(told(&allowed).await, "text \"hello\"\ndone EndOfTurn");
    let refused = told(&provider(encrypted_server(), roots(), through(""))).await;
    assert!(refused.contains("the proxy refused the connection: "), "{refused}");
}
