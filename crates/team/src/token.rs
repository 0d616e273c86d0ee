//! Tokens of the API.

use serde::Serialize;

use crate::{Scope, SecretHash, TeamRole, UserId};

/// Days that a token is good for at most: one that is forgotten does not stay for ever.
pub const LONGEST_TOKEN_DAYS: u32 = 365;

/// A token to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Whose it is.
    pub user: UserId,
    /// What it is for, in the user's words.
    pub name: String,
    /// What it may be used for, within the user's role.
    pub scopes: Vec<Scope>,
    /// Days that it is good for.
    pub days: u32,
    /// What is kept of it.
    pub hash: SecretHash,
    /// The token that it is made with, or that the browser came with in which it is made. It is revoked with that one.
    pub made_with: Option<String>,
}

/// A browser that is about to be logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBrowser {
    /// Whose it is.
    pub user: UserId,
    /// What is kept of its secret.
    pub hash: SecretHash,
    /// How long it stays logged in.
    pub seconds: u32,
    /// The token that it comes with; the login ends when that one is revoked.
    pub made_with: Option<String>,
}

/// A token, without the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenInfo {
    /// Its name for programs.
    pub id: String,
    /// Whose it is.
    pub user: UserId,
    /// What it is for.
    pub name: String,
    /// What it may be used for, within the user's role.
    pub scopes: Vec<Scope>,
    /// When it was made: milliseconds since 1970, UTC.
    pub made: i64,
    /// When it ends.
    pub expires: i64,
    /// When it was last used, to the minute; absent if never.
    pub used: Option<i64>,
    /// The token that it is revoked with.
    pub made_with: Option<String>,
}

/// What a request may ask for: what the token has, and the role at this moment allows. A token for anything but
/// MCP may also look.
pub fn usable_scopes(role: TeamRole, of_token: Option<&[Scope]>) -> Vec<Scope> {
    let Some(of_token) = of_token else { return role.scopes().to_vec() };
    let uses_api = of_token.iter().any(|scope| *scope != Scope::Mcp);
    let has = |scope: &&Scope| match **scope {
        Scope::Read => uses_api,
        _ => of_token.contains(scope),
    };
    role.scopes().iter().filter(has).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_has_more_than_the_role_has_now() {
        let all =
            [Scope::Read, Scope::Chat, Scope::Approve, Scope::Tools, Scope::Mcp, Scope::Admin];
        for role in TeamRole::ALL {
            assert_eq!(usable_scopes(role, None), role.scopes());
            assert_eq!(usable_scopes(role, Some(&all)), role.scopes());
            assert_eq!(usable_scopes(role, Some(&[])), []);
        }
        assert_eq!(usable_scopes(TeamRole::Viewer, Some(&[Scope::Chat])), [Scope::Read]);
        assert_eq!(usable_scopes(TeamRole::Admin, Some(&[Scope::Mcp])), [Scope::Mcp]);
        assert_eq!(
            usable_scopes(TeamRole::Approver, Some(&[Scope::Approve, Scope::Admin])),
            [Scope::Read, Scope::Approve]
        );
    }
}
