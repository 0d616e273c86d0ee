//! A session that a client may see, for what was asked for together with it.

use std::sync::Arc;

use protocol::Content;
use store::{SessionId, SessionInfo};
use team::{UserId, Visibility};
use tool_system::History;

use super::{HubView, ProjectView, SeenInfo};
use crate::api_error::ApiError;
use crate::hub::{AgentChange, HubError, LiveSession, Sent, ServedProject, SessionFeed};

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

    /// Its project.
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

    /// It, open here.
    pub(crate) async fn open(&self) -> Result<Arc<LiveSession>, ApiError> {
        let present = self.paid().await?;
        Ok(self.view.hub.open(&self.id, &present).await?)
    }

    /// Whether the client may spend more, and with what.
    async fn paid(&self) -> Result<AgentChange, ApiError> {
        let so_far = match self.view.user() {
            Some(_) => self.stored().await?.cost_usd,
            None => None,
        };
        self.project().paid(so_far).await
    }

    /// Says something in it.
    pub(crate) async fn send(&self, content: Vec<Content>) -> Result<Sent, ApiError> {
        let present = self.paid().await?;
        Ok(self.view.hub.send(&self.id, content, &present).await?)
    }

    /// Goes on after a pause.
    pub(crate) async fn go_on(&self) -> Result<Arc<LiveSession>, ApiError> {
        let live = self.open().await?;
        live.go_on()?;
        Ok(live)
    }

    /// Has it go on with another model, or in another role.
    pub(crate) async fn change(&self, change: AgentChange) -> Result<(), ApiError> {
        let present = self.paid().await?;
        Ok(self.view.hub.change(&self.id, change, &present).await?)
    }

    /// Closes and deletes it.
    pub(crate) async fn delete(&self) -> Result<(), HubError> {
        self.view.hub.delete(&self.id).await?;
        match self.view.user() {
            Some(user) => user.team.disown(&self.id).await,
            None => Ok(()),
        }
    }

    async fn stored(&self) -> Result<SessionInfo, HubError> {
        let info = self.project.parts.store.info(&self.id).await?;
        info.ok_or_else(|| HubError::UnknownSession { id: self.id.to_string() })
    }

    /// It in short.
    pub(crate) async fn info(&self) -> Result<SeenInfo, HubError> {
        let info = self.stored().await?;
        Ok(SeenInfo { project: self.project.name.clone(), info, live: self.live() })
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
    pub(crate) fn history(&self) -> Result<History, ApiError> {
        self.project().history()
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
