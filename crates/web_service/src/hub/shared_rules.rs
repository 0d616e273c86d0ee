//! A rule that the user makes for a project holds in all of its sessions, at once.

use std::sync::{Arc, OnceLock, Weak};

use protocol::ToolError;
use tool_system::RuleKeeper;
use tool_system::policy::Rule;

use super::SessionHub;

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
}

impl RuleKeeper for SharedRules {
    fn keep(&self, rule: &Rule) -> Result<(), ToolError> {
        // A rule that cannot be kept does not hold anywhere.
        if let Some(keeper) = &self.keeper {
            keeper.keep(rule)?;
        }
        let told = self.told.get().and_then(|(hub, project)| Some((hub.upgrade()?, project)));
        if let Some((hub, project)) = told {
            hub.executors(project).iter().for_each(|executor| executor.learn(rule.clone()));
        }
        Ok(())
    }
}
