//! The service as those see it who run it: over real connections, with little room.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use tokio_util::sync::CancellationToken;

use super::{Bounds, HealthCheck, OperationSettings, TelemetryCounts, enter};
use crate::credentials::Secrets;
use crate::{SessionHub, WebApp, listen, routes, serve};

/// How long a test waits for what must come.
const WATCHDOG: Duration = Duration::from_secs(30);
/// What must never be in a log.
const SECRET: &str = "s3cr3t-m4rk";

struct Running {
    address: SocketAddr,
    app: Arc<WebApp>,
    secrets: Secrets,
    told: Arc<Mutex<Vec<String>>>,
    stop: CancellationToken,
}

struct Broken;

#[async_trait]
impl HealthCheck for Broken {
    fn name(&self) -> &'static str {
        "database"
    }

    async fn problem(&self) -> Option<String> {
        Some("db.internal refused the connection".to_owned())
    }
}

impl Running {
    async fn start(bounds: Bounds, checks: Vec<Box<dyn HealthCheck>>) -> Self {
        let (listeners, site) = listen(([127, 0, 0, 1], 0).into(), None).await.unwrap();
        let address: SocketAddr = site.url().strip_prefix("http://").unwrap().parse().unwrap();
        let secrets = Secrets::generate().unwrap();
        let told = Arc::<Mutex<Vec<String>>>::default();
        let (lines, records) = (Arc::clone(&told), Arc::clone(&told));
        let log = Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned()));
        let (app, _) = WebApp::new(SessionHub::new(Vec::new()), site, &secrets, log).unwrap();
        app.operate(OperationSettings {
            bounds,
            request_log: Some(Arc::new(move |record| {
                records.lock().unwrap().push(serde_json::to_string(record).unwrap());
            })),
            checks,
            telemetry: Some(Box::new(|| {
                Some(TelemetryCounts { sent: 5, dropped: 2, failed_requests: 1 })
            })),
        });
        let stop = CancellationToken::new();
        tokio::spawn(serve(listeners, Arc::clone(&app), stop.clone()));
        Self { address, app, secrets, told, stop }
    }

    fn token(&self) -> String {
        format!("authorization: Bearer {}\r\n", self.secrets.all)
    }

    /// A connection on which a request was sent.
    async fn send(&self, target: &str, headers: &str) -> TcpStream {
        let text = format!("{target} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n", self.address);
        self.send_raw(text).await
    }

    async fn send_raw(&self, text: String) -> TcpStream {
        let address = self.address;
        let sent = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(WATCHDOG)).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        });
        sent.await.unwrap()
    }

    /// The whole answer to a request.
    async fn get(&self, target: &str, headers: &str) -> String {
        let stream = self.send(target, &format!("{headers}connection: close\r\n")).await;
        read(stream, None).await.1
    }
}

/// Reads until a text has come, or to the end.
async fn read(mut stream: TcpStream, until: Option<&'static str>) -> (TcpStream, String) {
    let reading = tokio::task::spawn_blocking(move || {
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        while let Ok(length @ 1..) = stream.read(&mut piece) {
            seen.extend_from_slice(&piece[..length]);
            let text = String::from_utf8_lossy(&seen);
            if until.is_some_and(|until| text.contains(until)) {
                break;
            }
        }
        (stream, String::from_utf8_lossy(&seen).into_owned())
    });
    reading.await.unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_answer_every_client_under_any_name_and_tell_nothing() {
    let service = Running::start(Bounds::default(), vec![Box::new(Broken)]).await;
    let probe = |path: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: 10.0.0.7:8080\r\nconnection: close\r\n\r\n")
    };
    let (_, well) = read(service.send_raw(probe("/healthz")).await, None).await;
    assert_eq!((status(&well), body(&well)), ("200", "ok\n"));
    let (_, ready) = read(service.send_raw(probe("/readyz")).await, None).await;
    assert_eq!((status(&ready), body(&ready)), ("503", r#"{"ready":false,"failed":["database"]}"#));
    assert!(ready.contains("retry-after: 2\r\n") && !ready.contains("db.internal"));
    let told = service.told.lock().unwrap().join("\n");
    assert!(told.contains("not ready: database: db.internal refused the connection"), "{told}");
    // What the name of the host is for everything else.
    let (_, other) = read(service.send_raw(probe("/api")).await, None).await;
    assert_eq!(status(&other), "421");
    assert_eq!(status(&service.get("POST /healthz", "content-length: 0\r\n").await), "405");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_ending_is_not_ready() {
    let service = Running::start(Bounds::default(), Vec::new()).await;
    assert_eq!(body(&service.get("GET /readyz", "").await), r#"{"ready":true,"failed":[]}"#);
    service.app.closing.cancel();
    // Connections are ending too, so that the request takes the way of one that had been accepted before.
    let request = Request::get("/readyz").body(Body::empty()).unwrap();
    let (app, client) = (Arc::clone(&service.app), Arc::default());
    let answer = enter(app, Router::new(), client, request).await.unwrap();
    assert_eq!(answer.status(), 503);
    service.stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_programs_of_this_machine_and_for_those_with_a_token() {
    let service = Running::start(Bounds::default(), Vec::new()).await;
    let token = service.token();
    let cases = [
        ("", "200"),
        (token.as_str(), "200"),
        // A page in a browser, and a proxy that speaks for another client.
        ("origin: https://evil.example\r\n", "403"),
        ("sec-fetch-site: cross-site\r\n", "403"),
        ("x-forwarded-for: 203.0.113.7\r\n", "401"),
        ("forwarded: for=203.0.113.7\r\n", "401"),
    ];
    for (headers, expected) in cases {
        let answer = service.get("GET /metrics", headers).await;
        assert_eq!(status(&answer), expected, "{headers}");
        assert_eq!(answer.contains("toolkiln_build_info"), expected == "200");
    }
    let rebound = "GET /metrics HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    let (_, answer) = read(service.send_raw(rebound.to_owned()).await, None).await;
    assert_eq!(status(&answer), "421");
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_proxy_metrics_need_a_token() {
    let (listeners, site) =
        listen(([127, 0, 0, 1], 0).into(), Some("https://kiln.example.org")).await.unwrap();
    let address = listeners.address().unwrap();
    let secrets = Secrets::generate().unwrap();
    let hub = SessionHub::new(Vec::new());
    let (app, _) = WebApp::new(hub, site, &secrets, Arc::new(|_: &str| ())).unwrap();
    let stop = CancellationToken::new();
    tokio::spawn(serve(listeners, Arc::clone(&app), stop.clone()));
    let told = Arc::default();
    let service = Running { address, app, secrets, told, stop };
    for (headers, expected) in [(String::new(), "401"), (service.token(), "200")] {
        let text = format!(
            "GET /metrics HTTP/1.1\r\nhost: kiln.example.org\r\nconnection: close\r\n{headers}\r\n"
        );
        let (_, answer) = read(service.send_raw(text).await, None).await;
        assert_eq!(status(&answer), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_say_what_was_done() {
    let service = Running::start(Bounds::default(), Vec::new()).await;
    let token = service.token();
    for (target, headers) in [
        ("GET /api/sessions", token.as_str()),
        ("GET /api/sessions/nope/timeline", token.as_str()),
        ("GET /api/sessions", ""),
        ("GET /nothing", ""),
        ("BREW /healthz", ""),
    ] {
        service.get(target, headers).await;
    }
    let metrics = service.get("GET /metrics", "").await;
    // Times differ from run to run.
    let told: Vec<&str> = body(&metrics)
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter(|line| !line.contains("_bucket{") && !line.contains("_sum{"))
        .filter(|line| !line.starts_with("process_start"))
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    toolkiln_build_info{version="0.1.0"} 1
    toolkiln_ending 0
    toolkiln_sessions{state="idle"} 0
    toolkiln_sessions{state="paused"} 0
    toolkiln_sessions{state="waiting"} 0
    toolkiln_sessions{state="working"} 0
    toolkiln_messages_queued 0
    toolkiln_approvals_waiting 0
    toolkiln_projects 0
    toolkiln_http_requests_in_flight 0
    toolkiln_http_requests_in_flight_limit 512
    toolkiln_streams_open 0
    toolkiln_streams_open_limit 400
    toolkiln_http_requests_total{method="GET",route="/api/sessions",status="200"} 1
    toolkiln_http_requests_total{method="GET",route="/api/sessions",status="401"} 1
    toolkiln_http_requests_total{method="GET",route="/api/sessions/{session}/timeline",status="404"} 1
    toolkiln_http_requests_total{method="GET",route="other",status="404"} 1
    toolkiln_http_requests_total{method="OTHER",route="/healthz",status="405"} 1
    toolkiln_http_request_duration_seconds_count{route="/api/sessions"} 2
    toolkiln_http_request_duration_seconds_count{route="/api/sessions/{session}/timeline"} 1
    toolkiln_http_request_duration_seconds_count{route="/healthz"} 1
    toolkiln_http_request_duration_seconds_count{route="other"} 1
    toolkiln_http_refused_total{reason="unknown_client"} 1
    toolkiln_log_entries_total 0
    toolkiln_telemetry_spans_total{outcome="sent"} 5
    toolkiln_telemetry_spans_total{outcome="dropped"} 2
    toolkiln_telemetry_failed_requests_total 1
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_streams_is_told_to_come_back_and_probes_are_answered() {
    let bounds = Bounds { streams: 3, ..Bounds::default() };
    let service = Running::start(bounds, Vec::new()).await;
    let token = service.token();
    let mut open = Vec::new();
    for _ in 0..bounds.streams {
        let stream = service.send("GET /api/events", &token).await;
        open.push(read(stream, Some("hello")).await.0);
    }
    for _ in 0..20 {
        let answer = service.get("GET /api/events", &token).await;
        assert_eq!(status(&answer), "503");
        assert!(answer.contains("retry-after: 2\r\n"), "{answer}");
        assert!(answer.contains(r#""code":"OVERLOADED""#) && answer.contains("3 streams are open"));
    }
    assert_eq!(status(&service.get("GET /healthz", "").await), "200");
    let metrics = service.get("GET /metrics", "").await;
    assert!(metrics.contains("toolkiln_http_shed_total{what=\"stream\"} 20\n"), "{metrics}");
    assert!(metrics.contains("toolkiln_streams_open 3\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_beyond_those_in_flight_are_turned_away_but_probes_are_not() {
    let bounds = Bounds { in_flight: 2, ..Bounds::default() };
    let service = Running::start(bounds, Vec::new()).await;
    let token = service.token();
    // Two requests whose bodies never end.
    let waiting = format!("{token}content-type: application/json\r\ncontent-length: 10\r\n");
    let mut held = Vec::new();
    for _ in testkit::in_time("the two requests") {
        if service.app.operation().room.requests_in_flight() == bounds.in_flight {
            break;
        }
        if held.len() < bounds.in_flight {
            held.push(service.send("POST /api/sessions", &waiting).await);
        }
        tokio::task::yield_now().await;
    }
    for _ in 0..50 {
        let answer = service.get("GET /api/sessions", &token).await;
        assert!(status(&answer) == "503" && answer.contains("OVERLOADED"), "{answer}");
        assert_eq!(status(&service.get("GET /healthz", "").await), "200");
        assert_eq!(status(&service.get("GET /readyz", "").await), "200");
        assert_eq!(status(&service.get("GET /metrics", "").await), "200");
    }
    drop(held);
    for _ in testkit::in_time("the end of the two requests") {
        if service.app.operation().room.requests_in_flight() == 0 {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&service.get("GET /api/sessions", &token).await), "200");
}

#[tokio::test(flavor = "multi_thread")]
async fn when_all_connections_are_taken_one_more_is_told_so_at_once() {
    let bounds = Bounds { connections: 2, spare_connections: 1, ..Bounds::default() };
    let service = Running::start(bounds, Vec::new()).await;
    let token = service.token();
    let mut held = Vec::new();
    for _ in 0..bounds.connections {
        let stream = service.send("GET /api/sessions", &token).await;
        held.push(read(stream, Some("\"sessions\"")).await.0);
    }
    for _ in 0..10 {
        let answer = service.get("GET /api/sessions", &token).await;
        assert_eq!(status(&answer), "503", "{answer}");
        assert!(answer.contains("connection: close") && answer.contains("2 connections are open"));
        assert_eq!(status(&service.get("GET /healthz", "").await), "200");
    }
    drop(held);
    for _ in testkit::in_time("a free connection") {
        let answer = service.get("GET /api/sessions", &token).await;
        if status(&answer) == "200" {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_of_any_request_to_any_route_is_in_the_log() {
    let service = Running::start(Bounds::default(), Vec::new()).await;
    let (token, host) = (service.token(), service.address);
    let payload = format!(r#"{{"text":"{SECRET}","code":"{SECRET}"}}"#);
    let marked = format!(
        "x-{SECRET}: {SECRET}\r\nuser-agent: {SECRET}\r\nreferer: http://{host}/{SECRET}\r\nx-request-id: {SECRET}\r\n\
         cookie: toolkiln={SECRET}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        payload.len()
    );
    let wrong = format!("authorization: Bearer {SECRET}\r\n");
    let mut sent = 0;
    let others = ["/mcp", "/mcp/{project}", "/metrics", "/healthz", "/readyz", "/{secret}"];
    let table = routes();
    let all = table.iter().map(|route| (route.method.as_str(), route.path));
    for (method, path) in all.chain(others.map(|path| ("POST", path))).chain([(SECRET, "/api")]) {
        let parts = path.split('/').map(|part| if part.starts_with('{') { SECRET } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        for credentials in [token.as_str(), &wrong, ""] {
            let text = format!(
                "{method} {path}?{SECRET}={SECRET} HTTP/1.1\r\nhost: {host}\r\n{credentials}{marked}\r\n{payload}"
            );
            // A stream that is let in goes on; its head is enough.
            read(service.send_raw(text).await, Some("\r\n\r\n")).await;
            sent += 1;
        }
    }
    let told = service.told.lock().unwrap().clone();
    let metrics = service.get("GET /metrics", "").await;
    assert_eq!(told.iter().filter(|line| line.starts_with('{')).count(), sent);
    let all = told.join("\n") + &metrics;
    assert!(!all.contains(SECRET), "{all}");
    assert!(!all.contains(&service.secrets.all));
    for known in [r#""user":"token""#, r#""route":"/api/sessions/{session}/timeline""#] {
        assert!(all.contains(known), "{known}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_a_name_of_its_own() {
    let service = Running::start(Bounds::default(), Vec::new()).await;
    let name = |answer: &str| {
        let line = answer.lines().find(|line| line.starts_with("x-request-id: ")).unwrap();
        line["x-request-id: ".len()..].to_owned()
    };
    let names = [
        name(&service.get("GET /api", "").await),
        name(&service.get("GET /healthz", "").await),
        name(&service.get("GET /nothing", "").await),
    ];
    assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    let told = service.told.lock().unwrap();
    let logged = |name: &String| told.iter().any(|line| line.contains(&format!("\"{name}\"")));
    assert!(names.iter().all(logged));
}
