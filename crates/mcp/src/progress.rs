//! A call's output, passed on while it runs.

use protocol::{ActivityData, ActivityEvent};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio_util::sync::CancellationToken;
use tool_system::Subscription;

/// Bytes of output after which a notification is full; what waits beyond goes into the next one.
const MESSAGE_BYTES: usize = 64 * 1024;

/// Waits for `work`, a part of the call with the id `call_id`, and sends its output to `peer` as progress. All
/// of it is on its way before the result is returned.
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
    let mut forward = Forward { chunks, call_id, progress: 0.0 };
    let (result, ()) = tokio::join!(work, forward.run(&finished, cancel, peer, token));
    result
}

struct Forward<'a> {
    chunks: Subscription,
    call_id: &'a str,
    /// Chunks passed on so far.
    progress: f64,
}

impl Forward<'_> {
    /// One notification at a time: what comes while one is being written waits and goes into the
    /// next, so a slow client slows nobody but gets fewer and longer ones.
    async fn run(
        &mut self,
        finished: &CancellationToken,
        cancel: &CancellationToken,
        peer: &Peer<RoleServer>,
        token: ProgressToken,
    ) {
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                event = self.chunks.next() => event,
                () = finished.cancelled() => return,
            };
            let Some(event) = event else { return };
            let Some(message) = self.gather(&event) else { continue };
            let mut params = ProgressNotificationParam::new(token.clone(), self.progress);
            params.message = Some(message);
            if peer.notify_progress(params).await.is_err() {
                return;
            }
        }
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

    /// Events of other calls, and the news that some were missed, are passed over: the result
    /// holds everything anyway.
    fn add(&mut self, event: &ActivityEvent, message: &mut String) {
        if let ActivityData::ToolOutputChunk { chunk } = &event.data
            && *event.call_id == *self.call_id
        {
            message.push_str(chunk);
            self.progress += 1.0;
        }
    }
}
