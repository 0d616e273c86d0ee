//! The team that uses the service.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use session::Model;
use store::{SessionId, Store};
use team::oidc::OidcProvider;
use team::{
    AuditEntry, AuditKind, MasterKeys, PeopleError, PeopleStore, ProviderKey, Recognised,
    SecretKind, SecretText, SessionAccess, UserId, Visibility,
};
use tokio::sync::watch;

use super::spending::Ledger;
use crate::hub::{HubError, PaidSession, ServedProject, SessionHub, SessionTeam};

/// What is known of sessions at most; beyond, all of it is asked for again.
const MOST_KNOWN: usize = 20_000;

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
    /// Projects that are served by other replicas only, whose costs count for budgets too.
    pub other_projects: Vec<(String, Arc<dyn Store>)>,
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
        let budgets = self.people().budgets().await?;
        let ledger = Ledger { hub, others: &self.access.other_projects, people: self.people() };
        ledger.left(&budgets, user, project).await
    }

    /// What was spent today, by user and project.
    pub(crate) async fn spent_today(
        &self,
        hub: &SessionHub,
    ) -> Result<Vec<team::Spending>, HubError> {
        let ledger = Ledger { hub, others: &self.access.other_projects, people: self.people() };
        ledger.spent_today().await
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
    ) -> Result<(Option<Model>, Option<f64>), HubError> {
        let (user, so_far) = match session {
            PaidSession::New(user) => (Some(user.clone()), None),
            PaidSession::Stored(id) => {
                let info = project.parts.store.info(id).await?;
                (self.owner(id).await?, info.and_then(|info| info.cost_usd))
            }
        };
        let Some(user) = user else { return Ok((None, None)) };
        // A session whose budget is used up can be opened all the same, and pauses before it spends more.
        let left = match self.left(hub, &user, &project.name).await {
            Err(HubError::OverBudget { .. }) => Some(0.0),
            left => left?,
        };
        let keys = self.provider_keys(&user).await?;
        let model = match keys.is_empty() {
            true => None,
            false => project.port.model_with_keys(model, &keys).await?,
        };
        Ok((model, left.map(|left| left + so_far.unwrap_or_default())))
    }

    async fn owner(&self, id: &SessionId) -> Result<Option<UserId>, HubError> {
        let mut access = self.access(std::slice::from_ref(id)).await?;
        Ok(access.pop().and_then(|access| access.owner))
    }

    fn may_settle(&self, by: Option<&str>, asker: Option<&UserId>) -> bool {
        let is_same = asker.is_some_and(|asker| by == Some(asker.as_str()));
        !(self.four_eyes() && is_same)
    }
}
