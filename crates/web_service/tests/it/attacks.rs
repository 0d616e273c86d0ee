//! Tokens and cookies that are stolen, made up, old, or not meant for what they are shown for.

use serde_json::json;
use team::{PeopleStore as _, Scope, SecretKind, SecretText, TeamRole, UserChange};

use crate::client::Answer;
use crate::team_service::{Setup, TeamService, add_token, bearer};

/// What a browser sends with a request of our own page.
fn own_page(service: &TeamService) -> [String; 3] {
    let origin = format!("origin: http://{}", service.address);
    [origin, "sec-fetch-site: same-origin".to_owned(), "x-toolkiln: 1".to_owned()]
}

/// Logs a browser in by a token, and answers its cookie as a header.
async fn browser(service: &TeamService, user: &str) -> String {
    let token = service.header(user).replace("authorization: Bearer ", "");
    let body = json!({"code": token}).to_string();
    let answer = service.raw("POST /api/login", &[], &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    format!("cookie: {}", answer.cookies()[0])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_never_takes_a_secret_that_the_browser_brought() {
    let service = TeamService::start().await;
    let made_up = SecretText::generate(SecretKind::Browser).unwrap();
    let planted = format!("cookie: toolkiln={}", made_up.expose());
    let token = service.header("ada").replace("authorization: Bearer ", "");
    let body = json!({"code": token}).to_string();
    let answer = service.raw("POST /api/login", &[&planted], &body).await;
    assert_eq!(answer.status, 200);
    let given = format!("cookie: {}", answer.cookies()[0]);
    assert_ne!(given, planted);
    let cookie = answer.headers("set-cookie")[0];
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let page = own_page(&service);
    let asked = async |cookie: &str| {
        let headers = [cookie, &page[0], &page[1], &page[2]];
        service.raw("GET /api/me", &headers, "").await.status
    };
    assert_eq!((asked(&planted).await, asked(&given).await), (401, 200));
    // Another login of the same browser ends the one before.
    let headers = [given.as_str(), &page[0], &page[1], &page[2]];
    let again = service.raw("POST /api/login", &headers, &body).await;
    let newer = format!("cookie: {}", again.cookies()[0]);
    assert_eq!((asked(&given).await, asked(&newer).await), (401, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_ends_the_login_on_the_server() {
    let service = TeamService::start().await;
    let cookie = browser(&service, "ada").await;
    let other = browser(&service, "ada").await;
    let page = own_page(&service);
    let headers = |cookie| [cookie, page[0].as_str(), &page[1], &page[2]];
    let answer = service.raw("POST /api/logout", &headers(&cookie), "").await;
    assert_eq!(answer.status, 200);
    assert!(answer.headers("set-cookie")[0].contains("Max-Age=0"), "{answer:?}");
    assert_eq!(service.raw("GET /api/me", &headers(&cookie), "").await.status, 401);
    assert_eq!(service.raw("GET /api/me", &headers(&other), "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_counts_only_with_requests_of_our_own_page() {
    let service = TeamService::start().await;
    let cookie = browser(&service, "root").await;
    let page = own_page(&service);
    let body = json!({"role": "admin"}).to_string();
    let target = format!("PATCH /api/people/{}", service.user("ada").id);
    let foreign = "origin: https://evil.example";
    for headers in [
        vec![cookie.as_str()],
        vec![&cookie, foreign, "x-toolkiln: 1"],
        vec![&cookie, "origin: null", "x-toolkiln: 1"],
        vec![&cookie, "sec-fetch-site: cross-site", "x-toolkiln: 1"],
        vec![&cookie, "sec-fetch-site: same-site", "x-toolkiln: 1"],
        vec![&cookie, page[0].as_str()],
    ] {
        let answer = service.raw(&target, &headers, &body).await;
        assert_eq!(answer.status, 403, "{headers:?}");
    }
    let headers = [cookie.as_str(), &page[0], &page[1], &page[2]];
    assert_eq!(service.raw(&target, &headers, &body).await.status, 200);
    // A login of another page's making, too.
    let token = service.header("ada").replace("authorization: Bearer ", "");
    let login = json!({"code": token}).to_string();
    assert_eq!(service.raw("POST /api/login", &[foreign], &login).await.status, 403);
    assert_eq!(service.raw("POST /api/login/oidc", &[foreign], "{}").await.status, 403);
    // A host that is not ours.
    let host = ["host: evil.example", cookie.as_str()];
    assert_eq!(service.raw("GET /api/me", &host, "").await.status, 421);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_cookies_of_our_name_are_none() {
    let service = TeamService::start().await;
    let (ada, bob) = (browser(&service, "ada").await, browser(&service, "bob").await);
    let both = format!("{ada}; {}", bob.strip_prefix("cookie: ").unwrap());
    let page = own_page(&service);
    let answer = service.raw("GET /api/me", &[&both, &page[0], &page[1]], "").await;
    assert_eq!(answer.status, 401, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_kind_of_secret_is_no_good_as_another() {
    let service = TeamService::start().await;
    let token = service.header("ada").replace("authorization: Bearer ", "");
    let cookie = browser(&service, "ada").await;
    let of_browser = cookie.split_once('=').unwrap().1;
    let page = own_page(&service);
    let as_cookie = format!("cookie: toolkiln={token}");
    assert_eq!(service.raw("GET /api/me", &[&as_cookie, &page[0]], "").await.status, 401);
    assert_eq!(service.raw("GET /api/me", &[&bearer(of_browser)], "").await.status, 401);
    let login = json!({"code": of_browser}).to_string();
    assert_eq!(service.raw("POST /api/login", &[], &login).await.status, 401);
    // A token in the address, or one that is wrong beside a good cookie, counts for nothing.
    let target = format!("GET /api/me?token={token}");
    assert!(service.raw(&target, &[], "").await.status >= 400);
    let headers = [cookie.as_str(), page[0].as_str(), "authorization: Bearer wrong"];
    assert_eq!(service.raw("GET /api/me", &headers, "").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_end_and_are_revoked_and_never_grow() {
    let service = TeamService::start().await;
    let ada = service.user("ada");
    let ended = bearer(&add_token(&service.people, ada, &[Scope::Chat], 1).await);
    assert_eq!(service.raw("GET /api/me", &[&ended], "").await.status, 200);
    service.people.pass_seconds(24 * 60 * 60);
    assert_eq!(service.raw("GET /api/me", &[&ended], "").await.status, 401);
    let body = json!({"name": "ci", "scopes": ["chat"], "days": 5}).to_string();
    let made = service.good("ada", "POST /api/me/tokens", &body).await;
    let token = bearer(made["token"].as_str().unwrap());
    assert_eq!(service.raw("GET /api/sessions", &[&token], "").await.status, 200);
    assert_eq!(service.raw("GET /api/files?project=web", &[&token], "").await.status, 403);
    // It does not make one that may do more, nor a browser that may.
    for scopes in [json!(["tools"]), json!(["chat", "admin"]), json!(["mcp"])] {
        let more = json!({"name": "x", "scopes": scopes}).to_string();
        assert_eq!(service.raw("POST /api/me/tokens", &[&token], &more).await.status, 403);
    }
    let login = json!({"code": made["token"]}).to_string();
    assert_eq!(service.raw("POST /api/login", &[], &login).await.status, 401);
    for wrong in [
        json!({"name": "", "scopes": ["chat"]}),
        json!({"name": "x", "scopes": []}),
        json!({"name": "x", "scopes": ["root"]}),
        json!({"name": "x", "scopes": ["chat"], "days": 0}),
        json!({"name": "x", "scopes": ["chat"], "days": 9999}),
    ] {
        let answer = service.ask("ada", "POST /api/me/tokens", &wrong.to_string()).await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
    // Another user cannot revoke it by its id; an admin can.
    let id = made["id"].as_str().unwrap();
    assert_eq!(service.ask("bob", &format!("DELETE /api/me/tokens/{id}"), "").await.status, 404);
    assert_eq!(service.ask("bob", &format!("DELETE /api/tokens/{id}"), "").await.status, 403);
    service.good("root", &format!("DELETE /api/tokens/{id}"), "").await;
    assert_eq!(service.raw("GET /api/me", &[&token], "").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_cannot_be_tried_out() {
    let service = TeamService::start().await;
    let mut told = Vec::new();
    // Some more are told while the test goes on, so that it does not matter how fast it is.
    while told.last() != Some(&429) && told.len() < 1_000 {
        let wrong = SecretText::generate(SecretKind::Token).unwrap();
        told.push(service.raw("GET /api/me", &[&bearer(wrong.expose())], "").await.status);
    }
    assert_eq!((told[0], told.last()), (401, Some(&429)), "{}", told.len());
    let wrong = SecretText::generate(SecretKind::Invitation).unwrap();
    let login = json!({"code": wrong.expose(), "name": "Eve"}).to_string();
    assert_eq!(service.raw("POST /api/login", &[], &login).await.status, 429);
    // Those who are known are not held up.
    assert_eq!(service.ask("ada", "GET /api/me", "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_admin_comes_in_by_a_link_that_is_good_once() {
    let service = TeamService::start_with(Setup { is_empty: true, ..Setup::default() }).await;
    let code = service.first_admin.clone().unwrap();
    let login = |name: &str| json!({"code": code, "name": name}).to_string();
    let nameless = service.raw("POST /api/login", &[], &json!({"code": code}).to_string()).await;
    assert_eq!(nameless.status, 400, "{nameless:?}");
    let answer = service.raw("POST /api/login", &[], &login("Ada")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(service.raw("POST /api/login", &[], &login("Eve")).await.status, 401);
    let (cookie, page) = (format!("cookie: {}", answer.cookies()[0]), own_page(&service));
    let headers = [cookie.as_str(), &page[0], &page[1], &page[2]];
    let me = service.raw("GET /api/me", &headers, "").await.json();
    assert_eq!((me["name"].as_str(), me["role"].as_str()), (Some("Ada"), Some("admin")));
    // The admin invites a member, whose link is good once too.
    let body = json!({"role": "member", "note": "for Bob", "projects": ["web"]}).to_string();
    let made = service.raw("POST /api/invitations", &headers, &body).await.json();
    let link = made["link"].as_str().unwrap();
    let code = link.split_once("/#code=").unwrap().1;
    let accept = json!({"code": code, "name": "Bob"}).to_string();
    assert_eq!(service.raw("POST /api/login", &[], &accept).await.status, 200);
    assert_eq!(service.raw("POST /api/login", &[], &accept).await.status, 401);
    let users = service.people.users().await.unwrap();
    assert_eq!(
        users.iter().map(|user| user.role).collect::<Vec<_>>(),
        [TeamRole::Admin, TeamRole::Member]
    );
    let other = json!({"role": "member", "projects": ["unknown"]}).to_string();
    assert_eq!(service.raw("POST /api/invitations", &headers, &other).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_admin_cannot_lock_everyone_out() {
    let service = TeamService::start().await;
    let own = format!("PATCH /api/people/{}", service.user("root").id);
    for body in [r#"{"role": "viewer"}"#, r#"{"disabled": true}"#] {
        let answer = service.ask("root", &own, body).await;
        assert_eq!(answer.status, 409, "{answer:?}");
    }
    assert_eq!(service.ask("root", &own, r#"{"role": "king"}"#).await.status, 400);
    let change = UserChange { role: Some(TeamRole::Admin), ..UserChange::default() };
    let (root, ada) = (service.user("root").id.clone(), service.user("ada").id.clone());
    service.people.change_user(&root, &ada, change).await.unwrap();
    service.good("root", &own, r#"{"role": "viewer"}"#).await;
    assert_eq!(service.ask("root", "GET /api/people", "").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_makes_nothing_that_outlives_it() {
    let service = TeamService::start().await;
    let ada = service.user("ada").clone();
    let scopes = ada.role.scopes();
    let short = add_token(&service.people, &ada, scopes, 2).await;
    let header = bearer(&short);
    let made = async |body: &str| service.raw("POST /api/me/tokens", &[&header], body).await;
    assert_eq!(made(r#"{"name": "x", "scopes": ["read"], "days": 3}"#).await.status, 403);
    let usual = made(r#"{"name": "x", "scopes": ["read"]}"#).await.json();
    let lives = usual["expires"].as_i64().unwrap() - usual["made"].as_i64().unwrap();
    assert_eq!(lives, 2 * 24 * 60 * 60 * 1000);
    // Nor does a browser that logs in with it.
    let login = json!({"code": short}).to_string();
    let answer = service.raw("POST /api/login", &[], &login).await;
    assert!(answer.head.contains("Max-Age=172800;"), "{answer:?}");
    let cookie = format!("cookie: {}", answer.cookies()[0]);
    let me = async || {
        let headers = [cookie.as_str(), "sec-fetch-site: same-origin"];
        service.raw("GET /api/me", &headers, "").await.status
    };
    assert_eq!(me().await, 200);
    service.people.pass_seconds(2 * 24 * 60 * 60);
    assert_eq!(me().await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_made_with_a_token_is_revoked_with_it() {
    let service = TeamService::start().await;
    let ada = service.user("ada").clone();
    let lost = add_token(&service.people, &ada, ada.role.scopes(), 30).await;
    let body = |days: u32| json!({"name": "x", "scopes": ["read"], "days": days}).to_string();
    let made = service.raw("POST /api/me/tokens", &[&bearer(&lost)], &body(30)).await;
    // A browser that comes with it is no way around that.
    let login = json!({"code": lost}).to_string();
    let answer = service.raw("POST /api/login", &[], &login).await;
    let cookie = format!("cookie: {}", answer.cookies()[0]);
    let page = own_page(&service);
    let headers = [cookie.as_str(), &page[0], &page[1], &page[2]];
    let longer = service.raw("POST /api/me/tokens", &headers, &body(31)).await;
    assert_eq!(longer.status, 403, "{longer:?}");
    let by_page = service.raw("POST /api/me/tokens", &headers, &body(30)).await;
    let id = made.json()["made_with"].as_str().unwrap().to_owned();
    assert_eq!(by_page.json()["made_with"], id, "{by_page:?}");
    let header = |made: &Answer| bearer(made.json()["token"].as_str().unwrap());
    let all = [bearer(&lost), header(&made), header(&by_page), cookie.clone()];
    let known = async |header: &str| {
        let headers = [header, "sec-fetch-site: same-origin"];
        service.raw("GET /api/me", &headers, "").await.status
    };
    for header in &all {
        assert_eq!(known(header).await, 200, "{header}");
    }
    service.good("ada", &format!("DELETE /api/me/tokens/{id}"), "").await;
    for header in &all {
        assert_eq!(known(header).await, 401, "{header}");
    }
    // Those that were made otherwise stay.
    assert_eq!(known(&service.header("ada")).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_define_tools_are_not_for_viewers() {
    let service = TeamService::start().await;
    let target = "GET /api/custom-tools?project=web";
    for (user, count) in [("vic", 0), ("ada", 1), ("pat", 1)] {
        let listed = service.good(user, target, "").await;
        assert_eq!(listed["tools"].as_array().unwrap().len(), count, "{user}");
    }
}
