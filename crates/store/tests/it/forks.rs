//! What sessions have in common counts once, and is paid once, however they are forked and deleted.

use std::collections::{BTreeMap, BTreeSet};

use protocol::SessionEvent;
use store::{DecisionFilter, SessionCost, SessionId, StatsFilter, Store, StoreError};

use crate::events::{answers, approval, asks_to_write, done, opened, says, yes};
use crate::history::random::Random;
use crate::stage::on_both;

/// Steps of one history.
const STEPS: usize = 60;
const SEEDS: u64 = 4;
/// Sessions at a time: few, so that forks are made of forks, and what is between them goes.
const MOST: usize = 5;

/// A turn of which one thing is counted.
fn turn() -> Vec<SessionEvent> {
    vec![says("again"), done()]
}

/// For each session the turns that are in its log, as numbers that no other turn has.
#[derive(Default)]
struct Model {
    turns: BTreeMap<SessionId, Vec<usize>>,
    last: usize,
}

impl Model {
    fn says(&mut self, id: &SessionId) {
        self.last += 1;
        self.turns.get_mut(id).unwrap().push(self.last);
    }

    /// All turns that are in any log.
    fn distinct(&self) -> u64 {
        self.turns.values().flatten().collect::<BTreeSet<_>>().len() as u64
    }

    fn any(&self, random: &mut Random) -> Option<SessionId> {
        let at = random.below(self.turns.len().max(1) as u64) as usize;
        self.turns.keys().nth(at).cloned()
    }
}

async fn counted(store: &dyn Store) -> u64 {
    let stats = store.stats(&StatsFilter::default()).await.unwrap();
    stats.sessions.iter().map(|session| session.turns).sum()
}

async fn step(store: &dyn Store, model: &mut Model, random: &mut Random) {
    let kind = if model.turns.len() < MOST { random.below(7) } else { 6 };
    match (kind, model.any(random)) {
        (_, None) => {
            let id = store.create(&opened()).await.unwrap();
            model.turns.insert(id, Vec::new());
        }
        (0..=2, Some(id)) => {
            store.append(&id, turn()).await.unwrap();
            model.says(&id);
        }
        (3..=5, Some(id)) => {
            let has = model.turns[&id].clone();
            let keeps = random.below(has.len() as u64 + 1);
            // After the opening each turn has two entries.
            let fork = store.fork(&id, Some(1 + 2 * keeps)).await.unwrap();
            model.turns.insert(fork, has[..keeps as usize].to_vec());
        }
        (_, Some(id)) => {
            store.delete(&id).await.unwrap();
            model.turns.remove(&id);
        }
    }
}

on_both! {
    async fn whatever_is_forked_and_deleted_counts_once(stage) {
        for seed in 0..SEEDS {
            let store = stage.open().await;
            let (mut model, mut random) = (Model::default(), Random::new(seed));
            let others = counted(&*store).await;
            for number in 0..STEPS {
                step(&*store, &mut model, &mut random).await;
                let now = counted(&*store).await - others;
                assert_eq!(now, model.distinct(), "seed {seed}, step {number}");
            }
        }
    }
}

on_both! {
    async fn a_fork_of_a_fork_counts_nothing_twice_when_the_one_between_goes(stage) {
        let store = stage.open().await;
        let origin = store.create(&opened()).await.unwrap();
        store.append(&origin, turn()).await.unwrap();
        let between = store.fork(&origin, None).await.unwrap();
        store.append(&between, turn()).await.unwrap();
        let last = store.fork(&between, None).await.unwrap();
        assert_eq!(counted(&*store).await, 2);
        store.delete(&between).await.unwrap();
        assert_eq!(counted(&*store).await, 2, "{last}");
        store.delete(&origin).await.unwrap();
        assert_eq!(counted(&*store).await, 2);
    }
}

fn spent(session: &SessionId, usd: f64) -> SessionCost {
    SessionCost { session: session.clone(), usd }
}

on_both! {
    async fn what_a_fork_inherits_was_paid_by_the_session_that_is_gone(stage) {
        let store = stage.open().await;
        let origin = store.create(&opened()).await.unwrap();
        store.append(&origin, vec![says("do"), answers(&[]), done()]).await.unwrap();
        let fork = store.fork(&origin, None).await.unwrap();
        let all = StatsFilter::default();
        assert_eq!(store.spent(&all).await.unwrap(), [spent(&origin, 0.25)]);
        store.append(&fork, vec![says("do"), answers(&[]), answers(&[]), done()]).await.unwrap();
        let only = StatsFilter { sessions: Some(vec![origin.clone()]), since: None };
        assert_eq!(store.spent(&only).await.unwrap(), [spent(&origin, 0.25)]);
        store.delete(&origin).await.unwrap();
        assert_eq!(store.spent(&all).await.unwrap(), [spent(&fork, 0.5)]);
        let stats = store.stats(&all).await.unwrap();
        assert_eq!(stats.sessions[0].cost_usd, Some(0.75), "it is shown there all the same");
        let late = StatsFilter { sessions: None, since: Some(i64::MAX) };
        assert_eq!(store.spent(&late).await.unwrap(), []);
    }
}

fn decided(id: &str) -> Vec<SessionEvent> {
    vec![says("edit"), asks_to_write(id, "src/a.rs"), approval(id, yes()), done()]
}

on_both! {
    async fn answers_that_go_with_a_session_are_those_that_no_fork_has(stage) {
        let store = stage.open().await;
        let origin = store.create(&opened()).await.unwrap();
        store.append(&origin, decided("one")).await.unwrap();
        let fork = store.fork(&origin, None).await.unwrap();
        store.append(&origin, decided("two")).await.unwrap();
        let leaving = async |id: &SessionId| {
            let filter = DecisionFilter { leaving: Some(id.clone()), ..DecisionFilter::all(100) };
            let found = store.decisions(&filter).await.unwrap();
            found.into_iter().map(|it| it.sequence).collect::<Vec<_>>()
        };
        assert_eq!((leaving(&origin).await, leaving(&fork).await), (vec![8], vec![]));
        store.delete(&origin).await.unwrap();
        let left = store.decisions(&DecisionFilter::all(100)).await.unwrap();
        assert_eq!((left.len(), left[0].session == fork, left[0].sequence), (1, true, 4));
        assert_eq!(leaving(&fork).await, [4]);
    }
}

on_both! {
    async fn a_session_that_is_gone_is_not_forked(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        store.delete(&id).await.unwrap();
        let refused = store.fork(&id, None).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    }
}
