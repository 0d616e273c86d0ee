//! Questions about calls by hand are in no log and wait at the replica that runs the call. That replica shows them to the
//! others and takes the answers that these leave; which answer is first is decided there alone.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use protocol::{ApprovalRequest, ApprovalResponse, ContentHash, Remember};
use serde::{Deserialize, Serialize};
use store::{Hint, QuestionState};
use team::UserId;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::ReplicaLink;
use crate::hub::{DirectCalls, HubError, SessionHub};

/// How often answers are looked for although there was no hint.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// How long a client waits until the replica that asks has taken its answer.
const ANSWER_TIME: Duration = Duration::from_secs(15);
/// How often it is looked whether that was done, since hints may be lost.
const LOOK_FOR_END: Duration = Duration::from_millis(100);

/// A question as replicas tell it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DirectCallQuestion {
    project: String,
    /// None without a team.
    user: Option<String>,
    asked: ApprovalRequest,
}

/// An open question about a call by hand at another replica.
#[derive(Debug)]
pub(crate) struct QuestionElsewhere {
    number: i64,
    pub(crate) project: String,
    /// Whose call it is.
    pub(crate) user: Option<UserId>,
    pub(crate) asked: ApprovalRequest,
}

/// Whose direct calls of this replica ask, with what tells one of their questions apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct QuestionName {
    project: String,
    user: Option<UserId>,
    call: String,
    proposal: ContentHash,
}

/// Shows the questions of this replica to the others, and takes their answers, until the hub is gone.
pub(super) async fn share_questions(hub: Weak<SessionHub>, link: Arc<ReplicaLink>) {
    let mut hints = link.exchange.hints();
    let Some(mut changes) = hub.upgrade().map(|hub| hub.signal().watch()) else { return };
    let mut shown: HashMap<QuestionName, i64> = HashMap::new();
    let mut looks = true;
    loop {
        let Some(open) = hub.upgrade() else { return };
        let standing = changes.borrow_and_update().standing;
        open.show_questions(&link, &mut shown).await;
        if looks && !shown.is_empty() {
            open.take_answers(&link, &mut shown).await;
        }
        drop(open);
        let again = Instant::now() + LOOK_AGAIN;
        // Most of what happens is about sessions.
        looks = loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    if changes.borrow_and_update().standing != standing {
                        break false;
                    }
                }
                hint = hints.recv() => match hint {
                    Ok(Hint::Questions | Hint::Missed) | Err(RecvError::Lagged(_)) => break true,
                    Ok(_) => {}
                    Err(RecvError::Closed) => return,
                },
                () = tokio::time::sleep_until(again), if !shown.is_empty() => break true,
            }
        };
    }
}

impl SessionHub {
    /// The direct calls of this replica, by project.
    fn all_direct_calls(&self) -> impl Iterator<Item = (&str, Arc<DirectCalls>)> {
        self.projects().iter().flat_map(|served| {
            served.all_direct_calls().into_iter().map(|calls| (served.name.as_str(), calls))
        })
    }

    /// Shows what is asked, and takes away what is not asked any more. What fails is tried again.
    async fn show_questions(&self, link: &ReplicaLink, shown: &mut HashMap<QuestionName, i64>) {
        let mut asked = HashSet::new();
        for (project, calls) in self.all_direct_calls() {
            for (call, proposal) in calls.approvals().pending_names() {
                let (project, user) = (project.to_owned(), calls.user().cloned());
                let name = QuestionName { project, user, call, proposal };
                if !shown.contains_key(&name)
                    && let Some(question) = question_named(&calls, &name)
                    && let Ok(value) = serde_json::to_value(question)
                    && let Ok(number) = link.exchange.show_question(value).await
                {
                    shown.insert(name.clone(), number);
                }
                asked.insert(name);
            }
        }
        let gone: Vec<QuestionName> =
            shown.keys().filter(|name| !asked.contains(name)).cloned().collect();
        for name in gone {
            if let Some(number) = shown.get(&name)
                && link.exchange.remove_question(*number).await.is_ok()
            {
                shown.remove(&name);
            }
        }
    }

    /// Answers with what users of other replicas have said. A question that is not on the board any more, because this
    /// replica was taken for dead, is shown again.
    async fn take_answers(&self, link: &ReplicaLink, shown: &mut HashMap<QuestionName, i64>) {
        let numbers: Vec<i64> = shown.values().copied().collect();
        let Ok(states) = link.exchange.question_states(&numbers).await else { return };
        let states: HashMap<i64, QuestionState> = states.into_iter().collect();
        shown.retain(|_, number| states.contains_key(number));
        // What this replica has taken and is still shown was lost on the way from the database.
        let is_answered = |number| {
            matches!(states.get(number), Some(QuestionState::Answered | QuestionState::Taken))
        };
        let answered: Vec<(QuestionName, i64)> = shown
            .iter()
            .filter(|(_, number)| is_answered(number))
            .map(|(name, number)| (name.clone(), *number))
            .collect();
        for (name, number) in answered {
            let Ok(Some(answer)) = link.exchange.take_answer(number).await else { continue };
            let has_counted = match serde_json::from_value(answer) {
                Ok(response) => self.answer_by_hand(&name, response).await,
                Err(_) => false,
            };
            shown.remove(&name);
            // Whoever has answered is told nothing if this fails, and finds the question closed.
            let _ = link.exchange.settle_answer(number, has_counted).await;
        }
    }

    /// False if the question has an answer already.
    async fn answer_by_hand(&self, name: &QuestionName, response: ApprovalResponse) -> bool {
        let mut direct = self.all_direct_calls();
        let calls = direct.find(|(project, calls)| {
            *project == name.project && calls.user() == name.user.as_ref()
        });
        let Some((_, calls)) = calls else { return false };
        let Some(DirectCallQuestion { asked, .. }) = question_named(&calls, name) else {
            return false;
        };
        let settles_equal = response.remember == Some(Remember::Project);
        let by = response.by.clone();
        let has_counted = calls.approvals().answer_to(&asked, response).is_ok();
        if has_counted && settles_equal {
            self.answer_equal(calls.approvals(), &name.project, &asked, by.as_deref()).await;
        }
        has_counted
    }

    /// The open questions about calls by hand at other replicas.
    pub(crate) fn questions_elsewhere(&self) -> Vec<Arc<QuestionElsewhere>> {
        let known = |link: &Arc<ReplicaLink>| link.known_questions();
        self.link().map(known).unwrap_or_default()
    }

    /// Reads which questions are open at other replicas.
    pub(super) async fn look_at_questions(&self, link: &ReplicaLink) {
        let known = link.known_questions();
        let numbers: Vec<i64> = known.iter().map(|question| question.number).collect();
        let Ok(found) = link.exchange.questions_elsewhere(&numbers).await else { return };
        let mut open = Vec::new();
        for shown in found {
            let known = known.iter().find(|question| question.number == shown.number).cloned();
            // A question of a newer version of Toolkiln is answered there.
            let read = || {
                let DirectCallQuestion { project, user, asked } =
                    serde_json::from_value(shown.question?).ok()?;
                let user = user.map(UserId::named);
                Some(Arc::new(QuestionElsewhere { number: shown.number, project, user, asked }))
            };
            open.extend(known.or_else(read));
        }
        let is_same = open.len() == known.len()
            && open.iter().zip(&known).all(|(one, other)| one.number == other.number);
        if !is_same {
            *link.questions.lock().unwrap_or_else(PoisonError::into_inner) = open;
            self.signal().tell();
        }
    }

    /// Answers a question at another replica. The first answer counts, whichever replica it comes to.
    pub(crate) async fn answer_elsewhere(
        &self,
        question: &QuestionElsewhere,
        response: ApprovalResponse,
    ) -> Result<(), HubError> {
        let link = self.linked()?;
        let mut hints = link.exchange.hints();
        let answer = serde_json::to_value(response)
            .map_err(|error| HubError::NotWritten { reason: error.to_string() })?;
        if !link.exchange.leave_answer(question.number, answer).await? {
            return Err(HubError::AnsweredAlready);
        }
        let end = Instant::now() + ANSWER_TIME;
        let settled = loop {
            let states = link.exchange.question_states(&[question.number]).await?;
            match states.first().map(|(_, state)| state) {
                Some(QuestionState::Done) => break Ok(()),
                None | Some(QuestionState::Refused) => break Err(HubError::AnsweredAlready),
                // Nothing that the client was told has failed may happen later. What was taken is about to be settled,
                // unless its replica has ended, and the call with it.
                Some(_) if Instant::now() >= end => {
                    let is_taken_back = link.exchange.take_back_answer(question.number).await?;
                    if is_taken_back || Instant::now() >= end + ANSWER_TIME {
                        break Err(HubError::NoAnswer);
                    }
                }
                Some(_) => {}
            }
            hinted(&mut hints, Instant::now() + LOOK_FOR_END).await;
        };
        self.look_at_questions(link).await;
        settled
    }
}

/// Waits for a hint about questions, but not for longer than this.
async fn hinted(hints: &mut broadcast::Receiver<Hint>, end: Instant) {
    loop {
        match timeout_at(end, hints.recv()).await {
            Ok(Ok(Hint::Log { .. } | Hint::Inbox { .. } | Hint::Standing { .. })) => {}
            // The exchange is about to end: there is nothing to wait for but the time.
            Ok(Err(RecvError::Closed)) => return tokio::time::sleep_until(end).await,
            Err(_) | Ok(_) => return,
        }
    }
}

fn question_named(calls: &DirectCalls, name: &QuestionName) -> Option<DirectCallQuestion> {
    let mut pending = calls.approvals().pending().into_iter();
    let asked = pending.find(|it| it.step_id == name.call && it.proposal_hash == name.proposal)?;
    let (project, user) = (name.project.clone(), name.user.as_ref().map(ToString::to_string));
    Some(DirectCallQuestion { project, user, asked })
}

impl ReplicaLink {
    fn known_questions(&self) -> Vec<Arc<QuestionElsewhere>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
