//! A project that is served: what its sessions are made of, and where calls by hand are made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use session::SessionParts;
use store::SessionId;
use team::UserId;
use tool_system::ProjectTools;

use super::direct_call_answers::DirectCallAnswers;
use super::shared_rules::SharedRules;
use super::user_sight::UserSight;
use super::{DirectCalls, HubError, HubSignal, ProjectPort, SessionTeam};

pub struct ServedProject {
    /// Its name, unique among those that are served.
    pub name: String,
    /// What its sessions are made of. Without an approver questions wait for clients.
    pub parts: SessionParts,
    /// The rest.
    pub port: Arc<dyn ProjectPort>,
    /// The session that changes by hand are made in.
    session: String,
    direct_calls: Mutex<HashMap<Option<UserId>, Arc<DirectCalls>>>,
    pub(super) rules: Arc<SharedRules>,
}

impl ServedProject {
    /// A project under a name; `session` is the one that changes outside of conversations are made in.
    pub fn new(
        name: String,
        mut parts: SessionParts,
        session: String,
        port: Arc<dyn ProjectPort>,
    ) -> Self {
        let rules = Arc::new(SharedRules::new(parts.tools.options.rule_keeper.clone()));
        parts.tools = parts.tools.with_rule_keeper(rules.clone());
        Self { name, parts, port, session, direct_calls: Mutex::default(), rules }
    }

    /// The tools of one session of the project.
    pub(crate) async fn tools_for(&self, id: &SessionId) -> Result<ProjectTools, HubError> {
        Ok(self.own_tools_for(id).await?.unwrap_or_else(|| self.parts.tools.clone()))
    }

    /// What this session of the project is made of.
    pub(super) async fn parts_for(&self, id: &SessionId) -> Result<SessionParts, HubError> {
        let mut parts = self.parts.clone();
        if let Some(tools) = self.own_tools_for(id).await? {
            parts.root = tools.code.workspace().canonical_path().display().to_string();
            parts.tools = tools;
        }
        Ok(parts)
    }

    /// The tools of a session that works in a directory of its own. Rules are those of the project all the same.
    async fn own_tools_for(&self, id: &SessionId) -> Result<Option<ProjectTools>, HubError> {
        let own = self.port.tools_for(id).await?;
        Ok(own.map(|tools| tools.with_rule_keeper(self.rules.clone())))
    }

    /// Where a user calls tools by hand. Its questions are told by `signal`, the answers kept by the team.
    pub(super) fn direct_calls_of(
        &self,
        user: Option<&UserId>,
        signal: &HubSignal,
        team: Option<&Arc<dyn SessionTeam>>,
    ) -> Arc<DirectCalls> {
        let mut known = self.direct_calls.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let mut parts = self.parts.clone();
            let mut answers = None;
            if let Some((user, team)) = user.zip(team) {
                let sight = Arc::new(UserSight::new(team, user));
                parts.tools = parts.tools.with_history_seen_by(sight);
                answers = Some(DirectCallAnswers::new(Arc::clone(team), &self.name, user));
            }
            let calls = Arc::new(DirectCalls::new(user.cloned(), &parts, &self.session, answers));
            let (mut changes, signal) = (calls.approvals().changes(), signal.clone());
            tokio::spawn(async move {
                while changes.changed().await.is_ok() {
                    signal.tell();
                }
            });
            calls
        };
        Arc::clone(known.entry(user.cloned()).or_insert_with(new))
    }

    /// Where calls by hand were made.
    pub(crate) fn all_direct_calls(&self) -> Vec<Arc<DirectCalls>> {
        let known = self.direct_calls.lock().unwrap_or_else(PoisonError::into_inner);
        known.values().cloned().collect()
    }
}
