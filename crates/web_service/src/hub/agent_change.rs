//! What a session works with: the model and the role that clients choose for it, and what its user pays with.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use context_manager::{SharedBalance, SharedBudget};
use protocol::AgentRole;
use serde::{Deserialize, Serialize};
use session::{Model, SessionError, SessionParts};
use store::SessionId;
use team::UserId;

use super::owner_budget::OwnerBudget;
use super::user_sight::UserSight;
use super::{AnswerByHand, HubError, ServedProject, SessionHub};

/// What is to be different from now on.
#[derive(Clone, Default)]
pub struct AgentChange {
    /// The model that answers.
    pub model: Option<Model>,
    /// The role that the conversation acts in.
    pub role: Option<AgentRole>,
    /// The user that it belongs to, with the budgets that its turns are paid from.
    pub(crate) owner: Option<SessionOwner>,
}

/// The user that a session belongs to.
#[derive(Clone)]
pub(crate) struct SessionOwner {
    user: UserId,
    team: Arc<dyn SessionTeam>,
    budget: Arc<dyn SharedBudget>,
}

/// Who pays for the turns of a session, and how.
pub(crate) struct Payment {
    pub(crate) user: UserId,
    /// The model with the user's own key; none if the user has none for it.
    pub(crate) model: Option<Model>,
    /// Whether a budget holds at present.
    pub(crate) is_limited: bool,
}

/// A session whose turns are to be paid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PaidSession<'a> {
    /// This user is about to begin it.
    New(&'a UserId),
    /// It is in the store, and belongs to its user.
    Stored(&'a SessionId),
}

/// The users that sessions belong to. Whichever replica opens a session, and for whatever reason, it is paid for by
/// the same user.
#[async_trait]
pub(crate) trait SessionTeam: Send + Sync {
    /// Who pays for a session with the model of this name, or the usual one; none if it belongs to no user.
    async fn paid(
        &self,
        hub: &SessionHub,
        project: &ServedProject,
        session: PaidSession<'_>,
        model: Option<&str>,
    ) -> Result<Option<Payment>, HubError>;

    /// What was spent of the budget of a user in a project of which the least is left; none without any.
    async fn balance(
        &self,
        hub: &SessionHub,
        user: &UserId,
        project: &str,
    ) -> Result<Option<SharedBalance>, HubError>;

    /// The user that a session belongs to.
    async fn owner(&self, id: &SessionId) -> Result<Option<UserId>, HubError>;

    /// Notes an answer to a question about a call by hand, before anything is done about it.
    async fn note_answer(&self, answer: AnswerByHand<'_>) -> Result<(), HubError>;

    /// Keeps what outlives a session that is about to be deleted.
    async fn keep_of(&self, project: &ServedProject, id: &SessionId) -> Result<(), HubError>;

    /// Those of these sessions, or names of calls by hand, whose changes a user may see.
    async fn seen_changes(
        &self,
        user: &UserId,
        sessions: BTreeSet<String>,
    ) -> Result<BTreeSet<String>, HubError>;

    /// Whether a user may say yes to what this other one has asked for.
    fn may_settle(&self, by: Option<&str>, asker: Option<&UserId>) -> bool;
}

/// The same by the names that clients use, which mean the same in every replica.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AgentNames {
    pub(crate) model: Option<String>,
    pub(crate) role: Option<String>,
}

impl AgentNames {
    /// Whether nothing is chosen.
    pub(crate) fn is_empty(&self) -> bool {
        self.model.is_none() && self.role.is_none()
    }

    /// Adds a later choice, which counts where both say something.
    pub(super) fn extend(&mut self, later: Self) {
        self.model = later.model.or(self.model.take());
        self.role = later.role.or(self.role.take());
    }
}

impl AgentChange {
    /// The model and the role of these names.
    pub(crate) async fn named(
        hub: &Arc<SessionHub>,
        project: &ServedProject,
        session: Option<PaidSession<'_>>,
        names: &AgentNames,
    ) -> Result<Self, HubError> {
        let name = names.model.as_deref();
        let mut paid = match (hub.team(), session) {
            (Some(team), Some(session)) => team.paid(hub, project, session, name).await?,
            _ => None,
        };
        let own = paid.as_mut().and_then(|paid| paid.model.take());
        let model = match (own, name) {
            (Some(own), _) => Some(own),
            (None, Some(name)) => Some(project.port.model(name).await?),
            (None, None) => None,
        };
        let used = model.as_ref().unwrap_or(&project.parts.model);
        if used.prices.is_none() && paid.as_ref().is_some_and(|paid| paid.is_limited) {
            return Err(SessionError::NoPrice { model: used.name.clone() }.into());
        }
        let role = names.role.as_ref().map(|name| project.parts.tools.role(name)).transpose()?;
        let owner = paid.zip(hub.team.get()).map(|(Payment { user, .. }, team)| SessionOwner {
            budget: OwnerBudget::new(hub, user.clone(), &project.name),
            team: Arc::clone(team),
            user,
        });
        Ok(Self { model, role, owner })
    }

    /// Makes the change.
    pub fn apply(self, parts: &mut SessionParts) {
        parts.model = self.model.unwrap_or_else(|| parts.model.clone());
        parts.role = self.role.unwrap_or_else(|| parts.role.clone());
        if let Some(SessionOwner { user, team, budget }) = self.owner {
            parts.shared_budget = Some(budget);
            let sight = Arc::new(UserSight::new(&team, &user));
            parts.tools = parts.tools.clone().with_history_seen_by(sight);
        }
    }
}
