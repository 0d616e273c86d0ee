//! How often a server is asked.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::locked::locked;

/// The time in which requests are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// The requests to each host within the last minute.
#[derive(Debug, Default)]
pub(super) struct HostRequests(Mutex<HashMap<String, VecDeque<Instant>>>);

impl HostRequests {
    /// Counts a request, if fewer than `most` were made within a minute; else says how long to wait.
    pub(super) fn take(&self, host: &str, most: u64, now: Instant) -> Result<(), Duration> {
        let mut hosts = locked(&self.0);
        let is_recent = |at: &Instant| now.saturating_duration_since(*at) < WINDOW;
        hosts.retain(|_, times| {
            times.retain(is_recent);
            !times.is_empty()
        });
        let times = hosts.entry(host.to_owned()).or_default();
        match times.front() {
            Some(first) if times.len() as u64 >= most => {
                Err(WINDOW.saturating_sub(now.saturating_duration_since(*first)))
            }
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_asked_so_often_and_another_as_well() {
        let (limit, start) = (HostRequests::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for second in 0..10 {
            assert_eq!(limit.take("a", 10, at(second)), Ok(()));
        }
        assert_eq!(limit.take("a", 10, at(20)), Err(Duration::from_secs(40)));
        assert_eq!(limit.take("b", 10, at(20)), Ok(()));
        assert_eq!(limit.take("a", 10, at(60)), Ok(()));
        assert_eq!(limit.take("a", 10, at(60)), Err(Duration::from_secs(1)));
        assert_eq!(limit.take("b", 10, at(200)), Ok(()));
        assert_eq!(limit.0.lock().expect("no panic").len(), 1, "hosts are forgotten");
    }
}
