//! `web_fetch` and `web_search` through the binary, against servers on this machine.

mod model_search;
mod name_server;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::model_server::WireFormat;
use testkit::{Fixture, ModelServer, Reply};

use crate::agent::bench::{Bench, Model};
use crate::run::{Ran, command, finish};

/// Answers by path, and notes the heads of requests.
pub(crate) struct PageServer {
    pub(crate) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl PageServer {
    fn start() -> Self {
        Self::at("127.0.0.1:0")
    }

    pub(crate) fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&heads);
        std::thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let head = head_of(&mut socket);
                let answer = answer_to(&head);
                noted.lock().expect("no panic").push(head);
                let _ = socket.write_all(answer.as_bytes());
            }
        });
        Self { port, heads }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("no panic").clone()
    }
}

fn head_of(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).is_ok_and(|count| count > 0) {
        head.push(byte[0]);
    }
    let mut head = String::from_utf8_lossy(&head).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|text| text.parse().ok()).unwrap_or(0)];
    if socket.read_exact(&mut body).is_ok() {
        head.push_str(&String::from_utf8_lossy(&body));
    }
    head
}

/// What providers answer whose model has searched.
fn found_by_model(path: &str) -> Option<String> {
    let (url, title) = ("https://kiln.example/", "A <b>kiln</b>");
    let answer = match path {
        "/v1/messages" => json!({"content": [
            {"type": "web_search_tool_result", "tool_use_id": "s", "content": [
                {"type": "web_search_result", "url": url, "title": title, "encrypted_content": "x"}]},
            {"type": "text", "text": "It is hot.", "citations": [
                {"type": "web_search_result_location", "url": url, "title": title, "cited_text": "hot"}]}]}),
        "/responses" => json!({"output": [
            {"type": "web_search_call", "status": "completed", "action": {"type": "search"}},
            {"type": "message", "content": [{"type": "output_text", "text": "hot (kiln.example)", "annotations": [
                {"type": "url_citation", "start_index": 4, "end_index": 18, "url": url, "title": title}]}]}]}),
        "/models/g-1:generateContent" => json!({"candidates": [{"groundingMetadata": {
            "groundingChunks": [{"web": {"uri": url, "title": title}}],
            "groundingSupports": [{"segment": {"text": "hot"}, "groundingChunkIndices": [0]}]}}]}),
        _ => return None,
    };
    Some(answer.to_string())
}

fn answer_to(head: &str) -> String {
    let path = head.split(' ').nth(1).unwrap_or_default();
    if let Some(body) = found_by_model(path) {
        let length = body.len();
        return format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
    }
    let (status, more, body) = match path.split('?').next().unwrap_or_default() {
        "/out" => ("302 Found", "location: http://169.254.169.254/latest/\r\n", String::new()),
        "/elsewhere" => ("302 Found", "location: https://docs.example/x\r\n", String::new()),
        "/long" => {
            let lines = (1..=3000).map(|line| format!("line {line} of a long text\n"));
            ("200 OK", "content-type: text/plain\r\n", lines.collect())
        }
        "/picture" => ("200 OK", "content-type: image/png\r\n", "\u{1}\u{2}".into()),
        "/latin" => ("200 OK", "content-type: text/plain; charset=iso-8859-1\r\n", "caf?".into()),
        "/search" => {
            let hit =
                json!({"title": "A <b>kiln</b>", "url": "https://kiln.example/", "content": "hot"});
            let body = json!({"results": [hit, hit, hit]}).to_string();
            ("200 OK", "content-type: application/json\r\n", body)
        }
        _ => (
            "200 OK",
            "content-type: text/html\r\nset-cookie: id=1\r\n",
            "<p>in the <b>page</b></p>".into(),
        ),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{more}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

fn configured(text: &str) -> Fixture {
    Fixture::new(&format!("//- /toolkiln/config.toml\n{text}"))
}

fn fetch(config: &Fixture, arguments: &Value, more: &[&str]) -> Ran {
    call(config, "web_fetch", arguments, more)
}

fn call(config: &Fixture, tool: &str, arguments: &Value, more: &[&str]) -> Ran {
    let project = Fixture::new("//- /a.txt\nx\n");
    let mut command = command(Some(config));
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.args(["call", tool, &arguments.to_string(), "--root"]).arg(project.root());
    finish(command.args(more).stdin(Stdio::null()))
}

fn open_to(server: &PageServer, more: &str) -> Fixture {
    let port = server.port;
    configured(&format!(
        "[tools]\nnetwork = true\n[web]\nnetwork_allow = [\"127.0.0.1:{port}\"]\n{more}"
    ))
}

#[test]
fn a_server_on_the_list_passes_and_another_asks() {
    let server = PageServer::start();
    let url = json!({"url": server.url("page")});
    let asked = fetch(&open_to(&server, ""), &url, &[]).json();
    assert_eq!(asked["code"], "APPROVAL_REQUIRED", "{asked}");
    assert_eq!(server.heads().len(), 0);
    let listed = open_to(&server, &format!("hosts = [\"http://127.0.0.1:{}\"]\n", server.port));
    let page = fetch(&listed, &url, &[]).json();
    assert_eq!((&page["status"], &page["body"]), (&json!(200), &json!("in the **page**\n")));
    assert_eq!(page["headers"].get("set-cookie"), None);
    let head = server.heads().remove(0);
    assert!(
        head.contains("user-agent: toolkiln/") && head.contains("accept: text/markdown"),
        "{head}"
    );
    assert_eq!(fetch(&open_to(&server, ""), &url, &["--yes"]).code, 0);
}

#[test]
fn it_is_off_unless_the_user_allows_the_network_and_a_project_cannot_widen_it() {
    let url = json!({"url": "https://docs.rs/"});
    let off = fetch(&configured(""), &url, &["--yes"]).json();
    assert_eq!(off["code"], "TOOL_DISABLED", "{off}");
    let project = Fixture::new("//- /.toolkiln/config.toml\n[web]\nhosts = [\"docs.rs\"]\n");
    let mut command = command(Some(&configured("[tools]\nnetwork = true\n")));
    command.args(["call", "web_fetch", &url.to_string(), "--root"]).arg(project.root());
    let ran = finish(command.stdin(Stdio::null()));
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(
        ran.stderr.contains("a project cannot choose which servers are asked"),
        "{}",
        ran.stderr
    );
}

#[test]
fn no_yes_leads_into_the_users_own_network() {
    let server = PageServer::start();
    let other = PageServer::start();
    let config = open_to(&server, "");
    for url in [
        other.url("page"),
        format!("http://2130706433:{}/", other.port),
        format!("http://0x7f.1:{}/", other.port),
        format!("http://[::ffff:127.0.0.1]:{}/", other.port),
        format!("http://localhost:{}/", other.port),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        server.url("out"),
    ] {
        let refused = fetch(&config, &json!({"url": url}), &["--allow", "web_fetch"]).json();
        assert_eq!(refused["code"], "PERMISSION_DENIED", "{url}: {refused}");
    }
    for url in ["file:///etc/passwd", "http://a:b@x.org/", "http://x.org/\r\nx: y", "ftp://x.org/"]
    {
        let refused = fetch(&config, &json!({"url": url}), &["--yes"]).json();
        assert_eq!(refused["code"], "INVALID_ARGUMENTS", "{url}: {refused}");
    }
    for header in [
        json!({"Host": "x"}),
        json!({"x": "a\r\nb: c"}),
        json!({"Cookie": "x"}),
        json!({"a b": "c"}),
    ] {
        let refused =
            fetch(&config, &json!({"url": server.url("page"), "headers": header}), &["--yes"])
                .json();
        assert_eq!(refused["code"], "INVALID_ARGUMENTS", "{header}: {refused}");
    }
    assert_eq!(
        (other.heads().len(), server.heads().len()),
        (0, 1),
        "only the redirect was asked for"
    );
    let reached =
        fetch(&config, &json!({"url": server.url("page"), "headers": {"x-a": "b"}}), &["--yes"]);
    assert_eq!(reached.code, 0, "{}", reached.stdout);
}

#[test]
fn a_redirect_to_a_server_that_would_ask_is_told_and_not_followed() {
    let server = PageServer::start();
    let page =
        fetch(&open_to(&server, ""), &json!({"url": server.url("elsewhere")}), &["--yes"]).json();
    assert_eq!(page["status"], 302);
    let note = page["notes"][0].as_str().expect("a note");
    assert!(
        note.starts_with("This is a redirect to https://docs.example/x, which was not followed"),
        "{note}"
    );
}

#[test]
fn what_is_not_text_is_described() {
    let server = PageServer::start();
    let page =
        fetch(&open_to(&server, ""), &json!({"url": server.url("picture")}), &["--yes"]).json();
    assert_eq!(page["body"], "");
    assert_eq!(page["notes"][0], "This is image/png, 2 bytes, which is not shown as text.");
}

#[test]
fn a_search_goes_to_the_configured_server_with_its_key() {
    let server = PageServer::start();
    let search = |more: &str| {
        configured(&format!(
            "[tools]\nnetwork = true\n[web.search]\nprovider = \"searxng\"\nurl = \"http://127.0.0.1:{}\"\n{more}",
            server.port
        ))
    };
    let asked = json!({"query": "kiln & fire", "max_results": 2, "recency": "week"});
    let found = call(&search(""), "web_search", &asked, &[]).json();
    let hit = json!({"title": "A kiln", "url": "https://kiln.example/", "snippet": "hot"});
    assert_eq!(found, json!({"results": [hit, hit]}));
    let head = server.heads().remove(0);
    assert!(head.starts_with("GET /search?q=kiln+%26+fire&format=json&time_range=week "), "{head}");
    let none = call(&configured("[tools]\nnetwork = true\n"), "web_search", &asked, &[]).json();
    assert_eq!(none["code"], "TOOL_DISABLED", "{none}");
    let keyless = configured("[tools]\nnetwork = true\n[web.search]\nprovider = \"brave\"\n");
    let keyless = call(&keyless, "web_search", &asked, &[]).json();
    assert_eq!(
        keyless["message"],
        "the search server brave needs a key, and BRAVE_API_KEY is not set"
    );
}

#[test]
fn an_address_that_was_not_named_is_told_apart_and_later_pages_come_from_memory() {
    let server = PageServer::start();
    let (named, made_up) = (server.url("long"), server.url("page?secret=1"));
    let model = ModelServer::start([
        Reply::call("web_fetch", json!({"url": named})),
        Reply::call("web_fetch", json!({"url": named, "offset": 2900})),
        Reply::call("web_fetch", json!({"url": made_up})),
        Reply::text("done"),
    ]);
    let config = open_to(
        &server,
        &format!("hosts = [\"http://127.0.0.1:{}\"]\nask_unnamed = true\n", server.port),
    );
    let bench = Bench::new("//- /a.txt\nx\n");
    let mut command = bench
        .asking(Model { format: WireFormat::Anthropic, server: &model }, &format!("Read {named}."));
    command.env("XDG_CONFIG_HOME", config.root());
    let ran = finish(&mut command);
    let calls = model.calls();
    assert_eq!(calls.len(), 4, "{} {}", ran.stdout, ran.stderr);
    let answers = calls.last().expect("calls").tool_answers();
    let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
    assert!(
        texts[0].contains("line 1 of a long text")
            && texts[0].contains("of 3000; read on with offset"),
        "{}",
        texts[0]
    );
    assert!(texts[0].contains("Untrusted text from the web"), "{}", texts[0]);
    assert!(
        texts[1].contains("line 3000 of a long text") && !texts[1].contains("line 2899 "),
        "{}",
        texts[1]
    );
    assert!(texts[2].contains("web_fetch needs approval"), "{}", texts[2]);
    assert_eq!(
        server.heads().len(),
        1,
        "the second page is in memory, the third was not asked for"
    );
}

#[test]
fn a_server_is_not_asked_more_often_than_the_limit_says() {
    let server = PageServer::start();
    let urls = [server.url("page?1"), server.url("page?2"), server.url("page?3")];
    let calls = urls.iter().map(|url| Reply::call("web_fetch", json!({"url": url})));
    let model = ModelServer::start(calls.chain([Reply::text("done")]));
    let config = open_to(
        &server,
        &format!(
            "hosts = [\"http://127.0.0.1:{}\"]\n[limits]\nweb_requests_per_minute = 2\n",
            server.port
        ),
    );
    let bench = Bench::new("//- /a.txt\nx\n");
    let mut command =
        bench.asking(Model { format: WireFormat::Anthropic, server: &model }, "Read them.");
    finish(command.env("XDG_CONFIG_HOME", config.root()));
    let calls = model.calls();
    let answers = calls.last().expect("calls").tool_answers();
    let texts: Vec<&str> = answers.iter().map(|answer| answer.text.as_str()).collect();
    assert!(texts[1].contains("in the **page**"), "{}", texts[1]);
    assert!(texts[2].contains("127.0.0.1 was asked 2 times within a minute"), "{}", texts[2]);
    assert_eq!(server.heads().len(), 2);
}
