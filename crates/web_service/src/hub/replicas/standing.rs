//! What all replicas show of a session: written by its holder, read by the others.

use std::sync::Arc;
use std::time::Duration;

use protocol::{ApprovalRequest, ContentHash, SessionEvent};
use serde::{Deserialize, Serialize};
use store::SessionId;

use super::ReplicaLink;
use crate::api::SessionBrief;
use crate::hub::{AgentNames, HubError, LiveSession, ServedProject, text_of};

/// After how long a standing that could not be written is written again.
const AGAIN: Duration = Duration::from_secs(1);

/// What all replicas show of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionStanding {
    /// None once it was closed.
    pub(super) brief: Option<SessionBrief>,
    /// The last entry before it was opened.
    pub(super) opened_at: u64,
    /// The entries of the log that ask something which is not answered yet.
    pub(super) questions: Vec<u64>,
    /// Messages that wait for the running turn.
    pub(super) queue: Vec<QueuedText>,
    /// What clients have chosen for it.
    pub(super) choice: AgentNames,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub(crate) struct QueuedText {
    pub(crate) id: u64,
    pub(crate) text: String,
}

impl SessionStanding {
    fn of(live: &LiveSession) -> Self {
        let waiting = live.queue().into_iter().filter(|queued| live.waits(queued.id));
        let queue = waiting.map(|it| QueuedText { id: it.id, text: text_of(&it.content) });
        Self {
            brief: Some(SessionBrief::of(live)),
            opened_at: live.opened_at(),
            questions: live.question_places(),
            queue: queue.collect(),
            choice: live.choice(),
        }
    }

    fn closed(live: &LiveSession) -> Self {
        Self { choice: live.choice(), opened_at: live.opened_at(), ..Self::default() }
    }

    async fn write(&self, link: &ReplicaLink, id: &SessionId) -> bool {
        match serde_json::to_value(self) {
            Ok(value) => link.exchange.set_standing(id, value).await.is_ok(),
            Err(_) => false,
        }
    }
}

/// Publishes what a session does at this moment.
pub(super) async fn publish_now(link: &ReplicaLink, live: &LiveSession) -> Result<(), HubError> {
    match SessionStanding::of(live).write(link, live.id()).await {
        true => Ok(()),
        false => Err(HubError::Closing),
    }
}

/// Publishes what a session does, until it is closed.
pub(in crate::hub) async fn publish(link: Arc<ReplicaLink>, live: Arc<LiveSession>) {
    let mut changes = live.feed().watch();
    let mut closing = live.closing();
    let mut published = None;
    loop {
        changes.borrow_and_update();
        let standing = SessionStanding::of(&live);
        if published.as_ref() != Some(&standing) && standing.write(&link, live.id()).await {
            published = Some(standing.clone());
        }
        let is_published = published.as_ref() == Some(&standing);
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => break,
            _ = changes.changed() => {}
            () = tokio::time::sleep(AGAIN), if !is_published => {}
        }
    }
    SessionStanding::closed(&live).write(&link, live.id()).await;
}

impl ReplicaLink {
    /// What clients have chosen for a session, whichever replica had it open.
    pub(in crate::hub) async fn choice_of(&self, id: &SessionId) -> Result<AgentNames, HubError> {
        let standings = self.exchange.standing(std::slice::from_ref(id)).await?;
        let standing = standings.into_iter().next().map(|(_, value)| value);
        let standing: Option<SessionStanding> =
            standing.and_then(|it| serde_json::from_value(it).ok());
        Ok(standing.unwrap_or_default().choice)
    }
}

/// A session that is open in another replica.
pub(crate) struct ReplicaSession {
    id: SessionId,
    project: Arc<ServedProject>,
    brief: SessionBrief,
    pub(super) standing: SessionStanding,
    /// The open questions, with the places of the entries that ask them.
    questions: Vec<(u64, Arc<ApprovalRequest>)>,
}

impl ReplicaSession {
    /// The session with this standing; `known` is what was known of it before. None if it is closed, or a question
    /// cannot be read.
    pub(super) async fn read(
        id: SessionId,
        project: Arc<ServedProject>,
        standing: SessionStanding,
        known: Option<&ReplicaSession>,
    ) -> Option<Self> {
        let brief = standing.brief.clone()?;
        let mut questions = Vec::new();
        for place in standing.questions.iter().copied() {
            let known = known.and_then(|known| known.question_at(place));
            let question = match known {
                Some(question) => question,
                None => {
                    let entry = project.parts.store.entry(&id, place).await.ok()??;
                    Arc::new(asked_in(&entry.event)?.clone())
                }
            };
            questions.push((place, question));
        }
        Some(Self { id, project, brief, standing, questions })
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    pub(crate) fn project(&self) -> &Arc<ServedProject> {
        &self.project
    }

    pub(crate) fn brief(&self) -> &SessionBrief {
        &self.brief
    }

    pub(crate) fn questions(&self) -> &[(u64, Arc<ApprovalRequest>)] {
        &self.questions
    }

    /// Messages that wait for the running turn.
    pub(crate) fn queue(&self) -> &[QueuedText] {
        &self.standing.queue
    }

    pub(crate) fn question_names(&self) -> Vec<(String, ContentHash)> {
        let name =
            |(_, asked): &(u64, Arc<ApprovalRequest>)| (asked.step_id.clone(), asked.proposal_hash);
        self.questions.iter().map(name).collect()
    }

    fn question_at(&self, place: u64) -> Option<Arc<ApprovalRequest>> {
        let found = self.questions.iter().find(|(at, _)| *at == place);
        found.map(|(_, asked)| Arc::clone(asked))
    }
}

/// The question that an event asks, in a sub-agent too.
pub(in crate::hub) fn asked_in(event: &SessionEvent) -> Option<&ApprovalRequest> {
    match event {
        SessionEvent::ApprovalAsked(request) => Some(request),
        SessionEvent::Nested { entry, .. } => asked_in(&entry.event),
        _ => None,
    }
}
