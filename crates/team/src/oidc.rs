//! Logins by OpenID Connect: authorization code with PKCE, state and nonce.
//!
//! The provider is named by the operator; whatever it names itself is only used if it is encrypted, or on this
//! machine if the provider is. What it says about a user counts only in an ID token with its signature, for this
//! client, with the nonce of this very login ([`id_token`]).

pub mod id_token;
mod web;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use net::{Network, WebUrl};
use ring::digest::{SHA256, digest};
use serde_json::Value;

use crate::secret::random_bytes;
use crate::{NoRandomness, TeamRole};
use id_token::{Claims, InvalidIdToken, Jwks};
use web::ProviderWeb;

/// How long a login at the provider may take, in seconds.
pub const ATTEMPT_SECONDS: u32 = 10 * 60;
/// Bytes of a state, nonce or verifier: 256 bits.
const RANDOM_BYTES: usize = 32;
/// Bytes of a code. Real ones have some hundred.
const LONGEST_CODE: usize = 4096;

/// Why a login does not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OidcError {
    /// The provider cannot be asked, or answers nonsense.
    #[error("the identity provider cannot be used: {0}")]
    Provider(String),
    /// The login was refused there, or is not of this browser.
    #[error("the login was refused: {0}")]
    Refused(String),
    /// The ID token is not to be believed.
    #[error("the identity provider's answer is not to be believed: {0}")]
    Token(#[from] InvalidIdToken),
}

/// A secret of this client at the provider.
#[derive(Clone)]
pub struct ClientSecret(String);

impl ClientSecret {
    /// Keeps a text to itself.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret")
    }
}

/// How users log in.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The provider, as it calls itself.
    pub issuer: String,
    /// This service at the provider.
    pub client_id: String,
    /// Its secret; none for a public client.
    pub client_secret: Option<ClientSecret>,
    /// Where the provider sends browsers back to: the address of our page, with a slash at its end.
    pub redirect: String,
    /// The role of users that the provider knows and no admin has invited. None if they are refused.
    pub new_users: Option<TeamRole>,
    /// How the provider is reached.
    pub network: Network,
}

pub struct BegunLogin {
    /// Where the browser goes.
    pub url: String,
    /// What the provider gives back.
    pub state: String,
    /// What the ID token must hold.
    pub nonce: String,
    /// What proves that we have begun the login.
    pub verifier: String,
}

impl fmt::Debug for BegunLogin {
    /// Without anything that would let another end the login.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BegunLogin")
    }
}

/// What the browser came back with.
#[derive(Clone, Copy, Debug)]
pub struct LoginAnswer<'a> {
    pub code: &'a str,
    /// Who says so, where the provider tells.
    pub issuer: Option<&'a str>,
}

/// An identity provider.
pub struct OidcProvider {
    settings: OidcSettings,
    web: ProviderWeb,
    known: Mutex<Option<Arc<Discovered>>>,
}

/// What the provider says about itself.
struct Discovered {
    authorization: WebUrl,
    token: WebUrl,
    jwks: WebUrl,
    /// Whether it takes the client's secret in the header.
    takes_basic: bool,
    says_issuer: bool,
    keys: Jwks,
}

impl OidcProvider {
    /// The provider of these settings. Nothing is asked yet.
    pub fn new(settings: OidcSettings) -> Result<Self, OidcError> {
        let web = ProviderWeb::new(&settings.issuer, settings.network.clone());
        let web = web.map_err(OidcError::Provider)?;
        Ok(Self { settings, web, known: Mutex::default() })
    }

    /// The role of users that no admin has invited.
    pub fn new_users(&self) -> Option<TeamRole> {
        self.settings.new_users
    }

    /// The provider's host, to be shown.
    pub fn host(&self) -> String {
        self.web.issuer().origin()
    }

    /// Begins a login.
    pub async fn begin(&self) -> Result<BegunLogin, OidcError> {
        let discovered = self.discovered().await?;
        let random = || random_text().map_err(|error| OidcError::Provider(error.to_string()));
        let (state, nonce, verifier) = (random()?, random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let fields = [
            ("response_type", "code"),
            ("scope", "openid profile email"),
            ("client_id", self.settings.client_id.as_str()),
            ("redirect_uri", self.settings.redirect.as_str()),
            ("state", state.as_str()),
            ("nonce", nonce.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        let url = discovered.authorization.clone().with_query(fields).as_str().to_owned();
        Ok(BegunLogin { url, state, nonce, verifier })
    }

    /// Ends a login: exchanges the code, and reads who the user is. `now` is in seconds since 1970.
    pub async fn finish(
        &self,
        answer: LoginAnswer<'_>,
        nonce: &str,
        verifier: &str,
        now: i64,
    ) -> Result<Claims, OidcError> {
        let discovered = self.discovered().await?;
        check_answer(answer, &self.settings.issuer, discovered.says_issuer)?;
        let token = self.exchanged(&discovered, answer.code, verifier).await?;
        let expected = id_token::Expected {
            issuer: &self.settings.issuer,
            client_id: &self.settings.client_id,
            nonce,
            now,
        };
        match id_token::verified(&token, &discovered.keys, &expected) {
            // The provider may have new keys.
            Err(InvalidIdToken::UnknownKey) => {
                let keys = self.web.jwks(&discovered.jwks).await.map_err(OidcError::Provider)?;
                let claims = id_token::verified(&token, &keys, &expected)?;
                *self.known() = None;
                Ok(claims)
            }
            verified => Ok(verified?),
        }
    }

    async fn exchanged(
        &self,
        discovered: &Discovered,
        code: &str,
        verifier: &str,
    ) -> Result<String, OidcError> {
        let mut fields = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.to_owned()),
            ("redirect_uri", self.settings.redirect.clone()),
            ("code_verifier", verifier.to_owned()),
        ];
        let mut header = None;
        match &self.settings.client_secret {
            Some(ClientSecret(secret)) if discovered.takes_basic => {
                header = Some(basic(&self.settings.client_id, secret));
            }
            secret => {
                fields.push(("client_id", self.settings.client_id.clone()));
                let secret = secret.as_ref().map(|ClientSecret(secret)| secret.clone());
                fields.extend(secret.map(|secret| ("client_secret", secret)));
            }
        }
        let reply = self.web.post(&discovered.token, &fields, header.as_deref()).await;
        let (is_granted, answer) = reply.map_err(OidcError::Provider)?;
        if !is_granted {
            // The description may repeat the code; the word is one of a short list.
            let word = protocol::visible(answer["error"].as_str().unwrap_or("no reason"));
            return Err(OidcError::Refused(word.chars().take(RANDOM_BYTES).collect()));
        }
        let token = answer["id_token"].as_str().map(str::to_owned);
        token.ok_or_else(|| OidcError::Provider("it gives no ID token".to_owned()))
    }

    async fn discovered(&self) -> Result<Arc<Discovered>, OidcError> {
        if let Some(known) = self.known().clone() {
            return Ok(known);
        }
        let document = self.web.description().await.map_err(OidcError::Provider)?;
        let mut discovered = self.read(&document).map_err(OidcError::Provider)?;
        discovered.keys = self.web.jwks(&discovered.jwks).await.map_err(OidcError::Provider)?;
        let discovered = Arc::new(discovered);
        *self.known() = Some(Arc::clone(&discovered));
        Ok(discovered)
    }

    fn read(&self, document: &Value) -> Result<Discovered, String> {
        let told = document["issuer"].as_str().unwrap_or_default();
        // Letter by letter, as the specification demands: this keeps providers apart.
        if told != self.settings.issuer {
            return Err(format!("it calls itself `{}`", protocol::visible(told)));
        }
        let address = |key: &str| {
            let text = document[key].as_str().ok_or_else(|| format!("it names no {key}"))?;
            self.web.address(text)
        };
        let methods = document["token_endpoint_auth_methods_supported"].as_array();
        Ok(Discovered {
            authorization: address("authorization_endpoint")?,
            token: address("token_endpoint")?,
            jwks: address("jwks_uri")?,
            takes_basic: methods
                .is_none_or(|all| all.iter().any(|one| one == "client_secret_basic")),
            says_issuer: document["authorization_response_iss_parameter_supported"] == true,
            keys: Jwks::default(),
        })
    }

    fn known(&self) -> MutexGuard<'_, Option<Arc<Discovered>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the browser comes from the provider that it was sent to (RFC 9207).
fn check_answer(answer: LoginAnswer<'_>, issuer: &str, says_issuer: bool) -> Result<(), OidcError> {
    let is_ours = match answer.issuer {
        Some(told) => told == issuer,
        None => !says_issuer,
    };
    let is_code = (1..=LONGEST_CODE).contains(&answer.code.len());
    match is_ours && is_code {
        true => Ok(()),
        false => Err(OidcError::Refused("the answer is of another provider".to_owned())),
    }
}

/// The header of a client with a secret (RFC 6749, 2.3.1): both parts written as in a form.
fn basic(id: &str, secret: &str) -> String {
    let encoded = |text: &str| net::form([("", text)])[1..].to_owned();
    format!("Basic {}", STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret))))
}

fn random_text() -> Result<String, NoRandomness> {
    let bytes: [u8; RANDOM_BYTES] = random_bytes()?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn provider(issuer: &str) -> OidcProvider {
        let settings = OidcSettings {
            issuer: issuer.to_owned(),
            client_id: "kiln".to_owned(),
            client_secret: None,
            redirect: "https://kiln.example.org/".to_owned(),
            new_users: None,
            network: Network::default(),
        };
        OidcProvider::new(settings).unwrap()
    }

    #[test]
    fn a_provider_is_who_the_operator_named_and_leads_to_no_open_line() {
        let provider = provider("https://id.example.org");
        let document = |issuer: &str, token: &str| {
            json!({
                "issuer": issuer, "token_endpoint": token,
                "authorization_endpoint": "https://id.example.org/auth",
                "jwks_uri": "https://keys.example.org/jwks",
            })
        };
        assert!(provider.read(&document("https://id.example.org", "https://a.org/t")).is_ok());
        for (issuer, token) in [
            ("https://id.example.org/", "https://a.org/t"),
            ("https://other.org", "https://a.org/t"),
            ("https://id.example.org", "http://a.org/t"),
            ("https://id.example.org", "http://127.0.0.1/t"),
            ("https://id.example.org", "https://10.0.0.1/t"),
        ] {
            assert!(provider.read(&document(issuer, token)).is_err(), "{issuer} {token}");
        }
        assert!(provider.read(&json!({"issuer": "https://id.example.org"})).is_err());
    }

    #[test]
    fn an_answer_of_another_provider_is_refused_before_the_code_is_sent() {
        let check = |code: &str, issuer: Option<&str>, says_issuer| {
            check_answer(LoginAnswer { code, issuer }, "https://a.org", says_issuer).is_ok()
        };
        assert!(check("c", Some("https://a.org"), true) && check("c", None, false));
        assert!(!check("c", None, true) && !check("c", Some("https://b.org"), false));
        assert!(!check("", None, false) && !check(&"c".repeat(LONGEST_CODE + 1), None, false));
    }

    #[test]
    fn a_secret_with_a_colon_stays_one_word() {
        let header = basic("a b", "x:y");
        let text = STANDARD.decode(header.strip_prefix("Basic ").unwrap()).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "a+b:x%3Ay");
    }
}
