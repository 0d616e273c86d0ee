//! Whether the service is there (`/healthz`), and whether requests should be sent to it (`/readyz`).

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use tokio::time::Instant;

/// How long the checks of one probe may take together.
const CHECK_TIME: Duration = Duration::from_secs(2);
/// How long a verdict stands. Every client may ask, so that asking must not be work.
const VERDICT_TIME: Duration = Duration::from_secs(1);

/// Something without which the service cannot work.
#[async_trait]
pub trait HealthCheck: Send + Sync {
    /// One word for it, which every client may read: `database`.
    fn name(&self) -> &'static str;

    /// What is wrong with it, for the one who runs the service.
    async fn problem(&self) -> Option<String>;
}

/// What a probe is told: no more than which parts fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    pub(crate) ready: bool,
    pub(crate) failed: Vec<&'static str>,
    /// For the log.
    #[serde(skip)]
    pub(crate) problems: Vec<String>,
}

/// The checks, and what they said last.
#[derive(Default)]
pub(crate) struct Health {
    checks: Vec<Box<dyn HealthCheck>>,
    last: tokio::sync::Mutex<Option<(Instant, Verdict)>>,
}

impl Health {
    pub(crate) fn new(checks: Vec<Box<dyn HealthCheck>>) -> Self {
        Self { checks, last: tokio::sync::Mutex::default() }
    }

    /// The verdict, and whether it differs from the one before.
    pub(crate) async fn verdict(&self) -> (Verdict, bool) {
        let mut last = self.last.lock().await;
        if let Some((at, verdict)) = &*last
            && at.elapsed() < VERDICT_TIME
        {
            return (verdict.clone(), false);
        }
        let verdict = self.judge().await;
        let before = last.replace((Instant::now(), verdict.clone()));
        let was_ready = before.is_none_or(|(_, before)| before.ready);
        let is_news = was_ready != verdict.ready;
        (verdict, is_news)
    }

    async fn judge(&self) -> Verdict {
        let deadline = Instant::now() + CHECK_TIME;
        let mut verdict = Verdict { ready: true, failed: Vec::new(), problems: Vec::new() };
        for check in &self.checks {
            let problem = tokio::time::timeout_at(deadline, check.problem()).await;
            let problem = problem.unwrap_or_else(|_| Some("there is no answer".to_owned()));
            let Some(problem) = problem else { continue };
            verdict.ready = false;
            verdict.problems.push(format!("{}: {problem}", check.name()));
            if !verdict.failed.contains(&check.name()) {
                verdict.failed.push(check.name());
            }
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Fixed(&'static str, Option<&'static str>, Arc<AtomicUsize>);

    #[async_trait]
    impl HealthCheck for Fixed {
        fn name(&self) -> &'static str {
            self.0
        }

        async fn problem(&self) -> Option<String> {
            self.2.fetch_add(1, Ordering::Relaxed);
            match self.1 {
                Some("hangs") => std::future::pending().await,
                problem => problem.map(str::to_owned),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_fails_or_hangs_is_named_and_asked_about_once_a_second() {
        let asked = Arc::new(AtomicUsize::new(0));
        let check = |name, problem| -> Box<dyn HealthCheck> {
            Box::new(Fixed(name, problem, Arc::clone(&asked)))
        };
        let health = Health::new(vec![
            check("database", Some("secret host refused")),
            check("projects", None),
            check("disk", Some("hangs")),
        ]);
        let (verdict, is_news) = health.verdict().await;
        assert_eq!(
            serde_json::to_string(&verdict).unwrap(),
            r#"{"ready":false,"failed":["database","disk"]}"#
        );
        assert_eq!(verdict.problems, ["database: secret host refused", "disk: there is no answer"]);
        assert!(is_news);
        assert!(!health.verdict().await.1);
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        tokio::time::advance(VERDICT_TIME).await;
        assert!(!health.verdict().await.1);
        assert_eq!(asked.load(Ordering::Relaxed), 6);
    }
}
