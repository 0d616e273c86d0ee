use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _,
};
use serde_json::json;

use super::*;

const NOW: i64 = 1_000_000;
const EXPECTED: Expected<'_> =
    Expected { issuer: "https://id.org", client_id: "kiln", nonce: "n-1", now: NOW };

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

struct Signer {
    key: Ed25519KeyPair,
}

impl Signer {
    fn new() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { key: Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap() }
    }

    fn jwk(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.key.public_key());
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "k1", "use": "sig", "alg": "EdDSA", "x": x})
    }

    fn jwks(&self) -> Jwks {
        Jwks::read(&json!({"keys": [self.jwk()]}))
    }

    fn token(&self, header: &Value, payload: &Value) -> String {
        let signed = format!("{}.{}", encoded(header), encoded(payload));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

fn header() -> Value {
    json!({"alg": "EdDSA", "kid": "k1"})
}

fn good() -> Value {
    json!({
        "iss": "https://id.org", "aud": "kiln", "nonce": "n-1", "sub": "ada",
        "exp": NOW + 300, "iat": NOW, "name": "Ada", "email": "ada@example.org",
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut payload = good();
    payload[name] = value;
    payload
}

#[test]
fn a_good_token_says_who_the_user_is() {
    let signer = Signer::new();
    let claims = verified(&signer.token(&header(), &good()), &signer.jwks(), &EXPECTED).unwrap();
    assert_eq!(claims.identity.subject, "ada");
    assert_eq!(
        (claims.name.as_deref(), claims.email.as_deref()),
        (Some("Ada"), Some("ada@example.org"))
    );
    for payload in [
        with("aud", json!(["kiln"])),
        with("exp", json!(NOW - LEEWAY + 1)),
        with("iat", json!(NOW + LEEWAY)),
        with("azp", json!("kiln")),
    ] {
        let token = signer.token(&header(), &payload);
        assert!(verified(&token, &signer.jwks(), &EXPECTED).is_ok(), "{payload}");
    }
}

#[test]
fn a_token_of_another_provider_client_login_or_time_is_refused() {
    let signer = Signer::new();
    let wrong = |payload: &Value| {
        verified(&signer.token(&header(), payload), &signer.jwks(), &EXPECTED).unwrap_err()
    };
    for (name, value) in [
        ("iss", json!("https://id.org/")),
        ("iss", json!(null)),
        ("aud", json!("other")),
        ("aud", json!(["other", "more"])),
        ("aud", json!(null)),
        ("azp", json!("other")),
        ("nonce", json!("n-2")),
        ("nonce", json!(null)),
        ("sub", json!("")),
        ("sub", json!(5)),
        ("sub", json!("x".repeat(256))),
        ("exp", json!(null)),
        ("exp", json!("tomorrow")),
        ("iat", json!(null)),
    ] {
        assert_eq!(
            wrong(&with(name, value.clone())),
            InvalidIdToken::Claim(name),
            "{name} {value}"
        );
    }
    assert_eq!(wrong(&with("aud", json!(["kiln", "more"]))), InvalidIdToken::Claim("azp"));
    for (name, value) in [
        ("exp", json!(NOW - LEEWAY)),
        ("iat", json!(NOW + LEEWAY + 1)),
        ("nbf", json!(NOW + LEEWAY + 1)),
    ] {
        assert_eq!(wrong(&with(name, value)), InvalidIdToken::Time, "{name}");
    }
}

#[test]
fn a_token_cannot_choose_how_it_is_checked() {
    let signer = Signer::new();
    let jwks = signer.jwks();
    let refused =
        |header: Value| verified(&signer.token(&header, &good()), &jwks, &EXPECTED).unwrap_err();
    for name in ["none", "HS256", "NONE", "", "RS512"] {
        assert_eq!(refused(json!({"alg": name, "kid": "k1"})), InvalidIdToken::Signature, "{name}");
    }
    for name in ["RS256", "ES256", "ES384", "PS256"] {
        assert_eq!(
            refused(json!({"alg": name, "kid": "k1"})),
            InvalidIdToken::UnknownKey,
            "{name}"
        );
    }
    assert_eq!(refused(json!({"alg": "EdDSA", "kid": "k2"})), InvalidIdToken::UnknownKey);
    let critical = json!({"alg": "EdDSA", "kid": "k1", "crit": ["b64"], "b64": false});
    assert_eq!(refused(critical), InvalidIdToken::Malformed);
    // A key that the token brings along itself counts for nothing.
    let other = Signer::new();
    let brought = json!({"alg": "EdDSA", "kid": "k1", "jwk": other.jwk()});
    let token = other.token(&brought, &good());
    assert_eq!(verified(&token, &jwks, &EXPECTED), Err(InvalidIdToken::Signature));
}

#[test]
fn without_a_name_only_the_one_key_of_its_kind_is_taken() {
    let (one, two) = (Signer::new(), Signer::new());
    let token = one.token(&json!({"alg": "EdDSA"}), &good());
    assert!(verified(&token, &one.jwks(), &EXPECTED).is_ok());
    let both = Jwks::read(&json!({"keys": [one.jwk(), two.jwk()]}));
    assert_eq!(verified(&token, &both, &EXPECTED), Err(InvalidIdToken::UnknownKey));
    let mut encrypts = one.jwk();
    encrypts["use"] = json!("enc");
    let none = Jwks::read(&json!({"keys": [encrypts]}));
    assert_eq!(verified(&token, &none, &EXPECTED), Err(InvalidIdToken::UnknownKey));
}

#[test]
fn a_token_with_any_part_changed_is_refused() {
    let signer = Signer::new();
    let token = signer.token(&header(), &good());
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        let result = verified(&changed, &signer.jwks(), &EXPECTED);
        assert!(result.is_err(), "{at}");
    }
    let unsigned = token.rsplit_once('.').unwrap().0;
    assert!(verified(&format!("{unsigned}."), &signer.jwks(), &EXPECTED).is_err());
    assert!(verified(unsigned, &signer.jwks(), &EXPECTED).is_err());
}

#[test]
fn keys_of_both_curves_are_understood() {
    let random = SystemRandom::new();
    let cases: [(&'static EcdsaSigningAlgorithm, &str, &str); 2] = [
        (&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256", "ES256"),
        (&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384", "ES384"),
    ];
    for (algorithm, curve, name) in cases {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        let point = &key.public_key().as_ref()[1..];
        let (x, y) = point.split_at(point.len() / 2);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let jwk = json!({"kty": "EC", "crv": curve, "kid": "e", "x": x, "y": y});
        let signed = format!("{}.{}", encoded(&json!({"alg": name, "kid": "e"})), encoded(&good()));
        let signature = key.sign(&random, signed.as_bytes()).unwrap();
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
        let jwks = Jwks::read(&json!({"keys": [jwk]}));
        assert!(verified(&token, &jwks, &EXPECTED).is_ok(), "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_is_believed_and_none_breaks_the_reader(text in "\\PC{0,200}") {
        let signer = Signer::new();
        prop_assert!(verified(&text, &signer.jwks(), &EXPECTED).is_err());
        let dotted = format!("{}.{}.{}", encoded(&header()), text, text);
        prop_assert!(verified(&dotted, &signer.jwks(), &EXPECTED).is_err());
    }
}
