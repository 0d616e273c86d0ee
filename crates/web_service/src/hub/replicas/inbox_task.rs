//! The holder of a session works on its inbox.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use protocol::{ApprovalResponse, Remember};
use session::RewindFiles;
use store::InboxItem;

use super::ReplicaLink;
use super::request::{InboxRequest, refusal};
use super::standing::publish_now;
use crate::hub::{AgentChange, Delivered, HubError, LiveSession, PaidSession, SessionHub};

/// How often an inbox is looked into although there was no hint.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Works on the inbox of a session until it is closed.
pub(in crate::hub) async fn work_on_inbox(
    hub: Weak<SessionHub>,
    link: Arc<ReplicaLink>,
    live: Arc<LiveSession>,
) {
    let mut closing = live.closing();
    let (waiting, begun) = Default::default();
    let mut taker = InboxTaker { hub, link, live: Arc::clone(&live), waiting, begun };
    loop {
        // An inbox that cannot be read now is read again later.
        if let Ok(items) = taker.link.exchange.inbox(live.id()).await {
            taker.take_all(items).await;
        }
        tokio::select! {
            biased;
            _ = closing.wait_for(|closing| *closing) => return,
            () = live.inbox_hint() => {}
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
}

struct InboxTaker {
    hub: Weak<SessionHub>,
    link: Arc<ReplicaLink>,
    live: Arc<LiveSession>,
    /// What lay in the inbox when it was last looked into.
    waiting: HashSet<i64>,
    /// What was handed on, and is done when it is written.
    begun: HashSet<i64>,
}

/// What became of an item for now.
enum Handed {
    /// It is done when what it causes is written.
    On,
    /// It is done, and causes nothing to be written.
    Done,
    /// It waits for another replica.
    Left,
}

impl InboxTaker {
    async fn take_all(&mut self, items: Vec<InboxItem>) {
        self.waiting = items.iter().map(|item| item.number).collect();
        self.begun.retain(|number| self.waiting.contains(number));
        let parsed = items.into_iter().map(|item| (item.number, serde_json::from_value(item.item)));
        let (withdrawals, others): (Vec<_>, Vec<_>) = parsed
            .filter(|(number, _)| !self.begun.contains(number))
            .partition(|(_, request)| matches!(request, Ok(InboxRequest::Withdraw { .. })));
        // Before the messages that they take back.
        for (number, request) in withdrawals.into_iter().chain(others) {
            if !self.begun.contains(&number) {
                self.take(number, request).await;
            }
        }
    }

    async fn take(&mut self, number: i64, request: serde_json::Result<InboxRequest>) {
        let handed = match request {
            Ok(request) => self.hand_on(number, request).await,
            // A newer version of Toolkiln has put it there.
            Err(error) => Err(HubError::NotUnderstood { reason: error.to_string() }),
        };
        let (id, exchange) = (self.live.id(), &self.link.exchange);
        // What fails here is tried again with the next look.
        let is_settled = match handed {
            Ok(Handed::On) => true,
            Ok(Handed::Left) => false,
            Ok(Handed::Done) => exchange.append_taking(id, Vec::new(), &[number]).await.is_ok(),
            // The session goes on in another replica, and the item with it.
            Err(HubError::Closing) => false,
            Err(error) => exchange.refuse(id, number, &refusal(error)).await.is_ok(),
        };
        if is_settled {
            self.begun.insert(number);
        }
    }

    async fn hand_on(&mut self, number: i64, request: InboxRequest) -> Result<Handed, HubError> {
        let live = &self.live;
        match request {
            // A turn that begins now would only be cut.
            InboxRequest::Message { .. } if self.link.is_draining() => Ok(Handed::Left),
            InboxRequest::Message { content } => match live.deliver(content, number) {
                Delivered::Taken => Ok(Handed::On),
                Delivered::NoRoom => Err(HubError::QueueFull),
                Delivered::Closed => Err(HubError::Closing),
            },
            InboxRequest::Withdraw { message } => self.withdraw(message).await,
            InboxRequest::Answer { place, response } => self.answer(number, place, *response).await,
            InboxRequest::Interrupt if live.interrupt() => Ok(Handed::Done),
            InboxRequest::Interrupt => Err(HubError::NotWorking),
            InboxRequest::Continue => live.go_on(Some(number)).map(|()| Handed::On),
            InboxRequest::Rewind { to, restores_files } => {
                let files = if restores_files { RewindFiles::Restore } else { RewindFiles::Keep };
                live.rewind(to, files, Some(number)).await.map(|_| Handed::On)
            }
            InboxRequest::Change { names } => {
                let hub = self.hub.upgrade().ok_or(HubError::Closing)?;
                let paid = Some(PaidSession::Stored(live.id()));
                let change = AgentChange::named(&hub, live.project(), paid, &names).await?;
                let before = live.choice();
                live.choose(names);
                // Before it is done: whoever has the session next must know.
                publish_now(&self.link, live).await?;
                let changed = live.change(change, Some(number)).await;
                if changed.is_err() {
                    live.set_choice(before);
                }
                changed.map(|()| Handed::On)
            }
            InboxRequest::Delete => {
                let hub = self.hub.upgrade().ok_or(HubError::Closing)?;
                let id = live.id().clone();
                // Deleting closes the session, which waits for nothing here.
                tokio::spawn(async move { hub.delete_here(&id).await });
                Ok(Handed::On)
            }
        }
    }

    async fn withdraw(&mut self, message: i64) -> Result<Handed, HubError> {
        let name = u64::try_from(message).map_err(|_| HubError::NotWaiting)?;
        let is_taken = self.begun.contains(&message);
        if !self.waiting.contains(&message) || is_taken && self.live.withdraw(name).is_none() {
            return Err(HubError::NotWaiting);
        }
        let reason = refusal(HubError::Withdrawn);
        self.link.exchange.refuse(self.live.id(), message, &reason).await?;
        self.begun.insert(message);
        Ok(Handed::Done)
    }

    async fn answer(
        &self,
        number: i64,
        place: u64,
        response: ApprovalResponse,
    ) -> Result<Handed, HubError> {
        let live = &self.live;
        let asked = live.question_at(place).ok_or(HubError::AnsweredAlready)?;
        let settles_equal = response.remember == Some(Remember::Project);
        let (approvals, by) = (live.approvals(), response.by.clone());
        let answered = approvals.answer_taking(&asked, response, number);
        answered.map_err(|_| HubError::AnsweredAlready)?;
        if let Some(hub) = self.hub.upgrade().filter(|_| settles_equal) {
            hub.answer_equal(&approvals, &live.project().name, &asked, by.as_deref()).await;
        }
        Ok(Handed::On)
    }
}
