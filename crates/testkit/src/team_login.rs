//! Users of a team's service, as programs that were given a link.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

/// Everything that a token of an admin can be for.
const ALL_SCOPES: [&str; 6] = ["read", "chat", "approve", "tools", "mcp", "admin"];

/// Accepts the link that the first start of a service at `address` has printed, and makes a token for everything.
pub fn first_admin_token(address: &str, code: &str) -> String {
    invited_token(address, code, "Ada", &ALL_SCOPES)
}

/// Accepts the link of an invitation, and makes a token for some of what the user may do.
pub fn invited_token(address: &str, code: &str, name: &str, scopes: &[&str]) -> String {
    let login = json!({"code": code, "name": name});
    let (head, _) = post(address, "/api/login", "", &login);
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    let cookie = fields.find(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let cookie = cookie.and_then(|(_, cookie)| cookie.split(';').next());
    let cookie = cookie.expect("a login has a cookie");
    let wanted = json!({"name": "tests", "scopes": scopes});
    let own = format!("cookie: {cookie}\r\norigin: http://{address}\r\nx-toolkiln: 1\r\n");
    let (_, made) = post(address, "/api/me/tokens", &own, &wanted);
    made["token"].as_str().expect("a token").to_owned()
}

fn post(address: &str, path: &str, headers: &str, body: &Value) -> (String, Value) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).expect("the service listens");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("the request is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("there is an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    assert!(head.starts_with("HTTP/1.1 2"), "{path}: {answer}");
    let body = body.get(body.find('{').unwrap_or(0)..=body.rfind('}').unwrap_or(0));
    (head.to_owned(), serde_json::from_str(body.unwrap_or("{}")).unwrap_or_default())
}
