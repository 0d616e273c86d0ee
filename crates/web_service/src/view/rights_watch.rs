//! Tells a stream that is open when its client may see or do something else than before.

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::HubView;

/// Changes when users get other rights, and when the token or login of the client ends. Never without a team.
pub(crate) struct RightsWatch(Option<WatchedLogin>);

struct WatchedLogin {
    /// The version of all rights.
    versions: watch::Receiver<i64>,
    /// When the token or login ends.
    until: Instant,
}

impl RightsWatch {
    pub(super) fn new(login: Option<(watch::Receiver<i64>, Instant)>) -> Self {
        Self(login.map(|(versions, until)| WatchedLogin { versions, until }))
    }

    /// The same for a client that was recognised again.
    pub(crate) fn until_end_of(self, renewed: &HubView) -> Self {
        let until = renewed.user().map(|user| user.until);
        Self(self.0.zip(until).map(|(login, until)| WatchedLogin { until, ..login }))
    }

    /// Whether something changed. A stream asks before it sends anything: one that always has something to send waits
    /// for nothing.
    pub(crate) fn has_changed(&self) -> bool {
        self.0.as_ref().is_some_and(|login| {
            login.until <= Instant::now() || login.versions.has_changed().unwrap_or(true)
        })
    }

    /// Waits until something changes.
    pub(crate) async fn changed(&mut self) {
        let Some(login) = &mut self.0 else { return std::future::pending().await };
        tokio::select! {
            changed = login.versions.changed() => {
                // The team lives as long as the service.
                if changed.is_err() {
                    sleep_until(login.until).await;
                }
            }
            () = sleep_until(login.until) => {}
        }
    }
}
