//! A project that is served: what its sessions are made of, and where calls by hand are made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use session::SessionParts;
use store::SessionId;
use team::UserId;
use tool_system::ProjectTools;

use super::desk_answers::DeskAnswers;
use super::shared_rules::SharedRules;
use super::user_sight::UserSight;
use super::{Desk, HubError, HubSignal, ProjectPort, SessionTeam};

pub struct ServedProject {
    /// Its name, unique among those that are served.
    pub name: String,
    /// What its sessions are made of. Without an approver questions wait for clients.
    pub parts: SessionParts,
    /// The rest.
    pub port: Arc<dyn ProjectPort>,
    desks: Mutex<HashMap<Option<UserId>, Arc<Desk>>>,
    pub(super) rules: Arc<SharedRules>,
}

impl ServedProject {
    /// A project under a name.
    pub fn new(name: String, mut parts: SessionParts, port: Arc<dyn ProjectPort>) -> Self {
        let rules = Arc::new(SharedRules::new(parts.tools.options.rule_keeper.take()));
        parts.tools.options.rule_keeper = Some(rules.clone());
        Self { name, parts, port, desks: Mutex::default(), rules }
    }

    /// The tools of one session of the project.
    pub(crate) async fn tools_for(&self, id: &SessionId) -> Result<ProjectTools, HubError> {
        let own = self.port.tools_for(id).await?;
        Ok(own.unwrap_or_else(|| self.parts.tools.clone()))
    }

    /// What this session of the project is made of.
    pub(super) async fn parts_for(&self, id: &SessionId) -> Result<SessionParts, HubError> {
        let mut parts = self.parts.clone();
        if let Some(tools) = self.port.tools_for(id).await? {
            parts.root = tools.code.workspace().canonical_path().display().to_string();
            parts.tools = tools;
            parts.tools.options.rule_keeper = Some(self.rules.clone());
        }
        Ok(parts)
    }

    /// Where a user calls tools by hand. Its questions are told by `signal`, the answers kept by the team.
    pub(super) fn desk(
        &self,
        user: Option<&UserId>,
        signal: &HubSignal,
        team: Option<&Arc<dyn SessionTeam>>,
    ) -> Arc<Desk> {
        let mut desks = self.desks.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let answers = |(user, team): (&UserId, &Arc<dyn SessionTeam>)| {
                DeskAnswers::new(Arc::clone(team), &self.name, user)
            };
            let mut parts = self.parts.clone();
            if let Some((user, team)) = user.zip(team) {
                UserSight::limit(&mut parts.tools, team, user);
            }
            let answers = user.zip(team).map(answers);
            let desk = Arc::new(Desk::new(user.cloned(), &parts, answers));
            let (mut changes, signal) = (desk.approvals().changes(), signal.clone());
            tokio::spawn(async move {
                while changes.changed().await.is_ok() {
                    signal.tell();
                }
            });
            desk
        };
        Arc::clone(desks.entry(user.cloned()).or_insert_with(new))
    }

    /// Where calls by hand were made.
    pub(crate) fn desks(&self) -> Vec<Arc<Desk>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
