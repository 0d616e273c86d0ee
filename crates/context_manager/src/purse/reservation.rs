//! What a request holds of a purse while it is under way.

use std::sync::Arc;

use protocol::Usage;

use super::account::{Hold, Spent};
use super::{BindingLimit, Purse};
use crate::Prices;

/// What was used and what it cost, as the log tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Receipt {
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
}

impl Receipt {
    pub(crate) fn new(usage: Usage, prices: Option<Prices>) -> Self {
        let cost_usd = prices.filter(|_| !usage.is_zero()).map(|prices| prices.cost(&usage));
        Self { usage, cost_usd }
    }

    fn spent(self) -> Spent {
        Spent { tokens: self.usage.total(), cost_usd: self.cost_usd.unwrap_or_default(), rounds: 0 }
    }
}

impl std::ops::AddAssign for Receipt {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        if let Some(cost) = other.cost_usd {
            *self.cost_usd.get_or_insert(0.0) += cost;
        }
    }
}

/// What a request holds. Dropped without being settled, it pays what was noted last.
#[derive(Debug)]
pub(crate) struct Reservation {
    purse: Arc<Purse>,
    hold: Hold,
    answer_limit: u32,
    binding_limit: Option<BindingLimit>,
    /// It is the one request that the user has granted by letting the turn go on.
    granted: bool,
    so_far: Receipt,
    /// A whole answer came, and whether its turn goes on after it.
    answered: Option<bool>,
}

impl Reservation {
    pub(super) fn new(
        purse: Arc<Purse>,
        hold: Hold,
        answer_limit: u32,
        binding_limit: Option<BindingLimit>,
        granted: bool,
    ) -> Self {
        let so_far = Receipt::default();
        Self { purse, hold, answer_limit, binding_limit, granted, so_far, answered: None }
    }

    /// The most tokens that the answer may have.
    pub(crate) fn answer_limit(&self) -> u32 {
        self.answer_limit
    }

    /// The limit that keeps the answer from being longer, if it is one of the purse.
    pub(crate) fn binding_limit(&self) -> Option<BindingLimit> {
        self.binding_limit
    }

    /// The request is under way and has used this much by now.
    pub(crate) fn note(&mut self, receipt: Receipt) {
        self.so_far = receipt;
    }

    /// A whole answer has come.
    pub(crate) fn answered(mut self, receipt: Receipt, goes_on: bool) {
        (self.so_far, self.answered) = (receipt, Some(goes_on));
    }

    /// The request is over, and has taken what was noted last.
    pub(crate) fn settle(self) -> Receipt {
        self.so_far
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        for (at, account) in self.purse.accounts().iter_mut().enumerate() {
            account.release(self.hold);
            if at == 0 && self.granted && self.answered.is_none() && self.so_far.usage.is_zero() {
                // A refusal is free, and the next attempt may be made all the same.
                account.return_grant();
            }
            // The end of a sub-agent is not the end of the turn it belongs to.
            let is_round = self.answered.is_some_and(|goes_on| goes_on || at > 0);
            account.spend(Spent { rounds: u32::from(is_round), ..self.so_far.spent() });
        }
        self.purse.settled.notify_waiters();
    }
}
