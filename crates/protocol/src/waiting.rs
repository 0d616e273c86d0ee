//! Time that passed while the user was waited for. Screens and statistics count it by the same rule.

use schemars::JsonSchema;
use serde::Serialize;

/// How long the user was waited for. Questions that stand at the same time count once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waiting {
    /// The intervals that are over, in milliseconds.
    pub total_ms: u64,
    /// When the interval that is not over began: milliseconds since 1970, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    #[serde(skip)]
    open: u32,
}

impl Waiting {
    /// Something else waits for the user.
    pub fn begin(&mut self, at: i64) {
        self.open += 1;
        self.since.get_or_insert(at);
    }

    /// One of the things that waited for the user does not any more.
    pub fn end(&mut self, at: i64) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            let since = self.since.take().unwrap_or(at);
            self.total_ms = self.total_ms.saturating_add(milliseconds_between(since, at));
        }
    }

    /// All of it, so that a reader can stop and go on later: the total, the beginning of what is not over, and how
    /// many things wait.
    pub fn parts(&self) -> (u64, Option<i64>, u32) {
        (self.total_ms, self.since, self.open)
    }

    /// What [`Self::parts`] gave.
    pub fn from_parts((total_ms, since, open): (u64, Option<i64>, u32)) -> Self {
        Self { total_ms, since, open }
    }

    /// How long it has been until `at`.
    pub fn until(&self, at: i64) -> u64 {
        let open = self.since.map_or(0, |since| milliseconds_between(since, at));
        self.total_ms.saturating_add(open)
    }
}

/// From one moment to another; none if the clock was set back in between.
pub fn milliseconds_between(from: i64, to: i64) -> u64 {
    u64::try_from(to.saturating_sub(from)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_that_overlap_count_once_and_a_clock_that_goes_back_counts_nothing() {
        let mut waiting = Waiting::default();
        waiting.begin(100);
        waiting.begin(150);
        waiting.end(200);
        assert_eq!((waiting.total_ms, waiting.until(250)), (0, 150));
        waiting.end(300);
        assert_eq!((waiting.total_ms, waiting.since), (200, None));
        waiting.begin(1_000);
        waiting.end(900);
        waiting.end(5_000);
        assert_eq!(waiting.until(9_000), 200);
        assert_eq!(milliseconds_between(i64::MIN, i64::MAX), i64::MAX as u64);
    }
}
