//! Requests that must not be listened to, over the wire.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;
use testkit::{Fixture, ModelServer};

use super::service::Service;

fn service() -> (Fixture, Service) {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    (project, service)
}

#[test]
fn requests_of_other_pages_hosts_and_tokens_are_refused() {
    let (_project, service) = service();
    let (address, all, chat) = (&service.address, service.token("all"), service.token("chat"));
    let port = address.rsplit(':').next().unwrap();
    let host = format!("host: {address}");
    let query = format!("GET /api/sessions?token={}", service.secrets["all"].as_str().unwrap());
    let table: Vec<(&str, Vec<String>, &str)> = vec![
        ("GET /api/sessions", vec![host.clone()], "401 UNAUTHORIZED"),
        (&query, vec![host.clone()], "401 UNAUTHORIZED"),
        (
            "GET /api/sessions",
            vec![host.clone(), "authorization: Bearer x".into()],
            "401 UNAUTHORIZED",
        ),
        (
            "GET /api/sessions",
            vec![format!("host: evil.example:{port}"), all.clone()],
            "421 WRONG_HOST",
        ),
        ("GET /api", vec![format!("host: evil.example:{port}")], "421 WRONG_HOST"),
        ("GET /", vec![format!("host: localhost.:{port}")], "421 WRONG_HOST"),
        ("GET http://evil.example/api", vec![host.clone(), all.clone()], "421 WRONG_HOST"),
        (
            "POST /api/sessions",
            vec![host.clone(), "origin: http://evil.example".into(), all.clone()],
            "403 FOREIGN_ORIGIN",
        ),
        (
            "POST /api/sessions",
            vec![host.clone(), "origin: null".into(), all.clone()],
            "403 FOREIGN_ORIGIN",
        ),
        (
            "GET /api/events",
            vec![host.clone(), "origin: http://evil.example".into(), all.clone()],
            "403 FOREIGN_ORIGIN",
        ),
        (
            "GET /api/sessions",
            vec![host.clone(), "sec-fetch-site: cross-site".into(), all.clone()],
            "403 FOREIGN_ORIGIN",
        ),
        (
            "OPTIONS /api/sessions",
            vec![host.clone(), "origin: http://evil.example".into()],
            "403 FOREIGN_ORIGIN",
        ),
        ("GET /api/files", vec![host.clone(), chat.clone()], "403 PERMISSION_DENIED"),
        ("POST /api/tools/bash", vec![host.clone(), chat], "403 PERMISSION_DENIED"),
        ("GET /nothing", vec![host.clone()], "404 NOT_FOUND"),
        ("GET /api/../etc/passwd", vec![host.clone(), all.clone()], "404 NOT_FOUND"),
        ("PUT /api/sessions", vec![host.clone(), all.clone()], "405 METHOD_NOT_ALLOWED"),
        ("GET /api/sessions/nonsense", vec![host.clone(), all.clone()], "404 NOT_FOUND"),
        ("GET /api/sessions?limit=x", vec![host.clone(), all.clone()], "400 INVALID_ARGUMENTS"),
        ("GET /api/sessions?unknown=1", vec![host.clone(), all.clone()], "400 INVALID_ARGUMENTS"),
        ("GET /api/events?follow=nonsense", vec![host, all], "400 INVALID_ARGUMENTS"),
    ];
    for (target, headers, expected) in &table {
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let answer = service.request_as_is(target, &headers, "");
        assert_eq!(answer.refusal(), *expected, "{target} {headers:?}");
        for header in ["content-security-policy: default-src 'none'", "nosniff", "no-referrer"] {
            assert!(answer.head.contains(header), "{target}: {}", answer.head);
        }
        assert!(!answer.head.contains("access-control-"), "{}", answer.head);
    }
    assert_eq!(service.get("/api/sessions"), json!({"sessions": []}));
}

#[test]
fn bodies_that_are_too_large_malformed_or_of_another_type_are_refused() {
    let (_project, service) = service();
    let all = service.token("all");
    let large = format!(r#"{{"title": "{}"}}"#, "x".repeat(2 * 1024 * 1024));
    assert_eq!(service.request("POST /api/sessions", &[&all], &large).refusal(), "413 TOO_LARGE");
    // Told in advance, and not sent.
    let head = |more: &str| {
        format!(
            "POST /api/sessions HTTP/1.1\r\nhost: {}\r\n{all}\r\nconnection: close\r\n{more}",
            service.address
        )
    };
    let told = head("content-type: application/json\r\ncontent-length: 99999999999\r\n\r\n");
    assert_eq!(service.raw(told.as_bytes()).refusal(), "413 TOO_LARGE");
    // Not told in advance.
    let mut chunked = head("content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n");
    chunked.push_str(&format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len()));
    assert_eq!(service.raw(chunked.as_bytes()).refusal(), "413 TOO_LARGE");
    // Both lengths, which two programs would read differently.
    let smuggled = head(
        "content-type: application/json\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    );
    let answer = service.raw(smuggled.as_bytes());
    assert!(answer.status == 400 || answer.status == 200, "{}", answer.status);
    let form = head("content-type: text/plain\r\ncontent-length: 2\r\n\r\n{}");
    assert_eq!(service.raw(form.as_bytes()).refusal(), "415 UNSUPPORTED_MEDIA_TYPE");
    for body in ["{", "[]", "null", "{\"title\": 1}", "{\"unknown\": 1}", "\u{0}"] {
        let refused = service.request("POST /api/sessions", &[&all], body);
        assert_eq!(refused.refusal(), "400 INVALID_ARGUMENTS", "{body}");
    }
    let long_head = head(&format!("x-long: {}\r\n\r\n", "x".repeat(64 * 1024)));
    assert!([0, 400, 431].contains(&service.raw(long_head.as_bytes()).status));
    assert_eq!(service.get("/api/sessions").as_object().unwrap().len(), 1);
}

#[test]
fn a_client_that_guesses_is_told_to_wait_and_others_are_not() {
    let (_project, service) = service();
    let guess = || service.request("POST /api/login", &[], r#"{"code": "guess"}"#).refusal();
    let refusals: Vec<String> = (0..80).map(|_| guess()).collect();
    assert_eq!(refusals[0], "401 UNAUTHORIZED");
    assert!(refusals.iter().any(|refusal| refusal == "429 RATE_LIMITED"), "{refusals:?}");
    assert_eq!(service.get("/api/sessions"), json!({"sessions": []}));
}

#[test]
fn an_address_that_other_machines_reach_needs_a_named_proxy() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let refused = |more: &[&str]| {
        let arguments: Vec<&str> =
            ["web", "--provider", "offline"].into_iter().chain(more.to_vec()).collect();
        let ran = crate::run::run_with_state(&project, &arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{more:?}");
        ran.stderr
    };
    assert!(refused(&["--listen", "0.0.0.0:0"]).contains("--proxy"));
    assert!(refused(&["--listen", "[::]:0"]).contains("--proxy"));
    let plain = refused(&["--listen", "0.0.0.0:0", "--proxy", "http://kiln.example.org"]);
    assert!(plain.contains("is not the address of a proxy"), "{plain}");
    let model = ModelServer::start([]);
    let service = Service::start(&project, &model);
    assert!(service.address.starts_with("127.0.0.1:"));
}

#[test]
fn connections_that_say_nothing_make_room_and_a_client_that_is_logged_in_stays() {
    let (_project, service) = service();
    let mut watcher = service.watch("");
    let silent: Vec<TcpStream> =
        (0..400).map(|_| TcpStream::connect(&service.address).unwrap()).collect();
    assert_eq!(service.request("GET /api/sessions", &[&service.token("all")], "").status, 200);
    // The first was cut, although nothing was wrong with it but its age.
    let mut first = &silent[0];
    first.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(first.read(&mut [0]).unwrap(), 0);
    service.begin();
    watcher.until("what happens still", |seen| !seen.states.is_empty());
}
