//! What tools of a user see of the changes of a project: those of sessions that the user may see.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use protocol::{ErrorCode, ToolError};
use team::UserId;
use tool_system::ChangeSight;

use super::SessionTeam;

/// The changes that a user may see, by the rights that the user has when it is asked for.
pub(super) struct UserSight {
    team: Arc<dyn SessionTeam>,
    user: UserId,
}

impl UserSight {
    pub(super) fn new(team: &Arc<dyn SessionTeam>, user: &UserId) -> Self {
        Self { team: Arc::clone(team), user: user.clone() }
    }
}

#[async_trait]
impl ChangeSight for UserSight {
    async fn seen(&self, sessions: BTreeSet<String>) -> Result<BTreeSet<String>, ToolError> {
        self.team.seen_changes(&self.user, sessions).await.map_err(|error| {
            let message = format!("the changes cannot be read: {error}");
            ToolError::new(ErrorCode::ExecutionError, message).suggest("Try again in a moment.")
        })
    }
}
