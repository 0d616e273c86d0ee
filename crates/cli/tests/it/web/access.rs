//! The one-time link, the cookie and the file with the tokens.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use testkit::Fixture;

use super::service::{Service, state};

/// The cookie that an answer sets, as a browser sends it back.
fn cookie(head: &str, body_of: &str) -> String {
    let line = head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let line = line.unwrap_or_else(|| panic!("no cookie: {body_of}"));
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(line.contains(attribute), "{line}");
    }
    format!("cookie: {}", line.split(';').next().unwrap())
}

#[test]
fn the_browser_is_given_a_file_and_not_the_code_which_other_users_could_read() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let programs = project.root().with_file_name("programs");
    let told = project.root().with_file_name("told");
    rustix::fs::mkfifoat(rustix::fs::CWD, &told, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    fs::create_dir(&programs).unwrap();
    let browser = programs.join("xdg-open");
    let script = format!("#!/bin/sh\nprintf '%s' \"$*\" > '{}'\n", told.display());
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
    let path = programs.to_str().unwrap();
    let more = ["--provider", "offline", "--open"];
    let service = Service::start_in(&project, &more, &[("PATH", path)]);
    // Waits until the browser has been started.
    let arguments = fs::read_to_string(&told).unwrap();
    let page = state(&project).join("toolkiln/web/open.html");
    assert_eq!(arguments, page.to_str().unwrap());
    assert_eq!(fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    let leads = format!("url=http://{}/#code={}\"", service.address, service.code);
    assert!(fs::read_to_string(&page).unwrap().contains(&leads));
    assert_eq!(service.terminate(), Some(143));
    assert!(!page.exists());
}

#[test]
fn the_description_is_a_page_for_browsers_and_a_document_for_programs() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let accept = "accept: text/html,application/xhtml+xml,*/*;q=0.8";
    let shown = service.request_as_is(
        "GET /api",
        &[&format!("host: {}", service.address), accept, "sec-fetch-site: none"],
        "",
    );
    assert!(shown.head.contains("content-type: text/html"), "{}", shown.head);
    for part in ["<code>POST /api/sessions/{session}/messages</code>", "scope approve", "no login"]
    {
        assert!(shown.body.contains(part), "{part}");
    }
    assert!(!shown.body.contains("<script"));
    assert_eq!(service.request("GET /api", &[], "").json()["openapi"], "3.1.0");
}

#[test]
fn files_of_the_page_are_packed_for_browsers_and_kept_by_them() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let plain = service.request("GET /app.js", &[], "");
    assert!(plain.body.contains("import ") && !plain.head.contains("content-encoding"));
    let packed = service.request("HEAD /app.js", &["accept-encoding: gzip, br"], "");
    assert!(packed.head.contains("content-encoding: gzip"), "{}", packed.head);
    let tag = plain.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let again = service.request("GET /app.js", &[&format!("if-none-match: {tag}")], "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

#[test]
fn a_link_of_another_page_leads_to_the_page_but_not_to_the_api() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let foreign = "sec-fetch-site: cross-site";
    let page = service.request("GET /", &[foreign], "");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("frame-ancestors 'none'"), "{}", page.head);
    assert_eq!(
        service.request("GET /api/sessions", &[foreign], "").refusal(),
        "403 FOREIGN_ORIGIN"
    );
    assert_eq!(service.request("GET /app.js", &[foreign], "").refusal(), "403 FOREIGN_ORIGIN");
    let rebound = ["host: evil.example"];
    assert_eq!(service.request_as_is("GET /", &rebound, "").refusal(), "421 WRONG_HOST");
}

#[test]
fn the_link_lets_one_browser_in_which_stays_logged_in_after_a_restart() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let origin = |service: &Service| format!("origin: http://{}", service.address);
    let code = format!(r#"{{"code": "{}"}}"#, service.code);
    let login = "POST /api/login";
    let foreign = service.request(login, &["origin: http://evil.example"], &code);
    assert_eq!(foreign.refusal(), "403 FOREIGN_ORIGIN");
    let wrong = service.request(login, &[&origin(&service)], r#"{"code": "x"}"#);
    assert_eq!(wrong.refusal(), "401 UNAUTHORIZED");
    let scoped = format!(r#"{{"code": {}}}"#, service.secrets["chat"]);
    assert_eq!(service.request(login, &[], &scoped).refusal(), "401 UNAUTHORIZED");
    let answer = service.request(login, &[&origin(&service)], &code);
    let cookie = cookie(&answer.head, &answer.body);
    assert_eq!(service.request(login, &[&origin(&service)], &code).refusal(), "401 UNAUTHORIZED");

    let own_page = "sec-fetch-site: same-origin";
    assert_eq!(service.request("GET /api/sessions", &[&cookie, own_page], "").status, 200);
    assert_eq!(
        service.request("GET /api/sessions", &[&cookie], "").refusal(),
        "403 FOREIGN_ORIGIN"
    );
    let post = "POST /api/sessions";
    assert_eq!(service.request(post, &[&cookie], "{}").refusal(), "403 FOREIGN_ORIGIN");
    assert_eq!(
        service.request(post, &[&cookie, own_page, "x-toolkiln: 1"], "{}").refusal(),
        "403 FOREIGN_ORIGIN"
    );
    let page = [&*cookie, &origin(&service), own_page, "x-toolkiln: 1"];
    assert_eq!(service.request(post, &page, "{}").status, 200);
    service.kill();

    let service = Service::start_with(&project, &["--provider", "offline"]);
    assert_eq!(service.request("GET /api/sessions", &[&cookie, own_page], "").status, 200);
    service.kill();
    let service = Service::start_with(&project, &["--provider", "offline", "--new-tokens"]);
    let refused = service.request("GET /api/sessions", &[&cookie, own_page], "");
    assert_eq!(refused.refusal(), "401 UNAUTHORIZED");
}

#[test]
fn the_tokens_lie_in_a_file_that_only_the_user_reads() {
    let project = Fixture::new("//- /notes.txt\nfirst\n");
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let directory = state(&project).join("toolkiln/web");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&directory), mode(&directory.join("secrets.json"))), (0o700, 0o600));
    // The description needs no login, and says nothing of this machine.
    let description = service.request("GET /api", &[], "");
    assert_eq!(description.json()["openapi"], "3.1.0");
    assert!(!description.body.contains(project.root().to_str().unwrap()));
}
