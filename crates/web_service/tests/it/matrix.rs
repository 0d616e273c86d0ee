//! What each role may ask of every route. A new route fails these tests until it stands in the tables.

use serde_json::{Value, json};
use web_service::{document, team_routes};

use crate::client::open;
use crate::team_service::TeamService;

/// All routes as `METHOD /path`, in the order of the description.
fn described() -> Vec<String> {
    let document = document(&team_routes());
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            routes.push(format!("{} {path}", method.to_uppercase()));
        }
    }
    routes
}

/// The target with something that does not exist in the place of every parameter.
fn target(route: &str, session: &str) -> String {
    let parts = route.split('/').map(|part| match part {
        "{session}" => session,
        "{project}" => "web",
        part if part.starts_with('{') => "0",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

async fn status(service: &TeamService, user: Option<&str>, target: &str) -> u16 {
    let header = user.map(|user| service.header(user));
    let headers: Vec<&str> = header.iter().map(String::as_str).collect();
    let body = if target.starts_with("GET") { "" } else { "{}" };
    open(&service.address, target, &headers, body).await.0
}

/// Each may be refused five times.
const ROUTES_AT_A_TIME: usize = 10;

/// An id that no session has.
const NO_SESSION: &str = "1hf7yat00zzzzzzzzzzz";

#[tokio::test(flavor = "multi_thread")]
async fn what_each_role_may_ask() {
    let mut table = String::new();
    let mut service = TeamService::start().await;
    for (at, route) in described().into_iter().enumerate() {
        // So many refusals would be told to wait.
        if at % ROUTES_AT_A_TIME == 0 {
            service = TeamService::start().await;
        }
        let target = target(&route, NO_SESSION);
        let mut row = String::new();
        for (letter, user) in [
            ('s', None),
            ('v', Some("vic")),
            ('m', Some("ada")),
            ('a', Some("pat")),
            ('A', Some("root")),
        ] {
            let status = status(&service, user, &target).await;
            assert_ne!(status, 429, "{route}");
            let passes = !matches!(status, 401 | 403);
            row.push(if passes { letter } else { '-' });
        }
        table.push_str(&format!("{row} {route}\n"));
    }
    insta::assert_snapshot!(table, @r"
    svmaA GET /api
    svmaA GET /api/proof
    svmaA GET /api/login
    svmaA POST /api/login
    -vmaA POST /api/logout
    -vmaA GET /api/overview
    -vmaA GET /api/projects
    -vmaA GET /api/models
    -vmaA GET /api/stats
    --maA GET /api/files
    --maA GET /api/files/content
    --maA GET /api/search
    -vmaA POST /api/highlight
    -vmaA GET /api/sessions
    --maA POST /api/sessions
    -vmaA GET /api/sessions/{session}
    --maA PATCH /api/sessions/{session}
    --maA DELETE /api/sessions/{session}
    -vmaA GET /api/sessions/{session}/timeline
    --maA POST /api/sessions/{session}/fork
    -vmaA GET /api/sessions/{session}/export
    --maA POST /api/sessions/{session}/messages
    -vmaA GET /api/sessions/{session}/images/{hash}
    -vmaA GET /api/sessions/{session}/queue
    --maA DELETE /api/sessions/{session}/queue/{message}
    --maA POST /api/sessions/{session}/interrupt
    --maA POST /api/sessions/{session}/continue
    --maA POST /api/sessions/{session}/rewind
    -vmaA GET /api/approvals
    -vmaA GET /api/approvals/{owner}/{question}
    ---aA POST /api/approvals/{owner}/{question}
    -vmaA GET /api/sessions/{session}/diff
    -vmaA GET /api/sessions/{session}/changed
    -vmaA GET /api/history
    --maA POST /api/history/undo
    --maA POST /api/history/redo
    --maA GET /api/complete
    -vmaA GET /api/custom-tools
    ---aA POST /api/custom-tools/trust
    -vmaA GET /api/stats/days
    -vmaA GET /api/search/all
    -vmaA GET /api/tools
    --maA POST /api/tools/{tool}
    -vmaA GET /api/policy
    --maA POST /api/policy/explain
    ---aA DELETE /api/policy/{rule}
    -vmaA GET /api/events
    -vmaA GET /api/sessions/{session}/log
    svmaA POST /api/login/oidc
    svmaA POST /api/login/oidc/finish
    -vmaA GET /api/me
    -vmaA GET /api/me/tokens
    -vmaA POST /api/me/tokens
    -vmaA DELETE /api/me/tokens/{token}
    -vmaA GET /api/me/keys
    --maA PUT /api/me/keys/{provider}
    --maA DELETE /api/me/keys/{provider}
    ----A GET /api/people
    ----A PATCH /api/people/{user}
    ----A GET /api/invitations
    ----A POST /api/invitations
    ----A DELETE /api/invitations/{invitation}
    ----A GET /api/tokens
    ----A DELETE /api/tokens/{token}
    ----A GET /api/shares
    ----A PUT /api/projects/{project}/people/{user}
    ----A DELETE /api/projects/{project}/people/{user}
    -vmaA GET /api/sessions/{session}/access
    --maA PUT /api/sessions/{session}/access
    ----A GET /api/budgets
    ----A PUT /api/budgets
    ----A DELETE /api/budgets
    -vmaA GET /api/spending
    ----A GET /api/audit
    ----A GET /api/audit/export
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_about_a_session_shows_that_of_another() {
    let service = TeamService::start().await;
    let id = service.session("ada", "hello").await;
    let routes: Vec<String> =
        described().into_iter().filter(|route| route.contains("{session}")).collect();
    assert!(routes.len() > 15, "{routes:?}");
    for route in &routes {
        let target = target(route, &id);
        // A body that is understood, so that the session is what is refused.
        for user in ["bob", "vic", "eve"] {
            let answer = answered(&service, user, &target).await;
            let expected = if user == "vic" && !is_read(route) { 403 } else { 404 };
            assert_eq!(answer, expected, "{route} of {user}");
            let missing = answered(&service, user, &target.replace(&id, NO_SESSION)).await;
            assert_eq!(answer, missing, "{route} of {user} tells that there is something");
        }
    }
}

fn is_read(route: &str) -> bool {
    route.starts_with("GET")
}

/// The status with a body that the route understands.
async fn answered(service: &TeamService, user: &str, target: &str) -> u16 {
    let body = match target {
        read if is_read(read) => Value::Null,
        it if it.ends_with("/messages") => json!({"text": "x"}),
        it if it.ends_with("/rewind") => json!({"to": 1}),
        it if it.ends_with("/access") => json!({"visibility": "project"}),
        it if it.starts_with("PATCH") => json!({"title": "x"}),
        _ => json!({}),
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let header = service.header(user);
    let target = target.replace("/images/0", &format!("/images/{}", "0".repeat(64)));
    open(&service.address, &target, &[&header], &body).await.0
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_be_done_with_a_session_of_another_that_may_be_seen() {
    let service = TeamService::start().await;
    let id = service.session("ada", "hello").await;
    let share = format!("PUT /api/sessions/{id}/access");
    service.good("ada", &share, r#"{"visibility": "project"}"#).await;
    let routes = described().into_iter().filter(|route| route.contains("{session}"));
    let mut table = String::new();
    // The owner last, who may delete it.
    for route in routes.filter(|route| !route.starts_with("DELETE /api/sessions/{session} ")) {
        let target = target(&route, &id);
        if target.starts_with("DELETE") && !target.contains("queue") {
            continue;
        }
        let mut row = String::new();
        for (letter, user) in
            [('v', "vic"), ('m', "bob"), ('a', "pat"), ('A', "root"), ('o', "ada")]
        {
            let status = answered(&service, user, &target).await;
            row.push(if matches!(status, 401 | 403) { '-' } else { letter });
        }
        table.push_str(&format!("{row} {route}\n"));
    }
    insta::assert_snapshot!(table, @r"
    vmaAo GET /api/sessions/{session}
    ----o PATCH /api/sessions/{session}
    vmaAo GET /api/sessions/{session}/timeline
    -maAo POST /api/sessions/{session}/fork
    vmaAo GET /api/sessions/{session}/export
    ----o POST /api/sessions/{session}/messages
    vmaAo GET /api/sessions/{session}/images/{hash}
    vmaAo GET /api/sessions/{session}/queue
    ----o DELETE /api/sessions/{session}/queue/{message}
    ---Ao POST /api/sessions/{session}/interrupt
    ----o POST /api/sessions/{session}/continue
    ----o POST /api/sessions/{session}/rewind
    vmaAo GET /api/sessions/{session}/diff
    vmaAo GET /api/sessions/{session}/changed
    vmaAo GET /api/sessions/{session}/log
    vmaAo GET /api/sessions/{session}/access
    ---Ao PUT /api/sessions/{session}/access
    ");
    for (user, status) in [("vic", 403), ("bob", 403), ("pat", 403), ("root", 200)] {
        let answer = service.ask(user, &format!("DELETE /api/sessions/{id}"), "").await;
        assert_eq!(answer.status, status, "{user}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_told_with_the_first_answer_what_its_user_may_do() {
    let service = TeamService::start().await;
    for (user, is_admin) in [("vic", false), ("ada", false), ("pat", false), ("root", true)] {
        let told = service.good(user, "GET /api/overview", "").await["user"].take();
        assert_eq!(told, service.good(user, "GET /api/me", "").await);
        let scopes = told["scopes"].as_array().unwrap();
        assert_eq!(scopes.contains(&json!("admin")), is_admin, "{user}");
    }
}
