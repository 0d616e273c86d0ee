//! What one client may see and do: the only way from a request to sessions and projects.
//!
//! Handlers have no hub. They ask a [`HubView`], which answers for its client as if nothing else were there: a session
//! that the client may not see does not exist, by any id and over any route. What may be done with one that it may
//! see is asked for together with it ([`HubView::session`]), so that no handler can forget to.

mod project_view;
mod rights_watch;
mod session_view;
mod spending;
mod team_state;

use std::sync::Arc;

use protocol::{ApprovalRequest, ApprovalResponse, visible};
use session::ApprovalManager;
use store::{ListFilter, SessionId, SessionInfo};
use team::{AuditEntry, AuditKind, Recognised, Relation, SessionAct, TeamRole, UserId, may};
use tokio::sync::watch;
use tokio::time::Instant;
use tool_system::ToolExecutor;

use crate::credentials::{AccessScope, KnownClient};
use crate::hub::{
    HubChanges, HubError, OpenSession, QuestionElsewhere, ServedProject, SessionFeed, SessionHub,
};

pub(crate) use project_view::{ProjectView, SessionPlan};
pub(crate) use rights_watch::RightsWatch;
pub(crate) use session_view::SessionView;
pub use team_state::TeamAccess;
pub(crate) use team_state::{Projects, ShownSecret, TeamState, logged_entry};

/// Who looks.
#[derive(Clone)]
pub(crate) enum Viewer {
    /// The only user of a service without a team.
    Only,
    /// A user of the team, as everything was when the request came.
    User(Arc<TeamViewer>),
    /// A client that is not logged in to the service of a team.
    Stranger,
}

/// A user of the team.
pub(crate) struct TeamViewer {
    pub(crate) team: Arc<TeamState>,
    pub(crate) known: Recognised,
    /// What the client has shown, by which it is recognised again.
    pub(crate) shown: ShownSecret,
    /// When that ends.
    until: Instant,
}

impl TeamViewer {
    pub(crate) fn new(team: Arc<TeamState>, known: Recognised, shown: ShownSecret) -> Self {
        let until = Instant::now() + known.good_for;
        Self { team, known, shown, until }
    }

    pub(crate) fn id(&self) -> &UserId {
        &self.known.user.id
    }

    pub(crate) fn role(&self) -> TeamRole {
        self.known.user.role
    }

    /// Whether no session of its projects is hidden from the user.
    fn sees_all(&self) -> bool {
        may(self.role(), Relation::Other, SessionAct::Read)
    }

    fn sees_project(&self, name: &str) -> bool {
        self.role() == TeamRole::Admin || self.known.projects.iter().any(|shared| shared == name)
    }
}

/// The sessions and projects that one client may see.
#[derive(Clone)]
pub(crate) struct HubView {
    hub: Arc<SessionHub>,
    viewer: Viewer,
}

/// A session in a list, with its project, and as it is if it is open.
pub(crate) struct SeenInfo {
    pub(crate) project: String,
    pub(crate) info: SessionInfo,
    pub(crate) open: Option<OpenSession>,
}

impl HubView {
    pub(crate) fn new(hub: Arc<SessionHub>, viewer: Viewer) -> Self {
        Self { hub, viewer }
    }

    /// Tells of every change, of whatever session: a reader looks for itself what it may see of it.
    pub(crate) fn watch(&self) -> watch::Receiver<HubChanges> {
        self.hub.signal().watch()
    }

    /// Tells when the client may see or do something else than before.
    pub(crate) fn watch_rights(&self) -> RightsWatch {
        RightsWatch::new(self.user().map(|user| (user.team.rights(), user.until)))
    }

    /// Whether the client, a user of the team, may use the service for this.
    pub(crate) fn has_scope(&self, scope: AccessScope) -> bool {
        self.user().is_some_and(|user| KnownClient::of_team(&user.known).may(scope))
    }

    /// The user of the team that looks.
    pub(crate) fn user(&self) -> Option<&TeamViewer> {
        match &self.viewer {
            Viewer::User(user) => Some(user),
            Viewer::Only | Viewer::Stranger => None,
        }
    }

    fn sees_project(&self, name: &str) -> bool {
        match &self.viewer {
            Viewer::Only => true,
            Viewer::User(user) => user.sees_project(name),
            Viewer::Stranger => false,
        }
    }

    pub(crate) fn projects(&self) -> Vec<ProjectView> {
        let seen = self.hub.projects().iter().filter(|served| self.sees_project(&served.name));
        seen.map(|served| self.project_view(served)).collect()
    }

    /// The project with this name; the only one if none is named.
    pub(crate) fn project(&self, name: Option<&str>) -> Result<ProjectView, HubError> {
        let mut seen = self.projects();
        match (name, seen.len()) {
            (None, 1) => Ok(seen.remove(0)),
            (None, _) => Err(HubError::NoProjectNamed),
            (Some(name), _) => {
                let unknown = || HubError::UnknownProject { name: name.to_owned() };
                seen.into_iter().find(|project| project.name() == name).ok_or_else(unknown)
            }
        }
    }

    fn project_view(&self, served: &Arc<ServedProject>) -> ProjectView {
        let user = self.user().map(TeamViewer::id);
        let calls = self.hub.direct_calls(served, user);
        ProjectView::new(self.clone(), Arc::clone(served), calls)
    }

    /// A session, for something that is to be done with it. One that may not be seen is not there.
    pub(crate) async fn session(
        &self,
        id: &SessionId,
        act: SessionAct,
    ) -> Result<SessionView, HubError> {
        let unknown = || HubError::UnknownSession { id: id.to_string() };
        let project = self.hub.project_of(id).await?;
        if !self.may(&project.name, id, SessionAct::Read).await? {
            return Err(unknown());
        }
        if !self.may(&project.name, id, act).await? {
            return Err(HubError::NotAllowed);
        }
        Ok(SessionView::new(self.clone(), project, id.clone()))
    }

    /// Whether something may be done with a session of a project.
    async fn may(&self, project: &str, id: &SessionId, act: SessionAct) -> Result<bool, HubError> {
        let user = match &self.viewer {
            Viewer::Only => return Ok(true),
            Viewer::Stranger => return Ok(false),
            Viewer::User(user) => user,
        };
        if !user.sees_project(project) {
            return Ok(false);
        }
        // What all may do, and what none may, needs no look at the owner.
        let (other, own) = (Relation::Other, Relation::Own);
        if may(user.role(), other, act) == may(user.role(), own, act) {
            return Ok(may(user.role(), own, act));
        }
        let access = user.team.access(std::slice::from_ref(id)).await?;
        let may = |access| may(user.role(), Relation::of(user.id(), access), act);
        Ok(access.first().is_some_and(may))
    }

    /// Those of these sessions that may be seen, by position.
    async fn seen(&self, project: &str, ids: &[SessionId]) -> Result<Vec<bool>, HubError> {
        match &self.viewer {
            Viewer::Only => Ok(vec![true; ids.len()]),
            Viewer::User(user) if user.sees_project(project) && user.sees_all() => {
                Ok(vec![true; ids.len()])
            }
            Viewer::User(user) if user.sees_project(project) => {
                let access = user.team.access(ids).await?;
                let relation = |access| Relation::of(user.id(), access);
                let seen = access.iter().map(relation);
                Ok(seen.map(|relation| may(user.role(), relation, SessionAct::Read)).collect())
            }
            Viewer::User(_) | Viewer::Stranger => Ok(vec![false; ids.len()]),
        }
    }

    /// The sessions that are open. One whose owner cannot be asked for now is not among them.
    pub(crate) async fn open_sessions(&self) -> Vec<OpenSession> {
        let mut seen = Vec::new();
        for open in self.hub.open_sessions() {
            let is_seen = self.may(&open.project().name, open.id(), SessionAct::Read).await;
            if is_seen.unwrap_or(false) {
                seen.push(open);
            }
        }
        seen
    }

    /// What clients have not seen of a session that is open.
    pub(crate) fn feed_of(&self, open: &OpenSession) -> Arc<SessionFeed> {
        open.feed(&self.hub)
    }

    /// What knows the words for the calls of a session that is open.
    pub(crate) fn words_of(&self, open: &OpenSession) -> ToolExecutor {
        match open {
            OpenSession::Here(live) => live.executor(),
            OpenSession::Elsewhere(remote) => {
                self.project_view(remote.project()).direct_calls().executor().clone()
            }
        }
    }

    /// Answers a question of a session that may be open elsewhere. The first answer counts.
    pub(crate) async fn answer(
        &self,
        open: &OpenSession,
        asked: ApprovalRequest,
        response: ApprovalResponse,
    ) -> Result<(), HubError> {
        let question = open.question(asked).await.ok_or(HubError::AnsweredAlready)?;
        self.hub.answer(open.id(), &question, response).await
    }

    /// Answers a question about a call by hand at another replica. The first answer counts.
    pub(crate) async fn answer_elsewhere(
        &self,
        question: &QuestionElsewhere,
        response: ApprovalResponse,
    ) -> Result<(), HubError> {
        self.hub.answer_elsewhere(question, response).await
    }

    /// Whether sessions can be open in other replicas.
    pub(crate) fn is_shared(&self) -> bool {
        self.hub.is_shared()
    }

    /// Says yes to the equal questions of others in a project, for which a rule was just made.
    pub(crate) async fn answer_equal(
        &self,
        asker: &Arc<ApprovalManager>,
        project: &str,
        answered: &ApprovalRequest,
    ) {
        let by = self.user().map(|user| user.id().to_string());
        self.hub.answer_equal(asker, project, answered, by.as_deref()).await;
    }

    /// Sessions in short, the one written last first.
    pub(crate) async fn list(
        &self,
        project: Option<&str>,
        filter: &ListFilter,
    ) -> Result<Vec<SeenInfo>, HubError> {
        let mut listed = Vec::new();
        for seen in self.projects() {
            if project.is_none_or(|name| name == seen.name()) {
                let infos = seen.sessions(filter).await?;
                listed.extend(infos.into_iter().map(|info| SeenInfo {
                    project: seen.name().to_owned(),
                    open: self.hub.open_session(&info.id),
                    info,
                }));
            }
        }
        listed.sort_by_key(|seen| std::cmp::Reverse(seen.info.updated));
        listed.truncate(filter.limit.map_or(usize::MAX, |limit| limit as usize));
        Ok(listed)
    }

    /// The user that began a session.
    pub(crate) async fn owner(&self, id: &SessionId) -> Result<Option<UserId>, HubError> {
        let Some(user) = self.user() else { return Ok(None) };
        let mut access = user.team.access(std::slice::from_ref(id)).await?;
        Ok(access.pop().and_then(|access| access.owner))
    }

    /// Whether the client may say yes to what this user has asked for. Without a team there is only one.
    pub(crate) fn may_approve_of(&self, asker: Option<&UserId>) -> bool {
        match &self.viewer {
            Viewer::Only => true,
            Viewer::Stranger => false,
            Viewer::User(user) => {
                team::may_approve(user.id(), user.role(), asker, user.team.four_eyes())
            }
        }
    }

    /// Whether nothing is done that only one user wants.
    pub(crate) fn needs_two_users(&self) -> bool {
        self.user().is_some_and(|user| user.team.four_eyes())
    }

    /// Whether the client may make a rule that lets equal calls of all users pass. Where two have to agree, a rule
    /// would let the one who made it pass alone later.
    pub(crate) fn may_rule(&self) -> bool {
        let Some(user) = self.user() else { return true };
        user.role() == TeamRole::Admin || !self.needs_two_users()
    }

    /// The sessions whose answers the audit shows, by project: of all, whichever replica serves them. For admins only.
    pub(crate) async fn audited_projects(&self) -> Result<Projects, HubError> {
        let admin = self.user().filter(|user| user.role() == TeamRole::Admin);
        let admin = admin.ok_or(HubError::NotAllowed)?;
        let served = self.hub.projects().iter();
        let served = served.map(|served| (served.name.clone(), Arc::clone(&served.parts.store)));
        let mut all: Projects = served.collect();
        all.extend(admin.team.other_projects(&self.hub).await?);
        Ok(all)
    }

    /// Notes what the client has done, where nothing else keeps it. Without a team there is no audit.
    pub(crate) async fn note(
        &self,
        kind: AuditKind,
        project: &str,
        subject: &str,
        detail: &str,
    ) -> Result<(), HubError> {
        let Some(user) = self.user() else { return Ok(()) };
        let entry = AuditEntry {
            at: 0,
            user: Some(user.id().clone()),
            kind,
            project: Some(project.to_owned()),
            session: None,
            subject: visible(subject),
            detail: visible(detail),
        };
        Ok(user.team.people().note(entry).await?)
    }

    /// The same client, as everything is now; none if it may not use the service any more.
    pub(crate) async fn renewed(&self) -> Option<Self> {
        let Viewer::User(user) = &self.viewer else { return Some(self.clone()) };
        let known = user.team.recognised(&user.shown).await.ok().flatten()?;
        let user = TeamViewer::new(Arc::clone(&user.team), known, user.shown.clone());
        let viewer = Viewer::User(Arc::new(user));
        Some(Self { hub: Arc::clone(&self.hub), viewer })
    }
}
