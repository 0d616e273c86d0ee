//! The table of attacks. Each row is a request and what becomes of it.

use axum::http::HeaderValue;

use super::*;
use crate::credentials::Secrets;

const NOW: u64 = 1_000;

struct Bench {
    secrets: Secrets,
    credentials: Credentials,
    cookie: String,
}

impl Bench {
    fn new() -> Self {
        let secrets = Secrets::generate().unwrap();
        let credentials = Credentials::new(&secrets);
        let cookie = format!("{COOKIE_NAME}={}", credentials.cookie(NOW).unwrap());
        Self { secrets, credentials, cookie }
    }

    /// What becomes of a request. `$all`, `$chat` and `$cookie` stand for what is good.
    fn verdict(&self, site: &Site, target: &str, headers: &[(&str, &str)], need: Need) -> String {
        let (method, uri) = target.split_once(' ').unwrap();
        let method: Method = method.parse().unwrap();
        let uri: Uri = uri.replace("$all", &self.secrets.all).parse().unwrap();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = value
                .replace("$all", &self.secrets.all)
                .replace("$chat", &self.secrets.chat)
                .replace("$approve", &self.secrets.approve)
                .replace("$cookie", &self.cookie);
            let name: HeaderName = name.parse().unwrap();
            map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let request = RequestParts { method: &method, uri: &uri, headers: &map };
        match judge(request, site, &self.credentials, need, NOW) {
            Ok(Some(KnownClient { by: Proof::Token, .. })) => "token".to_owned(),
            Ok(Some(KnownClient { by: Proof::Cookie, .. })) => "cookie".to_owned(),
            Ok(None) => "unknown".to_owned(),
            Err(refusal) => refusal.status().as_u16().to_string(),
        }
    }
}

/// As the service has it when it listens at both addresses of this machine.
fn usual_site(port: u16) -> Site {
    Site::loopback(([127, 0, 0, 1], port).into(), &["[::1]", "localhost"])
}

const HOST_OK: (&str, &str) = ("host", "127.0.0.1:7070");
const ORIGIN_OK: (&str, &str) = ("origin", "http://127.0.0.1:7070");
const BEARER: (&str, &str) = ("authorization", "Bearer $all");
const WITH_COOKIE: (&str, &str) = ("cookie", "$cookie");
const OWN: (&str, &str) = ("x-toolkiln", "1");
const SAME: (&str, &str) = ("sec-fetch-site", "same-origin");
const CHAT: Need = Need::Scope(AccessScope::Chat);

#[test]
fn hosts() {
    let bench = Bench::new();
    let site = usual_site(7070);
    let table = [
        ("127.0.0.1:7070", "token"),
        ("localhost:7070", "token"),
        ("LocalHost:7070", "token"),
        ("[::1]:7070", "token"),
        // Names that a name server decides about, as in DNS rebinding.
        ("evil.example:7070", "421"),
        ("127.0.0.1.nip.io:7070", "421"),
        ("localhost.evil.example:7070", "421"),
        ("evil.localhost:7070", "421"),
        ("localhost.:7070", "421"),
        ("127.0.0.1.:7070", "421"),
        // Other ways to write this machine, which browsers write otherwise.
        ("127.1:7070", "421"),
        ("2130706433:7070", "421"),
        ("0x7f.0.0.1:7070", "421"),
        ("127.0.0.2:7070", "421"),
        ("0.0.0.0:7070", "421"),
        ("[::]:7070", "421"),
        ("[::ffff:127.0.0.1]:7070", "421"),
        ("[0:0:0:0:0:0:0:1]:7070", "421"),
        ("::1:7070", "421"),
        // Ports.
        ("127.0.0.1", "421"),
        ("127.0.0.1:", "421"),
        ("127.0.0.1:80", "421"),
        ("127.0.0.1:07070", "421"),
        ("127.0.0.1:7071", "421"),
        ("user@127.0.0.1:7070", "421"),
        (" ", "421"),
        ("", "421"),
        ("127.0.0.1:7070, evil.example", "421"),
        ("локалхост:7070", "421"),
    ];
    for (host, expected) in table {
        let found = bench.verdict(&site, "GET /api/sessions", &[("host", host), BEARER], CHAT);
        assert_eq!(found, expected, "{host}");
    }
    let none = bench.verdict(&site, "GET /api/sessions", &[BEARER], CHAT);
    let two = [HOST_OK, HOST_OK, BEARER];
    assert_eq!((none.as_str(), &*bench.verdict(&site, "GET /", &two, CHAT)), ("421", "421"));
    // A target with a host of its own.
    let absolute = "GET http://evil.example/api";
    assert_eq!(bench.verdict(&site, absolute, &[HOST_OK, BEARER], CHAT), "421");
    let absolute = "GET http://127.0.0.1:7070/api";
    assert_eq!(bench.verdict(&site, absolute, &[HOST_OK, BEARER], CHAT), "token");
    let usual_port = usual_site(80);
    assert_eq!(bench.verdict(&usual_port, "GET /", &[("host", "[::1]"), BEARER], CHAT), "token");
    // Even where no login is needed.
    let rebound = [("host", "evil.example:7070")];
    assert_eq!(bench.verdict(&site, "GET /api", &rebound, Need::Nothing), "421");
}

#[test]
fn links_of_other_pages_lead_to_the_page_and_to_nothing_else() {
    let bench = Bench::new();
    let site = usual_site(7070);
    let (method, uri) = (Method::GET, Uri::from_static("/"));
    let shown = |headers: &[(&'static str, &'static str)]| {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        judge_page(RequestParts { method: &method, uri: &uri, headers: &map }, &site).is_ok()
    };
    let foreign = ("sec-fetch-site", "cross-site");
    assert!(shown(&[HOST_OK, foreign]));
    assert!(shown(&[HOST_OK, foreign, ("sec-fetch-mode", "navigate")]));
    assert!(!shown(&[("host", "evil.example:7070")]) && !shown(&[]));
    for target in ["GET /api", "GET /api/sessions", "GET /app.js", "POST /"] {
        assert_eq!(bench.verdict(&site, target, &[HOST_OK, foreign], Need::Nothing), "403");
    }
}

#[test]
fn origins() {
    let bench = Bench::new();
    let site = usual_site(7070);
    let foreign = [
        "http://evil.example",
        "https://127.0.0.1:7070",
        "http://127.0.0.1:7071",
        "http://127.0.0.1",
        "http://localhost:7070",
        "http://127.0.0.1:7070.evil.example",
        "http://127.0.0.1:7070/",
        "http://127.0.0.1:7070 ",
        "HTTP://127.0.0.1:7070",
        "http://evil.example@127.0.0.1:7070",
        "null",
        "NULL",
        "",
        "file://",
        "chrome-extension://abc",
    ];
    for origin in foreign {
        for proof in [BEARER, WITH_COOKIE] {
            for method in ["GET /api/events", "POST /api/sessions"] {
                let headers = [HOST_OK, ("origin", origin), proof, OWN];
                assert_eq!(bench.verdict(&site, method, &headers, CHAT), "403", "{origin}");
            }
        }
    }
    // The reverse: a good Origin does not make a foreign Host good.
    let reverse = [("host", "evil.example:7070"), ORIGIN_OK, WITH_COOKIE, OWN];
    assert_eq!(bench.verdict(&site, "POST /api/sessions", &reverse, CHAT), "421");
    // Both foreign, and equal to each other.
    let rebound =
        [("host", "evil.example:7070"), ("origin", "http://evil.example:7070"), WITH_COOKIE, OWN];
    assert_eq!(bench.verdict(&site, "POST /api/sessions", &rebound, CHAT), "421");
    let twice = [HOST_OK, ORIGIN_OK, ORIGIN_OK, WITH_COOKIE, OWN];
    assert_eq!(bench.verdict(&site, "POST /api/sessions", &twice, CHAT), "403");
    // The page at another of our names is another origin.
    let localhost = [("host", "localhost:7070"), ORIGIN_OK, WITH_COOKIE, OWN];
    assert_eq!(bench.verdict(&site, "POST /api/sessions", &localhost, CHAT), "403");
}

#[test]
fn cookies() {
    let bench = Bench::new();
    let site = usual_site(7070);
    let verdict = |target: &str, more: &[(&str, &str)]| {
        let headers: Vec<_> = [HOST_OK, WITH_COOKIE].into_iter().chain(more.to_vec()).collect();
        bench.verdict(&site, target, &headers, CHAT)
    };
    let (get, post) = ("GET /api/events", "POST /api/sessions");
    assert_eq!(verdict(post, &[ORIGIN_OK, OWN]), "cookie");
    assert_eq!(verdict(post, &[ORIGIN_OK, OWN, SAME]), "cookie");
    assert_eq!(verdict(get, &[SAME]), "cookie");
    assert_eq!(verdict(get, &[("sec-fetch-site", "none")]), "cookie");
    assert_eq!(verdict(get, &[ORIGIN_OK]), "cookie");
    // No Origin with a cookie.
    assert_eq!(verdict(post, &[]), "403");
    assert_eq!(verdict(post, &[OWN]), "403");
    assert_eq!(verdict(post, &[OWN, SAME]), "403");
    assert_eq!(verdict(get, &[]), "403");
    // A form of our own origin cannot send the header.
    assert_eq!(verdict(post, &[ORIGIN_OK]), "403");
    // What browsers say of the page that asks.
    for site_said in ["cross-site", "same-site", "SAME-ORIGIN", "", "same-origin, none"] {
        let said = ("sec-fetch-site", site_said);
        assert_eq!(verdict(get, &[ORIGIN_OK, said]), "403", "{site_said}");
        assert_eq!(verdict(post, &[ORIGIN_OK, OWN, said]), "403", "{site_said}");
    }
    assert_eq!(verdict(post, &[ORIGIN_OK, OWN, ("sec-fetch-site", "none")]), "403");
    // Every method that is not a read counts as a change.
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        assert_eq!(verdict(&format!("{method} /api/sessions"), &[SAME]), "403", "{method}");
    }
}

#[test]
fn credentials_of_all_kinds() {
    let bench = Bench::new();
    let site = usual_site(7070);
    let verdict = |target: &str, headers: &[(&str, &str)], need| {
        let headers: Vec<_> = [HOST_OK].into_iter().chain(headers.to_vec()).collect();
        bench.verdict(&site, target, &headers, need)
    };
    let get = "GET /api/sessions";
    assert_eq!(verdict(get, &[], Need::Login), "401");
    assert_eq!(verdict(get, &[], Need::Nothing), "unknown");
    assert_eq!(verdict(get, &[BEARER], Need::Login), "token");
    assert_eq!(verdict(get, &[("authorization", "bearer $all")], Need::Login), "token");
    // The query is not a place for tokens.
    for query in ["token=$all", "access_token=$all", "authorization=Bearer%20$all", "$all"] {
        assert_eq!(verdict(&format!("GET /api/sessions?{query}"), &[], CHAT), "401", "{query}");
    }
    let refused =
        ["$all", "Basic $all", "Bearer", "Bearer ", "Bearer $all$all", "Bearer  $all", ""];
    for value in refused {
        assert_eq!(verdict(get, &[("authorization", value)], Need::Login), "401", "{value}");
        // Not even where no login is needed: a client that shows a token wants it to count.
        assert_eq!(verdict(get, &[("authorization", value)], Need::Nothing), "401", "{value}");
    }
    assert_eq!(verdict(get, &[BEARER, BEARER], CHAT), "401");
    // A bad token is not made good by a cookie.
    let both = [("authorization", "Bearer no"), WITH_COOKIE, SAME];
    assert_eq!(verdict(get, &both, CHAT), "401");
    // Other scopes.
    let chat = ("authorization", "Bearer $chat");
    assert_eq!(verdict(get, &[chat], CHAT), "token");
    assert_eq!(verdict(get, &[chat], Need::Login), "token");
    assert_eq!(verdict(get, &[chat], Need::Scope(AccessScope::Approve)), "403");
    assert_eq!(verdict(get, &[chat], Need::Scope(AccessScope::Tools)), "403");
    assert_eq!(verdict(get, &[("authorization", "Bearer $approve")], CHAT), "403");
    // Cookies that others have set beside ours.
    let beside = [("cookie", "a=b; toolkiln=forged; $cookie"), SAME];
    assert_eq!(verdict(get, &beside, CHAT), "cookie");
    assert_eq!(verdict(get, &[("cookie", "toolkiln=forged"), SAME], CHAT), "401");
    assert_eq!(verdict(get, &[("cookie", "x$cookie"), SAME], CHAT), "401");
    assert_eq!(verdict(get, &[("cookie", "toolkiln=$all"), SAME], CHAT), "401");
}

#[test]
fn a_proxy_is_the_only_name_of_a_service_behind_it() {
    let bench = Bench::new();
    let site = Site::proxy("https://Kiln.example.org").unwrap();
    let post = "POST /api/sessions";
    let good =
        [("host", "kiln.example.org"), ("origin", "https://kiln.example.org"), WITH_COOKIE, OWN];
    assert_eq!(bench.verdict(&site, post, &good, CHAT), "cookie");
    let plain = [("host", "kiln.example.org"), ("origin", "http://kiln.example.org"), BEARER];
    assert_eq!(bench.verdict(&site, post, &plain, CHAT), "403");
    assert_eq!(bench.verdict(&site, post, &[HOST_OK, BEARER], CHAT), "421");
    let refused = [
        "",
        "kiln.example.org",
        "http://kiln.example.org",
        "https://",
        "https://kiln.example.org/path",
        "https://kiln.example.org/?x",
        "https://user@kiln.example.org",
        "https://kiln.example.org.",
        "https://kiln.example.org/#x",
    ];
    for address in refused {
        assert!(Site::proxy(address).is_err(), "{address}");
    }
}

#[test]
fn names_of_addresses_that_are_not_listened_at_are_refused() {
    let bench = Bench::new();
    let verdict = |site: &Site, host: &str| {
        bench.verdict(site, "GET /api/sessions", &[("host", host), BEARER], CHAT)
    };
    let alone = Site::loopback(([127, 0, 0, 2], 7070).into(), &[]);
    let six: SocketAddr = "[::1]:7070".parse().unwrap();
    let six = Site::loopback(six, &["localhost"]);
    let hosts = ["127.0.0.2:7070", "127.0.0.1:7070", "[::1]:7070", "localhost:7070"];
    assert_eq!(hosts.map(|host| verdict(&alone, host)), ["token", "421", "421", "421"]);
    assert_eq!(hosts.map(|host| verdict(&six, host)), ["421", "421", "token", "token"]);
    assert_eq!(alone.url(), "http://127.0.0.2:7070");
    assert_eq!(six.url(), "http://[::1]:7070");
}
