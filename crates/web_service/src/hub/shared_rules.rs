//! A rule that the user makes for a project holds in all of its sessions, at once, until it is taken back at any replica.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use protocol::{ErrorCode, ToolError};
use store::{RevokedRule, StoreError};
use tool_system::policy::Rule;
use tool_system::{Revocation, RuleKeeper};

use super::{HubError, ServedProject, SessionHub};

/// Keeps rules where they were kept before, and tells everything that runs calls in the project.
pub(super) struct SharedRules {
    keeper: Option<Arc<dyn RuleKeeper>>,
    told: OnceLock<(Weak<SessionHub>, String)>,
}

impl SharedRules {
    pub(super) fn new(keeper: Option<Arc<dyn RuleKeeper>>) -> Self {
        Self { keeper, told: OnceLock::new() }
    }

    /// Tells the executors of this project from now on.
    pub(super) fn tell(&self, hub: &Arc<SessionHub>, project: &str) {
        let _ = self.told.set((Arc::downgrade(hub), project.to_owned()));
    }

    fn told(&self) -> Option<(Arc<SessionHub>, &str)> {
        self.told.get().and_then(|(hub, project)| Some((hub.upgrade()?, project.as_str())))
    }
}

#[async_trait]
impl RuleKeeper for SharedRules {
    async fn keep(&self, rule: &Rule) -> Result<(), ToolError> {
        // A rule that cannot be kept does not hold anywhere.
        if let Some(keeper) = &self.keeper {
            keeper.keep(rule).await?;
        }
        let Some((hub, project)) = self.told() else { return Ok(()) };
        if let Some(link) = hub.link() {
            let restored = link.exchange.restore_rule(project, &rule.id(), None).await;
            restored.map_err(|error| unreachable_board(&error))?;
        }
        hub.executors(project).iter().for_each(|executor| executor.learn(rule.clone()));
        Ok(())
    }

    async fn revocations(&self) -> Result<Vec<Revocation>, ToolError> {
        let Some((hub, project)) = self.told() else { return Ok(Vec::new()) };
        let Some(link) = hub.link() else { return Ok(Vec::new()) };
        let revoked = link.exchange.revoked_rules(project).await;
        let revoked = revoked.map_err(|error| unreachable_board(&error))?.into_iter();
        Ok(revoked.map(|RevokedRule { rule, number }| Revocation { rule, number }).collect())
    }
}

impl SessionHub {
    /// Takes a rule of a project back at all replicas. Answers whether there was one.
    pub(crate) async fn revoke(
        &self,
        project: &ServedProject,
        rule: &str,
    ) -> Result<bool, HubError> {
        let name = &project.name;
        let number = match self.link() {
            // Before it is forgotten here: what fails can then be tried again.
            Some(link) => Some(link.exchange.revoke_rule(name, rule).await?),
            None => None,
        };
        let is_found = project.port.revoke(rule)?;
        if is_found {
            // What runs calls has read the rules before.
            self.executors(name).iter().for_each(|executor| executor.revoke(rule));
        } else if let Some(link) = self.link() {
            link.exchange.restore_rule(name, rule, number).await?;
        }
        Ok(is_found)
    }
}

/// Nothing is decided by rules of which it is not known whether they hold.
fn unreachable_board(error: &StoreError) -> ToolError {
    let message = format!("the rules of the project cannot be read: {error}");
    ToolError::new(ErrorCode::ExecutionError, message).suggest("Try again in a moment.")
}
