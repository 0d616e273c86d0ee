//! When a request is sent again, and after how long.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use context_manager::ModelError;

/// How patient we are with a provider that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is sent at most.
    pub attempts: u32,
    /// The wait after the first failure; it doubles with each further one.
    pub base: Duration,
    /// The longest of these waits.
    pub max: Duration,
    /// The longest wait that a provider may ask for. A longer one is left to the person.
    pub patience: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            base: Duration::from_millis(500),
            max: Duration::from_secs(8),
            patience: Duration::from_secs(60),
        }
    }
}

/// A request that was not answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    /// Whether the same request may fare better.
    pub(crate) may_pass: bool,
}

/// What follows from a failure.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Retry(Duration),
    /// The reason is for the person, if there is more to say than the error does.
    GiveUp(Option<String>),
}

impl RetryPolicy {
    /// A policy under which nothing is sent twice.
    pub fn never() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// What to do after the attempt with this number, counted from 1. `luck` is between 0 and 1 and
    /// keeps clients that failed together from returning together.
    pub(crate) fn judge(&self, attempt: u32, failure: &Failure, luck: f64) -> Verdict {
        if !failure.may_pass {
            return Verdict::GiveUp(None);
        }
        if let Some(wait) = failure.error.retry_after.filter(|wait| *wait > self.patience) {
            return Verdict::GiveUp(Some(format!("it asks to be left alone for {}", spoken(wait))));
        }
        if attempt >= self.attempts {
            let tried = (attempt > 1).then(|| format!("tried {attempt} times; try again later"));
            return Verdict::GiveUp(tried);
        }
        Verdict::Retry(failure.error.retry_after.unwrap_or_else(|| self.backoff(attempt, luck)))
    }

    fn backoff(&self, attempt: u32, luck: f64) -> Duration {
        let doubled = self.base.saturating_mul(1_u32.checked_shl(attempt - 1).unwrap_or(u32::MAX));
        doubled.min(self.max).mul_f64(1.0 - luck.clamp(0.0, 1.0) / 4.0)
    }
}

/// A number between 0 and 1. Good enough to keep clients apart, and for nothing else.
pub(crate) fn luck() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    bits as f64 / u64::MAX as f64
}

/// A wait as people say it.
pub(crate) fn spoken(wait: Duration) -> String {
    match wait.as_secs() {
        0 => format!("{} ms", wait.as_millis()),
        seconds @ 1..=119 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use context_manager::ModelErrorKind;

    use super::*;
    use crate::error::failure;

    fn failed(may_pass: bool, wait: Option<u64>) -> Failure {
        let mut error = failure(ModelErrorKind::Overloaded, "x");
        error.retry_after = wait.map(Duration::from_millis);
        Failure { error, may_pass }
    }

    #[test]
    fn waits_double_up_to_a_limit_and_are_cut_by_luck() {
        let policy = RetryPolicy { attempts: 99, ..RetryPolicy::default() };
        let waits = |luck| {
            [1, 2, 3, 4, 5, 6, 40].map(|attempt| {
                match policy.judge(attempt, &failed(true, None), luck) {
                    Verdict::Retry(wait) => wait.as_millis(),
                    other => panic!("{other:?}"),
                }
            })
        };
        assert_eq!(waits(0.0), [500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(waits(1.0), [375, 750, 1500, 3000, 6000, 6000, 6000]);
    }

    #[test]
    fn the_provider_is_obeyed_within_reason_and_not_for_ever() {
        let policy = RetryPolicy { attempts: 3, ..RetryPolicy::default() };
        let judge = |attempt, failure| policy.judge(attempt, &failure, 0.5);
        let second = Duration::from_secs(1);
        assert_eq!(judge(1, failed(true, Some(60_000))), Verdict::Retry(60 * second));
        assert_eq!(judge(2, failed(true, Some(0))), Verdict::Retry(Duration::ZERO));
        let told = |text: &str| Verdict::GiveUp(Some(text.into()));
        assert_eq!(
            judge(1, failed(true, Some(180_001))),
            told("it asks to be left alone for 3 min")
        );
        assert_eq!(judge(3, failed(true, Some(1))), told("tried 3 times; try again later"));
        assert_eq!(judge(1, failed(false, None)), Verdict::GiveUp(None));
        let once = RetryPolicy::never().judge(1, &failed(true, None), 0.5);
        assert_eq!(once, Verdict::GiveUp(None));
    }

    #[test]
    fn luck_is_a_fraction_and_differs() {
        let all: Vec<f64> = (0..20).map(|_| luck()).collect();
        assert!(all.iter().all(|luck| (0.0..=1.0).contains(luck)), "{all:?}");
        assert!(all.iter().any(|luck| *luck != all[0]), "{all:?}");
    }
}
