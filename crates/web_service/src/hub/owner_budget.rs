//! The budgets of the user that a session belongs to, which its other sessions and other users spend too.

use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use context_manager::{LogError, SharedBalance, SharedBudget};
use team::UserId;

use super::{HubError, SessionHub};

/// What the owner of a session may spend in its project, as it is whenever it is asked for.
pub(super) struct OwnerBudget {
    hub: Weak<SessionHub>,
    user: UserId,
    project: String,
}

impl OwnerBudget {
    pub(super) fn new(hub: &Arc<SessionHub>, user: UserId, project: &str) -> Arc<Self> {
        Arc::new(Self { hub: Arc::downgrade(hub), user, project: project.to_owned() })
    }

    async fn read(&self) -> Result<Option<SharedBalance>, HubError> {
        let hub = self.hub.upgrade().ok_or(HubError::Closing)?;
        match hub.team() {
            Some(team) => team.balance(&hub, &self.user, &self.project).await,
            None => Ok(None),
        }
    }
}

impl fmt::Debug for OwnerBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerBudget({} in {})", self.user, self.project)
    }
}

#[async_trait]
impl SharedBudget for OwnerBudget {
    async fn balance(&self) -> Result<Option<SharedBalance>, LogError> {
        let unread = |error: HubError| LogError { message: format!("its budget: {error}") };
        self.read().await.map_err(unread)
    }
}
