//! ID tokens: whose they are, for whom, and that nothing in them was changed.
//!
//! Only signatures with public keys are taken. The algorithm is the key's, never what the token alone says, so
//! that a token cannot have itself checked with a public key as a shared secret, or not at all.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use crate::Identity;

/// Seconds by which the clocks of two machines may differ.
const LEEWAY: i64 = 60;
/// Bytes of a token. Some hold the groups of a large company.
const LONGEST_TOKEN: usize = 64 * 1024;
/// Bytes of a subject, by the specification.
const LONGEST_SUBJECT: usize = 255;
/// Keys of a provider that are looked at.
const MOST_KEYS: usize = 64;

/// Why an ID token is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIdToken {
    /// It is not a signed token.
    #[error("it is not a signed token")]
    Malformed,
    /// The provider has no key of this name and kind.
    #[error("it is signed with a key that the provider does not name")]
    UnknownKey,
    /// The signature is not by the key.
    #[error("its signature is wrong")]
    Signature,
    /// It is by another provider, for another client, or of another login.
    #[error("its `{0}` is wrong")]
    Claim(&'static str),
    /// It has ended, or has not begun.
    #[error("it is too old, or from the future")]
    Time,
}

/// What a token must say.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The provider.
    pub issuer: &'a str,
    /// This service.
    pub client_id: &'a str,
    /// That of the login.
    pub nonce: &'a str,
    /// Seconds since 1970.
    pub now: i64,
}

/// Who the user is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The only part by which anything is decided.
    pub identity: Identity,
    /// To be shown.
    pub name: Option<String>,
    /// To be shown.
    pub email: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "ES384" => Some(Self::Es384),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Both coordinates of a point, as `ring` reads it.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeyMaterial {
    fn read(key: &Value) -> Option<Self> {
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key[name].as_str()?).ok();
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            let is_point = x.len() == length && y.len() == length;
            is_point.then(|| [&[4], x.as_slice(), &y].concat())
        };
        match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", _) => Some(Self::Rsa { n: bytes("n")?, e: bytes("e")? }),
            ("EC", Some("P-256")) => point(32).map(Self::P256),
            ("EC", Some("P-384")) => point(48).map(Self::P384),
            ("OKP", Some("Ed25519")) => bytes("x").map(Self::Ed25519),
            _ => None,
        }
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                | (Self::P256(_), Algorithm::Es256)
                | (Self::P384(_), Algorithm::Es384)
                | (Self::Ed25519(_), Algorithm::EdDsa)
        )
    }

    fn has_signed(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Rsa { n, e } => {
                let parameters = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            Self::P256(key) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(message, signature)
            }
            Self::P384(key) => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, key).verify(message, signature)
            }
            Self::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
        };
        self.fits(algorithm) && verified.is_ok()
    }
}

#[derive(Clone, Debug)]
struct SigningKey {
    id: Option<String>,
    algorithm: Option<Algorithm>,
    material: KeyMaterial,
}

/// The keys of a provider.
#[derive(Clone, Debug, Default)]
pub struct Jwks(Vec<SigningKey>);

impl Jwks {
    /// Those of a document that sign. What is not understood is left out.
    pub fn read(document: &Value) -> Self {
        let keys = document["keys"].as_array().into_iter().flatten().take(MOST_KEYS);
        let keys = keys.filter_map(|key| {
            let signs = key["use"].as_str().is_none_or(|used| used == "sig");
            let algorithm = match key["alg"].as_str() {
                Some(name) => Some(Algorithm::named(name)?),
                None => None,
            };
            let id = key["kid"].as_str().map(str::to_owned);
            let material = KeyMaterial::read(key).filter(|_| signs)?;
            Some(SigningKey { id, algorithm, material })
        });
        Self(keys.collect())
    }

    /// The key that a token names; without a name, the only one of its kind.
    fn named(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&SigningKey> {
        let fits = |key: &&SigningKey| {
            key.material.fits(algorithm) && key.algorithm.is_none_or(|own| own == algorithm)
        };
        let mut fitting = self.0.iter().filter(fits);
        match id {
            Some(id) => fitting.find(|key| key.id.as_deref() == Some(id)),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
    }
}

/// Who the user is, if the token is to be believed.
pub fn verified(
    token: &str,
    keys: &Jwks,
    expected: &Expected<'_>,
) -> Result<Claims, InvalidIdToken> {
    let (signed, signature) = token.rsplit_once('.').ok_or(InvalidIdToken::Malformed)?;
    let (header, payload) = signed.split_once('.').ok_or(InvalidIdToken::Malformed)?;
    if token.len() > LONGEST_TOKEN || payload.contains('.') {
        return Err(InvalidIdToken::Malformed);
    }
    let header = part(header)?;
    // A token that says something must be understood is not understood.
    if header.get("crit").is_some() {
        return Err(InvalidIdToken::Malformed);
    }
    let algorithm = header["alg"].as_str().and_then(Algorithm::named);
    let algorithm = algorithm.ok_or(InvalidIdToken::Signature)?;
    let key = keys.named(header["kid"].as_str(), algorithm).ok_or(InvalidIdToken::UnknownKey)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| InvalidIdToken::Malformed)?;
    if !key.material.has_signed(algorithm, signed.as_bytes(), &signature) {
        return Err(InvalidIdToken::Signature);
    }
    claims(&part(payload)?, expected)
}

fn part(text: &str) -> Result<Value, InvalidIdToken> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidIdToken::Malformed)?;
    let value: Option<Value> = serde_json::from_slice(&bytes).ok();
    value.filter(Value::is_object).ok_or(InvalidIdToken::Malformed)
}

fn claims(payload: &Value, expected: &Expected<'_>) -> Result<Claims, InvalidIdToken> {
    let is = |name: &'static str, wanted: &str| match payload[name].as_str() == Some(wanted) {
        true => Ok(()),
        false => Err(InvalidIdToken::Claim(name)),
    };
    is("iss", expected.issuer)?;
    is("nonce", expected.nonce)?;
    let others = match &payload["aud"] {
        Value::String(only) if only == expected.client_id => 0,
        Value::Array(all) if all.iter().any(|one| one == expected.client_id) => all.len() - 1,
        _ => return Err(InvalidIdToken::Claim("aud")),
    };
    if others > 0 || !payload["azp"].is_null() {
        is("azp", expected.client_id)?;
    }
    check_time(payload, expected.now)?;
    let subject = payload["sub"].as_str().unwrap_or_default();
    if !(1..=LONGEST_SUBJECT).contains(&subject.len()) {
        return Err(InvalidIdToken::Claim("sub"));
    }
    let text = |name: &str| payload[name].as_str().map(str::to_owned);
    let identity = Identity { issuer: expected.issuer.to_owned(), subject: subject.to_owned() };
    let name = text("name").or_else(|| text("preferred_username"));
    Ok(Claims { identity, name, email: text("email") })
}

fn check_time(payload: &Value, now: i64) -> Result<(), InvalidIdToken> {
    let time = |name: &str| payload[name].as_f64().map(|seconds| seconds as i64);
    let expires = time("exp").ok_or(InvalidIdToken::Claim("exp"))?;
    let begins = time("iat").ok_or(InvalidIdToken::Claim("iat"))?.max(time("nbf").unwrap_or(0));
    let is_good = now < expires.saturating_add(LEEWAY) && begins <= now.saturating_add(LEEWAY);
    if is_good { Ok(()) } else { Err(InvalidIdToken::Time) }
}

#[cfg(test)]
mod tests;
