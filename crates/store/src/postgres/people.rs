//! Users and what belongs to them, in the team's database. The clock that decides is the database's.

mod accounts;
mod belongings;
mod recognition;

use async_trait::async_trait;
use sqlx::{PgConnection, Postgres, Transaction};
use team::{
    AuditEntry, AuditFilter, AuditKind, AuditPlace, BudgetBalance, BudgetScope, DayBudget,
    Identity, InvitationInfo, KeptAttempt, KeptKey, KeyOwner, NewBrowser, NewInvitation, NewToken,
    NewUser, PeopleError, PeopleStore, PlacedEntry, Recognised, RemovedSession, RemovedSpending,
    Sealed, SecretHash, SessionAccess, Share, Spending, TeamRole, TokenInfo, User, UserChange,
    UserId, Visibility,
};

use super::PostgresDatabase;

/// What is being done, for errors.
const DOING: &str = "reading or changing users";

type Tx = Transaction<'static, Postgres>;

/// A failure of the database or a refusal, before either is one for users.
enum PeopleFailure {
    Database(sqlx::Error),
    Refused(PeopleError),
}

impl From<sqlx::Error> for PeopleFailure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl From<PeopleError> for PeopleFailure {
    fn from(error: PeopleError) -> Self {
        Self::Refused(error)
    }
}

impl From<team::NoRandomness> for PeopleFailure {
    fn from(error: team::NoRandomness) -> Self {
        Self::Refused(error.into())
    }
}

type Done<T> = Result<T, PeopleFailure>;

fn not_found(what: &'static str, name: &str) -> PeopleFailure {
    PeopleError::NotFound { what, name: name.to_owned() }.into()
}

/// A row that this program cannot have written.
fn unreadable(text: &str) -> PeopleFailure {
    PeopleError::Failed(format!("`{text}` cannot be read")).into()
}

impl PostgresDatabase {
    fn told<T>(&self, done: Done<T>) -> Result<T, PeopleError> {
        done.map_err(|failure| match failure {
            PeopleFailure::Refused(error) => error,
            PeopleFailure::Database(error) => {
                PeopleError::Failed(self.error(DOING, &error).to_string())
            }
        })
    }

    async fn begin(&self) -> Done<Tx> {
        Ok(self.pool().begin().await?)
    }

    /// A transaction after which users may see or do something else. They happen one after the other.
    async fn begin_change(&self) -> Done<Tx> {
        let mut tx = self.begin().await?;
        let grow = "UPDATE people_version SET version = version + 1";
        sqlx::query(grow).execute(&mut *tx).await?;
        Ok(tx)
    }
}

/// Writes a row of the audit.
async fn note(
    conn: &mut PgConnection,
    by: Option<&UserId>,
    kind: AuditKind,
    subject: &str,
    detail: &str,
) -> Done<()> {
    let insert = "INSERT INTO audit (user_id, kind, subject, detail) VALUES ($1, $2, $3, $4)";
    let insert = sqlx::query(insert).bind(by.map(UserId::as_str)).bind(kind.to_string());
    insert.bind(subject).bind(detail).execute(conn).await?;
    Ok(())
}

#[async_trait]
impl PeopleStore for PostgresDatabase {
    async fn now(&self) -> Result<i64, PeopleError> {
        let now = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT";
        self.told(sqlx::query_scalar(now).fetch_one(self.pool()).await.map_err(Into::into))
    }
    async fn version(&self) -> Result<i64, PeopleError> {
        let version = "SELECT version FROM people_version";
        self.told(sqlx::query_scalar(version).fetch_one(self.pool()).await.map_err(Into::into))
    }
    async fn users(&self) -> Result<Vec<User>, PeopleError> {
        self.told(self.all_users().await)
    }
    async fn user_of(&self, identity: &Identity) -> Result<Option<User>, PeopleError> {
        self.told(self.found_identity(identity).await)
    }
    async fn add_user(&self, new: NewUser, role: TeamRole) -> Result<User, PeopleError> {
        self.told(self.added_user(new, role).await)
    }
    async fn change_user(
        &self,
        by: &UserId,
        id: &UserId,
        change: UserChange,
    ) -> Result<User, PeopleError> {
        self.told(self.changed_user(by, id, change).await)
    }
    async fn by_token(&self, hash: &SecretHash) -> Result<Option<Recognised>, PeopleError> {
        self.told(self.recognised_token(hash).await)
    }
    async fn by_browser(&self, hash: &SecretHash) -> Result<Option<Recognised>, PeopleError> {
        self.told(self.recognised_browser(hash).await)
    }
    async fn begin_browser(&self, new: NewBrowser) -> Result<(), PeopleError> {
        self.told(self.begun_browser(new).await)
    }
    async fn end_browser(&self, hash: &SecretHash) -> Result<bool, PeopleError> {
        self.told(self.ended_browser(hash).await)
    }
    async fn add_token(&self, by: &UserId, new: NewToken) -> Result<TokenInfo, PeopleError> {
        self.told(self.added_token(by, new).await)
    }
    async fn tokens(&self, user: Option<&UserId>) -> Result<Vec<TokenInfo>, PeopleError> {
        self.told(self.listed_tokens(user).await)
    }
    async fn revoke_token(
        &self,
        by: &UserId,
        owner: Option<&UserId>,
        id: &str,
    ) -> Result<(), PeopleError> {
        self.told(self.revoked_token(by, owner, id).await)
    }
    async fn invite(&self, by: &UserId, new: NewInvitation) -> Result<InvitationInfo, PeopleError> {
        self.told(self.invited(by, new).await)
    }
    async fn invite_first_admin(&self, new: NewInvitation) -> Result<bool, PeopleError> {
        self.told(self.invited_first_admin(new).await)
    }
    async fn invitations(&self) -> Result<Vec<InvitationInfo>, PeopleError> {
        self.told(self.open_invitations(None).await)
    }
    async fn withdraw_invitation(&self, by: &UserId, id: &str) -> Result<(), PeopleError> {
        self.told(self.withdrawn_invitation(by, id).await)
    }
    async fn open_invitation(
        &self,
        invitation: &SecretHash,
    ) -> Result<Option<InvitationInfo>, PeopleError> {
        let found = self.open_invitations(Some(invitation)).await;
        self.told(found.map(|mut found| found.pop()))
    }
    async fn accept(
        &self,
        invitation: &SecretHash,
        new: NewUser,
    ) -> Result<Option<User>, PeopleError> {
        self.told(self.accepted(invitation, new).await)
    }
    async fn keep_attempt(&self, attempt: KeptAttempt, seconds: u32) -> Result<(), PeopleError> {
        self.told(self.kept_attempt(attempt, seconds).await)
    }
    async fn take_attempt(
        &self,
        state: &SecretHash,
        browser: &SecretHash,
    ) -> Result<Option<KeptAttempt>, PeopleError> {
        self.told(self.taken_attempt(state, browser).await)
    }
    async fn shares(&self) -> Result<Vec<Share>, PeopleError> {
        self.told(self.all_shares().await)
    }
    async fn share(&self, by: &UserId, share: &Share) -> Result<(), PeopleError> {
        self.told(self.shared(by, share).await)
    }
    async fn unshare(&self, by: &UserId, share: &Share) -> Result<(), PeopleError> {
        self.told(self.unshared(by, share).await)
    }
    async fn own(&self, session: &str, project: &str, owner: &UserId) -> Result<(), PeopleError> {
        let own = "INSERT INTO session_owners (session, project, owner) VALUES ($1, $2, $3) \
                   ON CONFLICT (session) DO NOTHING";
        let own = sqlx::query(own).bind(session).bind(project).bind(owner.as_str());
        self.told(own.execute(self.pool()).await.map(|_| ()).map_err(Into::into))
    }
    async fn access(&self, sessions: &[String]) -> Result<Vec<SessionAccess>, PeopleError> {
        self.told(self.known_access(sessions).await)
    }
    async fn set_visibility(
        &self,
        by: &UserId,
        session: &str,
        visibility: Visibility,
    ) -> Result<(), PeopleError> {
        self.told(self.changed_visibility(by, session, visibility).await)
    }
    async fn disown(&self, session: &str) -> Result<(), PeopleError> {
        let disown = "DELETE FROM session_owners WHERE session = $1";
        let done = sqlx::query(disown).bind(session).execute(self.pool()).await;
        self.told(done.map(|_| ()).map_err(Into::into))
    }
    async fn keep_of_removed(&self, removed: RemovedSession) -> Result<(), PeopleError> {
        self.told(self.kept_of_removed(removed).await)
    }
    async fn spent_by_removed(&self, since: i64) -> Result<Vec<RemovedSpending>, PeopleError> {
        self.told(self.removed_since(since).await)
    }
    async fn budgets(&self) -> Result<Vec<DayBudget>, PeopleError> {
        self.told(self.all_budgets().await)
    }
    async fn balances(
        &self,
        user: &UserId,
        project: &str,
    ) -> Result<Option<Vec<BudgetBalance>>, PeopleError> {
        self.told(self.known_balances(user, project).await.map(Some))
    }
    async fn set_budget(&self, by: &UserId, budget: DayBudget) -> Result<(), PeopleError> {
        self.told(self.kept_budget(by, budget).await)
    }
    async fn remove_budget(&self, by: &UserId, scope: &BudgetScope) -> Result<(), PeopleError> {
        self.told(self.removed_budget(by, scope).await)
    }
    async fn keep_key(&self, owner: &KeyOwner, sealed: Sealed) -> Result<(), PeopleError> {
        self.told(self.kept_key(owner, sealed).await)
    }
    async fn kept_keys(&self, user: &UserId) -> Result<Vec<KeptKey>, PeopleError> {
        self.told(self.listed_keys(user).await)
    }
    async fn sealed_keys(
        &self,
        user: Option<&UserId>,
    ) -> Result<Vec<(KeyOwner, Sealed)>, PeopleError> {
        self.told(self.all_sealed(user).await)
    }
    async fn reseal_key(
        &self,
        owner: &KeyOwner,
        from: &Sealed,
        to: Sealed,
    ) -> Result<bool, PeopleError> {
        self.told(self.resealed(owner, from, to).await)
    }
    async fn remove_key(&self, owner: &KeyOwner) -> Result<(), PeopleError> {
        self.told(self.removed_key(owner).await)
    }
    async fn note(&self, entry: AuditEntry) -> Result<(), PeopleError> {
        self.told(self.noted(entry).await)
    }
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<PlacedEntry>, PeopleError> {
        self.told(self.audited(filter).await)
    }
}
