//! Tells clients that a resource has changed, in the ways of both eras.
//!
//! Other programs change files too, jobs print, and no event tells of all that. So what a client watches is looked
//! at again and again, which costs nothing while nothing is watched.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use http::request::Parts;
use protocol::ContentHash;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::http_endpoint::SESSION_HEADER;
use crate::resources::ResourceAnswers;

/// How long nothing is looked at between two looks. People notice nothing sooner, and it is one `stat` for a file.
const PAUSE: Duration = Duration::from_secs(1);
/// The pause is at least so many times as long as the look before it: a diff of many files takes a while, and watching
/// it must not cost more than a small part of a processor.
const PAUSE_PER_LOOK: u32 = 20;
/// Resources that one client watches; hosts watch what they show.
const MAX_WATCHED: usize = 64;
/// Resources that all clients of the handshake era watch together.
const MAX_WATCHED_TOGETHER: usize = 1024;

/// A file that changed so shortly before it was first looked at may have changed after its client began to listen: the
/// client is told so before anything can be looked at. To tell it too often costs it one read. Clocks of file systems go in
/// steps of some milliseconds.
const UNSURE: Duration = Duration::from_millis(100);

/// Resources and how they were when they were last looked at.
struct WatchedResources {
    resources: ResourceAnswers,
    seen: Vec<(String, Option<ContentHash>)>,
    pause: Duration,
}

impl WatchedResources {
    async fn new(resources: ResourceAnswers, uris: impl IntoIterator<Item = String>) -> Self {
        let mut seen = Vec::new();
        let sure = SystemTime::now().checked_sub(UNSURE);
        for uri in uris {
            let version = resources.version(&uri).await;
            let is_sure = version.is_none_or(|(_, changed)| changed < sure);
            seen.push((uri, version.map(|(hash, _)| hash).filter(|_| is_sure)));
        }
        Self { resources, seen, pause: PAUSE }
    }

    /// Those that are not as they were, after a pause.
    async fn changed(&mut self) -> Vec<String> {
        tokio::time::sleep(self.pause).await;
        let began = Instant::now();
        let mut changed = Vec::new();
        for (uri, before) in &mut self.seen {
            let version = self.resources.version(uri).await.map(|(hash, _)| hash);
            if version != *before {
                *before = version;
                changed.push(uri.clone());
            }
        }
        self.pause = PAUSE.max(began.elapsed() * PAUSE_PER_LOOK);
        changed
    }
}

/// The part of a client's wish that is granted: resources that there can be, a bounded number of them.
pub(crate) fn accepted(
    resources: &ResourceAnswers,
    requested: &SubscriptionFilter,
) -> SubscriptionFilter {
    let mut wanted: Vec<String> = Vec::new();
    for uri in requested.resource_subscriptions.iter().flatten() {
        if wanted.len() < MAX_WATCHED && !wanted.contains(uri) && resources.place(uri).is_ok() {
            wanted.push(uri.clone());
        }
    }
    SubscriptionFilter::builder().resource_subscriptions(wanted).build()
}

/// Serves a stream of news until the client closes it.
pub(crate) async fn listen(resources: &ResourceAnswers, stream: &SubscriptionContext) {
    // A wish that names a resource twice is granted twice, and heard once.
    let uris: BTreeSet<String> =
        stream.accepted().resource_subscriptions.iter().flatten().cloned().collect();
    let mut watched = WatchedResources::new(resources.clone(), uris).await;
    loop {
        let changed = tokio::select! {
            () = stream.cancelled() => return,
            changed = watched.changed() => changed,
        };
        for uri in changed {
            if stream.sink().notify_resource_updated(uri).await.is_err() {
                return;
            }
        }
    }
}

/// What clients of the handshake era watch, by session.
#[derive(Default)]
pub(crate) struct Subscriptions {
    tasks: Mutex<HashMap<SubscriptionKey, AbortHandle>>,
}

#[derive(PartialEq, Eq, Hash)]
struct SubscriptionKey {
    /// None on standard streams, which are one session.
    session: Option<String>,
    uri: String,
}

impl SubscriptionKey {
    fn new(context: &RequestContext<RoleServer>, uri: String) -> Self {
        let parts = context.extensions.get::<Parts>();
        let session = parts.and_then(|parts| parts.headers.get(SESSION_HEADER));
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        Self { session, uri }
    }
}

impl Subscriptions {
    /// Tells the client whenever the resource changes, until its session ends or it has heard enough.
    pub(crate) async fn add(
        &self,
        resources: &ResourceAnswers,
        uri: String,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        resources.place(&uri)?;
        let key = SubscriptionKey::new(context, uri.clone());
        let peer = context.peer.clone();
        // What changes after the answer must be told, so the first look is before it.
        let mut watched = WatchedResources::new(resources.clone(), [uri]).await;
        let mut tasks = self.tasks();
        tasks.retain(|_, task| !task.is_finished());
        if tasks.contains_key(&key) {
            return Ok(());
        }
        let own = tasks.keys().filter(|other| other.session == key.session).count();
        if own >= MAX_WATCHED || tasks.len() >= MAX_WATCHED_TOGETHER {
            let message = format!("too many subscriptions: at most {MAX_WATCHED} of a session");
            return Err(ErrorData::invalid_request(message, None));
        }
        let telling = tokio::spawn(async move {
            while !peer.is_transport_closed() {
                for uri in watched.changed().await {
                    let news = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(news).await.is_err() {
                        return;
                    }
                }
            }
        });
        tasks.insert(key, telling.abort_handle());
        Ok(())
    }

    /// Ends a subscription. One that there is not needs no end.
    pub(crate) fn remove(&self, uri: String, context: &RequestContext<RoleServer>) {
        if let Some(task) = self.tasks().remove(&SubscriptionKey::new(context, uri)) {
            task.abort();
        }
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<SubscriptionKey, AbortHandle>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.tasks().values().for_each(AbortHandle::abort);
    }
}
