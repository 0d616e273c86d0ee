//! A project as one client sees it.

use std::sync::Arc;

use protocol::{AgentRole, ErrorCode, ToolError};
use session::Model;
use store::{
    DayStats, DaysFilter, FoundMessages, ListFilter, SessionId, SessionInfo, Stats, StatsFilter,
};
use tool_system::{EntrySummary, History, Limits, ProjectTools};

use super::team_state::is_by_hand_of;
use super::{HubView, TeamViewer};
use crate::api_error::ApiError;
use crate::hub::{
    AgentNames, DirectCalls, HubError, LiveSession, ProjectPort, QuestionElsewhere, ServedProject,
};

/// A project as one client sees it: its files are those of all, its sessions those that the client may see, and its
/// direct calls the client's own.
#[derive(Clone)]
pub(crate) struct ProjectView {
    view: HubView,
    served: Arc<ServedProject>,
    direct_calls: Arc<DirectCalls>,
}

/// What a session is to begin with.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionPlan {
    /// The model and the role.
    pub(crate) names: AgentNames,
    pub(crate) title: Option<String>,
}

/// Changes of a project, the newest first, and whether there are older ones.
pub(crate) type ChangePage = (Vec<EntrySummary>, bool);

impl ProjectView {
    pub(super) fn new(
        view: HubView,
        served: Arc<ServedProject>,
        direct_calls: Arc<DirectCalls>,
    ) -> Self {
        Self { view, served, direct_calls }
    }

    pub(crate) fn name(&self) -> &str {
        &self.served.name
    }

    /// The directory.
    pub(crate) fn root(&self) -> &str {
        &self.served.parts.root
    }

    /// The model that answers in new sessions.
    pub(crate) fn usual_model(&self) -> &Model {
        &self.served.parts.model
    }

    pub(crate) fn roles(&self) -> &[AgentRole] {
        &self.served.parts.tools.roles
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.tools().options.limits
    }

    fn tools(&self) -> &ProjectTools {
        &self.served.parts.tools
    }

    /// What the configuration says.
    pub(crate) fn port(&self) -> &dyn ProjectPort {
        &*self.served.port
    }

    /// Where the client calls tools.
    pub(crate) fn direct_calls(&self) -> &Arc<DirectCalls> {
        &self.direct_calls
    }

    /// The direct calls whose questions the client may see: its own, and those of all for an approver.
    pub(crate) fn seen_direct_calls(&self) -> Vec<Arc<DirectCalls>> {
        match self.view.user() {
            Some(user) if user.sees_all() => self.served.all_direct_calls(),
            _ => vec![Arc::clone(&self.direct_calls)],
        }
    }

    /// The questions about calls by hand at other replicas that the client may see, by the same rule.
    pub(crate) fn questions_elsewhere(&self) -> Vec<Arc<QuestionElsewhere>> {
        let mut all = self.view.hub.questions_elsewhere();
        let user = self.view.user().filter(|user| !user.sees_all());
        let is_seen = |question: &QuestionElsewhere| {
            question.project == self.name()
                && user.is_none_or(|user| question.user.as_ref() == Some(user.id()))
        };
        all.retain(|question| is_seen(question));
        all
    }

    /// Takes a rule back, for calls of whatever user at whatever replica. Answers whether there was one.
    pub(crate) async fn revoke(&self, rule: &str) -> Result<bool, HubError> {
        self.view.hub.revoke(&self.served, rule).await
    }

    /// Begins a session, which belongs to the client.
    pub(crate) async fn begin(&self, plan: SessionPlan) -> Result<Arc<LiveSession>, ApiError> {
        let SessionPlan { names, title } = plan;
        let (hub, user) = (&self.view.hub, self.view.user());
        if let Some(user) = user {
            user.team.left_to_spend(hub, user.id(), self.name()).await?;
        }
        let live = hub.begin(&self.served, user.map(TeamViewer::id), names).await?;
        let store = &self.served.parts.store;
        if let Some(user) = user {
            let owned = user.team.own(live.id(), self.name(), user.id()).await;
            if let Err(error) = owned {
                // A session that belongs to no user would be seen by the wrong ones.
                self.view.hub.delete(live.id()).await?;
                return Err(error.into());
            }
        }
        if let Some(title) = title {
            store.rename(live.id(), &title).await?;
            live.feed().refresh().await?;
        }
        Ok(live)
    }

    /// Sessions in short, the one written last first.
    pub(crate) async fn sessions(&self, filter: &ListFilter) -> Result<Vec<SessionInfo>, HubError> {
        let store = &self.served.parts.store;
        let Some(wanted) = filter.limit else {
            return self.seen(store.list(filter).await?, |info| &info.id).await;
        };
        // How many must be looked at to see enough is not known.
        let mut limit = wanted;
        loop {
            let wider = ListFilter { limit: Some(limit), ..filter.clone() };
            let listed = store.list(&wider).await?;
            let is_all = listed.len() < limit as usize;
            let mut seen = self.seen(listed, |info| &info.id).await?;
            if is_all || seen.len() >= wanted as usize {
                seen.truncate(wanted as usize);
                return Ok(seen);
            }
            limit = limit.saturating_mul(4).max(1);
        }
    }

    async fn seen<T>(
        &self,
        all: Vec<T>,
        id: impl Fn(&T) -> &SessionId,
    ) -> Result<Vec<T>, HubError> {
        let ids: Vec<SessionId> = all.iter().map(|one| id(one).clone()).collect();
        let seen = self.view.seen(self.name(), &ids).await?;
        Ok(all.into_iter().zip(seen).filter(|(_, seen)| *seen).map(|(one, _)| one).collect())
    }

    /// The title of a session that was found.
    pub(crate) async fn title(&self, id: &SessionId) -> Result<Option<String>, HubError> {
        let info = self.served.parts.store.info(id).await?;
        let info = self.seen(info.into_iter().collect(), |info: &SessionInfo| &info.id).await?;
        Ok(info.into_iter().next().and_then(|info| info.title))
    }

    /// Messages and answers that hold all of some words.
    pub(crate) async fn search(
        &self,
        words: &str,
        wanted: usize,
    ) -> Result<FoundMessages, HubError> {
        let mut limit = wanted;
        loop {
            let mut found = self.served.parts.store.search(words, limit).await?;
            let is_all = found.messages.len() < limit;
            let messages = std::mem::take(&mut found.messages);
            found.messages = self.seen(messages, |message| &message.session).await?;
            if is_all || found.messages.len() >= wanted {
                found.more &= found.messages.len() >= wanted;
                found.messages.truncate(wanted);
                return Ok(found);
            }
            limit = limit.saturating_mul(4).max(1);
        }
    }

    /// Whether the client sees every session of the project, so that the database may add them up.
    fn sees_all(&self) -> bool {
        self.view.user().is_none_or(super::TeamViewer::sees_all)
    }

    /// What was used, in the sessions that the client may see.
    pub(crate) async fn stats(&self, since: Option<i64>) -> Result<Stats, HubError> {
        let sessions = self.counted_sessions(since).await?;
        Ok(self.served.parts.store.stats(&StatsFilter { sessions, since }).await?)
    }

    /// What was done on each day, in the sessions that the client may see.
    pub(crate) async fn days(
        &self,
        since: Option<i64>,
        ahead_minutes: i32,
    ) -> Result<Vec<DayStats>, HubError> {
        let sessions = self.counted_sessions(since).await?;
        Ok(self.served.parts.store.days(&DaysFilter { sessions, since, ahead_minutes }).await?)
    }

    /// The sessions that statistics are about; none if these are all.
    async fn counted_sessions(
        &self,
        since: Option<i64>,
    ) -> Result<Option<Vec<SessionId>>, HubError> {
        if self.sees_all() {
            return Ok(None);
        }
        let written = ListFilter { updated_since: since, ..ListFilter::default() };
        Ok(Some(self.sessions(&written).await?.into_iter().map(|info| info.id).collect()))
    }

    /// What was changed in the project before an entry: by sessions that the client may see, or by its own hand.
    pub(crate) async fn changes(
        &self,
        before: Option<u64>,
        wanted: usize,
    ) -> Result<ChangePage, ApiError> {
        let history = self.history()?;
        let mut limit = wanted + 1;
        loop {
            let history = history.clone();
            // Numbers grow by one, so that a page is found by counting.
            let reading = move || -> Result<Vec<EntrySummary>, ToolError> {
                let newest = history.entries(1)?.first().map_or(0, |entry| entry.id.0);
                let newer = newest.saturating_add(1).saturating_sub(before.unwrap_or(u64::MAX));
                let newer = usize::try_from(newer).unwrap_or(usize::MAX);
                history.entries(newer.saturating_add(limit))
            };
            let read = crate::api::blocking(reading).await??;
            let older = |entry: &EntrySummary| before.is_none_or(|before| entry.id.0 < before);
            let older: Vec<EntrySummary> = read.into_iter().filter(older).collect();
            let is_all = older.len() < limit;
            let mut seen = self.seen_changes(older).await?;
            if is_all || seen.len() > wanted {
                let more = seen.len() > wanted;
                seen.truncate(wanted);
                return Ok((seen, more));
            }
            limit = limit.saturating_mul(4);
        }
    }

    async fn seen_changes(
        &self,
        entries: Vec<EntrySummary>,
    ) -> Result<Vec<EntrySummary>, ApiError> {
        let Some(user) = self.view.user() else { return Ok(entries) };
        if user.sees_all() {
            return Ok(entries);
        }
        let id = |entry: &EntrySummary| entry.session.parse::<SessionId>().ok();
        let ids: Vec<SessionId> = entries.iter().filter_map(id).collect();
        let mut seen = self.view.seen(self.name(), &ids).await?.into_iter();
        let is_seen = |entry: &EntrySummary| match id(entry) {
            Some(_) => seen.next().unwrap_or(false),
            None => is_by_hand_of(user.id(), &entry.session),
        };
        Ok(entries.into_iter().filter(is_seen).collect())
    }

    fn history(&self) -> Result<History, ApiError> {
        history_in(self.tools().clone())
    }
}

/// What was changed with these tools. Without a place for their state nothing was.
pub(super) fn history_in(tools: ProjectTools) -> Result<History, ApiError> {
    Ok(tools.options.history.ok_or_else(|| {
        let message = "this project has no history";
        ToolError::new(ErrorCode::ExecutionError, message).suggest("Set XDG_STATE_HOME or HOME.")
    })?)
}
