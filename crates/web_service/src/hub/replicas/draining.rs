//! The end of a replica on purpose, with time for its turns.

use std::sync::atomic::Ordering;

use tokio::time::{Instant, timeout_at};

use crate::hub::SessionHub;

impl SessionHub {
    /// Whether no new work is begun here, because the replica is about to end.
    pub fn is_draining(&self) -> bool {
        self.link().is_some_and(|link| link.is_draining())
    }

    /// Begins no new work, waits for the turns that run, ends those that take too long, and releases all sessions, so
    /// that other replicas take them up at once. Requests are answered meanwhile.
    pub async fn drain(&self) {
        let Some(link) = self.link() else { return };
        link.is_draining.store(true, Ordering::Release);
        self.signal().tell();
        let end = Instant::now() + link.drain_time;
        let mut signal = self.signal().watch();
        loop {
            signal.borrow_and_update();
            let mut is_working = false;
            for live in self.live_sessions() {
                match live.shut_unless_working() {
                    true => live.close().await,
                    false => is_working = true,
                }
            }
            if !is_working || !matches!(timeout_at(end, signal.changed()).await, Ok(Ok(()))) {
                break;
            }
        }
        self.close().await;
        // Should it fail, the others notice soon that this replica is gone.
        let _ = link.exchange.leave().await;
    }
}
