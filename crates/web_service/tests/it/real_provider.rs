//! A login at `oidc-provider`, a certified identity provider of others. `cargo xtask interop` runs it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;
use team::TeamRole;
use team::oidc::{ClientSecret, OidcProvider, OidcSettings};
use web_service::listen;

use crate::client::{Answer, send};
use crate::login::settings;
use crate::team_service::{Setup, TeamService};

/// Names Node.js and the directory with its modules, with a colon between.
const VARIABLE: &str = "TOOLKILN_TEST_OIDC_PROVIDER";

/// The provider, which is killed on drop.
struct RealProvider {
    child: Child,
    issuer: String,
    /// Kept open: a program that cannot write ends.
    _stdout: BufReader<ChildStdout>,
}

impl Drop for RealProvider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RealProvider {
    fn start(redirect: &str) -> Option<Self> {
        let told = std::env::var(VARIABLE).ok()?;
        let (node, modules) = told.split_once(':')?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/partners/oidc_team.mjs");
        let mut command = Command::new(node);
        command.args([script, modules, redirect]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let issuer = line.trim().strip_prefix("ready ").expect("a provider").to_owned();
        Some(Self { child, issuer, _stdout: stdout })
    }
}

/// A browser that keeps cookies and follows redirects within the provider.
struct Browser {
    address: String,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    async fn ask(&mut self, target: &str, form: Option<&str>) -> Answer {
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        let cookies = format!("cookie: {}", cookies.collect::<Vec<_>>().join("; "));
        let kind = "content-type: application/x-www-form-urlencoded";
        let headers = [cookies.as_str(), kind];
        let answer = send(&self.address, target, &headers, form.unwrap_or_default()).await;
        for cookie in answer.cookies() {
            let (name, value) = cookie.split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        answer
    }

    /// Follows redirects until one leads elsewhere, or a page is shown.
    async fn follow(&mut self, mut place: String, elsewhere: &str) -> Result<String, String> {
        for _ in testkit::at_most(20, "the redirects") {
            if place.starts_with(elsewhere) {
                return Ok(place);
            }
            let path = place.replace(&format!("http://{}", self.address), "");
            let answer = self.ask(&format!("GET {path}"), None).await;
            match answer.headers("location").first() {
                Some(next) => place = (*next).to_owned(),
                None => return Err(path),
            }
        }
        unreachable!("the loop ends by a return or fails")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_logs_in_at_a_real_provider() {
    for secret in [None, Some("a secret: of + the/client")] {
        let (listeners, site) = listen(([127, 0, 0, 1], 0).into(), None).await.unwrap();
        let redirect = format!("{}/", site.url());
        let Some(provider) = RealProvider::start(&redirect) else { return };
        let id = if secret.is_some() { "confidential" } else { "public" };
        let settings = OidcSettings {
            client_id: id.to_owned(),
            client_secret: secret.map(ClientSecret::new),
            ..settings(&provider.issuer, &redirect, Some(TeamRole::Member))
        };
        let oidc = Some(OidcProvider::new(settings).unwrap());
        let listener = Some((listeners, site));
        let setup = Setup { oidc, listener, has_clock: true, ..Setup::default() };
        let service = TeamService::start_with(setup).await;
        let begun = service.raw("POST /api/login/oidc", &[], "{}").await;
        assert_eq!(begun.status, 200, "{begun:?}");
        let url = begun.json()["url"].as_str().unwrap().to_owned();
        let address = provider.issuer.strip_prefix("http://").unwrap().to_owned();
        let mut browser = Browser { address, cookies: BTreeMap::new() };
        let mut place = browser.follow(url, &redirect).await;
        // The page to log in, then the one to agree.
        for form in ["prompt=login&login=ada&password=any", "prompt=consent"] {
            let Err(page) = place else { break };
            let answer = browser.ask(&format!("POST {page}"), Some(form)).await;
            let next = answer.headers("location")[0].to_owned();
            place = browser.follow(next, &redirect).await;
        }
        let place = place.expect("the browser comes back");
        let fields: BTreeMap<String, String> =
            net::WebUrl::parse(&place).unwrap().query_fields().collect();
        let body = json!({"code": fields["code"], "state": fields["state"], "iss": fields["iss"]});
        let cookie = format!("cookie: {}", begun.cookies()[0]);
        let target = "POST /api/login/oidc/finish";
        let answer = service.raw(target, &[&cookie], &body.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = format!("cookie: {}", answer.cookies()[0]);
        let origin = format!("origin: http://{}", service.address);
        let me = service.raw("GET /api/me", &[&cookie, &origin], "").await.json();
        assert_eq!(me["role"], "member", "{me}");
        // The same code again: the attempt is gone here, and the provider would refuse it too.
        let attempt = format!("cookie: {}", begun.cookies()[0]);
        let again = service.raw(target, &[&attempt], &body.to_string()).await;
        assert_eq!(again.status, 401);
    }
}
