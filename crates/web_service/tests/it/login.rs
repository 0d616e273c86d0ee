//! Logins by OpenID Connect.

use serde_json::{Value, json};
use team::oidc::{OidcProvider, OidcSettings};
use team::{NewInvitation, PeopleStore as _, SecretKind, SecretText, TeamRole};
use web_service::listen;

use crate::client::Answer;
use crate::provider::TestProvider;
use crate::team_service::{Setup, TeamService};

pub(crate) fn settings(issuer: &str, redirect: &str, new_users: Option<TeamRole>) -> OidcSettings {
    OidcSettings {
        issuer: issuer.to_owned(),
        client_id: "kiln".to_owned(),
        client_secret: None,
        redirect: redirect.to_owned(),
        new_users,
        network: net::Network::default(),
    }
}

async fn started(provider: &TestProvider, new_users: Option<TeamRole>) -> TeamService {
    let (listeners, site) = listen(([127, 0, 0, 1], 0).into(), None).await.unwrap();
    let settings = settings(&provider.issuer, &format!("{}/", site.url()), new_users);
    let oidc = Some(OidcProvider::new(settings).unwrap());
    TeamService::start_with(Setup { oidc, listener: Some((listeners, site)), ..Setup::default() })
        .await
}

/// Begins a login: where the browser goes, and the cookie that it has for it.
async fn begun(service: &TeamService, body: &Value) -> (String, String) {
    let answer = service.raw("POST /api/login/oidc", &[], &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let url = answer.json()["url"].as_str().unwrap().to_owned();
    (url, format!("cookie: {}", answer.cookies()[0]))
}

async fn finished(
    service: &TeamService,
    provider: &TestProvider,
    cookie: &str,
    (code, state): (&str, &str),
) -> Answer {
    let body = json!({"code": code, "state": state, "iss": provider.issuer}).to_string();
    service.raw("POST /api/login/oidc/finish", &[cookie], &body).await
}

/// Who a browser is, by the cookie of an answer.
async fn me(service: &TeamService, answer: &Answer) -> Value {
    let cookie = format!("cookie: {}", answer.cookies()[0]);
    let origin = format!("origin: http://{}", service.address);
    service.raw("GET /api/me", &[&cookie, &origin], "").await.json()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_the_provider_knows_logs_in_and_keeps_the_account() {
    let provider = TestProvider::start().await;
    let service = started(&provider, Some(TeamRole::Viewer)).await;
    let ways = service.raw("GET /api/login", &[], "").await.json();
    assert_eq!(ways, json!({"team": true, "provider": provider.issuer}));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let (url, cookie) = begun(&service, &json!({})).await;
        let (code, state) = provider.agree(&url, "grace");
        let answer = finished(&service, &provider, &cookie, (&code, &state)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.headers("set-cookie")[1].contains("Max-Age=0"), "{answer:?}");
        let me = me(&service, &answer).await;
        assert_eq!(
            (me["name"].as_str(), me["role"].as_str()),
            (Some("grace by name"), Some("viewer"))
        );
        ids.push(me["id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_of_one_browser_and_good_once() {
    let provider = TestProvider::start().await;
    let service = started(&provider, Some(TeamRole::Viewer)).await;
    let (url, cookie) = begun(&service, &json!({})).await;
    let (_, other_cookie) = begun(&service, &json!({})).await;
    let (code, state) = provider.agree(&url, "grace");
    // Another browser, or none, that has got hold of code and state.
    for stolen in [other_cookie.as_str(), "cookie: x=y", "cookie: toolkiln-login=tka_wrong"] {
        let answer = finished(&service, &provider, stolen, (&code, &state)).await;
        assert_eq!(answer.status, 401, "{stolen}: {answer:?}");
    }
    assert_eq!(*provider.exchanges.lock().unwrap(), [0; 0], "the code was not sent anywhere");
    let wrong = finished(&service, &provider, &cookie, (&code, "another state")).await;
    assert_eq!(wrong.status, 401);
    let answer = finished(&service, &provider, &cookie, (&code, &state)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let again = finished(&service, &provider, &cookie, (&code, &state)).await;
    assert_eq!(again.status, 401, "{again:?}");
    // A code of another login under this one's state.
    let (url, cookie) = begun(&service, &json!({})).await;
    let (_, state) = provider.agree(&url, "grace");
    let (elsewhere, _) = begun(&service, &json!({})).await;
    let (code, _) = provider.agree(&elsewhere, "grace");
    let mixed = finished(&service, &provider, &cookie, (&code, &state)).await;
    assert_eq!(mixed.status, 401, "{mixed:?}");
    assert_eq!(*provider.exchanges.lock().unwrap(), [200, 400]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_another_provider_or_an_old_one_is_refused() {
    let provider = TestProvider::start().await;
    let service = started(&provider, Some(TeamRole::Viewer)).await;
    for iss in [Some("https://evil.example"), None] {
        let (url, cookie) = begun(&service, &json!({})).await;
        let (code, state) = provider.agree(&url, "grace");
        let body = json!({"code": code, "state": state, "iss": iss}).to_string();
        let answer = service.raw("POST /api/login/oidc/finish", &[&cookie], &body).await;
        assert_eq!(answer.status, 401, "{iss:?}: {answer:?}");
    }
    assert_eq!(*provider.exchanges.lock().unwrap(), [0; 0]);
    let (url, cookie) = begun(&service, &json!({})).await;
    let (code, state) = provider.agree(&url, "grace");
    service.people.pass_seconds(11 * 60);
    let late = finished(&service, &provider, &cookie, (&code, &state)).await;
    assert_eq!(late.status, 401, "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_to_be_believed_logs_no_user_in() {
    let provider = TestProvider::start().await;
    let service = started(&provider, Some(TeamRole::Admin)).await;
    let before = service.people.users().await.unwrap().len();
    for claims in [
        json!({"nonce": "of another login"}),
        json!({"aud": "another client"}),
        json!({"iss": "https://evil.example"}),
        json!({"exp": 1_700_000_000}),
        json!({"sub": ""}),
    ] {
        *provider.claims.lock().unwrap() = claims.clone();
        let (url, cookie) = begun(&service, &json!({})).await;
        let (code, state) = provider.agree(&url, "grace");
        let answer = finished(&service, &provider, &cookie, (&code, &state)).await;
        assert_eq!(answer.status, 401, "{claims}: {answer:?}");
        assert_eq!(answer.cookies(), [""; 0]);
    }
    assert_eq!(service.people.users().await.unwrap().len(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_needs_an_invitation_which_the_provider_has_to_confirm() {
    let provider = TestProvider::start().await;
    let service = started(&provider, None).await;
    let log_in = async |subject: &str, body: Value| {
        let (url, cookie) = begun(&service, &body).await;
        let (code, state) = provider.agree(&url, subject);
        finished(&service, &provider, &cookie, (&code, &state)).await
    };
    let refused = log_in("grace", json!({})).await;
    assert_eq!((refused.status, refused.cookies().len()), (403, 0), "{refused:?}");
    let secret = SecretText::generate(SecretKind::Invitation).unwrap();
    let new = NewInvitation {
        note: String::new(),
        role: TeamRole::Approver,
        projects: vec!["web".to_owned()],
        seconds: 60,
        hash: secret.hash(),
    };
    service.people.invite(&service.user("root").id, new).await.unwrap();
    // The link alone is not enough where there is a provider.
    let alone = json!({"code": secret.expose(), "name": "Eve"}).to_string();
    assert_eq!(service.raw("POST /api/login", &[], &alone).await.status, 409);
    let invited = log_in("grace", json!({"invitation": secret.expose()})).await;
    let me = me(&service, &invited).await;
    assert_eq!((me["role"].as_str(), &me["projects"]), (Some("approver"), &json!(["web"])));
    // It is used up, and the account stays.
    let body = json!({"invitation": secret.expose()}).to_string();
    assert_eq!(service.raw("POST /api/login/oidc", &[], &body).await.status, 401);
    assert_eq!(log_in("grace", json!({})).await.status, 200);
    // One who is disabled does not come in again, by no invitation either.
    let id = me["id"].as_str().unwrap();
    service.good("root", &format!("PATCH /api/people/{id}"), r#"{"disabled": true}"#).await;
    assert_eq!(log_in("grace", json!({})).await.status, 403);
}
