//! What clients choose for a session: its model and its role.

use protocol::AgentRole;
use serde::{Deserialize, Serialize};
use session::{Model, SessionParts};

use super::{HubError, ServedProject};

/// What is to be different from now on.
#[derive(Clone, Default)]
pub struct AgentChange {
    /// The model that answers.
    pub model: Option<Model>,
    /// The role that the conversation acts in.
    pub role: Option<AgentRole>,
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
        project: &ServedProject,
        names: &AgentNames,
    ) -> Result<Self, HubError> {
        let model = match &names.model {
            Some(name) => Some(project.port.model(name).await?),
            None => None,
        };
        let role = names.role.as_ref().map(|name| project.parts.tools.role(name)).transpose()?;
        Ok(Self { model, role })
    }

    /// Makes the change.
    pub fn apply(self, parts: &mut SessionParts) {
        parts.model = self.model.unwrap_or_else(|| parts.model.clone());
        parts.role = self.role.unwrap_or_else(|| parts.role.clone());
    }
}
