//! What a replica sees of the others: their logs, their standings, and the sessions that they have left behind.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use store::{Hint, ListFilter, SessionId};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::ReplicaLink;
use super::direct_call_questions::share_questions;
use super::standing::{ReplicaSession, SessionStanding};
use crate::hub::{ServedProject, SessionHub};

/// How often everything is looked at, since hints may be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often sessions without a living holder are looked for.
const TAKE_OVER: Duration = Duration::from_secs(1);
/// How often directories of sessions that are gone are looked for.
const SWEEP: Duration = Duration::from_secs(600);
/// Hints are gathered for this long, so that a busy service reads once for many.
const GATHERING: Duration = Duration::from_millis(20);
/// Sessions that are looked at in other replicas, the latest of each project.
const MOST_LISTED: u32 = 1_000;
/// Sessions that are taken up at a time; other replicas take the rest.
const MOST_ORPHANS: u32 = 16;

/// Starts to watch.
pub(in crate::hub) fn watch(hub: &Arc<SessionHub>, link: &Arc<ReplicaLink>) {
    tokio::spawn(follow_hints(Arc::downgrade(hub), Arc::clone(link)));
    tokio::spawn(take_over(Arc::downgrade(hub), Arc::clone(link)));
    tokio::spawn(share_questions(Arc::downgrade(hub), Arc::clone(link)));
    tokio::spawn(sweep(Arc::downgrade(hub)));
}

/// Removes what sessions have left behind that are gone without this replica.
async fn sweep(hub: Weak<SessionHub>) {
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(hub) = hub.upgrade() else { return };
        for project in hub.projects() {
            project.port.sweep(&*project.parts.store).await;
        }
    }
}

async fn take_over(hub: Weak<SessionHub>, link: Arc<ReplicaLink>) {
    let mut ticks = interval(TAKE_OVER);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(hub) = hub.upgrade() else { return };
        while hub.take_up_orphans(&link).await {}
    }
}

async fn follow_hints(hub: Weak<SessionHub>, link: Arc<ReplicaLink>) {
    let mut hints = link.exchange.hints();
    let mut everything = interval(LOOK_AGAIN);
    everything.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut gathered = Gathered::default();
    loop {
        let flush = async {
            match gathered.since {
                Some(since) => sleep_until(since + GATHERING).await,
                None => std::future::pending().await,
            }
        };
        let hint = tokio::select! {
            hint = hints.recv() => Some(hint),
            _ = everything.tick() => None,
            () = flush => {
                let Some(hub) = hub.upgrade() else { return };
                hub.look_at(&link, std::mem::take(&mut gathered).sessions.into_iter().collect()).await;
                continue;
            }
        };
        let Some(hub) = hub.upgrade() else { return };
        match hint {
            Some(Ok(hint)) => hub.hinted(&link, hint, &mut gathered).await,
            Some(Err(RecvError::Closed)) => return,
            Some(Err(RecvError::Lagged(_))) | None => hub.look_at_everything(&link).await,
        }
    }
}

/// Sessions whose standing may have changed.
#[derive(Default)]
struct Gathered {
    sessions: HashSet<SessionId>,
    since: Option<Instant>,
}

impl Gathered {
    fn add(&mut self, session: SessionId) {
        self.sessions.insert(session);
        self.since.get_or_insert_with(Instant::now);
    }
}

impl SessionHub {
    async fn hinted(&self, link: &Arc<ReplicaLink>, hint: Hint, gathered: &mut Gathered) {
        match hint {
            Hint::Log { session, sequence } => {
                if self.live_session(&session).is_some() {
                    return;
                }
                if let Some(feed) = self.known_feed(&session)
                    && feed.is_behind(sequence)
                {
                    let link = Arc::clone(link);
                    // What cannot be read now is read with the next hint, or when everything is looked at again.
                    tokio::spawn(async move { drop(feed.follow(&*link.exchange).await) });
                }
                if !link.remote().contains_key(&session) {
                    gathered.add(session);
                }
            }
            Hint::Inbox { session } => {
                if let Some(live) = self.live_session(&session) {
                    live.look_into_inbox();
                }
            }
            Hint::Standing { session } => gathered.add(session),
            Hint::Questions => self.look_at_questions(link).await,
            Hint::Missed => self.look_at_everything(link).await,
        }
    }

    /// Reads what other replicas have written since.
    async fn look_at_everything(&self, link: &ReplicaLink) {
        self.look_at_questions(link).await;
        for live in self.live_sessions() {
            live.look_into_inbox();
        }
        for feed in self.known_feeds() {
            if self.live_session(feed.id()).is_none() {
                // What cannot be read now is read the next time.
                let _ = feed.follow(&*link.exchange).await;
            }
        }
        let mut held = HashSet::new();
        for project in self.projects() {
            let filter = ListFilter { limit: Some(MOST_LISTED), ..ListFilter::default() };
            let Ok(listed) = project.parts.store.list(&filter).await else { return };
            held.extend(listed.into_iter().filter(|it| it.held_by.is_some()).map(|it| it.id));
        }
        self.look_at(link, held.iter().cloned().collect()).await;
        let gone: Vec<SessionId> =
            link.remote().keys().filter(|id| !held.contains(id)).cloned().collect();
        for id in gone {
            self.changed_elsewhere(link, id, None);
        }
    }

    /// Reads the standings of these sessions.
    async fn look_at(&self, link: &ReplicaLink, mut sessions: Vec<SessionId>) {
        sessions.retain(|id| self.live_session(id).is_none());
        if sessions.is_empty() {
            return;
        }
        let Ok(standings) = link.exchange.standing(&sessions).await else { return };
        for (id, value) in standings {
            let Ok(standing) = serde_json::from_value::<SessionStanding>(value) else { continue };
            let known = link.remote().get(&id).cloned();
            if known.as_ref().is_some_and(|known| known.standing == standing) {
                continue;
            }
            let project = standing.brief.as_ref().and_then(|brief| self.served(&brief.project));
            let remote = match project {
                Some(project) => {
                    ReplicaSession::read(id.clone(), project, standing, known.as_deref()).await
                }
                None => None,
            };
            self.changed_elsewhere(link, id, remote);
        }
    }

    fn served(&self, name: &str) -> Option<Arc<ServedProject>> {
        self.projects().iter().find(|project| project.name == name).cloned()
    }

    fn changed_elsewhere(&self, link: &ReplicaLink, id: SessionId, remote: Option<ReplicaSession>) {
        let feed = self.known_feed(&id);
        let before = match remote {
            Some(remote) => link.remote().insert(id, Arc::new(remote)),
            None => link.remote().remove(&id),
        };
        drop(before);
        match feed {
            Some(feed) => feed.tell(),
            None => self.signal().tell(),
        }
    }

    /// Takes up sessions without a living holder. Answers whether there may be more.
    async fn take_up_orphans(self: &Arc<Self>, link: &ReplicaLink) -> bool {
        if link.is_draining() {
            return false;
        }
        let projects: Vec<String> = self.projects().iter().map(|it| it.name.clone()).collect();
        let orphans = link.exchange.orphans(&projects, MOST_ORPHANS).await.unwrap_or_default();
        let mut taken = 0;
        for (_, id) in &orphans {
            // Another replica may be faster.
            if self.open(id).await.is_ok() {
                taken += 1;
            }
        }
        taken > 0 && orphans.len() == MOST_ORPHANS as usize
    }
}
