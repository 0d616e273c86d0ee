//! Statistics of logs that no clock and no provider has made sense of.

use protocol::{ModelErrorKind, SessionEvent, Usage};
use store::{PostgresOptions, StatsFilter, Store};

use crate::events::{answers, done, opened, says};
use crate::stage::{PROJECT, on_both, replica_with};

const HOUR_MS: i64 = 60 * 60 * 1000;

fn failed(output: u64, cost_usd: f64) -> SessionEvent {
    SessionEvent::ModelFailed {
        kind: ModelErrorKind::Cancelled,
        message: "interrupted".into(),
        retry_in_ms: None,
        usage: Usage { output, ..Usage::default() },
        cost_usd: Some(cost_usd),
    }
}

on_both! {
    async fn an_answer_that_was_broken_off_is_paid_too(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        store.append(&id, vec![says("do"), answers(&[]), failed(7, 1.5), done()]).await.unwrap();
        let stats = store.stats(&StatsFilter::default()).await.unwrap();
        let listed = store.info(&id).await.unwrap().unwrap();
        assert_eq!(stats.sessions[0].cost_usd, Some(1.75));
        assert_eq!((stats.sessions[0].usage, stats.sessions[0].cost_usd), (listed.usage, listed.cost_usd));
        let model = &stats.models[0];
        assert_eq!((model.answers, model.failures, model.cost_usd), (1, 1, Some(1.75)));
        assert_eq!(store.spent(&StatsFilter::default()).await.unwrap()[0].usd, 1.75);
        let days = store.days(&store::DaysFilter::default()).await.unwrap();
        assert_eq!((days[0].all.cost_usd, days[0].models["small"].cost_usd), (Some(1.75), Some(1.75)));
    }
}

on_both! {
    async fn costs_that_are_too_large_to_be_added_stop_no_statistics(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        store.append(&id, vec![says("do"), failed(1, 1e308), done()]).await.unwrap();
        let text = store.export(&id).await.unwrap();
        // Logs come from elsewhere too.
        store.import(&text).await.unwrap();
        let stats = store.stats(&StatsFilter::default()).await.unwrap();
        assert_eq!(stats.sessions.len(), 2);
        assert!(stats.models[0].cost_usd.is_some_and(|cost| cost.is_finite() && cost > 1e6));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_clock_that_is_ahead_has_written_is_not_lost_by_one_that_is_behind() {
    let Some(server) = testkit::Postgres::shared() else { return };
    let database = server.database();
    let now = 1_800_000_000_000;
    let with = |name: &str, clock: i64| {
        replica_with(PostgresOptions::new(database.url(), name).with_clock(move || clock))
    };
    let (ahead, behind) = (with("ahead", now + 2 * HOUR_MS).await, with("behind", now).await);
    let id = ahead.store(PROJECT).create(&opened()).await.unwrap();
    ahead.store(PROJECT).append(&id, vec![says("do"), answers(&[]), done()]).await.unwrap();
    // Another replica takes the session up, whose clock is behind.
    let store = behind.store(PROJECT);
    store.append(&id, vec![says("more"), answers(&[]), done()]).await.unwrap();
    let since = StatsFilter { sessions: None, since: Some(now + HOUR_MS) };
    let stats = store.stats(&since).await.unwrap();
    assert_eq!(stats.sessions.iter().map(|it| it.turns).sum::<u64>(), 1);
    assert_eq!(store.spent(&since).await.unwrap()[0].usd, 0.25);
    assert_eq!(store.spent(&StatsFilter::default()).await.unwrap()[0].usd, 0.5);
}
