//! How often something may happen.

use std::time::Instant;

/// Allows so many at once, and so many a second on the average.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    per_second: f64,
    at_once: f64,
    left: f64,
    at: Instant,
}

impl RateLimit {
    /// A limit of which nothing is used at `now`.
    pub(crate) fn new(per_second: f64, at_once: f64, now: Instant) -> Self {
        Self { per_second, at_once, left: at_once, at: now }
    }

    /// Whether it may happen once more.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * self.per_second).min(self.at_once);
        self.at = now.max(self.at);
        let is_allowed = self.left >= 1.0;
        if is_allowed {
            self.left -= 1.0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_as_many_as_time_has_passed_for() {
        let begin = Instant::now();
        let mut limit = RateLimit::new(2.0, 3.0, begin);
        let mut taken = |ms| limit.take(begin + Duration::from_millis(ms));
        assert_eq!([taken(0), taken(0), taken(0), taken(0)], [true, true, true, false]);
        assert_eq!([taken(499), taken(500), taken(501)], [false, true, false]);
        // A clock that goes back gives nothing away, and a long pause no more than a burst.
        assert!(!taken(0));
        let later = [60_000; 4].map(taken);
        assert_eq!(later, [true, true, true, false]);
    }
}
