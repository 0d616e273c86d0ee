//! What a session and all its sub-agents may use: one purse, from which every request draws before it
//! is sent and into which it settles what it really took.
//!
//! A sub-agent has a purse of its own, with narrower limits, that draws on its parent's. Nothing is
//! held while tools run, so an agent that waits for its sub-agents never keeps them from asking.

mod account;
mod reservation;
mod shared_budget;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::PauseReason;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::LogError;
use account::{Account, AccountRefusal, Offer, Scarce};
pub(crate) use account::{CAUTION, OpeningBalance, Purpose, PurseLimits, RequestNeed, Spent};
pub(crate) use reservation::{Receipt, Reservation};
pub use shared_budget::{SharedBalance, SharedBudget};

/// A purse: limits, what is spent, and what requests under way may still spend.
#[derive(Debug, Default)]
pub struct Purse {
    account: Mutex<Account>,
    parent: Option<Arc<Purse>>,
    /// Told whenever a request has settled; shared by all purses that draw on each other.
    settled: Arc<Notify>,
    /// Where the limit is read before each request, because others spend from it too.
    shared: Option<Arc<dyn SharedBudget>>,
}

/// Why a request is not sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refused {
    /// A limit of this purse, or of one that it draws on, would be exceeded.
    RanOut(PauseReason),
    /// The turn was cancelled while it waited for others to settle.
    Cancelled,
    /// What is left of a shared budget is not known.
    Unknown(LogError),
}

impl Purse {
    /// A purse without limits; each turn brings its own.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// A purse that draws on a budget that others spend too.
    pub fn drawing_on(budget: Arc<dyn SharedBudget>) -> Arc<Self> {
        Arc::new(Self { shared: Some(budget), ..Self::default() }).for_sub_agent()
    }

    /// A purse that draws on this one.
    pub fn for_sub_agent(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            account: Mutex::default(),
            parent: Some(Arc::clone(self)),
            settled: Arc::clone(&self.settled),
            shared: None,
        })
    }

    /// What this purse, or one that it draws on, has run out of in this turn. Whoever draws on it does
    /// not go on, however small the next request is.
    pub fn ran_out(&self) -> Option<PauseReason> {
        self.chain().find_map(|purse| purse.lock().ran_out())
    }

    /// Begins a turn.
    pub(crate) fn open(&self, opening: OpeningBalance) {
        self.lock().open(opening);
    }

    /// Fires `stop` at the deadline of the turn. Everything under way then learns from
    /// [`Purse::time_is_up`] that it was not the user.
    pub(crate) fn watch(self: &Arc<Self>, stop: &CancellationToken) -> Option<Clock> {
        let deadline = self.lock().deadline()?;
        let (purse, stop) = (Arc::clone(self), stop.clone());
        Some(Clock(tokio::spawn(async move {
            sleep_until(deadline).await;
            purse.lock().mark(Scarce::Time);
            stop.cancel();
        })))
    }

    /// The reason to pause if the deadline has passed, here or in a purse that this one draws on.
    pub(crate) fn time_is_up(&self) -> Option<PauseReason> {
        self.chain().find_map(|purse| purse.lock().time_is_up())
    }

    /// An answer was cut where this limit is, so there is nothing left of it.
    pub(crate) fn exhaust(&self, binding_limit: BindingLimit) -> Option<PauseReason> {
        let purse = self.chain().nth(binding_limit.at)?;
        let mut account = purse.lock();
        account.mark(binding_limit.scarce);
        account.ran_out()
    }

    /// What is missing for a request, if it is known now that it will not be sent. What is left of a shared budget is
    /// not known before it is read.
    pub(crate) fn lacks(&self, need: &RequestNeed) -> Option<PauseReason> {
        let own = self.chain().filter(|purse| purse.shared.is_none());
        let mut accounts: Vec<_> = own.map(Purse::lock).collect();
        match offer(&accounts, need) {
            Err((at, AccountRefusal::Out(scarce))) => Some(refuse(&mut accounts[at], scarce, need)),
            _ => None,
        }
    }

    /// Holds what a request needs. Waits as long as it lacks only what others may give back.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        need: &RequestNeed,
        cancel: &CancellationToken,
    ) -> Result<Reservation, Refused> {
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Refused::Cancelled),
                read = self.read_shared() => read.map_err(Refused::Unknown)?,
            }
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // From here on nothing that settles is missed.
            settled.as_mut().enable();
            if let Some(decided) = self.try_reserve(need) {
                return decided.map_err(Refused::RanOut);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Refused::Cancelled),
                () = settled => {}
            }
        }
    }

    /// Reads what is left of a shared budget, if this purse draws on one.
    async fn read_shared(&self) -> Result<(), LogError> {
        for purse in self.chain() {
            if let Some(shared) = &purse.shared {
                let balance = shared.balance().await?;
                purse.lock().share(balance);
            }
        }
        Ok(())
    }

    /// Nothing if it depends on requests that are under way.
    fn try_reserve(
        self: &Arc<Self>,
        need: &RequestNeed,
    ) -> Option<Result<Reservation, PauseReason>> {
        let mut accounts = self.accounts();
        match offer(&accounts, need) {
            Err((_, AccountRefusal::Busy)) => None,
            Err((at, AccountRefusal::Out(scarce))) => {
                Some(Err(refuse(&mut accounts[at], scarce, need)))
            }
            Ok((output, binding_limit)) => {
                let hold = need.hold(output);
                accounts.iter_mut().for_each(|account| account.hold(hold));
                let granted = need.purpose == Purpose::Turn && accounts[0].use_grant();
                drop(accounts);
                Some(Ok(Reservation::new(Arc::clone(self), hold, output, binding_limit, granted)))
            }
        }
    }

    /// This purse and all that it draws on, from the inside out.
    fn chain(&self) -> impl Iterator<Item = &Purse> {
        std::iter::successors(Some(self), |purse| purse.parent.as_deref())
    }

    /// The accounts of the chain. They are always locked in this order, so there is no deadlock.
    fn accounts(&self) -> Vec<MutexGuard<'_, Account>> {
        self.chain().map(Purse::lock).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A limit that a request is close to: which account of the chain, and what of it is scarce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BindingLimit {
    at: usize,
    scarce: Scarce,
}

/// The most tokens of an answer that all accounts can pay, and which of them keeps it from being
/// longer; or which of them cannot pay and why. One that never can counts before one that cannot now.
fn offer(
    accounts: &[MutexGuard<'_, Account>],
    need: &RequestNeed,
) -> Result<(u32, Option<BindingLimit>), (usize, AccountRefusal)> {
    let now = Instant::now();
    let mut best = (need.output, None);
    let mut busy = None;
    for (at, account) in accounts.iter().enumerate() {
        match account.offer(need, at == 0, now) {
            Ok(Offer { output, shrunk_by: Some(scarce) }) if output < best.0 => {
                best = (output, Some(BindingLimit { at, scarce }));
            }
            Ok(_) => {}
            Err(AccountRefusal::Busy) => busy = busy.or(Some((at, AccountRefusal::Busy))),
            Err(out) => return Err((at, out)),
        }
    }
    busy.map_or(Ok(best), Err)
}

/// Notes what a turn could not have, so that no other agent that shares it goes on. A summary can be done without.
fn refuse(account: &mut Account, scarce: Scarce, need: &RequestNeed) -> PauseReason {
    if need.purpose == Purpose::Turn {
        account.mark(scarce);
    }
    account.reason(scarce)
}

/// Watches a deadline until it is dropped.
pub(crate) struct Clock(JoinHandle<()>);

impl Drop for Clock {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests;
