//! Users in memory: for tests of whatever uses a [`PeopleStore`], and held to the same contract as the database.

mod accounts;
mod belongings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use crate::people::{
    BrowserToken, Credential, KeptAttempt, PeopleError, PeopleStore, Recognised, Share,
};
use crate::{
    AuditEntry, AuditFilter, AuditKind, AuditPlace, BudgetScope, DayBudget, Identity,
    InvitationInfo, KeptKey, KeyOwner, NewBrowser, NewInvitation, NewToken, NewUser, PlacedEntry,
    RemovedSession, RemovedSpending, Sealed, SecretHash, SessionAccess, TeamRole, TokenInfo, User,
    UserChange, UserId, Visibility,
};

/// Units of the clock.
const SECOND_MS: i64 = 1000;
const DAY_SECONDS: i64 = 24 * 60 * 60;
/// When the clock begins: a moment of 2027.
const BEGINNING: i64 = 1_800_000_000_000;

/// Users in memory, with a clock that stands still until it is moved.
#[derive(Default)]
pub struct MemoryPeople(Mutex<State>);

struct KnownBrowser {
    user: UserId,
    expires: i64,
    made_with: Option<String>,
}

struct KnownInvitation {
    info: InvitationInfo,
    hash: SecretHash,
}

#[derive(Default)]
struct State {
    moved_ms: i64,
    version: i64,
    last: u64,
    users: Vec<(User, Option<Identity>)>,
    browsers: BTreeMap<SecretHash, KnownBrowser>,
    tokens: Vec<(TokenInfo, SecretHash)>,
    invitations: Vec<KnownInvitation>,
    attempts: BTreeMap<SecretHash, (KeptAttempt, i64)>,
    shares: BTreeSet<Share>,
    sessions: BTreeMap<String, SessionAccess>,
    removed: BTreeMap<String, (RemovedSpending, i64)>,
    budgets: BTreeMap<BudgetScope, f64>,
    keys: BTreeMap<KeyOwner, (Sealed, i64)>,
    audit: Vec<AuditEntry>,
}

impl State {
    fn now(&self) -> i64 {
        BEGINNING + self.moved_ms
    }

    fn after(&self, seconds: u32) -> i64 {
        self.now() + i64::from(seconds) * SECOND_MS
    }

    fn next_id(&mut self) -> String {
        self.last += 1;
        format!("m{}", self.last)
    }

    fn user(&self, id: &UserId) -> Result<&User, PeopleError> {
        let found = self.users.iter().find(|(user, _)| user.id == *id).map(|(user, _)| user);
        found.ok_or_else(|| PeopleError::NotFound { what: "user", name: id.to_string() })
    }

    fn note(&mut self, by: Option<&UserId>, kind: AuditKind, subject: &str, detail: &str) {
        let (subject, detail) = (subject.to_owned(), detail.to_owned());
        let at = self.now();
        let (project, session) = (None, None);
        let user = by.cloned();
        self.audit.push(AuditEntry { at, user, kind, project, session, subject, detail });
    }

    /// None if it has ended.
    fn recognised(&self, id: &UserId, credential: Credential, until: i64) -> Option<Recognised> {
        let left = u64::try_from(until - self.now()).ok().filter(|left| *left > 0)?;
        let user = self.user(id).ok().filter(|user| !user.is_disabled)?.clone();
        let shares = self.shares.iter().filter(|share| share.user == *id);
        let projects = shares.map(|share| share.project.clone()).collect();
        let good_for = Duration::from_millis(left);
        Some(Recognised { user, credential, projects, good_for })
    }

    fn open_invitation(&self, hash: &SecretHash) -> Option<usize> {
        let is_it = |one: &KnownInvitation| one.hash == *hash && self.is_open(&one.info);
        self.invitations.iter().position(is_it)
    }

    fn is_open(&self, invitation: &InvitationInfo) -> bool {
        let is_admin = |user: &User| user.role == TeamRole::Admin && !user.is_disabled;
        let by = invitation.made_by.as_ref();
        self.now() < invitation.expires && by.is_none_or(|by| self.user(by).is_ok_and(is_admin))
    }

    fn has_admin(&self) -> bool {
        self.users.iter().any(|(user, _)| user.role == TeamRole::Admin && !user.is_disabled)
    }

    fn add_user(&mut self, new: NewUser, role: TeamRole) -> Result<User, PeopleError> {
        let NewUser { name, email, identity } = new.checked()?;
        if identity.is_some() && self.users.iter().any(|(_, known)| *known == identity) {
            return Err(PeopleError::Exists("user"));
        }
        let (id, added) = (UserId::generate()?, self.now());
        let user = User { id, name, email, role, is_disabled: false, added };
        self.note(Some(&user.id), AuditKind::UserAdded, user.id.as_str(), &format!("role {role}"));
        self.users.push((user.clone(), identity));
        Ok(user)
    }
}

impl MemoryPeople {
    /// Lets time pass.
    pub fn pass_seconds(&self, seconds: i64) {
        self.state().moved_ms += seconds * SECOND_MS;
    }

    /// Sets the clock to the one of the machine, for what is signed elsewhere.
    pub fn set_clock(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        self.state().moved_ms = now - BEGINNING;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The trait is one; its parts are in files of their own.
#[async_trait]
impl PeopleStore for MemoryPeople {
    async fn now(&self) -> Result<i64, PeopleError> {
        Ok(self.state().now())
    }
    async fn version(&self) -> Result<i64, PeopleError> {
        Ok(self.state().version)
    }
    async fn users(&self) -> Result<Vec<User>, PeopleError> {
        Ok(self.state().users.iter().map(|(user, _)| user.clone()).collect())
    }
    async fn user_of(&self, identity: &Identity) -> Result<Option<User>, PeopleError> {
        Ok(self.state().user_of(identity))
    }
    async fn add_user(&self, new: NewUser, role: TeamRole) -> Result<User, PeopleError> {
        self.state().add_user(new, role)
    }
    async fn change_user(
        &self,
        by: &UserId,
        id: &UserId,
        change: UserChange,
    ) -> Result<User, PeopleError> {
        self.state().change_user(by, id, change)
    }
    async fn by_token(&self, hash: &SecretHash) -> Result<Option<Recognised>, PeopleError> {
        Ok(self.state().by_token(hash))
    }
    async fn by_browser(&self, hash: &SecretHash) -> Result<Option<Recognised>, PeopleError> {
        Ok(self.state().by_browser(hash))
    }
    async fn begin_browser(&self, new: NewBrowser) -> Result<(), PeopleError> {
        self.state().begin_browser(new)
    }
    async fn end_browser(&self, hash: &SecretHash) -> Result<bool, PeopleError> {
        Ok(self.state().end_browser(hash))
    }
    async fn add_token(&self, by: &UserId, new: NewToken) -> Result<TokenInfo, PeopleError> {
        self.state().add_token(by, new)
    }
    async fn tokens(&self, user: Option<&UserId>) -> Result<Vec<TokenInfo>, PeopleError> {
        Ok(self.state().tokens(user))
    }
    async fn revoke_token(
        &self,
        by: &UserId,
        owner: Option<&UserId>,
        id: &str,
    ) -> Result<(), PeopleError> {
        self.state().revoke_token(by, owner, id)
    }
    async fn invite(&self, by: &UserId, new: NewInvitation) -> Result<InvitationInfo, PeopleError> {
        Ok(self.state().invite(Some(by), new))
    }
    async fn invite_first_admin(&self, new: NewInvitation) -> Result<bool, PeopleError> {
        Ok(self.state().invite_first_admin(new))
    }
    async fn invitations(&self) -> Result<Vec<InvitationInfo>, PeopleError> {
        Ok(self.state().invitations())
    }
    async fn withdraw_invitation(&self, by: &UserId, id: &str) -> Result<(), PeopleError> {
        self.state().withdraw_invitation(by, id)
    }
    async fn open_invitation(
        &self,
        invitation: &SecretHash,
    ) -> Result<Option<InvitationInfo>, PeopleError> {
        let state = self.state();
        let at = state.open_invitation(invitation);
        Ok(at.map(|at| state.invitations[at].info.clone()))
    }
    async fn accept(
        &self,
        invitation: &SecretHash,
        new: NewUser,
    ) -> Result<Option<User>, PeopleError> {
        self.state().accept(invitation, new)
    }
    async fn keep_attempt(&self, attempt: KeptAttempt, seconds: u32) -> Result<(), PeopleError> {
        let mut state = self.state();
        let expires = state.after(seconds);
        state.attempts.insert(attempt.state.clone(), (attempt, expires));
        Ok(())
    }
    async fn take_attempt(
        &self,
        state: &SecretHash,
        browser: &SecretHash,
    ) -> Result<Option<KeptAttempt>, PeopleError> {
        let mut known = self.state();
        let now = known.now();
        let is_it = known.attempts.get(state).is_some_and(|(it, _)| it.browser == *browser);
        let taken = if is_it { known.attempts.remove(state) } else { None };
        Ok(taken.filter(|(_, expires)| now < *expires).map(|(attempt, _)| attempt))
    }
    async fn shares(&self) -> Result<Vec<Share>, PeopleError> {
        Ok(self.state().shares.iter().cloned().collect())
    }
    async fn share(&self, by: &UserId, share: &Share) -> Result<(), PeopleError> {
        self.state().share(by, share)
    }
    async fn unshare(&self, by: &UserId, share: &Share) -> Result<(), PeopleError> {
        self.state().unshare(by, share)
    }
    async fn own(&self, session: &str, _project: &str, owner: &UserId) -> Result<(), PeopleError> {
        self.state().own(session, owner);
        Ok(())
    }
    async fn access(&self, sessions: &[String]) -> Result<Vec<SessionAccess>, PeopleError> {
        Ok(self.state().access(sessions))
    }
    async fn set_visibility(
        &self,
        by: &UserId,
        session: &str,
        visibility: Visibility,
    ) -> Result<(), PeopleError> {
        self.state().set_visibility(by, session, visibility)
    }
    async fn disown(&self, session: &str) -> Result<(), PeopleError> {
        self.state().sessions.remove(session);
        Ok(())
    }
    async fn keep_of_removed(&self, removed: RemovedSession) -> Result<(), PeopleError> {
        self.state().keep_of_removed(removed);
        Ok(())
    }
    async fn spent_by_removed(&self, since: i64) -> Result<Vec<RemovedSpending>, PeopleError> {
        let state = self.state();
        let late = state.removed.values().filter(|(_, at)| *at >= since);
        Ok(late.map(|(spent, _)| spent.clone()).collect())
    }
    async fn budgets(&self) -> Result<Vec<DayBudget>, PeopleError> {
        let budget = |(scope, usd): (&BudgetScope, &f64)| DayBudget {
            scope: scope.clone(),
            usd_per_day: *usd,
        };
        Ok(self.state().budgets.iter().map(budget).collect())
    }
    async fn set_budget(&self, by: &UserId, budget: DayBudget) -> Result<(), PeopleError> {
        self.state().set_budget(by, budget)
    }
    async fn remove_budget(&self, by: &UserId, scope: &BudgetScope) -> Result<(), PeopleError> {
        self.state().remove_budget(by, scope)
    }
    async fn keep_key(&self, owner: &KeyOwner, sealed: Sealed) -> Result<(), PeopleError> {
        self.state().keep_key(owner, sealed);
        Ok(())
    }
    async fn kept_keys(&self, user: &UserId) -> Result<Vec<KeptKey>, PeopleError> {
        Ok(self.state().kept_keys(user))
    }
    async fn sealed_keys(
        &self,
        user: Option<&UserId>,
    ) -> Result<Vec<(KeyOwner, Sealed)>, PeopleError> {
        Ok(self.state().sealed_keys(user))
    }
    async fn reseal_key(
        &self,
        owner: &KeyOwner,
        from: &Sealed,
        to: Sealed,
    ) -> Result<bool, PeopleError> {
        Ok(self.state().reseal_key(owner, from, to))
    }
    async fn remove_key(&self, owner: &KeyOwner) -> Result<(), PeopleError> {
        self.state().remove_key(owner)
    }
    async fn note(&self, entry: AuditEntry) -> Result<(), PeopleError> {
        let mut state = self.state();
        let at = state.now();
        state.audit.push(AuditEntry { at, ..entry });
        Ok(())
    }
    async fn audit(&self, filter: &AuditFilter) -> Result<Vec<PlacedEntry>, PeopleError> {
        let state = self.state();
        let mut placed: Vec<PlacedEntry> = (1..)
            .zip(&state.audit)
            .map(|(number, entry)| PlacedEntry {
                place: AuditPlace { at: entry.at, session: String::new(), number },
                entry: entry.clone(),
            })
            .collect();
        placed.sort_by(|one, other| other.place.cmp(&one.place));
        let wanted = placed.into_iter().filter(|placed| filter.wants(placed));
        Ok(wanted.take(filter.limit.map_or(usize::MAX, |limit| limit as usize)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn users_in_memory_keep_the_contract() {
        for check in crate::contract::CHECKS {
            (check.run)(&MemoryPeople::default()).await;
        }
    }
}
