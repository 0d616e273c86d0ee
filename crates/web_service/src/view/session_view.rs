//! A session that a client may see, for what was asked for together with it.

use std::sync::Arc;

use context_manager::AgentOptions;
use protocol::{Content, Rewind};
use session::{RewindFiles, RewindPoint};
use store::{SessionId, SessionInfo};
use team::{AuditKind, UserId, Visibility};
use tool_system::{History, ToolExecutor};

use super::project_view::history_in;
use super::{HubView, ProjectView, SeenInfo};
use crate::api::{ListedSession, SessionBrief};
use crate::api_error::ApiError;
use crate::hub::{
    AgentNames, HubError, KeptWorktree, LiveSession, OpenSession, QueuedText, RequestKey, Sent,
    ServedProject, SessionFeed,
};

/// A session that a client may see. It exists only for what [`HubView::session`] was asked for.
pub(crate) struct SessionView {
    view: HubView,
    project: Arc<ServedProject>,
    id: SessionId,
}

impl SessionView {
    pub(super) fn new(view: HubView, project: Arc<ServedProject>, id: SessionId) -> Self {
        Self { view, project, id }
    }

    pub(crate) fn project(&self) -> ProjectView {
        self.view.project_view(&self.project)
    }

    /// It, if it is open here.
    pub(crate) fn live(&self) -> Option<Arc<LiveSession>> {
        self.view.hub.live_session(&self.id)
    }

    /// What clients have not seen of it.
    pub(crate) fn feed(&self) -> Arc<SessionFeed> {
        self.view.hub.feed(&self.project, &self.id)
    }

    /// It, if it is open here or in another replica.
    pub(crate) fn opened(&self) -> Option<OpenSession> {
        self.view.hub.open_session(&self.id)
    }

    /// What it does.
    pub(crate) async fn brief(&self) -> Result<SessionBrief, ApiError> {
        match self.opened() {
            Some(open) => Ok(open.brief()),
            None => Ok(ListedSession::of(self.info().await?).brief),
        }
    }

    /// What reads the files that go with a message of it, and how its agent behaves.
    pub(crate) async fn reading(&self) -> Result<(ToolExecutor, AgentOptions), HubError> {
        let hub = &self.view.hub;
        let live = match (self.live(), hub.is_shared()) {
            (None, false) => Some(hub.open(&self.id).await?),
            (live, _) => live,
        };
        if let Some(live) = live {
            return Ok((live.executor(), live.options()));
        }
        let model = &self.project.parts.model;
        let options = AgentOptions {
            model: model.name.clone(),
            images: model.images,
            ..AgentOptions::default()
        };
        let tools = self.project.tools_for(&self.id).await?;
        Ok((tools.executor(self.project().direct_calls().caller()), options))
    }

    /// Whether the client may spend more.
    async fn check_budget(&self) -> Result<(), HubError> {
        let Some(user) = self.view.user() else { return Ok(()) };
        user.team.left_to_spend(&self.view.hub, user.id(), &self.project.name).await?;
        Ok(())
    }

    /// Says something in it.
    pub(crate) async fn send(
        &self,
        content: Vec<Content>,
        key: RequestKey,
    ) -> Result<Sent, HubError> {
        self.check_budget().await?;
        self.view.hub.send(&self.id, content, key).await
    }

    /// Goes on after a pause.
    pub(crate) async fn go_on(&self) -> Result<(), HubError> {
        self.check_budget().await?;
        self.view.hub.go_on(&self.id).await
    }

    /// Has it go on with another model, or in another role.
    pub(crate) async fn change(&self, names: AgentNames) -> Result<(), HubError> {
        self.view.hub.change(&self.id, names).await
    }

    /// Ends the running turn. Answers whether one ran.
    pub(crate) async fn interrupt(&self) -> Result<bool, HubError> {
        self.view.hub.interrupt(&self.id).await
    }

    /// Goes back to before a message.
    pub(crate) async fn rewind(
        &self,
        to: u64,
        files: RewindFiles,
    ) -> Result<(RewindPoint, Rewind), HubError> {
        self.view.hub.rewind(&self.id, to, files).await
    }

    /// The messages that wait for the running turn.
    pub(crate) fn queue(&self) -> Vec<QueuedText> {
        self.view.hub.queue(&self.id)
    }

    /// Takes back a message that waits. Answers with its text.
    pub(crate) async fn withdraw(&self, name: u64) -> Result<String, HubError> {
        self.view.hub.withdraw(&self.id, name).await
    }

    /// Closes and deletes it. Answers with the directory of its own that stays.
    pub(crate) async fn delete(&self) -> Result<Option<KeptWorktree>, HubError> {
        let kept = self.view.hub.delete(&self.id).await?;
        if let Some(user) = self.view.user() {
            let (project, id) = (&self.project.name, self.id.as_str());
            self.view.note(AuditKind::SessionDeleted, project, id, "").await?;
            user.team.disown(&self.id).await?;
        }
        Ok(kept)
    }

    async fn stored(&self) -> Result<SessionInfo, HubError> {
        let info = self.project.parts.store.info(&self.id).await?;
        info.ok_or_else(|| HubError::UnknownSession { id: self.id.to_string() })
    }

    /// It in short.
    pub(crate) async fn info(&self) -> Result<SeenInfo, HubError> {
        let info = self.stored().await?;
        Ok(SeenInfo { project: self.project.name.clone(), info, open: self.opened() })
    }

    /// Gives it a name.
    pub(crate) async fn rename(&self, title: &str) -> Result<(), HubError> {
        self.project.parts.store.rename(&self.id, title).await?;
        Ok(self.feed().refresh().await?)
    }

    /// Begins a session with its log, which belongs to the client.
    pub(crate) async fn fork(&self, at: Option<u64>) -> Result<SessionId, HubError> {
        let store = &self.project.parts.store;
        let made = store.fork(&self.id, at).await?;
        if let Some(user) = self.view.user()
            && let Err(error) = user.team.own(&made, &self.project.name, user.id()).await
        {
            // A session that belongs to no user would be seen by the wrong ones.
            store.delete(&made).await?;
            return Err(error);
        }
        Ok(made)
    }

    /// The log, to be imported again.
    pub(crate) async fn export(&self) -> Result<String, HubError> {
        Ok(self.project.parts.store.export(&self.id).await?)
    }

    /// Everything of its log that can be read.
    pub(crate) async fn load(&self) -> Result<store::Loaded, HubError> {
        Ok(self.project.parts.store.load(&self.id).await?)
    }

    /// One entry of its log.
    pub(crate) async fn entry(
        &self,
        sequence: u64,
    ) -> Result<Option<protocol::LogEntry>, store::StoreError> {
        self.project.parts.store.entry(&self.id, sequence).await
    }

    /// What was changed in its project; to be asked for this session only.
    pub(crate) async fn history(&self) -> Result<History, ApiError> {
        history_in(self.project.tools_for(&self.id).await?)
    }

    /// The user that began it, and who sees it; none without a team.
    pub(crate) async fn access(&self) -> Result<Option<(Option<UserId>, Visibility)>, HubError> {
        let Some(user) = self.view.user() else { return Ok(None) };
        let mut access = user.team.access(std::slice::from_ref(&self.id)).await?;
        Ok(access.pop().map(|access| (access.owner, access.visibility)))
    }

    /// Decides who sees it.
    pub(crate) async fn show_to(&self, visibility: Visibility) -> Result<(), HubError> {
        match self.view.user() {
            Some(user) => user.team.show_to(user.id(), &self.id, visibility).await,
            None => Err(HubError::NoTeam),
        }
    }

    /// The client that sees it.
    pub(crate) fn view(&self) -> &HubView {
        &self.view
    }
}
