use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::IpAddr;

use super::*;

/// Names with what they resolve to, one answer after the other; the last one stays.
#[derive(Debug, Default)]
struct Names(Mutex<BTreeMap<&'static str, Vec<Vec<IpAddr>>>>);

impl NameResolver for Names {
    fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut names = self.0.lock().expect("it is not poisoned");
        let answers = names.get_mut(name).ok_or(ErrorKind::NotFound)?;
        let next = answers.first().cloned().unwrap_or_default();
        if answers.len() > 1 {
            answers.remove(0);
        }
        Ok(next)
    }
}

/// A proxy, in our own network namespace.
struct Bench {
    address: std::net::SocketAddr,
    proxy: Option<Proxy>,
}

impl Bench {
    fn new(allow: &[&str], names: &[(&'static str, &[&[&str]])]) -> Bench {
        Bench::with(allow, names, None)
    }

    fn with(
        allow: &[&str],
        names: &[(&'static str, &[&[&str]])],
        upstream: Option<Upstream>,
    ) -> Bench {
        let address = |text: &&str| text.parse::<IpAddr>().expect("an address");
        let mut known = BTreeMap::new();
        for (name, answers) in names {
            let answers = answers.iter().map(|one| one.iter().map(address).collect());
            known.insert(*name, answers.collect());
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let allow = allow.iter().map(|text| text.parse().expect("an allowance")).collect();
        let rules = NetworkRules { allow, upstream, certificates: None };
        let proxy = Proxy::start(listener.into(), rules, Arc::new(Names(Mutex::new(known))));
        Bench { address, proxy: Some(proxy.expect("a proxy")) }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).expect("it listens")
    }

    /// Sends a request and reads everything that comes back.
    fn ask(&self, request: &str) -> String {
        let mut client = self.connect();
        client.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// The first line and the text of an answer of the proxy.
    fn refusal(&self, request: &str) -> String {
        let answer = self.ask(request);
        let (head, text) = answer.split_once("\r\n\r\n").expect("a head");
        format!("{}: {}", head.lines().next().unwrap_or_default(), text.trim_end())
    }

    fn refused(mut self) -> Vec<String> {
        let refused = self.proxy.take().expect("it runs").finish();
        refused.iter().map(ToString::to_string).collect()
    }
}

/// A server that takes one connection: reads a head, sends it back, and ends.
fn echo(listener: TcpListener) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        let mut reader = BufReader::new(&stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n")
            && reader.read_line(&mut head).is_ok_and(|count| count > 0)
        {}
        (&stream).write_all(format!("saw {head}").as_bytes()).expect("it reads");
    })
}

fn server() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

#[test]
fn what_is_allowed_is_reached_in_both_ways() {
    let (listener, port) = server();
    let bench = Bench::new(&[&format!("127.0.0.1:{port}")], &[]);
    let serving = echo(listener.try_clone().expect("a socket"));
    let answer = bench.ask(&format!("GET http://127.0.0.1:{port}/a HTTP/1.1\r\nX: y\r\n\r\n"));
    let head =
        format!("GET /a HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: y\r\nConnection: close\r\n\r\n");
    assert_eq!(answer, format!("saw {head}"));
    serving.join().expect("it served");
    let serving = echo(listener);
    let answer = bench.ask(&format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\r\n\r\n"));
    assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\nsaw hello\r\n\r\n");
    serving.join().expect("it served");
    assert!(bench.refused().is_empty());
}

#[test]
fn what_is_refused_is_told_with_the_reason() {
    let names: &[(&str, &[&[&str]])] = &[
        ("inside.test", &[&["10.0.0.1"]]),
        ("mixed.test", &[&["1.1.1.1", "::ffff:127.0.0.1"]]),
        ("meta.test", &[&["169.254.169.254"]]),
        ("wide.test", &[&["1.1.1.1"]]),
        ("empty.test", &[&[]]),
    ];
    let bench = Bench::new(&[], names);
    let connect = |authority: &str| bench.refusal(&format!("CONNECT {authority} HTTP/1.1\r\n\r\n"));
    let lines = [
        connect("127.0.0.1:443"),
        connect("[::1]:443"),
        connect("inside.test:443"),
        connect("mixed.test:443"),
        connect("meta.test:80"),
        connect("wide.test:22"),
        connect("empty.test:443"),
        connect("unknown.test:443"),
        connect("127.1:80"),
        bench.refusal("GET http://inside.test/ HTTP/1.1\r\n\r\n"),
        bench.refusal("GET / HTTP/1.1\r\nHost: inside.test\r\n\r\n"),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    HTTP/1.1 403 Forbidden: 127.0.0.1:443 is not allowed for this command: 127.0.0.1 is a loopback address
    HTTP/1.1 403 Forbidden: [::1]:443 is not allowed for this command: ::1 is a loopback address
    HTTP/1.1 403 Forbidden: inside.test:443 is not allowed for this command: 10.0.0.1 is an address of a private network
    HTTP/1.1 403 Forbidden: mixed.test:443 is not allowed for this command: ::ffff:127.0.0.1 is a loopback address
    HTTP/1.1 403 Forbidden: meta.test:80 is not allowed for this command: 169.254.169.254 is the address of a metadata service
    HTTP/1.1 403 Forbidden: wide.test:22 is not allowed for this command: port 22 is not allowed
    HTTP/1.1 502 Bad Gateway: `empty.test` has no address
    HTTP/1.1 502 Bad Gateway: `unknown.test` cannot be resolved: entity not found
    HTTP/1.1 400 Bad Request: this is a proxy for CONNECT and for plain HTTP requests
    HTTP/1.1 403 Forbidden: inside.test:80 is not allowed for this command: 10.0.0.1 is an address of a private network
    HTTP/1.1 400 Bad Request: this is a proxy for CONNECT and for plain HTTP requests
    ");
    insta::assert_snapshot!(bench.refused().join("\n"), @r"
    127.0.0.1:443: 127.0.0.1 is a loopback address
    [::1]:443: ::1 is a loopback address
    inside.test:443: 10.0.0.1 is an address of a private network
    mixed.test:443: ::ffff:127.0.0.1 is a loopback address
    meta.test:80: 169.254.169.254 is the address of a metadata service
    wide.test:22: port 22 is not allowed
    inside.test:80: 10.0.0.1 is an address of a private network
    ");
}

#[test]
fn the_list_of_refused_connections_is_short_and_without_repetitions() {
    let bench = Bench::new(&[], &[]);
    for port in 1..=50 {
        let request = format!("CONNECT 10.0.0.1:{} HTTP/1.1\r\n\r\n", 1 + port / 2);
        assert!(bench.refusal(&request).starts_with("HTTP/1.1 403"));
    }
    let refused = bench.refused();
    assert_eq!(refused.len(), MAX_REFUSED);
    assert_eq!(refused[1], "10.0.0.1:2: 10.0.0.1 is an address of a private network");
}

/// Resolved a second time, the name would lead to another server.
#[test]
fn a_name_is_resolved_once_and_exactly_that_address_is_reached() {
    let (listener, port) = server();
    let other = TcpListener::bind(("127.0.0.2", port)).expect("another address");
    other.set_nonblocking(true).expect("a socket");
    let names: &[(&str, &[&[&str]])] = &[("rebind.test", &[&["127.0.0.1"], &["127.0.0.2"]])];
    let bench = Bench::new(&[&format!("127.0.0.1:{port}")], names);
    let serving = echo(listener);
    let request = format!("CONNECT rebind.test:{port} HTTP/1.1\r\n\r\n\r\n\r\n");
    assert!(bench.ask(&request).starts_with("HTTP/1.1 200"));
    serving.join().expect("it served");
    let request = request.replace("\r\n\r\n\r\n", "\r\n");
    assert!(bench.refusal(&request).contains("127.0.0.2 is a loopback address"));
    let waiting = other.accept().expect_err("no connection");
    assert_eq!(waiting.kind(), ErrorKind::WouldBlock);
}

#[test]
fn heads_are_bounded() {
    let bench = Bench::new(&[], &[]);
    let long = format!("GET http://x.test/ HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(1 << 17));
    let refusal = bench.refusal(&long);
    assert!(refusal.starts_with("HTTP/1.1 431"), "{refusal}");
    assert!(bench.refusal("\r\n\r\n").starts_with("HTTP/1.1 400"));
}

/// More connections than are served at once wait, and are served when others end.
#[test]
fn silent_clients_do_not_keep_others_out_for_good() {
    let bench = Bench::new(&[], &[]);
    let mut silent: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(|_| bench.connect()).collect();
    let mut client = bench.connect();
    client.write_all(b"CONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n").expect("it is queued");
    silent.pop();
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

/// Whatever a connection is doing: waiting for a head, for a name, for a server, or passing bytes on.
#[test]
fn the_end_of_the_command_ends_every_connection() {
    #[derive(Debug)]
    struct Never(Mutex<std::sync::mpsc::Receiver<()>>);
    impl NameResolver for Never {
        fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
            let _ = self.0.lock().expect("it is not poisoned").recv();
            Ok(Vec::new())
        }
    }
    let (keep, never) = std::sync::mpsc::channel();
    let (listener, port) = server();
    let front = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = front.local_addr().expect("an address");
    let allow = vec![format!("127.0.0.1:{port}").parse().expect("an allowance")];
    let rules = NetworkRules { allow, ..NetworkRules::default() };
    let proxy = Proxy::start(front.into(), rules, Arc::new(Never(Mutex::new(never))));
    let requests = [
        "GET".to_owned(),
        "CONNECT slow.test:443 HTTP/1.1\r\n\r\n".to_owned(),
        format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n"),
    ];
    let clients: Vec<TcpStream> = requests
        .iter()
        .map(|request| {
            let mut client = TcpStream::connect(address).expect("it listens");
            client.write_all(request.as_bytes()).expect("it reads");
            client
        })
        .collect();
    let (mut server_side, _) = listener.accept().expect("a connection");
    drop(proxy);
    for mut client in clients {
        // An end or a reset, but no more waiting.
        let _ = client.read_to_end(&mut Vec::new());
    }
    assert_eq!(server_side.read(&mut [0; 8]).unwrap_or(0), 0);
    assert!(TcpStream::connect(address).is_err(), "the proxy has stopped listening");
    drop(keep);
}

/// An upstream proxy that answers one request after the other and tells what it saw.
fn upstream(user: &str, answers: Vec<&'static str>) -> (Upstream, JoinHandle<Vec<String>>) {
    let (listener, port) = server();
    let serving = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for answer in answers {
            let (stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(&stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(reader.read_line(&mut head).is_ok_and(|count| count > 0), "{head}");
            }
            (&stream).write_all(answer.as_bytes()).expect("it reads");
            let _ = stream.shutdown(Shutdown::Write);
            let mut rest = String::new();
            let _ = reader.read_to_string(&mut rest);
            seen.push(head + &rest);
        }
        seen
    });
    (Upstream::new(&format!("http://{user}127.0.0.1:{port}")), serving)
}

#[test]
fn an_upstream_proxy_resolves_names_and_is_asked_for_nothing_private() {
    let answers =
        vec!["HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.1 407 No\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"];
    let (upstream, serving) = upstream("", answers);
    let bench = Bench::with(
        &[],
        &[("direct.test", &[&["10.0.0.1"]])],
        Some(upstream.except("direct.test")),
    );
    let connect = |authority: &str| bench.refusal(&format!("CONNECT {authority} HTTP/1.1\r\n\r\n"));
    let lines = [
        connect("10.0.0.1:443"),
        connect("[::ffff:10.0.0.1]:443"),
        connect("localhost:80"),
        connect("metadata.google.internal:80"),
        connect("x.org:22"),
        connect("direct.test:443"),
        bench.refusal("POST http://x.org/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        connect("x.org:443"),
        connect("x.org:443"),
        // What follows the body is not for the upstream proxy, which would take it for a request.
        bench.refusal(
            "POST http://x.org/a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiGET http://10.0.0.1/ HTTP/1.1\r\n\r\n",
        ),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r"
    HTTP/1.1 403 Forbidden: 10.0.0.1:443 is not allowed for this command: 10.0.0.1 is an address of a private network
    HTTP/1.1 403 Forbidden: [::ffff:10.0.0.1]:443 is not allowed for this command: ::ffff:10.0.0.1 is an address of a private network
    HTTP/1.1 403 Forbidden: localhost:80 is not allowed for this command: `localhost` is a name of a private network
    HTTP/1.1 403 Forbidden: metadata.google.internal:80 is not allowed for this command: `metadata.google.internal` is a name of a private network
    HTTP/1.1 403 Forbidden: x.org:22 is not allowed for this command: port 22 is not allowed
    HTTP/1.1 403 Forbidden: direct.test:443 is not allowed for this command: 10.0.0.1 is an address of a private network
    HTTP/1.1 411 Length Required: the request does not give the length of its body
    HTTP/1.1 200 Connection established: hello
    HTTP/1.1 502 Bad Gateway: the upstream proxy answered 407
    HTTP/1.1 200 OK:
    ");
    insta::assert_snapshot!(serving.join().expect("it served").join("---\n").replace('\r', ""), @r"
    CONNECT x.org:443 HTTP/1.1
    Host: x.org:443

    ---
    CONNECT x.org:443 HTTP/1.1
    Host: x.org:443

    ---
    POST http://x.org/a HTTP/1.1
    Host: x.org
    Content-Length: 2
    Connection: close

    hi
    ");
}

/// Some proxies repeat a request in their answer, and a command reads what comes back.
#[test]
fn a_password_for_the_upstream_proxy_is_said_only_when_a_tunnel_is_asked_for() {
    let (upstream, serving) = upstream(
        "me:secret@",
        vec![
            "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 204 From x.org\r\n\r\n",
            "HTTP/1.1 407 No\r\nA: secret\r\n\r\nsecret",
        ],
    );
    let bench = Bench::with(&[], &[], Some(upstream));
    let request = "TRACE http://x.org/ HTTP/1.1\r\nMax-Forwards: 0\r\n\r\n";
    assert_eq!(bench.refusal(request), "HTTP/1.1 204 From x.org: ");
    assert_eq!(bench.refusal(request), "HTTP/1.1 502 Bad Gateway: the upstream proxy answered 407");
    let seen = serving.join().expect("it served").join("---\n").replace('\r', "");
    insta::assert_snapshot!(seen, @r"
    CONNECT x.org:80 HTTP/1.1
    Host: x.org:80
    Proxy-Authorization: Basic bWU6c2VjcmV0

    TRACE / HTTP/1.1
    Host: x.org
    Max-Forwards: 0
    Connection: close

    ---
    CONNECT x.org:80 HTTP/1.1
    Host: x.org:80
    Proxy-Authorization: Basic bWU6c2VjcmV0
    ");
}

#[test]
fn an_upstream_proxy_that_cannot_be_used_is_not_gone_around() {
    let (listener, port) = server();
    listener.set_nonblocking(true).expect("a socket");
    let allow = format!("127.0.0.1:{port}");
    let bench = Bench::with(&[&allow], &[], Some(Upstream::new("socks5://proxy:1080")));
    let refusal = bench.refusal(&format!("CONNECT {allow} HTTP/1.1\r\n\r\n"));
    assert_eq!(
        refusal,
        "HTTP/1.1 502 Bad Gateway: only upstream proxies such as http://user:password@host:port can be used"
    );
    assert!(listener.accept().is_err(), "no connection");
}
