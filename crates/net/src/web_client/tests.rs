//! Attacks on an exchange, each with a control that passes.

mod encrypted;
mod server;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use self::server::{LoopbackServer, answer, call, fetch, redirect_to};
use super::*;
use crate::upstream::Upstream;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn every_form_of_an_address_that_is_not_public_is_refused() {
    let server = LoopbackServer::start(|_| answer("200 OK", "", "secret"));
    let port = server.port;
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "100.64.0.1",
        "198.18.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "metadata.test",
    ] {
        for place in [format!("http://{host}/"), format!("http://{host}:{port}/")] {
            let refused = fetch(&server.public_client(), &place).await;
            let is_refused = matches!(&refused, Err(WebError::Refused { .. }));
            assert!(is_refused, "{place}: {refused:?}");
        }
    }
    assert_eq!(server.heads().len(), 0, "nothing was connected to");
    let reply = fetch(&server.client(), &format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(reply.expect("it is allowed").body, b"secret");
}

#[tokio::test]
async fn a_redirect_is_judged_like_the_first_address() {
    let server = LoopbackServer::start(|head| match head.split(' ').nth(1) {
        Some("/metadata") => redirect_to("302 Found", "http://169.254.169.254/latest/meta-data/"),
        Some("/number") => redirect_to("307 Temporary Redirect", "http://2852039166/"),
        Some("/rebound") => redirect_to("301 Moved Permanently", "http://metadata.test/"),
        Some("/file") => redirect_to("302 Found", "file:///etc/passwd"),
        Some("/user") => redirect_to("302 Found", "http://me:word@b.test/"),
        Some("/inside") => redirect_to("302 Found", "/there"),
        _ => answer("200 OK", "", "there"),
    });
    for path in ["metadata", "number", "rebound", "file", "user"] {
        let refused = fetch(&server.client(), &server.url("a.test", path)).await;
        assert!(matches!(refused, Err(WebError::Refused { .. })), "{path}: {refused:?}");
    }
    let reply = fetch(&server.client(), &server.url("a.test", "inside")).await.expect("allowed");
    assert_eq!(
        (reply.url.to_string(), reply.body),
        (server.url("a.test", "there"), b"there".to_vec())
    );
}

#[tokio::test]
async fn so_many_redirects_are_followed_and_no_more() {
    let server = LoopbackServer::start(|head| {
        let path = head.split(' ').nth(1).unwrap_or_default();
        match path.trim_start_matches('/').parse::<usize>() {
            Ok(0) | Err(_) => answer("200 OK", "", "end"),
            Ok(more) => redirect_to("302 Found", &format!("/{}", more - 1)),
        }
    });
    let five =
        fetch(&server.client(), &server.url("a.test", "5")).await.expect("five are followed");
    assert_eq!(five.body, b"end");
    let six = fetch(&server.client(), &server.url("a.test", "6")).await.expect_err("six are not");
    assert!(six.to_string().contains("redirects more than 5 times"), "{six}");
}

#[tokio::test]
async fn credentials_stay_at_the_first_origin_and_return_to_none() {
    let server = LoopbackServer::start(|head| {
        let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let port = host.rsplit(':').next().unwrap_or_default();
        match (head.split(' ').nth(1), host.starts_with("a.test")) {
            (Some("/first"), _) => redirect_to("302 Found", "/second"),
            (Some("/second"), true) => {
                redirect_to("302 Found", &format!("http://b.test:{port}/second"))
            }
            (Some("/second"), false) => {
                redirect_to("302 Found", &format!("http://a.test:{port}/back"))
            }
            _ => answer("200 OK", "", "end"),
        }
    });
    let mut call = call(&server.url("a.test", "first"));
    let secret = |text: &'static str| {
        let mut value = HeaderValue::from_static(text);
        value.set_sensitive(true);
        value
    };
    call.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer secret-1"));
    call.headers.insert(COOKIE, HeaderValue::from_static("id=secret-2"));
    call.headers.insert("x-key", secret("secret-3"));
    call.headers.insert("x-plain", HeaderValue::from_static("open"));
    server.client().fetch(call, &|_| Ok(())).await.expect("it ends");
    let secrets: Vec<_> = server
        .heads()
        .iter()
        .map(|head| (head.matches("secret-").count(), head.matches("x-plain: open").count()))
        .collect();
    assert_eq!(secrets, [(3, 1), (3, 1), (0, 1), (0, 1)]);
}

#[tokio::test]
async fn another_origin_is_a_matter_for_the_caller_and_a_body_never_goes_there() {
    let server = LoopbackServer::start(|head| {
        let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        let port = host.rsplit(':').next().unwrap_or_default();
        let there = format!("http://b.test:{port}/");
        match head.split(' ').nth(1) {
            Some("/keep") => redirect_to("307 Temporary Redirect", &there),
            Some("/other") => redirect_to("303 See Other", &there),
            _ => answer("200 OK", "", "end"),
        }
    });
    let post = |path: &str| WebCall {
        method: Method::POST,
        body: Some(Bytes::from_static(b"mine")),
        ..call(&server.url("a.test", path))
    };
    let client = server.client();
    let kept = client.fetch(post("keep"), &|_| Ok(())).await.expect("an answer");
    assert_eq!(kept.status, 307);
    let why = kept.not_followed.expect("it is not followed").why;
    assert_eq!(why, "what was sent is not sent to another server");
    let asked = client.fetch(post("other"), &|_| Err("ask first".into())).await.expect("an answer");
    let not_followed = asked.not_followed.expect("it is not followed");
    assert_eq!(
        (not_followed.to.to_string(), not_followed.why),
        (server.url("b.test", ""), "ask first".into())
    );
    let followed = client.fetch(post("other"), &|_| Ok(())).await.expect("an answer");
    assert_eq!(followed.body, b"end");
    let heads = server.heads();
    let last = heads.last().expect("there were requests");
    assert!(last.starts_with("GET / ") && !last.contains("content-length"), "{last}");
}

#[test]
fn nothing_goes_from_https_to_http() {
    let call = |url: &str| call(url);
    let judged = |from: &str, to: &str| may_go_on(&call(from), &call(to), &|_| Err("asked".into()));
    let down = judged("https://x.org/", "http://x.org/");
    assert_eq!(down, Err("it leads from https to http".into()));
    assert_eq!(judged("http://x.org/", "https://x.org/a"), Ok(()));
    assert_eq!(judged("https://x.org/", "https://x.org/a"), Ok(()));
    for other in ["https://y.org/", "https://x.org:8443/", "https://www.x.org/"] {
        assert_eq!(judged("http://x.org/", other), Err("asked".into()), "{other}");
    }
}

#[tokio::test]
async fn an_endless_body_is_cut_and_a_slow_one_ends_with_the_time() {
    let server = LoopbackServer::start_raw(|head, socket| {
        let start = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n";
        let _ = socket.write_all(start.as_bytes());
        if head.starts_with("GET /endless ") {
            while socket.write_all(&[b'x'; 4096]).is_ok() {}
        } else {
            // Until the client leaves.
            let _ = std::io::Read::read(socket, &mut [0]);
        }
    });
    let endless = fetch(&server.client(), &server.url("a.test", "endless")).await.expect("cut");
    assert_eq!((endless.body.len(), endless.is_cut), (server::MAX_BODY, true));
    let slow =
        WebCall { timeout: Duration::from_millis(50), ..call(&server.url("a.test", "slow")) };
    let slow = server.client().fetch(slow, &|_| Ok(())).await.expect_err("it never ends");
    assert_eq!(slow, WebError::TimedOut(Duration::from_millis(50)));
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    GzEncoder::new(&mut out, Compression::best()).write_all(bytes).expect("memory");
    out
}

#[tokio::test]
async fn a_bomb_is_unpacked_no_further_than_the_limit() {
    let (bomb, twice) = (gzipped(&vec![0; 64 * 1024 * 1024]), gzipped(&gzipped(b"twice")));
    let server = LoopbackServer::start_raw(move |head, socket| {
        let (encoding, body): (&str, &[u8]) = match head.split(' ').nth(1) {
            Some("/bomb") => ("content-encoding: gzip\r\n", &bomb),
            Some("/small") => ("content-encoding: gzip\r\n", &gzipped(b"small")),
            Some("/twice") => ("content-encoding: gzip, gzip\r\n", &twice),
            Some("/lines") => ("content-encoding: gzip\r\ncontent-encoding: gzip\r\n", &twice),
            _ => ("content-encoding: br\r\n", b"?"),
        };
        let head = format!("HTTP/1.1 200 OK\r\n{encoding}content-length: {}\r\n\r\n", body.len());
        let _ = socket.write_all(head.as_bytes()).and_then(|()| socket.write_all(body));
    });
    let get = async |path: &str| fetch(&server.client(), &server.url("a.test", path)).await;
    let bomb = get("bomb").await.expect("it is cut");
    assert_eq!((bomb.body.len(), bomb.is_cut), (server::MAX_BODY, true));
    let small = get("small").await.expect("it is whole");
    assert_eq!((small.body.as_slice(), small.is_cut), (&b"small"[..], false));
    for path in ["twice", "lines", "brotli"] {
        let error = get(path).await.expect_err("only gzip is understood").to_string();
        assert!(error.contains("only gzip is understood"), "{error}");
    }
}

#[tokio::test]
async fn a_head_is_bounded_and_cannot_be_split() {
    let server = LoopbackServer::start(|head| match head.split(' ').nth(1) {
        Some("/long") => answer("200 OK", &format!("x-long: {}\r\n", "y".repeat(100_000)), "x"),
        Some("/many") => answer("200 OK", &"x-many: y\r\n".repeat(5_000), "x"),
        _ => answer("200 OK", "x-short: y\r\n", "fine"),
    });
    for path in ["long", "many"] {
        let error = fetch(&server.client(), &server.url("a.test", path)).await;
        assert!(matches!(error, Err(WebError::Failed(_))), "{path}: {error:?}");
    }
    let fine = fetch(&server.client(), &server.url("a.test", "fine")).await.expect("an answer");
    assert_eq!(fine.headers["x-short"], "y");
    for bad in ["a\r\nb: c", "a\nb", "a\0"] {
        assert!(HeaderValue::from_str(bad).is_err(), "{bad:?}");
    }
}

#[tokio::test]
async fn a_proxy_resolves_names_and_is_not_asked_for_what_is_refused() {
    let proxy = LoopbackServer::start(|_| answer("200 OK", "", "by proxy"));
    let address = format!("http://me:word@127.0.0.1:{}", proxy.port);
    let http_proxy = Some(Upstream::new(&address).except("a.test"));
    let network = Network { http_proxy, ..proxy.network() };
    let client = WebClient::new(&network, Reach::Public).expect("a proxy");
    let reply = fetch(&client, "http://x.example/y?z").await.expect("the proxy answers");
    assert_eq!(reply.body, b"by proxy");
    let heads = proxy.heads();
    assert!(heads[0].starts_with("GET http://x.example/y?z HTTP/1.1\r\n"), "{heads:?}");
    assert!(heads[0].contains("proxy-authorization: Basic bWU6d29yZA=="), "{heads:?}");
    for place in [
        "http://10.0.0.1/",
        "http://2130706433/",
        "http://localhost/",
        "http://box/",
        "http://x.org:22/",
    ] {
        let refused = fetch(&client, place).await;
        assert!(matches!(refused, Err(WebError::Refused { .. })), "{place}: {refused:?}");
    }
    // What is reached without the proxy is judged by its address.
    let direct = fetch(&client, "http://a.test/").await.expect_err("it leads to this machine");
    assert!(direct.to_string().contains("127.0.0.1 is a loopback address"), "{direct}");
    assert_eq!(proxy.heads().len(), 1);
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_not_gone_around() {
    let network = Network {
        https_proxy: Some(Upstream::new("socks5://127.0.0.1:1080")),
        ..Network::default()
    };
    let error = WebClient::new(&network, Reach::Public).expect_err("not an HTTP proxy");
    assert_eq!(error.to_string(), "the proxy address is not valid: write it as http://host:port");
}
