//! Where users and what belongs to them are kept.

use std::time::Duration;

use async_trait::async_trait;

use crate::{
    AuditEntry, AuditFilter, BudgetBalance, BudgetScope, DayBudget, Identity, InvitationInfo,
    KeptKey, KeyOwner, NewBrowser, NewInvitation, NewToken, NewUser, PlacedEntry, RemovedSession,
    RemovedSpending, Scope, Sealed, SecretHash, SessionAccess, TeamRole, TokenInfo, User,
    UserChange, UserId, Visibility,
};

/// How long a browser stays logged in, in seconds: a week.
pub const BROWSER_SECONDS: u32 = 7 * 24 * 60 * 60;

/// Why something about users cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeopleError {
    /// There is no such thing.
    #[error("there is no {what} `{name}`")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// What was looked for.
        name: String,
    },
    /// It would lock everyone out.
    #[error("this is the last admin: make another user an admin first")]
    LastAdmin,
    /// It is there already.
    #[error("there is such a {0} already")]
    Exists(&'static str),
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The database fails.
    #[error("the team's database fails: {0}")]
    Failed(String),
}

/// How a client was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// By a token with these scopes.
    Token {
        /// Its name for programs.
        id: String,
        /// What it was made for.
        scopes: Vec<Scope>,
    },
    /// By a browser's cookie.
    Browser {
        /// The token that it came with, if it did.
        token: Option<BrowserToken>,
    },
}

/// The token that a browser came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserToken {
    /// Its name for programs.
    pub id: String,
    /// How long it is still good.
    pub good_for: Duration,
}

/// A user that was recognised, as everything is at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// The user, who is not disabled.
    pub user: User,
    /// How.
    pub credential: Credential,
    /// The projects that are shared with the user, in order.
    pub projects: Vec<String>,
    /// How long the token or the login is still good, if nothing ends it before.
    pub good_for: Duration,
}

/// That a project is shared with a user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    pub project: String,
    pub user: UserId,
}

/// A login at an identity provider that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAttempt {
    /// The hash of the state that the provider gives back.
    pub state: SecretHash,
    /// The hash of what the browser has in a cookie.
    pub browser: SecretHash,
    /// What the ID token must hold.
    pub nonce: String,
    /// What proves that we have begun the login (PKCE).
    pub verifier: String,
    /// The invitation that led to the login.
    pub invitation: Option<SecretHash>,
}

/// Keeps users and what belongs to them. The clock that decides is that of the database, and a change stands in the
/// audit in the same transaction. `by` is the user that makes the change; none for the service itself.
#[async_trait]
pub trait PeopleStore: Send + Sync {
    /// Milliseconds since 1970 by the clock that decides.
    async fn now(&self) -> Result<i64, PeopleError>;
    /// Grows with every change after which another user may see or do something else.
    async fn version(&self) -> Result<i64, PeopleError>;

    /// All users, by the time they were added.
    async fn users(&self) -> Result<Vec<User>, PeopleError>;
    /// The user that logs in so.
    async fn user_of(&self, identity: &Identity) -> Result<Option<User>, PeopleError>;
    /// Adds a user whom the identity provider vouches for.
    async fn add_user(&self, new: NewUser, role: TeamRole) -> Result<User, PeopleError>;
    /// Changes a user. The last admin stays one. The browsers of a user that is disabled are logged out.
    async fn change_user(
        &self,
        by: &UserId,
        id: &UserId,
        change: UserChange,
    ) -> Result<User, PeopleError>;

    /// The user with this token, if it has not ended and the user is not disabled.
    async fn by_token(&self, hash: &SecretHash) -> Result<Option<Recognised>, PeopleError>;
    /// The user with this browser.
    async fn by_browser(&self, hash: &SecretHash) -> Result<Option<Recognised>, PeopleError>;
    /// A browser is logged in from now on.
    async fn begin_browser(&self, new: NewBrowser) -> Result<(), PeopleError>;
    /// A browser is logged in no more. Answers whether it was.
    async fn end_browser(&self, hash: &SecretHash) -> Result<bool, PeopleError>;

    /// Keeps a token.
    async fn add_token(&self, by: &UserId, new: NewToken) -> Result<TokenInfo, PeopleError>;
    /// The tokens of a user, or all.
    async fn tokens(&self, user: Option<&UserId>) -> Result<Vec<TokenInfo>, PeopleError>;
    /// Revokes a token, only of `owner` if one is named, with everything that was made with it: tokens, those that were
    /// made with them, and logins of browsers.
    async fn revoke_token(
        &self,
        by: &UserId,
        owner: Option<&UserId>,
        id: &str,
    ) -> Result<(), PeopleError>;

    /// Keeps an invitation.
    async fn invite(&self, by: &UserId, new: NewInvitation) -> Result<InvitationInfo, PeopleError>;
    /// Keeps the invitation for the first admin in place of any earlier one. Answers false, and does nothing, if
    /// there is an admin.
    async fn invite_first_admin(&self, new: NewInvitation) -> Result<bool, PeopleError>;
    /// The invitations that are open. One that a user made is open only as long as that user is an admin.
    async fn invitations(&self) -> Result<Vec<InvitationInfo>, PeopleError>;
    /// Takes an invitation back.
    async fn withdraw_invitation(&self, by: &UserId, id: &str) -> Result<(), PeopleError>;
    async fn open_invitation(
        &self,
        invitation: &SecretHash,
    ) -> Result<Option<InvitationInfo>, PeopleError>;
    /// Uses an invitation up and adds its user, both or neither. None if it is not open. One who has an account
    /// keeps it, with the higher of both roles.
    async fn accept(
        &self,
        invitation: &SecretHash,
        new: NewUser,
    ) -> Result<Option<User>, PeopleError>;

    /// Keeps a login that has begun, for so long.
    async fn keep_attempt(&self, attempt: KeptAttempt, seconds: u32) -> Result<(), PeopleError>;
    /// Takes a login that has begun. It is there once, and only for its browser.
    async fn take_attempt(
        &self,
        state: &SecretHash,
        browser: &SecretHash,
    ) -> Result<Option<KeptAttempt>, PeopleError>;

    /// All shares, in order.
    async fn shares(&self) -> Result<Vec<Share>, PeopleError>;
    /// Shares a project with a user.
    async fn share(&self, by: &UserId, share: &Share) -> Result<(), PeopleError>;
    /// Ends that.
    async fn unshare(&self, by: &UserId, share: &Share) -> Result<(), PeopleError>;

    /// A session belongs to a user from now on.
    async fn own(&self, session: &str, project: &str, owner: &UserId) -> Result<(), PeopleError>;
    /// What is known of sessions, in the same order. One that is not known has no owner and is private.
    async fn access(&self, sessions: &[String]) -> Result<Vec<SessionAccess>, PeopleError>;
    /// Decides who sees a session.
    async fn set_visibility(
        &self,
        by: &UserId,
        session: &str,
        visibility: Visibility,
    ) -> Result<(), PeopleError>;
    /// A session is gone.
    async fn disown(&self, session: &str) -> Result<(), PeopleError>;
    /// Keeps what stays of a session that is about to be deleted, in place of what was kept of it before.
    async fn keep_of_removed(&self, removed: RemovedSession) -> Result<(), PeopleError>;
    /// What sessions that were deleted since then had spent on that day, by session.
    async fn spent_by_removed(&self, since: i64) -> Result<Vec<RemovedSpending>, PeopleError>;

    /// All budgets, in order.
    async fn budgets(&self) -> Result<Vec<DayBudget>, PeopleError>;
    /// The budgets that hold for a user in a project, with what was spent of each since midnight. None where the
    /// sessions are not kept with the users, so that their stores have to be asked.
    async fn balances(
        &self,
        _user: &UserId,
        _project: &str,
    ) -> Result<Option<Vec<BudgetBalance>>, PeopleError> {
        Ok(None)
    }
    async fn set_budget(&self, by: &UserId, budget: DayBudget) -> Result<(), PeopleError>;
    async fn remove_budget(&self, by: &UserId, scope: &BudgetScope) -> Result<(), PeopleError>;

    /// Keeps a sealed key in place of an earlier one.
    async fn keep_key(&self, owner: &KeyOwner, sealed: Sealed) -> Result<(), PeopleError>;
    /// Which keys a user has.
    async fn kept_keys(&self, user: &UserId) -> Result<Vec<KeptKey>, PeopleError>;
    /// The sealed keys of a user, or all, with their owners.
    async fn sealed_keys(
        &self,
        user: Option<&UserId>,
    ) -> Result<Vec<(KeyOwner, Sealed)>, PeopleError>;
    /// Puts a key that was sealed anew in the place of what it was sealed from, if that is still there.
    async fn reseal_key(
        &self,
        owner: &KeyOwner,
        from: &Sealed,
        to: Sealed,
    ) -> Result<bool, PeopleError>;
    async fn remove_key(&self, owner: &KeyOwner) -> Result<(), PeopleError>;

    /// Notes something that no other method does. Its time is the clock's that decides.
    async fn note(&self, entry: AuditEntry) -> Result<(), PeopleError>;
    /// What was noted, the latest first.
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<PlacedEntry>, PeopleError>;
}
