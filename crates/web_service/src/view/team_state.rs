//! The team that uses the service.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use context_manager::SharedBalance;
use protocol::visible;
use store::{DecisionFilter, LoggedDecision, ProjectStores, SessionId, StatsFilter, Store};
use team::oidc::OidcProvider;
use team::{
    AuditEntry, AuditKind, BudgetBalance, MasterKeys, PeopleError, PeopleStore, ProviderKey,
    Recognised, Relation, RemovedSession, SecretKind, SecretText, SessionAccess, SessionAct, User,
    UserId, Visibility, may,
};
use tokio::sync::watch;

use super::spending::{Ledger, day_begin};
use crate::hub::{
    AnswerByHand, HubError, PaidSession, Payment, ServedProject, SessionHub, SessionTeam,
};

/// What is known of sessions at most; beyond, all of it is asked for again.
const MOST_KNOWN: usize = 20_000;

/// The sessions of projects, by name.
pub(crate) type Projects = Vec<(String, Arc<dyn Store>)>;

/// What the service of a team needs beside its sessions.
pub struct TeamAccess {
    /// Users and what belongs to them.
    pub people: Arc<dyn PeopleStore>,
    /// How users log in; without it only by invitation and token.
    pub oidc: Option<OidcProvider>,
    /// What seals the users' own keys for providers; without it they cannot keep any.
    pub master_keys: Option<MasterKeys>,
    /// Whether the user that has asked for a call may not approve it.
    pub who_asks_may_not_approve: bool,
    /// All projects of the database: those that only other replicas serve count for budgets and the audit too.
    pub all_projects: Option<Arc<dyn ProjectStores>>,
}

/// What a client has shown.
#[derive(Clone, Debug)]
pub(crate) enum ShownSecret {
    Token(SecretText),
    Browser(SecretText),
}

impl ShownSecret {
    pub(crate) fn token(text: &str) -> Option<Self> {
        SecretText::shown(SecretKind::Token, text).map(Self::Token)
    }

    pub(crate) fn browser(text: &str) -> Option<Self> {
        SecretText::shown(SecretKind::Browser, text).map(Self::Browser)
    }
}

/// The team, with what is known of its sessions.
pub(crate) struct TeamState {
    access: TeamAccess,
    /// Owners of sessions that were asked for, until users may see something else.
    known: Mutex<HashMap<SessionId, SessionAccess>>,
    /// The version of all rights, as it was last seen.
    rights: watch::Sender<i64>,
}

impl TeamState {
    pub(crate) fn new(access: TeamAccess) -> Self {
        Self { access, known: Mutex::default(), rights: watch::Sender::new(0) }
    }

    pub(crate) fn people(&self) -> &dyn PeopleStore {
        &*self.access.people
    }

    pub(crate) fn oidc(&self) -> Option<&OidcProvider> {
        self.access.oidc.as_ref()
    }

    pub(crate) fn master_keys(&self) -> Option<&MasterKeys> {
        self.access.master_keys.as_ref()
    }

    pub(crate) fn four_eyes(&self) -> bool {
        self.access.who_asks_may_not_approve
    }

    pub(crate) fn rights(&self) -> watch::Receiver<i64> {
        self.rights.subscribe()
    }

    /// Looks whether users may see or do something else than before, and tells streams.
    pub(crate) async fn refresh(&self) -> Result<(), PeopleError> {
        let version = self.people().version().await?;
        if *self.rights.borrow() != version {
            self.known().clear();
            self.rights.send_replace(version);
        }
        Ok(())
    }

    /// The user with this secret.
    pub(crate) async fn recognised(
        &self,
        shown: &ShownSecret,
    ) -> Result<Option<Recognised>, PeopleError> {
        match shown {
            ShownSecret::Token(secret) => self.people().by_token(&secret.hash()).await,
            ShownSecret::Browser(secret) => self.people().by_browser(&secret.hash()).await,
        }
    }

    /// The owners of sessions, in the same order.
    pub(crate) async fn access(&self, ids: &[SessionId]) -> Result<Vec<SessionAccess>, HubError> {
        let missing: Vec<SessionId> = {
            let known = self.known();
            ids.iter().filter(|id| !known.contains_key(id)).cloned().collect()
        };
        let version = *self.rights.borrow();
        let mut asked = HashMap::new();
        if !missing.is_empty() {
            let names: Vec<String> = missing.iter().map(ToString::to_string).collect();
            let found = self.people().access(&names).await?;
            asked.extend(missing.into_iter().zip(found));
        }
        let mut known = self.known();
        let found = ids.iter().map(|id| {
            let access = asked.get(id).or_else(|| known.get(id)).cloned();
            access.unwrap_or(SessionAccess { owner: None, visibility: Visibility::Private })
        });
        let found = found.collect();
        if known.len() > MOST_KNOWN {
            known.clear();
        }
        // What has no owner yet may get one in a moment, and what was asked before a change may be old.
        if *self.rights.borrow() == version {
            known.extend(asked.into_iter().filter(|(_, access)| access.owner.is_some()));
        }
        Ok(found)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, SessionAccess>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn own(
        &self,
        id: &SessionId,
        project: &str,
        owner: &UserId,
    ) -> Result<(), HubError> {
        Ok(self.people().own(id.as_str(), project, owner).await?)
    }

    pub(crate) async fn disown(&self, id: &SessionId) -> Result<(), HubError> {
        self.known().remove(id);
        Ok(self.people().disown(id.as_str()).await?)
    }

    pub(crate) async fn show_to(
        &self,
        by: &UserId,
        id: &SessionId,
        visibility: Visibility,
    ) -> Result<(), HubError> {
        self.people().set_visibility(by, id.as_str(), visibility).await?;
        Ok(self.refresh().await?)
    }

    /// The user's own keys for providers. One that cannot be opened is left out: its user is told by the list.
    pub(crate) async fn provider_keys(
        &self,
        user: &UserId,
    ) -> Result<Vec<(String, ProviderKey)>, HubError> {
        let Some(master) = self.master_keys() else { return Ok(Vec::new()) };
        let mut keys = Vec::new();
        for (owner, sealed) in self.people().sealed_keys(Some(user)).await? {
            if let Ok(Some(renewed)) = owner.renew(master, &sealed) {
                self.people().reseal_key(&owner, &sealed, renewed).await?;
            }
            if let Ok(key) = owner.open(master, &sealed) {
                keys.push((owner.provider, key));
            }
        }
        Ok(keys)
    }

    /// What a user may still spend in a project today; none if no budget says anything. Refused if that is nothing.
    pub(crate) async fn left_to_spend(
        &self,
        hub: &SessionHub,
        user: &UserId,
        project: &str,
    ) -> Result<Option<f64>, HubError> {
        let left = self.left(hub, user, project).await;
        if let Err(HubError::OverBudget { .. }) = &left {
            let entry = AuditEntry {
                at: 0,
                user: Some(user.clone()),
                kind: AuditKind::BudgetRefused,
                project: Some(project.to_owned()),
                session: None,
                subject: user.to_string(),
                detail: String::new(),
            };
            self.people().note(entry).await?;
        }
        left
    }

    async fn left(
        &self,
        hub: &SessionHub,
        user: &UserId,
        project: &str,
    ) -> Result<Option<f64>, HubError> {
        let balances = Ledger { hub, team: self }.balances(user, project).await?;
        if let Some(BudgetBalance { budget, spent }) = balances.iter().find(|it| it.is_used_up()) {
            let (scope, spent, limit) = (budget.scope.to_string(), *spent, budget.usd_per_day);
            return Err(HubError::OverBudget { scope, spent, limit });
        }
        Ok(balances.iter().map(BudgetBalance::left).reduce(f64::min))
    }

    /// The sessions of projects that are not served here, by project.
    pub(crate) async fn other_projects(&self, hub: &SessionHub) -> Result<Projects, HubError> {
        let Some(all) = &self.access.all_projects else { return Ok(Vec::new()) };
        let mut others = all.project_stores().await?;
        others.retain(|(name, _)| hub.projects().iter().all(|served| served.name != *name));
        Ok(others)
    }

    /// What was spent today, by user and project.
    pub(crate) async fn spent_today(
        &self,
        hub: &SessionHub,
    ) -> Result<Vec<team::Spending>, HubError> {
        Ledger { hub, team: self }.spent_today().await
    }
}

/// Whether changes under this name, in place of a session, were made by a user's own hand or agents.
pub(super) fn is_by_hand_of(user: &UserId, name: &str) -> bool {
    name.parse::<SessionId>().is_err() && name.ends_with(&format!("-{user}"))
}

/// An answer to a question of a session, as the audit shows it.
pub(crate) fn logged_entry(decision: LoggedDecision, project: &str) -> AuditEntry {
    let LoggedDecision { session, at, by, subject, is_approved, is_remembered, .. } = decision;
    AuditEntry {
        at,
        user: by.map(UserId::named),
        kind: if is_approved { AuditKind::Approved } else { AuditKind::Denied },
        project: Some(project.to_owned()),
        session: Some(session.to_string()),
        subject,
        detail: if is_remembered { "made a rule of it" } else { "" }.to_owned(),
    }
}

#[async_trait]
impl SessionTeam for TeamState {
    async fn paid(
        &self,
        hub: &SessionHub,
        project: &ServedProject,
        session: PaidSession<'_>,
        model: Option<&str>,
    ) -> Result<Option<Payment>, HubError> {
        let user = match session {
            PaidSession::New(user) => Some(user.clone()),
            PaidSession::Stored(id) => self.owner(id).await?,
        };
        let Some(user) = user else { return Ok(None) };
        // A session whose budget is used up can be opened all the same, and pauses before it spends more.
        let is_limited = self.balance(hub, &user, &project.name).await?.is_some();
        let keys = self.provider_keys(&user).await?;
        let model = match keys.is_empty() {
            true => None,
            false => project.port.model_with_keys(model, &keys).await?,
        };
        Ok(Some(Payment { user, model, is_limited }))
    }

    async fn balance(
        &self,
        hub: &SessionHub,
        user: &UserId,
        project: &str,
    ) -> Result<Option<SharedBalance>, HubError> {
        let balances = Ledger { hub, team: self }.balances(user, project).await?;
        let tightest = balances.iter().min_by(|one, other| one.left().total_cmp(&other.left()));
        Ok(tightest.map(|BudgetBalance { budget, spent }| SharedBalance {
            spent_usd: *spent,
            limit_usd: budget.usd_per_day,
        }))
    }

    async fn owner(&self, id: &SessionId) -> Result<Option<UserId>, HubError> {
        let mut access = self.access(std::slice::from_ref(id)).await?;
        Ok(access.pop().and_then(|access| access.owner))
    }

    async fn note_answer(&self, answer: AnswerByHand<'_>) -> Result<(), HubError> {
        let AnswerByHand { project, owner, tool, response } = answer;
        let approved = response.is_approved();
        let entry = AuditEntry {
            at: 0,
            user: response.by.clone().map(UserId::named),
            kind: if approved { AuditKind::Approved } else { AuditKind::Denied },
            project: Some(project.to_owned()),
            session: None,
            subject: visible(tool),
            detail: owner.to_owned(),
        };
        Ok(self.people().note(entry).await?)
    }

    async fn keep_of(&self, project: &ServedProject, id: &SessionId) -> Result<(), HubError> {
        let store = &project.parts.store;
        let at = self.people().now().await?;
        let today = StatsFilter { sessions: Some(vec![id.clone()]), since: Some(day_begin(at)) };
        let usd = store.spent(&today).await?.iter().map(|spent| spent.usd).sum();
        let all = DecisionFilter { leaving: Some(id.clone()), ..DecisionFilter::all(u32::MAX) };
        let answers = store.decisions(&all).await?.into_iter();
        let answers = answers.map(|answer| logged_entry(answer, &project.name)).collect();
        let (session, project) = (id.to_string(), project.name.clone());
        let owner = self.owner(id).await?;
        let removed = RemovedSession { session, project, owner, at, usd, answers };
        Ok(self.people().keep_of_removed(removed).await?)
    }

    async fn seen_changes(
        &self,
        user: &UserId,
        mut sessions: BTreeSet<String>,
    ) -> Result<BTreeSet<String>, HubError> {
        let users = self.people().users().await?;
        let known = users.into_iter().find(|known| known.id == *user && !known.is_disabled);
        let Some(User { role, .. }) = known else { return Ok(BTreeSet::new()) };
        if may(role, Relation::Other, SessionAct::Read) {
            return Ok(sessions);
        }
        let ids: Vec<SessionId> = sessions.iter().filter_map(|name| name.parse().ok()).collect();
        let access = self.access(&ids).await?;
        let is_seen = |access| may(role, Relation::of(user, access), SessionAct::Read);
        let seen = ids.iter().zip(&access).filter(|(_, access)| is_seen(access));
        let seen: BTreeSet<&str> = seen.map(|(id, _)| id.as_str()).collect();
        sessions.retain(|name| seen.contains(name.as_str()) || is_by_hand_of(user, name));
        Ok(sessions)
    }

    fn may_settle(&self, by: Option<&str>, asker: Option<&UserId>) -> bool {
        let is_same = asker.is_some_and(|asker| by == Some(asker.as_str()));
        !(self.four_eyes() && is_same)
    }
}
