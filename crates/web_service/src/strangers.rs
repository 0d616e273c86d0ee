//! Connections that have not shown a token or a cookie yet: there may be few of them, and the oldest makes room.
//!
//! Any program of this machine can connect. Were connections only counted, one that opens many and says nothing would keep
//! everybody else waiting.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use tokio_util::sync::CancellationToken;

/// Connections without a login at a time. A browser that opens the page has six.
const MAX_STRANGERS: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct ClientConnection {
    is_known: AtomicBool,
    /// Who has connected, as the system says.
    pub(crate) peer: Option<IpAddr>,
    /// Whether there is no room for it, so that it is only told that.
    pub(crate) is_spare: bool,
    /// Fires when it has to make room.
    pub(crate) cut: CancellationToken,
}

impl ClientConnection {
    /// One that has just been accepted.
    pub(crate) fn new(peer: IpAddr, is_spare: bool) -> Self {
        Self { peer: Some(peer), is_spare, ..Self::default() }
    }

    /// The client has logged in.
    pub(crate) fn is_recognised(&self) {
        self.is_known.store(true, Ordering::Relaxed);
    }
}

/// Those without a login, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Strangers(VecDeque<Weak<ClientConnection>>);

impl Strangers {
    /// Takes one more, and cuts the oldest if there are too many.
    pub(crate) fn add(&mut self, connection: &Arc<ClientConnection>) {
        self.0.push_back(Arc::downgrade(connection));
        if self.0.len() <= MAX_STRANGERS {
            return;
        }
        self.0.retain(|one| {
            one.upgrade().is_some_and(|connection| !connection.is_known.load(Ordering::Relaxed))
        });
        let many = self.0.len().saturating_sub(MAX_STRANGERS);
        for oldest in self.0.drain(..many).filter_map(|one| one.upgrade()) {
            oldest.cut.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room_unless_it_has_logged_in_or_is_gone() {
        let mut strangers = Strangers::default();
        let mut all: Vec<Arc<ClientConnection>> = Vec::new();
        let mut connect = |all: &mut Vec<Arc<ClientConnection>>, count: usize| {
            for _ in 0..count {
                let connection = Arc::default();
                strangers.add(&connection);
                all.push(connection);
            }
        };
        let cut = |all: &[Arc<ClientConnection>]| -> Vec<usize> {
            let cut = all.iter().enumerate().filter(|(_, it)| it.cut.is_cancelled());
            cut.map(|(index, _)| index).collect()
        };
        connect(&mut all, MAX_STRANGERS);
        assert_eq!(cut(&all), [0; 0]);
        all[0].is_recognised();
        connect(&mut all, 1);
        assert_eq!(cut(&all), [0; 0]);
        connect(&mut all, 2);
        assert_eq!(cut(&all), [1, 2]);
        // One that is gone makes room by itself.
        all.remove(3);
        connect(&mut all, 1);
        assert_eq!(cut(&all), [1, 2]);
    }
}
