//! A server over HTTP that wants a login, and the authorization server that it trusts: real requests, real
//! codes and tokens, and every bad habit that a test asks for.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// How long a test waits for one answer, at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// Serves until the test ends.
pub struct LoginServer {
    port: u16,
    state: Arc<Mutex<LoginState>>,
}

/// What the server knows, and how it behaves.
#[derive(Default)]
pub struct LoginState {
    /// The authorization server that it trusts, if that is not itself.
    pub issuer: Option<String>,
    /// What its description says besides, or instead.
    pub resource: Map<String, Value>,
    /// What the description of the authorization server says besides, or instead.
    pub metadata: Map<String, Value>,
    /// In place of the usual challenge.
    pub challenge: Option<String>,
    /// The scope that tools want.
    pub wanted_scope: Option<String>,
    /// The `iss` of answers, in place of the issuer.
    pub iss: Option<String>,
    /// Seconds that a token lives.
    pub lifetime: Option<i64>,
    /// Whole answers by path, sent instead of anything else. One that ends with `…` never ends.
    pub raw: BTreeMap<String, String>,
    /// Every request: its first line with its headers, and its body.
    pub requests: Vec<(String, String)>,
    codes: BTreeMap<String, BTreeMap<String, String>>,
    /// Access tokens that are good, with their scopes.
    pub tokens: BTreeMap<String, String>,
    refresh: BTreeMap<String, String>,
    count: u32,
}

impl LoginServer {
    /// Starts one at a port of this machine.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let state: Arc<Mutex<LoginState>> = Arc::default();
        let own = Arc::clone(&state);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                std::thread::spawn(move || served(socket, port, &own));
            }
        });
        Self { port, state }
    }

    /// Its origin, which is its issuer too.
    pub fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where its tools are.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    /// What it knows, to look at or to change.
    pub fn state(&self) -> MutexGuard<'_, LoginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests to a path.
    pub fn requests_to(&self, path: &str) -> Vec<(String, String)> {
        let is_to = |head: &str| head.split([' ', '?']).nth(1) == Some(path);
        self.state().requests.iter().filter(|(head, _)| is_to(head)).cloned().collect()
    }

    /// What a browser does whose user agrees: opens the address, and tells where it is sent.
    pub fn browse(url: &str) -> String {
        let (head, _) = asked("GET", url, "");
        let line = head.lines().find_map(|line| line.strip_prefix("location: "));
        line.unwrap_or_else(|| panic!("no redirect from {url}: {head}")).to_owned()
    }

    /// What a browser does that comes back. Answers with the status.
    pub fn visit(url: &str) -> String {
        let (head, _) = asked("GET", url, "");
        head.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

fn asked(method: &str, url: &str, body: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").expect("an http address");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut socket = TcpStream::connect(host).expect("a server");
    socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let length = body.len();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    socket.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_owned(), body.to_owned())
}

fn served(mut socket: TcpStream, port: u16, state: &Mutex<LoginState>) {
    let Some((head, body)) = request_of(&mut socket) else { return };
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    state.requests.push((head.clone(), body.clone()));
    let path = head.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
    let raw = state.raw.get(&path).cloned();
    let answer = raw.clone().unwrap_or_else(|| state.answer(port, &path, &head, &body));
    drop(state);
    if let Some(begin) = raw.as_deref().and_then(|raw| raw.strip_suffix('…')) {
        let _ = socket.write_all(begin.as_bytes());
        // Until the other side has had enough.
        while socket.write_all(&[b' '; 4096]).is_ok() {}
        return;
    }
    let _ = socket.write_all(answer.as_bytes());
}

fn request_of(socket: &mut TcpStream) -> Option<(String, String)> {
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header(head, "content-length").and_then(|text| text.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        let count = socket.read(&mut piece).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// The value of a header.
fn header(head: &str, name: &str) -> Option<String> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

fn fields(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match (first, hex.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            (byte, _) => bytes.push(*byte),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn answer(status: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{more}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn json_answer(status: &str, value: &Value) -> String {
    answer(status, "content-type: application/json\r\n", &value.to_string())
}

impl LoginState {
    fn answer(&mut self, port: u16, path: &str, head: &str, body: &str) -> String {
        let origin = format!("http://127.0.0.1:{port}");
        let issuer = self.issuer.clone().unwrap_or_else(|| origin.clone());
        let query = head.split(' ').nth(1).and_then(|target| target.split_once('?'));
        let query = query.map(|(_, query)| fields(query)).unwrap_or_default();
        let with = |mut value: Value, more: &Map<String, Value>| {
            for (key, added) in more {
                value[key] = added.clone();
            }
            value
        };
        match path {
            "/.well-known/oauth-protected-resource/mcp" => {
                let usual =
                    json!({"resource": format!("{origin}/mcp"), "authorization_servers": [issuer]});
                json_answer("200 OK", &with(usual, &self.resource))
            }
            "/.well-known/oauth-authorization-server" => {
                let usual = json!({
                    "issuer": origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "registration_endpoint": format!("{origin}/register"),
                    "revocation_endpoint": format!("{origin}/revoke"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
                    "authorization_response_iss_parameter_supported": true,
                });
                json_answer("200 OK", &with(usual, &self.metadata))
            }
            "/register" => {
                let mut value: Value = serde_json::from_str(body).unwrap_or_default();
                value["client_id"] = json!("registered");
                json_answer("201 Created", &value)
            }
            "/authorize" => self.authorized(&query, &origin),
            "/token" => self.granted(&fields(body), head),
            "/revoke" => {
                let token = fields(body).remove("token").unwrap_or_default();
                self.refresh.remove(&token);
                answer("200 OK", "", "")
            }
            "/mcp" => self.served(&origin, head, body),
            _ => answer("404 Not Found", "", ""),
        }
    }

    fn next(&mut self, what: &str) -> String {
        self.count += 1;
        format!("{what}-{}-secret", self.count)
    }

    fn authorized(&mut self, query: &BTreeMap<String, String>, origin: &str) -> String {
        let code = self.next("code");
        let value = |name: &str| query.get(name).cloned().unwrap_or_default();
        let iss = self.iss.clone().unwrap_or_else(|| origin.to_owned());
        let to = format!(
            "{}?code={code}&state={}&iss={}",
            value("redirect_uri"),
            encoded(&value("state")),
            encoded(&iss)
        );
        self.codes.insert(code, query.clone());
        answer("302 Found", &format!("location: {to}\r\n"), "")
    }

    fn granted(&mut self, form: &BTreeMap<String, String>, head: &str) -> String {
        let refused = |why: &str| json_answer("400 Bad Request", &json!({"error": why}));
        let value = |name: &str| form.get(name).cloned().unwrap_or_default();
        let scope = match value("grant_type").as_str() {
            "authorization_code" => {
                // A code is good once.
                let Some(asked) = self.codes.remove(&value("code")) else {
                    return refused("invalid_grant");
                };
                let hashed = URL_SAFE_NO_PAD.encode(Sha256::digest(value("code_verifier")));
                let is_good = asked.get("code_challenge") == Some(&hashed)
                    && asked.get("redirect_uri") == form.get("redirect_uri")
                    && asked.get("resource") == form.get("resource");
                if !is_good {
                    return refused("invalid_grant");
                }
                asked.get("scope").cloned().unwrap_or_default()
            }
            "refresh_token" => match self.refresh.remove(&value("refresh_token")) {
                Some(scope) => scope,
                None => {
                    let repeated = value("refresh_token");
                    let error = json!({"error": "invalid_grant", "error_description": format!("unknown {repeated}")});
                    return json_answer("400 Bad Request", &error);
                }
            },
            "client_credentials" => match header(head, "authorization").as_deref() {
                // `machine:machine-secret`
                Some("Basic bWFjaGluZTptYWNoaW5lLXNlY3JldA==") => value("scope"),
                _ => return refused("invalid_client"),
            },
            _ => return refused("unsupported_grant_type"),
        };
        let (access, refresh) = (self.next("access"), self.next("refresh"));
        self.tokens.insert(access.clone(), scope.clone());
        self.refresh.insert(refresh.clone(), scope);
        let mut granted = json!({"access_token": access, "token_type": "Bearer"});
        if value("grant_type") != "client_credentials" {
            granted["refresh_token"] = json!(refresh);
        }
        if let Some(lifetime) = self.lifetime {
            granted["expires_in"] = json!(lifetime);
        }
        json_answer("200 OK", &granted)
    }

    fn served(&mut self, origin: &str, head: &str, body: &str) -> String {
        let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        let challenge = self.challenge.clone();
        let challenge =
            challenge.unwrap_or_else(|| format!("Bearer resource_metadata=\"{metadata}\""));
        let shown = header(head, "authorization").unwrap_or_default();
        let scope = self.tokens.get(shown.strip_prefix("Bearer ").unwrap_or_default());
        let Some(scope) = scope else {
            let more = format!("www-authenticate: {challenge}\r\n");
            return answer("401 Unauthorized", &more, "");
        };
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let id = &message["id"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "login", "version": "1"}}),
            "tools/list" => {
                let wanted = self.wanted_scope.clone().unwrap_or_default();
                if !wanted.is_empty() && !scope.split(' ').any(|one| one == wanted) {
                    let more = format!(
                        "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"{wanted}\"\r\n"
                    );
                    return answer("403 Forbidden", &more, "");
                }
                json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]})
            }
            "tools/call" => json!({"content": [{"type": "text", "text": "hello from inside"}]}),
            _ if id.is_null() => return answer("202 Accepted", "", ""),
            _ => {
                let error = json!({"code": -32601, "message": "not known"});
                return json_answer("200 OK", &json!({"jsonrpc": "2.0", "id": id, "error": error}));
            }
        };
        json_answer("200 OK", &json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }
}
