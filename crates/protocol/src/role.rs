//! Roles: named sets of permissions.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PermissionSet, ToolPermission};

/// The role a session or sub-agent plays. It is the first and outermost limit on what tools may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    /// Explores and plans; changes nothing.
    Planner,
    /// Explores and acts, within policy and approval.
    Actor,
    /// A role from the user's configuration.
    Custom {
        /// Its name in the configuration.
        name: String,
        /// What it may do.
        permissions: PermissionSet,
    },
}

impl AgentRole {
    /// The permissions this role grants.
    pub fn permissions(&self) -> PermissionSet {
        match self {
            AgentRole::Planner => [ToolPermission::ReadFiles].into_iter().collect(),
            AgentRole::Actor => PermissionSet::all(),
            AgentRole::Custom { permissions, .. } => *permissions,
        }
    }

    /// The name of the role.
    pub fn name(&self) -> &str {
        match self {
            AgentRole::Planner => "planner",
            AgentRole::Actor => "actor",
            AgentRole::Custom { name, .. } => name,
        }
    }

    /// The role a sub-agent gets when it asks for `self` under `parent`: never more than the parent.
    #[must_use]
    pub fn within(&self, parent: &AgentRole) -> AgentRole {
        if parent.permissions().covers(self.permissions()) {
            return self.clone();
        }
        AgentRole::Custom {
            name: self.name().to_owned(),
            permissions: self.permissions().intersection(parent.permissions()),
        }
    }
}

impl fmt::Display for AgentRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planner_reads_and_an_actor_may_do_everything() {
        assert_eq!(AgentRole::Planner.permissions().to_string(), "ReadFiles");
        assert_eq!(AgentRole::Actor.permissions(), PermissionSet::all());
    }

    #[test]
    fn a_sub_agent_never_has_more_than_its_parent() {
        let child = AgentRole::Actor.within(&AgentRole::Planner);
        assert_eq!(child.permissions(), AgentRole::Planner.permissions());
        assert_eq!(child.name(), "actor");
        assert_eq!(AgentRole::Planner.within(&AgentRole::Actor), AgentRole::Planner);
    }
}
