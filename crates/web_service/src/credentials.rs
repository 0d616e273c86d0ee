//! Tokens, the one-time link and the cookie: what a client shows to be let in. Pure but for the random
//! numbers.
//!
//! Nothing secret is kept in memory as text: tokens are compared by their hash, in constant time. A
//! cookie is signed with a key that lies beside the tokens, so that a browser stays logged in when
//! the service starts again, and all cookies end when the key is replaced.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blake3::Hash;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
pub use team::NoRandomness;
use team::{Credential, Recognised, Scope, usable_scopes};

/// 256 bits.
const SECRET_BYTES: usize = 32;
/// How long a browser stays logged in, in seconds: a month.
pub(crate) const COOKIE_SECONDS: u64 = 30 * 24 * 60 * 60;
/// How long the one-time link is good for, in seconds.
pub(crate) const LINK_SECONDS: u64 = 10 * 60;
/// Separates what is signed for a cookie from any other use of the key.
const COOKIE_CONTEXT: &str = "toolkiln web cookie 1";
/// The same for what the service proves.
const PROOF_CONTEXT: &str = "toolkiln web proof 1";

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessScope {
    /// Begin sessions, send messages, interrupt.
    Chat,
    /// Answer questions and take rules back.
    Approve,
    /// Look at files and call tools by hand.
    Tools,
    /// Call tools as another agent, over MCP.
    Mcp,
    /// Look at what is shared. Only users of a team have it by name; without one, every login may look.
    Read,
    /// Manage the users of a team.
    Admin,
}

impl From<Scope> for AccessScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Read => Self::Read,
            Scope::Chat => Self::Chat,
            Scope::Approve => Self::Approve,
            Scope::Tools => Self::Tools,
            Scope::Mcp => Self::Mcp,
            Scope::Admin => Self::Admin,
        }
    }
}

impl AccessScope {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Chat => "chat",
            Self::Approve => "approve",
            Self::Tools => "tools",
            Self::Mcp => "mcp",
            Self::Admin => "admin",
        }
    }

    /// All of a service without a team.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Approve, Self::Tools, Self::Mcp];
}

/// The secrets of the service, as they lie in a file that only the user can read.
#[derive(Clone, Serialize, Deserialize)]
pub struct Secrets {
    /// For everything, as the user's own browser and terminal.
    pub all: String,
    /// For one scope each, to be given to other programs.
    pub chat: String,
    /// See `chat`.
    pub approve: String,
    /// See `chat`.
    pub tools: String,
    /// See `chat`. Empty in a file of a version that had none.
    #[serde(default)]
    pub mcp: String,
    /// Signs cookies.
    cookie_key: String,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// A secret that cannot be guessed, as text for headers and addresses.
pub fn random_secret() -> Result<String, NoRandomness> {
    let mut bytes = [0; SECRET_BYTES];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(SECRET_BYTES) => Ok(URL_SAFE_NO_PAD.encode(bytes)),
        _ => Err(NoRandomness),
    }
}

impl Secrets {
    /// Secrets that were never used before.
    pub fn generate() -> Result<Self, NoRandomness> {
        Ok(Self {
            all: random_secret()?,
            chat: random_secret()?,
            approve: random_secret()?,
            tools: random_secret()?,
            mcp: random_secret()?,
            cookie_key: random_secret()?,
        })
    }

    /// Adds the secrets that a version before this one did not have. Answers whether there were any.
    pub fn complete(&mut self) -> Result<bool, NoRandomness> {
        let is_missing = self.mcp.is_empty();
        if is_missing {
            self.mcp = random_secret()?;
        }
        Ok(is_missing)
    }

    /// Whether every secret is as long as those that are generated; one that was shortened in the file
    /// could be guessed.
    pub fn are_whole(&self) -> bool {
        let all = [&self.all, &self.chat, &self.approve, &self.tools, &self.mcp, &self.cookie_key];
        all.iter().all(|text| URL_SAFE_NO_PAD.decode(text).is_ok_and(|it| it.len() == SECRET_BYTES))
    }
}

/// A client that was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownClient {
    /// How it was.
    pub by: Proof,
    scopes: Vec<AccessScope>,
}

impl KnownClient {
    /// A user of a team, with what its role and its token allow at this moment.
    pub(crate) fn of_team(known: &Recognised) -> Self {
        let (by, of_token) = match &known.credential {
            Credential::Token { scopes, .. } => (Proof::Token, Some(scopes.as_slice())),
            Credential::Browser { .. } => (Proof::Cookie, None),
        };
        let scopes = usable_scopes(known.user.role, of_token);
        Self { by, scopes: scopes.into_iter().map(AccessScope::from).collect() }
    }
}

/// How a client was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By a token in the header.
    Token,
    /// By a cookie, so that what a browser says about the origin counts.
    Cookie,
}

impl KnownClient {
    /// Whether the client may do what needs this scope.
    pub fn may(&self, scope: AccessScope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Whether the client may use the API at all. Other agents call tools in their own way, and see nothing of
    /// the sessions and questions here.
    pub fn uses_api(&self) -> bool {
        self.scopes.iter().any(|scope| *scope != AccessScope::Mcp)
    }

    /// Who it is, for the log: nothing that is secret.
    pub fn shown_user(&self) -> &'static str {
        match self.by {
            Proof::Token => "token",
            Proof::Cookie => "browser",
        }
    }

    /// What the client may do.
    pub fn scopes(&self) -> &[AccessScope] {
        &self.scopes
    }
}

/// What is kept of a token.
struct KnownToken {
    hash: Hash,
    scopes: Vec<AccessScope>,
    proof_key: [u8; SECRET_BYTES],
}

/// What clients are recognised by.
pub struct Credentials {
    tokens: Vec<KnownToken>,
    cookie_key: [u8; SECRET_BYTES],
}

impl Credentials {
    /// Those of a file.
    pub fn new(secrets: &Secrets) -> Self {
        let scoped = [
            (&secrets.all, AccessScope::ALL.to_vec()),
            (&secrets.chat, vec![AccessScope::Chat]),
            (&secrets.approve, vec![AccessScope::Approve]),
            (&secrets.tools, vec![AccessScope::Tools]),
            (&secrets.mcp, vec![AccessScope::Mcp]),
        ];
        let tokens = scoped.into_iter().map(|(token, scopes)| KnownToken {
            hash: blake3::hash(token.as_bytes()),
            scopes,
            proof_key: proof_key(token),
        });
        let cookie_key = blake3::derive_key(COOKIE_CONTEXT, secrets.cookie_key.as_bytes());
        Self { tokens: tokens.collect(), cookie_key }
    }

    /// The client with this token.
    pub fn by_token(&self, token: &str) -> Option<KnownClient> {
        let shown = blake3::hash(token.as_bytes());
        // Hashes are compared in constant time, and all of them, whichever is the right one.
        let found = self
            .tokens
            .iter()
            .fold(None, |found, known| if known.hash == shown { Some(known) } else { found });
        found.map(|known| KnownClient { by: Proof::Token, scopes: known.scopes.clone() })
    }

    /// The value of a cookie for the user's own browser, from now on. Times are seconds since 1970.
    pub fn cookie(&self, now: u64) -> Result<String, NoRandomness> {
        let signed = format!("{}.{}", now + COOKIE_SECONDS, random_secret()?);
        let mark = self.mark(&signed);
        Ok(format!("{signed}.{mark}"))
    }

    /// The client with this cookie.
    pub fn by_cookie(&self, value: &str, now: u64) -> Option<KnownClient> {
        let (signed, mark) = value.rsplit_once('.')?;
        let mark = Hash::from_hex(mark).ok()?;
        let (expires, _) = signed.split_once('.')?;
        let is_ours = self.mark(signed) == mark;
        let expires: u64 = expires.parse().ok().filter(|_| is_ours)?;
        (now < expires)
            .then(|| KnownClient { by: Proof::Cookie, scopes: AccessScope::ALL.to_vec() })
    }

    /// Proves to a client with one of the tokens that this is the service it belongs to, so that the client does
    /// not send it to whoever else listens at that port. There is a proof for each token.
    pub fn proofs(&self, host: &str, challenge: &str) -> Vec<String> {
        self.tokens.iter().map(|known| proof(&known.proof_key, host, challenge)).collect()
    }

    /// The proof that a client with this token expects. `host` is the address that it has asked, so that the
    /// proof of one address is none for another.
    pub fn expected_proof(token: &str, host: &str, challenge: &str) -> String {
        proof(&proof_key(token), host, challenge)
    }

    fn mark(&self, signed: &str) -> Hash {
        blake3::keyed_hash(&self.cookie_key, signed.as_bytes())
    }
}

fn proof_key(token: &str) -> [u8; SECRET_BYTES] {
    blake3::derive_key(PROOF_CONTEXT, token.as_bytes())
}

fn proof(key: &[u8; SECRET_BYTES], host: &str, challenge: &str) -> String {
    let said = format!("{}:{host}:{challenge}", host.len());
    blake3::keyed_hash(key, said.as_bytes()).to_hex().to_string()
}

/// A link that lets one browser in, once.
pub(crate) struct OneTimeCode {
    hash: Hash,
    expires: u64,
    is_used: bool,
}

impl OneTimeCode {
    /// A code and what is kept of it.
    pub(crate) fn generate(now: u64) -> Result<(String, Self), NoRandomness> {
        let code = random_secret()?;
        let hash = blake3::hash(code.as_bytes());
        Ok((code, Self { hash, expires: now + LINK_SECONDS, is_used: false }))
    }

    /// Whether this is the code. It is, once.
    pub(crate) fn redeem(&mut self, code: &str, now: u64) -> bool {
        let is_right = blake3::hash(code.as_bytes()) == self.hash;
        let is_good = is_right && !self.is_used && now < self.expires;
        self.is_used |= is_good;
        is_good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_its_scope_and_no_other() {
        let secrets = Secrets::generate().unwrap();
        let credentials = Credentials::new(&secrets);
        let may = |token: &str| {
            let caller = credentials.by_token(token);
            caller.map(|caller| AccessScope::ALL.map(|scope| caller.may(scope)))
        };
        assert_eq!(may(&secrets.all), Some([true; 4]));
        assert_eq!(may(&secrets.chat), Some([true, false, false, false]));
        assert_eq!(may(&secrets.approve), Some([false, true, false, false]));
        assert_eq!(may(&secrets.tools), Some([false, false, true, false]));
        assert_eq!(may(&secrets.mcp), Some([false, false, false, true]));
        assert_eq!(may(&secrets.cookie_key), None);
        assert_eq!(may(""), None);
        assert_eq!(may(&secrets.all[1..]), None);
    }

    #[test]
    fn a_proof_is_of_one_token_one_address_and_one_challenge() {
        let secrets = Secrets::generate().unwrap();
        let proofs = Credentials::new(&secrets).proofs("127.0.0.1:1", "challenge");
        let expected = |token: &str, host: &str, challenge: &str| {
            proofs.contains(&Credentials::expected_proof(token, host, challenge))
        };
        for token in [&secrets.all, &secrets.chat, &secrets.approve, &secrets.tools] {
            assert!(expected(token, "127.0.0.1:1", "challenge"));
        }
        assert!(!expected(&secrets.all, "127.0.0.1:2", "challenge"));
        assert!(!expected(&secrets.all, "127.0.0.1:1", "another"));
        assert!(!expected(&secrets.cookie_key, "127.0.0.1:1", "challenge"));
        let another = Secrets::generate().unwrap();
        assert!(!expected(&another.all, "127.0.0.1:1", "challenge"));
    }

    #[test]
    fn a_cookie_holds_until_it_expires_or_the_key_is_another() {
        let secrets = Secrets::generate().unwrap();
        let credentials = Credentials::new(&secrets);
        let cookie = credentials.cookie(1_000).unwrap();
        assert!(credentials.by_cookie(&cookie, 1_000).is_some());
        assert!(Credentials::new(&secrets).by_cookie(&cookie, 1_000).is_some());
        assert!(credentials.by_cookie(&cookie, 1_000 + COOKIE_SECONDS).is_none());
        let other = Credentials::new(&Secrets::generate().unwrap());
        assert!(other.by_cookie(&cookie, 1_000).is_none());
        let longer = cookie.replacen("2593000", "9999999999", 1);
        assert_ne!(longer, cookie);
        assert!(credentials.by_cookie(&longer, 1_000).is_none());
        for text in ["", ".", "..", "1.2", &cookie[..cookie.len() - 1], &secrets.all] {
            assert!(credentials.by_cookie(text, 0).is_none(), "{text}");
        }
    }

    #[test]
    fn the_link_lets_one_browser_in_and_only_for_a_while() {
        let (code, mut kept) = OneTimeCode::generate(50).unwrap();
        assert!(!kept.redeem("other", 50));
        assert!(!kept.redeem(&code, 50 + LINK_SECONDS));
        assert!(kept.redeem(&code, 51));
        assert!(!kept.redeem(&code, 51));
    }

    #[test]
    fn secrets_of_a_version_without_agents_get_a_token_for_them_and_keep_the_others() {
        let before = Secrets::generate().unwrap();
        let mut kept = serde_json::to_value(&before).unwrap();
        kept.as_object_mut().unwrap().remove("mcp");
        let mut secrets: Secrets = serde_json::from_value(kept).unwrap();
        assert!(!secrets.are_whole());
        assert!(secrets.complete().unwrap());
        assert!(secrets.are_whole() && secrets.all == before.all);
        assert!(!secrets.complete().unwrap());
        // Without one, no token at all is that of an agent.
        secrets.mcp.clear();
        assert!(!secrets.are_whole());
    }

    #[test]
    fn secrets_that_were_shortened_by_hand_are_noticed() {
        let mut secrets = Secrets::generate().unwrap();
        assert!(secrets.are_whole());
        secrets.chat.truncate(8);
        assert!(!secrets.are_whole());
    }
}
