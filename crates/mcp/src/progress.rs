//! Tells a client how a call goes on while it runs: its output, and during silence the time.

use std::time::Duration;

use protocol::{ActivityData, ActivityEvent};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_system::Subscription;

/// Bytes of output after which a notification is full; what waits beyond goes into the next one.
const MESSAGE_BYTES: usize = 64 * 1024;
/// How long a call is silent before a notification says that it still runs. Many clients give up after
/// 60 seconds without progress.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Waits for `work`, a part of the call with the id `call_id`, and sends its output to `peer` as
/// progress. All of it is sent before the result is returned.
pub(crate) async fn forward<T>(
    work: impl Future<Output = T>,
    chunks: Subscription,
    call_id: &str,
    cancel: &CancellationToken,
    peer: &Peer<RoleServer>,
    token: ProgressToken,
) -> T {
    let finished = CancellationToken::new();
    let work = async {
        let result = work.await;
        finished.cancel();
        result
    };
    let mut reporter = ProgressReporter { chunks, call_id, started: Instant::now(), progress: 0.0 };
    let (result, ()) = tokio::join!(work, reporter.run(&finished, cancel, peer, token));
    result
}

struct ProgressReporter<'a> {
    chunks: Subscription,
    call_id: &'a str,
    started: Instant,
    /// Chunks and heartbeats so far; it has to grow with every notification.
    progress: f64,
}

impl ProgressReporter<'_> {
    /// One notification at a time: what comes while one is being written waits and goes into the
    /// next, so a slow client does not slow the call but gets fewer and longer ones.
    async fn run(
        &mut self,
        finished: &CancellationToken,
        cancel: &CancellationToken,
        peer: &Peer<RoleServer>,
        token: ProgressToken,
    ) {
        let mut silent_until = Instant::now() + HEARTBEAT;
        loop {
            let message = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                event = self.chunks.next() => match event {
                    Some(event) => self.gather(&event),
                    None => return,
                },
                () = finished.cancelled() => return,
                () = tokio::time::sleep_until(silent_until) => Some(self.heartbeat()),
            };
            let Some(message) = message else { continue };
            let mut params = ProgressNotificationParam::new(token.clone(), self.progress);
            params.message = Some(message);
            if peer.notify_progress(params).await.is_err() {
                return;
            }
            silent_until = Instant::now() + HEARTBEAT;
        }
    }

    fn heartbeat(&mut self) -> String {
        self.progress += 1.0;
        format!("still running after {} s", self.started.elapsed().as_secs())
    }

    /// The chunk in `first` and those that already wait behind it.
    fn gather(&mut self, first: &ActivityEvent) -> Option<String> {
        let mut message = String::new();
        let before = self.progress;
        self.add(first, &mut message);
        while message.len() < MESSAGE_BYTES
            && let Some(event) = self.chunks.try_next()
        {
            self.add(&event, &mut message);
        }
        (self.progress > before).then_some(message)
    }

    /// Events of other calls, and those that say how many were missed, are skipped: the result holds
    /// everything anyway.
    fn add(&mut self, event: &ActivityEvent, message: &mut String) {
        if let ActivityData::ToolOutputChunk { chunk } = &event.data
            && *event.call_id == *self.call_id
        {
            message.push_str(chunk);
            self.progress += 1.0;
        }
    }
}
