use std::time::Duration;

use protocol::Usage;
use tokio::task::yield_now;

use super::*;
use crate::Prices;

const PRICES: Prices = Prices { input: 1.0, output: 10.0, cache_read: 0.1, cache_write: 1.25 };

fn need(input: u64, output: u32) -> RequestNeed {
    let input_cost = input as f64 / 1e6;
    RequestNeed { purpose: Purpose::Turn, input, input_cost, output, prices: Some(PRICES) }
}

fn purse(limits: PurseLimits, spent: Spent) -> Arc<Purse> {
    let purse = Purse::new();
    purse.open(OpeningBalance { spent, limits, granted: false });
    purse
}

fn tokens(limit: u64) -> Arc<Purse> {
    purse(PurseLimits { tokens: Some(limit), ..PurseLimits::default() }, Spent::default())
}

fn receipt(output: u64) -> Receipt {
    Receipt::new(Usage { output, ..Usage::default() }, Some(PRICES))
}

/// What is decided at once; nothing if it depends on others.
fn at_once(purse: &Arc<Purse>, need: &RequestNeed) -> Option<Result<Reservation, PauseReason>> {
    purse.try_reserve(need)
}

fn answer_limit(purse: &Arc<Purse>, need: &RequestNeed) -> Option<u32> {
    at_once(purse, need)?.ok().map(|reservation| reservation.answer_limit())
}

#[test]
fn an_answer_is_as_long_as_can_be_paid_and_not_asked_for_if_that_is_too_short() {
    let spent = Spent { tokens: 1_000, cost_usd: 1.0, rounds: 0 };
    let table = [
        (PurseLimits::default(), Some(8_000)),
        (PurseLimits { tokens: Some(20_000), ..PurseLimits::default() }, Some(8_000)),
        (PurseLimits { tokens: Some(3_500), ..PurseLimits::default() }, Some(500)),
        (PurseLimits { tokens: Some(3_256), ..PurseLimits::default() }, Some(256)),
        (PurseLimits { tokens: Some(3_255), ..PurseLimits::default() }, None),
        (PurseLimits { cost_usd: Some(1.012_055), ..PurseLimits::default() }, Some(1_005)),
        (PurseLimits { cost_usd: Some(1.003), ..PurseLimits::default() }, None),
        (PurseLimits { rounds: Some(1), ..PurseLimits::default() }, Some(8_000)),
        (PurseLimits { rounds: Some(0), ..PurseLimits::default() }, None),
    ];
    for (limits, expected) in table {
        assert_eq!(
            answer_limit(&purse(limits, spent), &need(2_000, 8_000)),
            expected,
            "{limits:?}"
        );
    }
    // Short answers may be wanted.
    assert_eq!(answer_limit(&tokens(2_010), &need(2_000, 10)), Some(10));
}

#[test]
fn what_has_run_out_has_run_out_for_all_who_share_it() {
    let session = tokens(5_000);
    let child = session.for_sub_agent();
    assert!(at_once(&child, &need(6_000, 500)).unwrap().is_err());
    let out = PauseReason::TokenBudget { used: 0, limit: 5_000 };
    assert_eq!((child.ran_out(), session.ran_out()), (Some(out.clone()), Some(out)));
    assert!(at_once(&session, &need(10, 500)).unwrap().is_err(), "it would fit, but it is over");
    session.open(OpeningBalance::default());
    assert!(at_once(&session, &need(10, 500)).unwrap().is_ok());
}

#[test]
fn the_limit_of_a_sub_agent_is_its_own() {
    let session = tokens(100_000);
    let child = session.for_sub_agent();
    let limits = PurseLimits { tokens: Some(1_000), ..PurseLimits::default() };
    child.open(OpeningBalance { limits, ..OpeningBalance::default() });
    assert!(at_once(&child, &need(2_000, 500)).unwrap().is_err());
    assert!(child.ran_out().is_some() && session.ran_out().is_none());
    assert!(at_once(&session, &need(2_000, 500)).unwrap().is_ok());
}

#[test]
fn what_sub_agents_spend_counts_at_every_depth_and_each_of_their_answers_is_a_round() {
    let session = tokens(1_000_000);
    let child = session.for_sub_agent();
    let grandchild = child.for_sub_agent();
    at_once(&grandchild, &need(10, 500)).unwrap().unwrap().answered(receipt(70), false);
    let spent = [&session, &child, &grandchild].map(|purse| purse.lock().spent());
    let figures = spent.map(|spent| (spent.tokens, spent.rounds));
    assert_eq!(figures, [(70, 1), (70, 1), (70, 0)]);
    assert!((spent[0].cost_usd - 0.0007).abs() < 1e-12);
}

#[test]
fn a_reservation_that_is_dropped_pays_what_was_noted() {
    let session = tokens(1_000_000);
    drop(at_once(&session, &need(10, 500)).unwrap().unwrap());
    assert_eq!(session.lock().spent().tokens, 0, "nothing was sent");
    let mut reservation = at_once(&session, &need(10, 500)).unwrap().unwrap();
    reservation.note(receipt(33));
    drop(reservation);
    assert_eq!(session.lock().spent().tokens, 33);
}

#[test]
fn beside_others_a_request_needs_room_for_the_most_that_all_of_them_can_take() {
    // The first may take 4 × 1000 + 500 tokens.
    let session = tokens(9_000);
    let first = at_once(&session, &need(1_000, 500)).unwrap().unwrap();
    let second = at_once(&session, &need(1_000, 500)).unwrap().unwrap();
    assert!(at_once(&session, &need(1_000, 500)).is_none(), "it waits");
    assert!(at_once(&session, &need(9_000, 500)).unwrap().is_err(), "it never fits");
    drop((first, second));
}

#[test]
fn no_more_requests_are_under_way_than_rounds_are_left() {
    let session =
        purse(PurseLimits { rounds: Some(2), ..PurseLimits::default() }, Spent::default());
    let first = at_once(&session, &need(10, 500)).unwrap().unwrap();
    let second = at_once(&session, &need(10, 500)).unwrap().unwrap();
    assert!(at_once(&session, &need(10, 500)).is_none());
    first.answered(receipt(1), true);
    second.answered(receipt(1), true);
    let out = at_once(&session, &need(10, 500)).unwrap().unwrap_err();
    assert_eq!(out, PauseReason::TurnLimit { turns: 2 });
}

#[test]
fn a_summary_that_cannot_be_paid_stops_no_turn_and_uses_no_grant() {
    let session = tokens(1_000);
    let summary = RequestNeed { purpose: Purpose::Summary, ..need(2_000, 500) };
    assert!(at_once(&session, &summary).unwrap().is_err());
    assert_eq!(session.ran_out(), None);
    let limits = PurseLimits { tokens: Some(1_000), ..PurseLimits::default() };
    session.open(OpeningBalance { limits, granted: true, ..OpeningBalance::default() });
    assert!(at_once(&session, &summary).unwrap().is_err());
    assert_eq!(answer_limit(&session, &need(2_000, 500)), Some(256), "one request in any case");
    let mut again = at_once(&session, &need(2_000, 500)).unwrap().expect("the first one was free");
    again.note(receipt(100));
    drop(again);
    assert_eq!(answer_limit(&session, &need(2_000, 500)), None);
}

#[tokio::test]
async fn whoever_waits_goes_on_when_others_have_settled() {
    let session = tokens(6_000);
    let child = session.for_sub_agent();
    let first = at_once(&session, &need(1_000, 500)).unwrap().unwrap();
    let waiting =
        tokio::spawn(
            async move { child.reserve(&need(1_000, 500), &CancellationToken::new()).await },
        );
    yield_now().await;
    assert!(!waiting.is_finished());
    first.answered(receipt(100), true);
    assert_eq!(waiting.await.unwrap().unwrap().answer_limit(), 500);
}

#[tokio::test]
async fn whoever_waits_can_be_cancelled() {
    let session = tokens(6_000);
    let _first = at_once(&session, &need(1_000, 500)).unwrap().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let refused = session.reserve(&need(1_000, 500), &cancel).await.unwrap_err();
    assert_eq!(refused, Refused::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn the_clock_stops_all_who_share_the_purse_at_the_deadline() {
    let wall_time = Some(Duration::from_secs(5));
    let session = purse(PurseLimits { wall_time, ..PurseLimits::default() }, Spent::default());
    let child = session.for_sub_agent();
    let stop = CancellationToken::new();
    let _clock = session.watch(&stop);
    stop.cancelled().await;
    let out = PauseReason::TimeBudget { used_ms: 5_000, limit_ms: 5_000 };
    assert_eq!(child.time_is_up(), Some(out));
    assert!(at_once(&child, &need(1, 1)).unwrap().is_err());
    // Another turn has another clock.
    session.open(OpeningBalance::default());
    assert_eq!((child.time_is_up(), session.watch(&stop).is_some()), (None, false));
}

#[tokio::test(start_paused = true)]
async fn that_the_time_is_up_is_seen_although_something_else_had_run_out() {
    let limits = PurseLimits {
        tokens: Some(100),
        wall_time: Some(Duration::from_secs(5)),
        ..PurseLimits::default()
    };
    let session = purse(limits, Spent::default());
    let child = session.for_sub_agent();
    child.open(OpeningBalance {
        limits: PurseLimits { wall_time: None, ..limits },
        ..OpeningBalance::default()
    });
    for purse in [&child, &session] {
        assert!(matches!(purse.lacks(&need(1_000, 500)), Some(PauseReason::TokenBudget { .. })));
    }
    let stop = CancellationToken::new();
    let _clock = session.watch(&stop);
    stop.cancelled().await;
    assert!(child.time_is_up().is_some() && session.time_is_up().is_some());
}

/// What two sessions spend.
#[derive(Debug, Default)]
struct SharedDollars(Mutex<Option<SharedBalance>>);

impl SharedDollars {
    fn is(&self, spent_usd: f64, limit_usd: f64) {
        *self.0.lock().unwrap() = Some(SharedBalance { spent_usd, limit_usd });
    }
}

#[async_trait::async_trait]
impl SharedBudget for SharedDollars {
    async fn balance(&self) -> Result<Option<SharedBalance>, LogError> {
        Ok(*self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn a_shared_budget_is_read_before_each_request() {
    let dollars = Arc::new(SharedDollars::default());
    let session = Purse::drawing_on(dollars.clone());
    let child = session.for_sub_agent();
    let (cancel, need) = (CancellationToken::new(), need(1_000, 1_000));
    session.open(OpeningBalance { granted: true, ..OpeningBalance::default() });
    // Without a limit everything is paid.
    assert!(session.reserve(&need, &cancel).await.is_ok());
    for purse in [&session, &child] {
        dollars.is(1.0, 2.0);
        assert!(purse.reserve(&need, &cancel).await.is_ok());
        // Others have spent the rest; that the user lets the turn go on does not change that.
        dollars.is(2.0, 2.0);
        let refused = purse.reserve(&need, &cancel).await;
        let reason = PauseReason::CostBudget { used: 2.0, limit: 2.0 };
        assert!(matches!(&refused, Err(Refused::RanOut(why)) if *why == reason), "{refused:?}");
        assert_eq!(purse.lacks(&need), None, "it may be there again");
    }
    dollars.is(0.0, 2.0);
    assert!(session.reserve(&need, &cancel).await.is_ok());
}
