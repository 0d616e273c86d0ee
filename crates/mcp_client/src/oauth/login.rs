//! One login by a browser: what it is asked, and which answer belongs to it.

use std::fmt;

use net::WebUrl;
use protocol::visible;
use sha2::{Digest as _, Sha256};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::discovery::ServerMetadata;
use super::record::LoginRecord;
use super::secret::LoginSecret;
use super::web::shortened;

/// What became of the beginning of a login.
#[derive(Debug)]
pub enum Begun {
    /// The user has to agree in a browser.
    Asks(Box<LoginAttempt>),
    /// There is no user to ask: the client's own secret was enough.
    Done,
}

/// A login that waits for the browser to come back. It is used up by the answer.
pub struct LoginAttempt {
    url: WebUrl,
    state: LoginSecret,
    pub(super) verifier: LoginSecret,
    pub(super) redirect: String,
    /// Whether the answer has to name the issuer.
    says_issuer: bool,
    /// What is kept once it is granted, without tokens so far.
    pub(super) record: LoginRecord,
}

impl fmt::Debug for LoginAttempt {
    /// Without the address, which holds the state.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoginAttempt at {}", self.url.origin())
    }
}

impl LoginAttempt {
    /// Makes the address that the browser opens.
    pub(super) fn new(
        server: &ServerMetadata,
        record: LoginRecord,
        redirect: &str,
    ) -> Result<Self, String> {
        let endpoint = server.authorization.clone();
        let endpoint = endpoint.ok_or("its authorization server has no page to log in at")?;
        if !server.has_s256 {
            return Err(format!(
                "{} does not offer PKCE with S256, without which codes can be stolen",
                visible(&server.issuer)
            ));
        }
        let (state, verifier) = (LoginSecret::random()?, LoginSecret::random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose()));
        let scope = record.requested.join(" ");
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", record.client.id.as_str()),
            ("redirect_uri", redirect),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
            ("state", state.expose()),
            ("resource", record.resource.as_str()),
        ];
        if !scope.is_empty() {
            fields.push(("scope", scope.as_str()));
        }
        // Without the user's word, servers of OpenID leave this one out.
        if record.requested.iter().any(|scope| scope == OFFLINE) {
            fields.push(("prompt", "consent"));
        }
        // Read again, because it may be too long now.
        let url = WebUrl::parse(endpoint.with_query(fields).as_str());
        let url = url.map_err(|error| format!("the address to log in at is unusable: {error}"))?;
        let (redirect, says_issuer) = (redirect.to_owned(), server.says_issuer);
        Ok(Self { url, state, verifier, redirect, says_issuer, record })
    }

    /// The address that the user opens in a browser. No other user may see it while the login waits.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The server that asks for the user's consent.
    pub fn origin(&self) -> String {
        self.url.origin()
    }

    /// Whether the browser came back from this very login.
    pub fn is_answered_by(&self, redirected: &str) -> bool {
        self.fields(redirected).is_some_and(|fields| fields.has("state", self.state.expose()))
    }

    /// The code in the address that the browser was sent to.
    pub(super) fn code(&self, redirected: &str) -> Result<LoginSecret, String> {
        let fields = self.fields(redirected);
        let fields = fields.ok_or("this is not an address that a login ends at")?;
        if !fields.has("state", self.state.expose()) {
            return Err("this address is of another login".to_owned());
        }
        // Before anything that it says is believed or shown.
        let issuer = self.record.issuer.as_str();
        let names_another = fields.get("iss").is_some_and(|told| told != issuer);
        if names_another || (self.says_issuer && !fields.has("iss", issuer)) {
            return Err(format!(
                "the answer does not come from {}, which was asked; nothing was sent there",
                visible(issuer)
            ));
        }
        if let Some(error) = fields.get("error") {
            let words = [Some(error), fields.get("error_description")];
            let words: Vec<String> =
                words.into_iter().flatten().map(|text| visible(&shortened(text))).collect();
            return Err(format!("the login was refused: {}", words.join(": ")));
        }
        let code = fields.get("code").filter(|code| !code.is_empty());
        code.map(LoginSecret::new).ok_or_else(|| "the answer holds no code".to_owned())
    }

    /// The fields of an address below ours; none if it is another one.
    fn fields(&self, redirected: &str) -> Option<Fields> {
        let url = WebUrl::parse(redirected.trim()).ok()?;
        let own = WebUrl::parse(&self.redirect).ok()?;
        let is_ours = url.origin() == own.origin() && url.path() == own.path();
        is_ours.then(|| Fields(url.query_fields().collect()))
    }
}

/// The scope that refresh tokens are granted for.
pub(super) const OFFLINE: &str = "offline_access";

/// Fields of a query. One that stands there twice has no value.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn get(&self, name: &str) -> Option<&str> {
        let mut values = self.0.iter().filter(|(key, _)| key == name);
        let first = values.next().map(|(_, value)| value.as_str());
        match values.next() {
            Some(_) => Some(""),
            None => first,
        }
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::registration::{ClientIdentity, ClientMethod};
    use super::*;

    fn server(has_s256: bool, says_issuer: bool) -> ServerMetadata {
        let url = |text: &str| WebUrl::parse(text).expect("an address");
        ServerMetadata {
            issuer: "https://a.org".into(),
            authorization: Some(url("https://a.org/authorize?tenant=1")),
            token: url("https://a.org/token"),
            registration: None,
            revocation: None,
            scopes: Vec::new(),
            grants: vec!["authorization_code".into()],
            client_methods: vec!["none".into()],
            has_s256,
            takes_client_documents: false,
            says_issuer,
        }
    }

    fn attempt(has_s256: bool, says_issuer: bool) -> Result<LoginAttempt, String> {
        let method = ClientMethod::None;
        let client = ClientIdentity { id: "me".into(), method, secret: None, is_configured: false };
        let record = LoginRecord {
            server: "https://x.org/mcp".into(),
            issuer: "https://a.org".into(),
            resource: "https://x.org/mcp".into(),
            token_endpoint: "https://a.org/token".into(),
            revocation_endpoint: None,
            client,
            requested: vec!["read".into(), OFFLINE.into()],
            wanted: Vec::new(),
            tokens: Default::default(),
        };
        LoginAttempt::new(&server(has_s256, says_issuer), record, "http://127.0.0.1:5000/callback")
    }

    #[test]
    fn the_browser_is_asked_with_a_challenge_that_hides_the_verifier() {
        let one = attempt(true, false).expect("an attempt");
        let fields: Vec<(String, String)> = one.url.query_fields().collect();
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names.join(" "),
            "tenant response_type client_id redirect_uri code_challenge code_challenge_method state \
             resource scope prompt"
        );
        let value = |name: &str| &fields.iter().find(|(key, _)| key == name).expect(name).1;
        assert_eq!(value("scope"), "read offline_access");
        let hashed = URL_SAFE_NO_PAD.encode(Sha256::digest(one.verifier.expose()));
        assert_eq!(value("code_challenge"), &hashed);
        assert!(!one.url().contains(one.verifier.expose()));
        assert!(!format!("{one:?}").contains(one.verifier.expose()));
        let other = attempt(true, false).expect("an attempt");
        assert!(one.state != other.state && one.verifier != other.verifier);
    }

    #[test]
    fn a_server_without_pkce_is_refused() {
        assert!(attempt(false, false).expect_err("no S256").contains("S256"));
    }

    #[test]
    fn only_the_answer_to_this_login_is_taken() {
        let one = attempt(true, false).expect("an attempt");
        let state = one.state.expose();
        let at = |query: &str| format!("http://127.0.0.1:5000/callback?{query}");
        assert_eq!(one.code(&at(&format!("code=c&state={state}"))), Ok(LoginSecret::new("c")));
        let named = at(&format!("code=c&state={state}&iss=https%3A%2F%2Fa.org"));
        assert_eq!(one.code(&named), Ok(LoginSecret::new("c")));
        for bad in [
            at("code=c"),
            at("code=c&state="),
            at("code=c&state=other"),
            at(&format!("code=c&state={state}x")),
            at(&format!("code=c&state=x&state={state}")),
            at(&format!("code=c&state={state}&state={state}")),
            at(&format!("code=c&code=d&state={state}")),
            at(&format!("state={state}")),
            at(&format!("code=c&state={state}&iss=https://evil.org")),
            at(&format!("code=c&state={state}&iss=https://a.org/")),
            at(&format!("code=c&state={state}&iss=https://a.org&iss=https://a.org")),
            format!("http://127.0.0.1:5001/callback?code=c&state={state}"),
            format!("http://127.0.0.1:5000/other?code=c&state={state}"),
            format!("https://evil.org/callback?code=c&state={state}"),
            "code=c".to_owned(),
            String::new(),
        ] {
            assert!(one.code(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_error_of_another_issuer_is_not_repeated() {
        let one = attempt(true, true).expect("an attempt");
        let state = one.state.expose();
        let at = |query: &str| format!("http://127.0.0.1:5000/callback?{query}&state={state}");
        let refused = one.code(&at("error=access_denied&iss=https://a.org")).expect_err("refused");
        assert!(refused.contains("access_denied"));
        for query in ["error=call+me", "error=call+me&iss=https://evil.org", "code=c"] {
            let why = one.code(&at(query)).expect_err("another issuer");
            assert!(why.contains("does not come from") && !why.contains("call"), "{why}");
        }
    }
}
