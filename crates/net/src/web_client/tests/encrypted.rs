//! Encrypted exchanges: HTTP/2 where the server has it, and certificates that are checked.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;

use super::*;
use crate::transport::Roots;

/// For `localhost`, signed by itself.
const CERTIFICATE: &[u8] = include_bytes!("../../../../providers/tests/it/tls/localhost.pem");
const PRIVATE_KEY: &[u8] = include_bytes!("../../../../providers/tests/it/tls/localhost_key.pem");
const OTHER: &[u8] = include_bytes!("../../../../providers/tests/it/tls/other.pem");

/// Answers with the version of HTTP that it was asked in.
async fn version_server(protocols: &[&[u8]]) -> u16 {
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_slice(PRIVATE_KEY).expect("a key");
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    let config = config.expect("usual versions").with_no_client_auth();
    let mut config = config.with_single_cert(chain, key).expect("they belong together");
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else { return };
                let service = service_fn(|request: Request<Incoming>| async move {
                    let version = format!("{:?}", request.version());
                    Ok::<_, Infallible>(Response::new(http_body_util::Full::new(Bytes::from(
                        version,
                    ))))
                });
                let builder = auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    port
}

fn client(port: u16, roots: &[u8]) -> WebClient {
    let allowances = [format!("127.0.0.1:{port}"), format!("[::1]:{port}")];
    let allowances = allowances.iter().map(|text| text.parse().expect("an allowance"));
    let network = Network {
        roots: Roots::Pem(roots.to_vec()),
        dialer: server::names(),
        ..Network::default()
    };
    WebClient::new(&network, Reach::Besides(allowances.collect())).expect("no proxy")
}

#[tokio::test]
async fn the_newest_version_that_both_have_is_spoken() {
    let table: [(&[&[u8]], &str); 3] =
        [(&[b"h2", b"http/1.1"], "HTTP/2.0"), (&[b"http/1.1"], "HTTP/1.1"), (&[], "HTTP/1.1")];
    for (protocols, expected) in table {
        let port = version_server(protocols).await;
        let reply = fetch(&client(port, CERTIFICATE), &format!("https://localhost:{port}/")).await;
        let body = reply.expect("an answer").body;
        assert_eq!(String::from_utf8_lossy(&body), expected);
    }
}

#[tokio::test]
async fn a_certificate_of_another_is_not_trusted() {
    let port = version_server(&[b"h2"]).await;
    let url = format!("https://localhost:{port}/");
    let error = fetch(&client(port, OTHER), &url).await.expect_err("not trusted").to_string();
    assert!(error.contains("TLS failed"), "{error}");
    let other = format!("https://a.test:{port}/");
    let error = fetch(&client(port, CERTIFICATE), &other).await.expect_err("another name");
    assert!(error.to_string().contains("TLS failed"), "{error}");
    assert!(fetch(&client(port, CERTIFICATE), &url).await.is_ok());
}
