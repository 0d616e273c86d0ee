//! Other agents over HTTP: both eras, and approval on the page.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use testkit::Fixture;

use super::service::{HttpAnswer, Service};

pub(super) const PROJECT: &str = "//- /notes.txt\nfirst\n";

pub(super) fn service() -> (Fixture, Service) {
    let project = Fixture::new(PROJECT);
    let service = Service::start_with(&project, &["--provider", "offline"]);
    (project, service)
}

/// A client with a token, of the stateless era.
pub(crate) struct Agent<'a> {
    pub(crate) service: &'a Service,
    pub(crate) token: &'static str,
    pub(crate) capabilities: Value,
}

impl<'a> Agent<'a> {
    /// One that may only ask, and can lead its user to a page.
    pub(crate) fn new(service: &'a Service) -> Self {
        Self { service, token: "mcp", capabilities: json!({"elicitation": {"url": {}}}) }
    }

    /// The text of a request with the headers that its message needs.
    pub(crate) fn text(&self, method: &str, mut params: Value) -> String {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
        let more = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}");
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&more, &message.to_string())
    }

    /// The text of a POST. Of HTTP 1.0, so that a stream comes as it is.
    pub(crate) fn post(&self, more: &str, body: &str) -> String {
        format!(
            "POST /mcp HTTP/1.0\r\nhost: {}\r\n{}\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\n{more}content-length: {}\r\n\r\n{body}",
            self.service.address,
            self.service.token(self.token),
            body.len()
        )
    }

    pub(crate) fn send(&self, method: &str, params: Value) -> HttpAnswer {
        self.service.raw(self.text(method, params).as_bytes())
    }

    /// Sends a request whose answer is not waited for.
    pub(crate) fn begin(&self, method: &str, params: Value) -> TcpStream {
        let mut stream = self.service.connect();
        stream.write_all(self.text(method, params).as_bytes()).unwrap();
        stream
    }

    #[track_caller]
    pub(crate) fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.send(method, params);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.message()["result"].clone()
    }

    /// Sends an answer that belongs to no question; gives the code of the refusal.
    #[track_caller]
    pub(crate) fn refused(&self, call: Value) -> Value {
        let message = self.send("tools/call", call).message();
        assert_eq!(message["error"]["code"], -32602, "{message}");
        message["error"]["data"]["code"].clone()
    }
}

impl HttpAnswer {
    /// The last message of an answer, which is JSON or a stream of events.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        let data = self.body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(data.unwrap_or(&self.body)).unwrap_or_else(|_| panic!("{}", self.body))
    }
}

pub(crate) fn adding() -> Value {
    json!({"name": "append_file", "arguments": {"path": "notes.txt", "content": "second\n"}})
}

pub(super) fn notes(project: &Fixture) -> String {
    fs::read_to_string(project.root().join("notes.txt")).unwrap()
}

/// The address under which the API has the question that a link leads to.
pub(super) fn asked_at(service: &Service, result: &Value) -> String {
    let link = result["inputRequests"]["approval"]["params"]["url"].as_str().unwrap();
    let page = format!("http://{}/#/inbox/", service.address);
    let hash = link.strip_prefix(&page).unwrap_or_else(|| panic!("{link}"));
    let open = service.get("/api/approvals")["questions"].as_array().unwrap().clone();
    let question = open.iter().find(|question| question["question"] == hash).unwrap();
    format!("/api/approvals/{}/{hash}", question["owner"].as_str().unwrap())
}

#[test]
fn a_stateless_client_lists_reads_and_calls() {
    let (project, service) = service();
    let agent = Agent::new(&service);
    let found = agent.result("server/discover", json!({}));
    assert_eq!(
        found["capabilities"],
        json!({"completions": {}, "prompts": {}, "resources": {"subscribe": true}, "tools": {}})
    );
    let read = json!({"name": "read_file", "arguments": {"path": "notes.txt"}});
    assert_eq!(agent.result("tools/call", read)["structuredContent"]["size"], 6);
    let listed = agent.result("resources/list", json!({}));
    let files = listed["resources"].as_array().unwrap();
    assert_eq!(
        files.iter().map(|file| &file["name"]).collect::<Vec<_>>(),
        ["changes", "notes.txt"]
    );
    let uri = files[1]["uri"].clone();
    assert_eq!(
        uri,
        format!("file://{}/notes.txt", project.root().canonicalize().unwrap().display())
    );
    let read = agent.result("resources/read", json!({"uri": uri}));
    assert_eq!(read["contents"][0]["text"], "first\n");
    let prompt =
        agent.result("prompts/get", json!({"name": "explain", "arguments": {"path": "a.rs"}}));
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.ends_with("\n\nExplain this: a.rs"), "{text}");
    let completed = json!({"ref": {"type": "ref/prompt", "name": "explain"}, "argument": {"name": "path", "value": "no"}});
    let completed = agent.result("completion/complete", completed);
    assert_eq!(completed["completion"]["values"], json!(["notes.txt"]));
}

#[test]
fn many_files_are_listed_in_pages_and_ignored_ones_are_not() {
    let project = Fixture::new("//- /.gitignore\n*.log\n//- /a.log\nx\n//- /.hidden\nx\n");
    for number in 0..1_200 {
        fs::write(project.root().join(format!("{number:04}.txt")), "x").unwrap();
    }
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let agent = Agent::new(&service);
    let (mut names, mut pages, mut params) = (Vec::new(), Vec::new(), json!({}));
    for _ in testkit::at_most(10, "the pages of 1200 files") {
        let page = agent.result("resources/list", params);
        let listed = page["resources"].as_array().unwrap();
        pages.push(listed.len());
        names.extend(listed.iter().map(|file| file["name"].as_str().unwrap().to_owned()));
        let Some(next) = page.get("nextCursor") else { break };
        params = json!({"cursor": next});
    }
    // The first has the changes as well.
    assert_eq!(pages, [501, 500, 200]);
    let expected: Vec<String> = (0..1_200).map(|number| format!("{number:04}.txt")).collect();
    assert_eq!(names[1..], expected);
    let large = project.root().join("large.txt");
    fs::write(&large, "x".repeat(1024 * 1024 + 1)).unwrap();
    fs::write(project.root().join("bytes"), [0xff, 0, 1]).unwrap();
    let read = |name: &str| {
        let path = project.root().canonicalize().unwrap().join(name);
        agent.send("resources/read", json!({"uri": format!("file://{}", path.display())})).message()
    };
    assert_eq!(read("large.txt")["error"]["code"], -32602);
    assert_eq!(read("bytes")["result"]["contents"][0]["blob"], "/wAB");
}

#[test]
fn resources_that_are_not_of_the_project_are_wrong_parameters() {
    let (project, service) = service();
    std::os::unix::fs::symlink("/etc/passwd", project.root().join("out")).unwrap();
    let root = project.root().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let agent = Agent::new(&service);
    for uri in [
        "file:///etc/passwd".to_owned(),
        format!("file://{root}/missing"),
        format!("file://{root}/../state/toolkiln/web/secrets.json"),
        format!("file://{root}/%2e%2e/state/toolkiln/web/secrets.json"),
        format!("file://{root}/out"),
        format!("file://{root}"),
        format!("file://{root}/"),
        "toolkiln://jobs/9".to_owned(),
        "toolkiln://nothing".to_owned(),
        "http://example.org/".to_owned(),
        String::new(),
    ] {
        let answer = agent.send("resources/read", json!({"uri": uri})).message();
        assert_eq!(answer["error"]["code"], -32602, "{uri}: {answer}");
    }
    let answer = agent.send("resources/list", json!({"cursor": "!"})).message();
    assert_eq!(answer["error"]["code"], -32602);
}

/// Reads a stream until a line has this in it.
#[track_caller]
fn heard(stream: &mut impl BufRead, wanted: &str) -> String {
    let mut line = String::new();
    while !line.contains(wanted) {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "it ended before {wanted}");
    }
    line
}

#[test]
fn clients_that_listen_hear_of_changes_and_leave_room_for_others() {
    let (project, service) = service();
    let agent = Agent::new(&service);
    let uri = format!("file://{}/notes.txt", project.root().display());
    let wish = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let listen = || BufReader::new(agent.begin("subscriptions/listen", wish.clone()));
    let mut streams: Vec<_> = (0..64).map(|_| listen()).collect();
    for stream in &mut streams {
        heard(stream, "notifications/subscriptions/acknowledged");
    }
    assert_eq!(agent.send("subscriptions/listen", wish.clone()).status, 503);
    let read = json!({"name": "read_file", "arguments": {"path": "notes.txt"}});
    assert_eq!(agent.result("tools/call", read)["structuredContent"]["size"], 6);
    fs::write(project.root().join("notes.txt"), "by another program\n").unwrap();
    for stream in &mut streams {
        let news = heard(stream, "notifications/resources/updated");
        assert!(news.contains("notes.txt") && news.contains("subscriptionId"), "{news}");
    }
}

#[test]
fn a_question_is_a_link_to_the_page_and_its_answer_there_ends_the_call() {
    let (project, service) = service();
    let agent = Agent::new(&service);
    let asked = agent.result("tools/call", adding());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["approval"]["params"];
    assert_eq!(question["mode"], "url");
    let at = asked_at(&service, &asked);
    let whole = service.get(&at);
    assert_eq!(whole["diffs"][0]["path"], "notes.txt");
    let mut again = adding();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"approval": {"action": "accept"}});
    // The client is back before the user has answered: it waits.
    let waiting = agent.begin("tools/call", again.clone());
    let approve = service.token("approve");
    let yes = || service.request(&format!("POST {at}"), &[&approve], r#"{"approve": true}"#);
    assert_eq!(yes().status, 200);
    assert_eq!(yes().refusal(), "409 CONFLICT");
    let mut answer = String::new();
    let mut lines = BufReader::new(waiting);
    while lines.read_line(&mut answer).unwrap() > 0 {}
    assert!(answer.contains(r#""isError":false"#), "{answer}");
    assert_eq!(notes(&project), "first\nsecond\n");
    // The same answer once more does nothing.
    assert_eq!(agent.refused(again), "APPROVAL_REQUIRED");
    assert_eq!(notes(&project), "first\nsecond\n");
    // What was done can be read.
    let diff = agent.result("resources/read", json!({"uri": "toolkiln://changes"}));
    assert!(diff["contents"][0]["text"].as_str().unwrap().contains("+second"), "{diff}");
}

#[test]
fn a_link_that_is_declined_and_a_no_on_the_page_change_nothing() {
    let (project, service) = service();
    let agent = Agent::new(&service);
    let repeated = |asked: &Value, action: &str| {
        let mut again = adding();
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({"approval": {"action": action}});
        agent.result("tools/call", again)["_meta"]["toolkiln/error"]["code"].clone()
    };
    let asked = agent.result("tools/call", adding());
    assert_eq!(repeated(&asked, "decline"), "APPROVAL_REQUIRED");
    assert_eq!(service.get("/api/approvals"), json!({"questions": []}));
    let asked = agent.result("tools/call", adding());
    service.post(&asked_at(&service, &asked), json!({"approve": false, "reason": "not now"}));
    assert_eq!(repeated(&asked, "accept"), "REJECTED");
    assert_eq!(notes(&project), "first\n");
}

#[test]
fn a_client_of_the_handshake_has_a_session_of_its_own() {
    let (_project, service) = service();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let asking = Agent::new(&service);
    let answering = Agent { token: "all", ..Agent::new(&service) };
    let opened = |agent: &Agent<'_>| {
        let answer = service.raw(agent.post("", &hello.to_string()).as_bytes());
        assert_eq!(answer.message()["result"]["protocolVersion"], "2025-11-25");
        let session = answer.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        format!("mcp-session-id: {}\r\n", session.unwrap())
    };
    let session = opened(&answering);
    let list = r#"{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}"#;
    let listed = |agent: &Agent<'_>, more: &str| service.raw(agent.post(more, list).as_bytes());
    let told = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#;
    assert_eq!(service.raw(answering.post(&session, told).as_bytes()).status, 202);
    assert!(listed(&answering, &session).message()["result"]["tools"].is_array());
    // Another token cannot use it, and no token one that does not exist.
    assert_eq!(listed(&asking, &session).status, 404);
    assert_eq!(listed(&answering, "mcp-session-id: nonsense\r\n").status, 404);
    assert!(listed(&answering, "").status >= 400);
    let ended = |agent: &Agent<'_>| {
        let text = agent.post(&session, "").replacen("POST", "DELETE", 1);
        service.raw(text.as_bytes()).status
    };
    assert_eq!(ended(&asking), 404);
    assert_eq!(ended(&answering), 204);
    assert_eq!(listed(&answering, &session).status, 404);
}

#[test]
fn an_ordinary_user_serves_agents_and_keeps_the_tokens_private() {
    let project = Fixture::new(PROJECT);
    let Some(mut command) = crate::ordinary_user::program(&project) else { return };
    command.args(["web", "--listen", "127.0.0.1:0", "--provider", "offline"]);
    let state = project.root().with_file_name("home").join(".local/state");
    let service = Service::run(command.stderr(Stdio::null()), &state);
    let owner = |path: &Path| fs::metadata(path).unwrap().uid();
    let user = owner(&project.root().join("notes.txt"));
    let secrets = state.join("toolkiln/web/secrets.json");
    assert_eq!(fs::metadata(&secrets).unwrap().mode() & 0o077, 0);
    assert_eq!(owner(&secrets), user);
    let agent = Agent::new(&service);
    let asked = agent.result("tools/call", adding());
    service.post(&asked_at(&service, &asked), json!({"approve": true}));
    let mut again = adding();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({"approval": {"action": "accept"}});
    assert_eq!(agent.result("tools/call", again)["isError"], false);
    assert_eq!(notes(&project), "first\nsecond\n");
    assert_eq!(owner(&project.root().join("notes.txt")), user);
}
