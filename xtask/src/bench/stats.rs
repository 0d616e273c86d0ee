//! The few numbers we need about many measurements.

use std::time::Duration;

/// Times of one kind, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Panics if there is no measurement, which is a mistake of the caller.
    pub(crate) fn new(mut times: Vec<Duration>) -> Times {
        assert!(!times.is_empty(), "nothing was measured");
        times.sort_unstable();
        Times(times)
    }

    /// The smallest time that at least `percent` of all do not exceed, in milliseconds.
    pub(crate) fn percentile(&self, percent: u32) -> f64 {
        let rank = (self.0.len() * percent as usize).div_ceil(100);
        self.0[rank.saturating_sub(1)].as_secs_f64() * 1000.0
    }

    /// The middle, in milliseconds.
    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let times = Times::new((1..=200).rev().map(Duration::from_millis).collect());
        let table = [(1, 2.0), (50, 100.0), (90, 180.0), (99, 198.0), (100, 200.0)];
        for (percent, expected) in table {
            assert!((times.percentile(percent) - expected).abs() < 1e-9, "{percent}");
        }
    }

    #[test]
    fn one_measurement_is_every_percentile() {
        let times = Times::new(vec![Duration::from_millis(7)]);
        assert!((times.median() - 7.0).abs() < 1e-9);
        assert!((times.percentile(1) - 7.0).abs() < 1e-9);
    }
}
