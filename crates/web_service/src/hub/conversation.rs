//! What clients do in a session, whether it is open here, in another replica or nowhere.

use std::sync::Arc;

use protocol::{Content, Rewind};
use session::{RewindFiles, RewindPoint};
use store::SessionId;

use super::replicas::OpenSession;
use super::{
    AgentChange, AgentNames, HubError, KeptWorktree, PaidSession, QueuedText, RequestKey, Sent,
    SessionHub,
};

impl SessionHub {
    /// Says something in a session, which is taken up from the store if it is not open.
    pub(crate) async fn send(
        self: &Arc<Self>,
        id: &SessionId,
        content: Vec<Content>,
        key: RequestKey,
    ) -> Result<Sent, HubError> {
        if self.is_shared() {
            return self.ask_to_say(id, content, key).await;
        }
        loop {
            let live = self.open(id).await?;
            match live.send(content.clone()).await {
                // It was closed just now because nothing happened in it.
                Err(HubError::Closing) => live.close().await,
                sent => return sent,
            }
        }
    }

    /// Has a session go on with another model, or in another role. It is taken up from the store if it is
    /// not open.
    pub(crate) async fn change(
        self: &Arc<Self>,
        id: &SessionId,
        names: AgentNames,
    ) -> Result<(), HubError> {
        // A name that means nothing is refused before anything is opened.
        let (project, paid) = (self.project_of(id).await?, Some(PaidSession::Stored(id)));
        let change = AgentChange::named(self, &project, paid, &names).await?;
        if self.is_shared() {
            return self.ask_to_change(id, names).await;
        }
        loop {
            let live = self.open(id).await?;
            match live.change(change.clone(), None).await {
                // It was closed just now because nothing happened in it.
                Err(HubError::Closing) => live.close().await,
                Err(error) => return Err(error),
                Ok(()) => {
                    self.choose(id, names);
                    return Ok(());
                }
            }
        }
    }

    /// What clients have chosen for a session that is about to be opened.
    pub(super) async fn choice_of(&self, id: &SessionId) -> Result<AgentNames, HubError> {
        match self.link() {
            Some(link) => link.choice_of(id).await,
            None => Ok(self.choices().get(id).cloned().unwrap_or_default()),
        }
    }

    /// Ends the running turn. Answers whether one ran.
    pub(crate) async fn interrupt(self: &Arc<Self>, id: &SessionId) -> Result<bool, HubError> {
        match self.open_session(id) {
            Some(OpenSession::Here(live)) => Ok(live.interrupt()),
            Some(OpenSession::Elsewhere(_)) => self.ask_to_interrupt(id).await,
            // It may have been opened elsewhere just now.
            None => match self.link() {
                Some(link) if link.exchange.holder(id).await?.is_some() => {
                    self.ask_to_interrupt(id).await
                }
                _ => Ok(false),
            },
        }
    }

    /// Goes on after a pause.
    pub(crate) async fn go_on(self: &Arc<Self>, id: &SessionId) -> Result<(), HubError> {
        match self.is_shared() {
            true => self.ask_to_go_on(id).await,
            false => self.open(id).await?.go_on(None),
        }
    }

    /// Goes back to before a message.
    pub(crate) async fn rewind(
        self: &Arc<Self>,
        id: &SessionId,
        to: u64,
        files: RewindFiles,
    ) -> Result<(RewindPoint, Rewind), HubError> {
        match self.is_shared() {
            true => self.ask_to_rewind(id, to, files).await,
            false => self.open(id).await?.rewind(to, files, None).await,
        }
    }

    /// The messages that wait for the running turn.
    pub(crate) fn queue(&self, id: &SessionId) -> Vec<QueuedText> {
        match self.open_session(id) {
            Some(OpenSession::Here(live)) => {
                let queued = live.queue().into_iter();
                queued.map(|it| QueuedText { id: it.id, text: text_of(&it.content) }).collect()
            }
            Some(OpenSession::Elsewhere(remote)) => remote.queue().to_vec(),
            None => Vec::new(),
        }
    }

    /// Takes back a message that waits. Answers with its text.
    pub(crate) async fn withdraw(
        self: &Arc<Self>,
        id: &SessionId,
        name: u64,
    ) -> Result<String, HubError> {
        if self.is_shared() {
            return self.ask_to_withdraw(id, name).await;
        }
        let content = self.live_session(id).and_then(|live| live.withdraw(name));
        content.map(|content| text_of(&content)).ok_or(HubError::NotWaiting)
    }

    /// Closes a session and deletes it. Answers with the directory of its own that stays, if it lies here.
    pub(crate) async fn delete(
        self: &Arc<Self>,
        id: &SessionId,
    ) -> Result<Option<KeptWorktree>, HubError> {
        match self.delete_here(id).await {
            Err(error) if error.is_in_use() && self.is_shared() => {
                self.ask_to_delete(id).await?;
                self.gone(id);
                Ok(None)
            }
            deleted => deleted,
        }
    }
}

/// What a message says, without what goes with it.
pub(crate) fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(text.to_string()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
