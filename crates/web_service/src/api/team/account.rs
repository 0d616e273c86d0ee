//! One's own account: who one is, tokens, and keys for providers of models.

use std::time::Duration;

use axum::http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use team::{
    Credential, KeptKey, KeyOwner, LONGEST_TOKEN_DAYS, NewToken, ProviderKey, Scope, SecretKind,
    SecretText, TokenInfo,
};

use super::{no_team, told, user};
use crate::api_error::ApiError;
use crate::credentials::AccessScope;
use crate::guard::{Need, Refusal};
use crate::route::{Nothing, Request, Route};
use crate::view::TeamViewer;

/// Characters of the name of a token.
const LONGEST_NAME: usize = 100;
/// Days that a token is good for, if nothing is said.
const USUAL_DAYS: u32 = 90;
const DAY_SECONDS: u64 = 24 * 60 * 60;

pub(super) fn routes() -> Vec<Route> {
    let chat = Need::Scope(AccessScope::Chat);
    let one_key = "/api/me/keys/{provider}";
    vec![
        Route::new(Method::GET, "/api/me", Need::Login, "The user that asks.", me),
        Route::new(Method::GET, "/api/me/tokens", Need::Login, "One's own tokens.", tokens),
        Route::new(
            Method::POST,
            "/api/me/tokens",
            Need::Login,
            "Makes a token. It is shown once; the server keeps a hash of it.",
            make_token,
        ),
        Route::new(
            Method::DELETE,
            "/api/me/tokens/{token}",
            Need::Login,
            "Revokes one of one's own tokens.",
            revoke_token,
        ),
        Route::new(
            Method::GET,
            "/api/me/keys",
            Need::Login,
            "For which providers one has kept a key. Keys are never shown again.",
            keys,
        ),
        Route::new(
            Method::PUT,
            one_key,
            chat,
            "Keeps a key for a provider, sealed. One's own sessions use it from their next opening on.",
            keep_key,
        ),
        Route::new(Method::DELETE, one_key, chat, "Removes a key.", remove_key),
    ]
}

/// The user that asks.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::api) struct OwnAccount {
    id: String,
    name: String,
    email: Option<String>,
    role: String,
    /// What this login or token may do at this moment.
    scopes: Vec<String>,
    /// The projects that are shared with the user; an admin sees all.
    projects: Vec<String>,
}

impl OwnAccount {
    /// The account of the one that asks; none where the service has no team.
    pub(in crate::api) fn of<Q, B>(request: &Request<Q, B>) -> Option<Self> {
        let known = &request.hub.user()?.known.user;
        let scopes = request.caller.as_ref().map(|caller| caller.scopes()).unwrap_or_default();
        Some(Self {
            id: known.id.to_string(),
            name: known.name.clone(),
            email: known.email.clone(),
            role: known.role.to_string(),
            scopes: scopes.iter().map(|scope| scope.word().to_owned()).collect(),
            projects: request.hub.projects().iter().map(|it| it.name().to_owned()).collect(),
        })
    }
}

async fn me(request: Request<Nothing, Nothing>) -> Result<OwnAccount, ApiError> {
    OwnAccount::of(&request).ok_or_else(no_team)
}

/// A token, without the secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedToken {
    id: String,
    user: String,
    name: String,
    scopes: Vec<String>,
    /// Milliseconds since 1970, UTC.
    made: i64,
    expires: i64,
    /// When it was last used, to the minute.
    used: Option<i64>,
    /// The token that it was made with, and is revoked with.
    made_with: Option<String>,
}

impl From<TokenInfo> for ListedToken {
    fn from(info: TokenInfo) -> Self {
        let TokenInfo { id, user, name, scopes, made, expires, used, made_with } = info;
        let scopes = scopes.iter().map(ToString::to_string).collect();
        Self { id, user: user.to_string(), name, scopes, made, expires, used, made_with }
    }
}

/// Tokens.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct TokenList {
    pub(super) tokens: Vec<ListedToken>,
}

async fn tokens(request: Request<Nothing, Nothing>) -> Result<TokenList, ApiError> {
    let asking = user(&request)?;
    let tokens = asking.team.people().tokens(Some(asking.id())).await?;
    Ok(TokenList { tokens: tokens.into_iter().map(ListedToken::from).collect() })
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenBody {
    /// What it is for.
    name: String,
    /// What it may be used for: `read`, `chat`, `approve`, `tools`, `mcp`, `admin`. No more than the one that asks may.
    scopes: Vec<String>,
    /// Days that it is good for; 90 if left out.
    days: Option<u32>,
}

/// A token that was made.
#[derive(Debug, Serialize, JsonSchema)]
struct MadeToken {
    /// The secret. It cannot be shown again.
    token: String,
    #[serde(flatten)]
    info: ListedToken,
}

/// The token that this client has, or has logged in with, and how long that is still good. What the client makes ends
/// with it: otherwise a token that was lost would never end.
fn own_token(asking: &TeamViewer) -> Option<(String, Duration)> {
    match &asking.known.credential {
        Credential::Token { id, .. } => Some((id.clone(), asking.known.good_for)),
        Credential::Browser { token } => {
            token.as_ref().map(|token| (token.id.clone(), token.good_for))
        }
    }
}

async fn make_token(request: Request<Nothing, TokenBody>) -> Result<MadeToken, ApiError> {
    let asking = user(&request)?;
    let TokenBody { name, scopes, days } = &request.body;
    let own = own_token(asking);
    let most = own.as_ref().map_or(LONGEST_TOKEN_DAYS, |(_, good_for)| {
        u32::try_from(good_for.as_secs() / DAY_SECONDS).unwrap_or(u32::MAX)
    });
    let days = days.unwrap_or(USUAL_DAYS.min(most));
    let is_named = (1..=LONGEST_NAME).contains(&name.chars().count());
    if !is_named || scopes.is_empty() || !(1..=LONGEST_TOKEN_DAYS).contains(&days) {
        return Err(ApiError::invalid(format!(
            "a token has a name of 1 to {LONGEST_NAME} characters, some scopes, and 1 to {LONGEST_TOKEN_DAYS} days"
        )));
    }
    let parse = |scope: &String| scope.parse::<Scope>();
    let scopes: Result<Vec<Scope>, _> = scopes.iter().map(parse).collect();
    let scopes = scopes.map_err(|_| ApiError::invalid("there is no such scope"))?;
    if days > most {
        let message = "a token does not make one that is good for longer than itself";
        return Err(ApiError::forbidden(message));
    }
    // A token does not make one that may do more.
    if !scopes.iter().all(|scope| request.may(AccessScope::from(*scope))) {
        return Err(Refusal::Scope.into());
    }
    let secret = SecretText::generate(SecretKind::Token);
    let secret = secret.map_err(|error| ApiError::internal(error.to_string()))?;
    let id = asking.id().clone();
    let name = protocol::visible(name);
    let (hash, made_with) = (secret.hash(), own.map(|(token, _)| token));
    let new = NewToken { user: id.clone(), name, scopes, days, hash, made_with };
    let info = asking.team.people().add_token(&id, new).await?;
    Ok(MadeToken { token: secret.expose().to_owned(), info: info.into() })
}

async fn revoke_token(request: Request<Nothing, Nothing>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    let (people, id) = (asking.team.people(), asking.id());
    people.revoke_token(id, Some(id), request.part("token")).await?;
    told(&asking.team).await?;
    Ok(Nothing {})
}

/// Keys for providers.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyList {
    /// Whether this server can keep keys at all.
    can_keep: bool,
    keys: Vec<ListedKey>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedKey {
    provider: String,
    /// The master key that it is sealed with.
    sealed_with: String,
    /// When it was kept: milliseconds since 1970, UTC.
    kept: i64,
}

async fn keys(request: Request<Nothing, Nothing>) -> Result<KeyList, ApiError> {
    let asking = user(&request)?;
    let keys = asking.team.people().kept_keys(asking.id()).await?;
    let listed =
        |KeptKey { provider, sealed_with, kept }| ListedKey { provider, sealed_with, kept };
    let can_keep = asking.team.master_keys().is_some();
    Ok(KeyList { can_keep, keys: keys.into_iter().map(listed).collect() })
}

fn key_owner<B>(request: &Request<Nothing, B>) -> Result<KeyOwner, ApiError> {
    let provider = request.part("provider").to_owned();
    Ok(KeyOwner { user: user(request)?.id().clone(), provider })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct KeyBody {
    /// The key as the provider shows it.
    key: String,
}

async fn keep_key(request: Request<Nothing, KeyBody>) -> Result<Nothing, ApiError> {
    let asking = user(&request)?;
    let owner = key_owner(&request)?;
    let master = asking.team.master_keys().ok_or_else(|| {
        ApiError::conflict("this server has no master key, without which no key is kept")
    })?;
    let sealed = owner.seal(master, &ProviderKey::new(request.body.key.as_str()))?;
    asking.team.people().keep_key(&owner, sealed).await?;
    Ok(Nothing {})
}

async fn remove_key(request: Request<Nothing, Nothing>) -> Result<Nothing, ApiError> {
    let owner = key_owner(&request)?;
    user(&request)?.team.people().remove_key(&owner).await?;
    Ok(Nothing {})
}
