//! When a request that failed is sent again, and after how long. This is the only layer that retries:
//! a provider makes one attempt, and turns, sub-agents and summaries all ask here. Nothing is sent
//! again from here, so each attempt draws on the purse like the first.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{ModelError, ModelErrorKind};

/// How often and after which waits a failed request is sent again.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    /// How often a request is sent at most.
    pub attempts: u32,
    /// The same for a request whose last attempt may have been charged, such as an answer that broke off.
    pub charged_attempts: u32,
    /// The wait after the first failure; it doubles with each further one.
    pub base: Duration,
    /// The longest of these waits.
    pub max: Duration,
    /// The part of a wait, from 0 to 1, that is random, so that clients that failed together do not
    /// return together.
    pub jitter: f64,
    /// The longest wait that a provider may ask for. If it asks for a longer one, the turn fails.
    pub longest_asked: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 5,
            charged_attempts: 4,
            base: Duration::from_millis(500),
            max: Duration::from_secs(8),
            jitter: 0.25,
            longest_asked: Duration::from_secs(60),
        }
    }
}

/// Counts the failed attempts at one request.
#[derive(Debug)]
pub(crate) struct Attempts<'a> {
    policy: &'a RetryPolicy,
    failed: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(policy: &'a RetryPolicy) -> Self {
        Self { policy, failed: 0 }
    }

    /// Counts a failure and tells after how long the request is to be sent again. If it is not, the
    /// reason is added to the message, unless the error itself says enough.
    pub(crate) fn wait_after(
        &mut self,
        error: &mut ModelError,
        is_charged: bool,
    ) -> Option<Duration> {
        self.failed += 1;
        if !may_pass(error) {
            return None;
        }
        let policy = self.policy;
        if let Some(wait) = error.retry_after.filter(|wait| *wait > policy.longest_asked) {
            error.message += &format!("; it asks to wait for {}", spoken(wait));
            return None;
        }
        let most = if is_charged { policy.charged_attempts } else { policy.attempts };
        if self.failed >= most {
            if self.failed > 1 {
                error.message += &format!("; tried {} times; try again later", self.failed);
            }
            return None;
        }
        Some(error.retry_after.unwrap_or_else(|| policy.backoff(self.failed, random())))
    }

    /// The next request starts from zero.
    pub(crate) fn succeeded(&mut self) {
        self.failed = 0;
    }
}

/// Whether the same request may succeed later. What the server says counts before the kind.
fn may_pass(error: &ModelError) -> bool {
    use ModelErrorKind as Kind;
    match error.kind {
        // The same request does not become shorter by waiting.
        Kind::ContextFull | Kind::Cancelled => false,
        Kind::Connection | Kind::Cut | Kind::Overloaded | Kind::RateLimited => {
            error.should_retry != Some(false)
        }
        Kind::InvalidRequest | Kind::Unauthorized | Kind::UnknownModel | Kind::Malformed => {
            error.should_retry == Some(true)
        }
    }
}

impl RetryPolicy {
    /// The wait after so many failures. `random` is between 0 and 1.
    fn backoff(&self, failed: u32, random: f64) -> Duration {
        let doubled =
            self.base.saturating_mul(1_u32.checked_shl(failed.max(1) - 1).unwrap_or(u32::MAX));
        doubled.min(self.max).mul_f64(1.0 - random * self.jitter.clamp(0.0, 1.0))
    }
}

/// Waits before the next attempt, until `cancel` fires at the latest.
pub(crate) async fn wait(delay: Duration, cancel: &CancellationToken) {
    tokio::select! {
        () = cancel.cancelled() => {}
        () = sleep(delay) => {}
    }
}

/// A number between 0 and 1. Good enough to keep clients apart, and for nothing else.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    bits as f64 / u64::MAX as f64
}

fn spoken(wait: Duration) -> String {
    match wait.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ModelErrorKind, wait: Option<u64>) -> ModelError {
        let retry_after = wait.map(Duration::from_millis);
        ModelError { retry_after, ..ModelError::new(kind, "x") }
    }

    #[test]
    fn waits_double_up_to_a_limit_and_are_shortened_at_random() {
        let policy = RetryPolicy::default();
        let waits = |random| {
            [1, 2, 3, 4, 5, 6, 40].map(|failed| policy.backoff(failed, random).as_millis())
        };
        assert_eq!(waits(0.0), [500, 1000, 2000, 4000, 8000, 8000, 8000]);
        assert_eq!(waits(1.0), [375, 750, 1500, 3000, 6000, 6000, 6000]);
        let exact = RetryPolicy { jitter: 0.0, ..policy };
        assert_eq!(exact.backoff(1, 1.0), exact.base);
    }

    #[test]
    fn the_wait_that_a_provider_asks_for_is_kept_up_to_a_limit() {
        let policy = RetryPolicy::default();
        let judge = |wait| {
            let mut error = error(ModelErrorKind::RateLimited, Some(wait));
            let wait = Attempts::new(&policy).wait_after(&mut error, false);
            (wait.map(|wait| wait.as_millis()), error.message)
        };
        assert_eq!(judge(60_000), (Some(60_000), "x".to_owned()));
        assert_eq!(judge(0), (Some(0), "x".to_owned()));
        assert_eq!(judge(180_001), (None, "x; it asks to wait for 3 min".to_owned()));
        assert_eq!(judge(61_000), (None, "x; it asks to wait for 61 s".to_owned()));
    }

    #[test]
    fn attempts_are_limited_and_more_so_if_they_may_be_charged() {
        let policy = RetryPolicy { jitter: 0.0, ..RetryPolicy::default() };
        for (is_charged, most) in [(false, 5), (true, 4)] {
            let mut attempts = Attempts::new(&policy);
            for _ in 0..2 {
                for _ in 1..most {
                    let mut error = error(ModelErrorKind::Overloaded, None);
                    assert!(attempts.wait_after(&mut error, is_charged).is_some());
                }
                let mut last = error(ModelErrorKind::Overloaded, None);
                assert_eq!(attempts.wait_after(&mut last, is_charged), None);
                assert_eq!(last.message, format!("x; tried {most} times; try again later"));
                attempts.succeeded();
            }
        }
        let once = RetryPolicy { attempts: 1, ..policy };
        let mut error = error(ModelErrorKind::Overloaded, None);
        assert_eq!(Attempts::new(&once).wait_after(&mut error, false), None);
        assert_eq!(error.message, "x");
    }

    #[test]
    fn the_kind_decides_unless_the_server_says_more() {
        use ModelErrorKind::*;
        let passing = |should_retry| {
            let kinds = [
                InvalidRequest,
                Unauthorized,
                UnknownModel,
                ContextFull,
                RateLimited,
                Overloaded,
                Connection,
                Cut,
                Malformed,
                Cancelled,
            ];
            let error = |kind| ModelError { should_retry, ..ModelError::new(kind, "x") };
            kinds.into_iter().filter(|kind| may_pass(&error(*kind))).collect::<Vec<_>>()
        };
        assert_eq!(passing(None), [RateLimited, Overloaded, Connection, Cut]);
        assert_eq!(passing(Some(false)), []);
        assert_eq!(passing(Some(true)).len(), 8);
    }

    #[test]
    fn random_numbers_are_fractions_and_differ() {
        let all: Vec<f64> = (0..20).map(|_| random()).collect();
        assert!(all.iter().all(|number| (0.0..=1.0).contains(number)), "{all:?}");
        assert!(all.iter().any(|number| *number != all[0]), "{all:?}");
    }
}
