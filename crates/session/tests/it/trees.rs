//! Budgets over random trees of sub-agents.

use std::time::Duration;

use context_manager::Budget;
use proptest::prelude::*;
use protocol::{LogEntry, PauseReason, SessionEvent};
use session::{Session, TurnOutcome};
use testkit::model_server::WireFormat;

use crate::stage::{Scripted, Stage, send};
use crate::wire_model::WireModel;

/// What is limited, and to how much.
#[derive(Clone, Copy, Debug)]
enum Limited {
    Tokens(u64),
    Dollars(f64),
    Rounds(u32),
    Time,
}

impl Limited {
    fn budget(self) -> Budget {
        match self {
            Limited::Tokens(tokens) => Budget { tokens: Some(tokens), ..Budget::default() },
            Limited::Dollars(cost) => Budget { cost_usd: Some(cost), ..Budget::default() },
            Limited::Rounds(_) => Budget::default(),
            Limited::Time => {
                Budget { wall_time: Some(Duration::from_millis(40)), ..Budget::default() }
            }
        }
    }

    fn rounds(self) -> u32 {
        match self {
            Limited::Rounds(rounds) => rounds,
            _ => 100_000,
        }
    }

    /// Whether this is the pause that the limit leads to.
    fn is_reached(self, outcome: &TurnOutcome) -> bool {
        let TurnOutcome::Paused(reason) = outcome else { return false };
        matches!(
            (self, reason),
            (Limited::Tokens(_), PauseReason::TokenBudget { .. })
                | (Limited::Dollars(_), PauseReason::CostBudget { .. })
                | (Limited::Rounds(_), PauseReason::TurnLimit { .. })
                | (Limited::Time, PauseReason::TimeBudget { .. })
        )
    }
}

fn any_limit() -> impl Strategy<Value = Limited> {
    prop_oneof![
        4 => (1_000_u64..150_000).prop_map(Limited::Tokens),
        4 => (0.001_f64..0.5).prop_map(Limited::Dollars),
        2 => (1_u32..25).prop_map(Limited::Rounds),
        1 => Just(Limited::Time),
    ]
}

fn any_format() -> impl Strategy<Value = WireFormat> {
    prop::sample::select(&WireFormat::ALL[..])
}

/// What each request has used, in tokens and dollars, as the log tells it.
fn requests(log: &[LogEntry]) -> Vec<(u64, f64)> {
    let spent = log.iter().filter_map(|entry| entry.event.spent());
    let spent = spent.map(|(usage, cost)| (usage.total(), cost.unwrap_or_default()));
    spent.filter(|(tokens, _)| *tokens > 0).collect()
}

fn answers(log: &[LogEntry]) -> usize {
    fn is_answer(event: &SessionEvent) -> bool {
        match event {
            SessionEvent::Nested { entry, .. } => is_answer(&entry.event),
            event => matches!(event, SessionEvent::ModelAnswered(_)),
        }
    }
    log.iter().filter(|entry| is_answer(&entry.event)).count()
}

/// Nothing is over the limit but at most one request.
fn assert_kept(limited: Limited, log: &[LogEntry]) {
    let requests = requests(log);
    let tokens: u64 = requests.iter().map(|(tokens, _)| tokens).sum();
    let dollars: f64 = requests.iter().map(|(_, dollars)| dollars).sum();
    match limited {
        Limited::Tokens(limit) => {
            let largest = requests.iter().map(|(tokens, _)| *tokens).max().unwrap_or(0);
            assert!(tokens <= limit + largest, "{tokens} of {limit}, one takes {largest}");
        }
        Limited::Dollars(limit) => {
            let largest = requests.iter().map(|(_, dollars)| *dollars).fold(0.0, f64::max);
            assert!(dollars <= limit + largest, "{dollars} of {limit}, one takes {largest}");
        }
        Limited::Rounds(limit) => {
            let answers = answers(log);
            assert!(answers <= limit as usize, "{answers} answers, {limit} rounds");
        }
        Limited::Time => {}
    }
}

async fn plays_out(format: WireFormat, tape: Vec<u8>, limited: Limited) {
    let model = WireModel::new(format, tape, matches!(limited, Limited::Time));
    let mut stage = Stage::new(&Scripted::new("unused", [])).await;
    stage.parts.model = model.model();
    stage.parts.budget = limited.budget();
    stage.parts.turn_limit = limited.rounds();
    let mut session = stage.begin().await;
    let outcome = send(&mut session, "Go on for ever").await;
    assert!(limited.is_reached(&outcome), "{outcome:?}");
    let log = stage.log(&session).await;
    assert_kept(limited, &log);
    let used: u64 = requests(&log).iter().map(|(tokens, _)| tokens).sum();
    if !matches!(limited, Limited::Time) {
        // The clock may cut a stream before it has said what it announces.
        assert!(used >= model.announced(), "{used} of {} are written down", model.announced());
        assert_eq!(session.context().usage().total(), used);
    }

    // A process that resumes the session finds what is left of its budget.
    let id = session.id().clone();
    session.close().await;
    let (mut session, damage) = Session::resume(stage.parts.clone(), id).await.unwrap();
    assert_eq!(damage, Vec::<String>::new());
    assert!(session.context().usage().total() >= used);
    let before = model.requests();
    let outcome = send(&mut session, "And more").await;
    assert!(limited.is_reached(&outcome), "{outcome:?}");
    if let Limited::Tokens(_) | Limited::Dollars(_) = limited {
        assert_kept(limited, &stage.log(&session).await);
    }
    if matches!(limited, Limited::Tokens(limit) if used >= limit) {
        assert_eq!(model.requests(), before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 20, ..ProptestConfig::default() })]
    #[test]
    fn no_tree_of_sub_agents_overruns_a_budget_by_more_than_one_request(
        format in any_format(),
        tape in prop::collection::vec(any::<u8>(), 16..200),
        limited in any_limit(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(plays_out(format, tape, limited));
    }
}

/// The same from several threads, where requests really are under way at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_several_threads_no_tree_overruns_a_budget_either() {
    for (seed, format) in (1_u8..).zip(WireFormat::ALL) {
        let tape: Vec<u8> = (0..97_u8).map(|at| at.wrapping_mul(seed * 7 + 4)).collect();
        plays_out(format, tape, Limited::Tokens(60_000)).await;
    }
}
