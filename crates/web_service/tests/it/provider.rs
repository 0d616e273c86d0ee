//! An identity provider in a page: real requests, real signatures, and every bad habit that a test asks for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A code that was given to a browser.
struct GivenCode {
    challenge: String,
    claims: Value,
}

/// A provider that runs until the test ends.
#[derive(Clone)]
pub(crate) struct TestProvider {
    pub(crate) issuer: String,
    key: Arc<Ed25519KeyPair>,
    codes: Arc<Mutex<BTreeMap<String, GivenCode>>>,
    /// What the next ID tokens say besides, or instead.
    pub(crate) claims: Arc<Mutex<Value>>,
    /// How often a code was shown.
    pub(crate) exchanges: Arc<Mutex<Vec<u16>>>,
}

impl TestProvider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let provider = Self {
            issuer: format!("http://{}", listener.local_addr().unwrap()),
            key: Arc::new(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap()),
            codes: Arc::default(),
            claims: Arc::new(Mutex::new(json!({}))),
            exchanges: Arc::default(),
        };
        let serving = provider.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.answer(stream).await });
            }
        });
        provider
    }

    /// The user agrees in the browser: the code with which it is sent back, and the state.
    pub(crate) fn agree(&self, url: &str, subject: &str) -> (String, String) {
        let fields: BTreeMap<String, String> =
            net::WebUrl::parse(url).unwrap().query_fields().collect();
        assert_eq!(fields["response_type"], "code");
        assert_eq!(fields["code_challenge_method"], "S256");
        let mut codes = self.codes.lock().unwrap();
        let code = format!("code-{}", codes.len());
        let claims = json!({
            "iss": self.issuer, "sub": subject, "aud": fields["client_id"], "nonce": fields["nonce"],
            "name": format!("{subject} by name"), "email": format!("{subject}@example.org"),
        });
        let challenge = fields["code_challenge"].clone();
        codes.insert(code.clone(), GivenCode { challenge, claims });
        (code, fields["state"].clone())
    }

    async fn answer(&self, mut stream: TcpStream) {
        let mut text = String::new();
        let mut bytes = [0; 4096];
        let (head, body) = loop {
            let count = stream.read(&mut bytes).await.unwrap_or(0);
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                break (head.to_owned(), body.to_owned());
            }
        };
        let path = head.split(' ').nth(1).unwrap_or_default();
        let (status, answer) = match path {
            "/.well-known/openid-configuration" => (200, self.description()),
            "/jwks" => (200, self.jwks()),
            "/token" => self.token(&body),
            _ => (404, json!({})),
        };
        let body = answer.to_string();
        let text = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.write_all(text.as_bytes()).await;
    }

    fn description(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        json!({
            "issuer": self.issuer,
            "authorization_endpoint": at("/auth"),
            "token_endpoint": at("/token"),
            "jwks_uri": at("/jwks"),
            "authorization_response_iss_parameter_supported": true,
        })
    }

    fn jwks(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.key.public_key());
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x}]})
    }

    fn token(&self, body: &str) -> (u16, Value) {
        let url = net::WebUrl::parse(&format!("http://x.org/?{body}")).unwrap();
        let fields: BTreeMap<String, String> = url.query_fields().collect();
        let given = self.codes.lock().unwrap().remove(&fields["code"]);
        let proof = URL_SAFE_NO_PAD.encode(digest(&SHA256, fields["code_verifier"].as_bytes()));
        let granted = given.filter(|given| given.challenge == proof);
        let (status, answer) = match granted {
            None => (400, json!({"error": "invalid_grant"})),
            Some(given) => (
                200,
                json!({"access_token": "a", "token_type": "Bearer", "id_token": self.signed(given.claims)}),
            ),
        };
        self.exchanges.lock().unwrap().push(status);
        (status, answer)
    }

    fn signed(&self, mut claims: Value) -> String {
        // The test's people have a clock of their own, which stands still.
        let now = 1_800_000_000;
        claims["iat"] = json!(now);
        claims["exp"] = json!(now + 300);
        for (name, value) in self.claims.lock().unwrap().as_object().unwrap() {
            claims[name] = value.clone();
        }
        let encoded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed =
            format!("{}.{}", encoded(json!({"alg": "EdDSA", "kid": "k"})), encoded(claims));
        let signature = self.key.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
