//! What one purse has spent and holds, and the rule by which a request may draw on it.

use std::time::Duration;

use protocol::PauseReason;
use tokio::time::Instant;

use super::SharedBalance;
use crate::Prices;
use crate::budget::milliseconds;

/// An answer that may not be at least this long, or as long as was wanted, is not worth asking for.
const LEAST_ANSWER: u32 = 256;
/// How many times its estimate a request takes at most: a token has at least one byte, and the estimate
/// takes four bytes for a token.
pub(crate) const CAUTION: u64 = 4;

/// What a turn begins with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpeningBalance {
    pub(crate) spent: Spent,
    pub(crate) limits: PurseLimits,
    /// The user has just asked to go on: one request is sent in any case.
    pub(crate) granted: bool,
}

impl OpeningBalance {
    /// The same for work that no turn waits for.
    pub(crate) fn without_clock(mut self) -> Self {
        self.limits.wall_time = None;
        self
    }
}

/// What counts against the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
    /// Answers of this turn after which it went on, all those of sub-agents included.
    pub(crate) rounds: u32,
}

/// Where to stop, in the same units as [`Spent`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PurseLimits {
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) rounds: Option<u32>,
    /// From the beginning of the turn.
    pub(crate) wall_time: Option<Duration>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To continue the turn; without it, the turn pauses.
    Turn,
    /// To summarise what is left out; without it, the turn goes on.
    Summary,
}

/// What a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestNeed {
    pub(crate) purpose: Purpose,
    /// The tokens that it is thought to take, and what they are thought to cost.
    pub(crate) input: u64,
    pub(crate) input_cost: f64,
    /// The most tokens that are wanted of the answer.
    pub(crate) output: u32,
    pub(crate) prices: Option<Prices>,
}

/// What is kept back for a request under way: the most that it can take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Hold {
    pub(crate) tokens: u64,
    pub(crate) cost_usd: f64,
}

/// What a purse can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scarce {
    Tokens,
    Cost,
    Rounds,
    Time,
}

/// What an account can pay for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// The most tokens of the answer.
    pub(crate) output: u32,
    /// What is too scarce for the answer that was wanted.
    pub(crate) shrunk_by: Option<Scarce>,
}

/// Why a request cannot draw on an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountRefusal {
    /// Not while other requests hold as much as they do.
    Busy,
    /// Not at all.
    Out(Scarce),
}

/// What one purse has spent and holds.
#[derive(Debug, Default)]
pub(crate) struct Account {
    spent: Spent,
    limits: PurseLimits,
    held: Hold,
    under_way: u32,
    granted: bool,
    began: Option<Instant>,
    ran_out: Option<Scarce>,
}

impl RequestNeed {
    /// An answer of fewer tokens is not worth asking for.
    fn least_output(&self) -> u32 {
        self.output.min(LEAST_ANSWER)
    }

    /// The most that the request can take if its answer has at most `output` tokens.
    pub(crate) fn hold(&self, output: u32) -> Hold {
        let input = self.input.saturating_mul(CAUTION);
        let cost_usd = self.prices.map_or(0.0, |prices| {
            let dearest = prices.input.max(prices.cache_write).max(prices.cache_read);
            (input as f64 * dearest + f64::from(output) * prices.output) / 1e6
        });
        Hold { tokens: input.saturating_add(u64::from(output)), cost_usd }
    }
}

impl Account {
    /// Begins a turn. What is spent is never forgotten, and what is under way still settles.
    pub(crate) fn open(&mut self, opening: OpeningBalance) {
        let OpeningBalance { spent, limits, granted } = opening;
        self.spent = Spent {
            tokens: self.spent.tokens.max(spent.tokens),
            cost_usd: self.spent.cost_usd.max(spent.cost_usd),
            rounds: spent.rounds,
        };
        (self.limits, self.granted) = (limits, granted);
        (self.began, self.ran_out) = (Some(Instant::now()), None);
    }

    /// Counts what was spent by all, against what may be. What has run out before may be there again.
    pub(crate) fn share(&mut self, balance: Option<SharedBalance>) {
        self.limits.cost_usd = balance.map(|balance| balance.limit_usd);
        self.spent.cost_usd = balance.map_or(0.0, |balance| balance.spent_usd);
        self.ran_out = None;
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.began?.checked_add(self.limits.wall_time?)
    }

    /// Notes what has run out. That the time is up counts before all else: it stops what is under way.
    pub(crate) fn mark(&mut self, scarce: Scarce) {
        match scarce {
            Scarce::Time => self.ran_out = Some(Scarce::Time),
            scarce => _ = self.ran_out.get_or_insert(scarce),
        }
    }

    pub(crate) fn time_is_up(&self) -> Option<PauseReason> {
        (self.ran_out == Some(Scarce::Time)).then(|| self.reason(Scarce::Time))
    }

    pub(crate) fn ran_out(&self) -> Option<PauseReason> {
        self.ran_out.map(|scarce| self.reason(scarce))
    }

    #[cfg(test)]
    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }

    /// Whether there was one.
    pub(crate) fn use_grant(&mut self) -> bool {
        std::mem::take(&mut self.granted)
    }

    /// The request that used it took nothing.
    pub(crate) fn return_grant(&mut self) {
        self.granted = true;
    }

    pub(crate) fn hold(&mut self, hold: Hold) {
        self.held.tokens = self.held.tokens.saturating_add(hold.tokens);
        self.held.cost_usd += hold.cost_usd;
        self.under_way += 1;
    }

    pub(crate) fn release(&mut self, hold: Hold) {
        self.under_way = self.under_way.saturating_sub(1);
        self.held = match self.under_way {
            // No rounding error outlives the requests that made it.
            0 => Hold::default(),
            _ => Hold {
                tokens: self.held.tokens.saturating_sub(hold.tokens),
                cost_usd: self.held.cost_usd - hold.cost_usd,
            },
        };
    }

    pub(crate) fn spend(&mut self, spent: Spent) {
        self.spent.tokens = self.spent.tokens.saturating_add(spent.tokens);
        self.spent.cost_usd += spent.cost_usd;
        self.spent.rounds = self.spent.rounds.saturating_add(spent.rounds);
    }

    /// The most tokens of an answer that this account can pay, beside all that is under way. The
    /// account of whoever asks (`is_own`) may have a grant.
    pub(crate) fn offer(
        &self,
        need: &RequestNeed,
        is_own: bool,
        now: Instant,
    ) -> Result<Offer, AccountRefusal> {
        if let Some(scarce) = self.ran_out {
            return Err(AccountRefusal::Out(scarce));
        }
        if self.deadline().is_some_and(|deadline| now >= deadline) {
            return Err(AccountRefusal::Out(Scarce::Time));
        }
        match self.payable(need) {
            Err(AccountRefusal::Out(scarce))
                if is_own && self.granted && need.purpose == Purpose::Turn =>
            {
                Ok(Offer { output: need.least_output(), shrunk_by: Some(scarce) })
            }
            offered => offered,
        }
    }

    fn payable(&self, need: &RequestNeed) -> Result<Offer, AccountRefusal> {
        let rounds =
            self.limits.rounds.map_or(u32::MAX, |limit| limit.saturating_sub(self.spent.rounds));
        if rounds == 0 {
            return Err(AccountRefusal::Out(Scarce::Rounds));
        }
        let (by_tokens, by_cost) = (self.payable_tokens(need)?, self.payable_cost(need)?);
        let output = by_tokens.min(by_cost);
        let scarce = if by_tokens <= by_cost { Scarce::Tokens } else { Scarce::Cost };
        let full = need.hold(need.output);
        let fits_beside = rounds > self.under_way
            && self.limits.tokens.is_none_or(|limit| {
                let all = self.spent.tokens.saturating_add(self.held.tokens);
                all.saturating_add(full.tokens) <= limit
            })
            && self.limits.cost_usd.is_none_or(|limit| {
                self.spent.cost_usd + self.held.cost_usd + full.cost_usd <= limit
            });
        match self.under_way {
            0 => Ok(Offer { output, shrunk_by: (output < need.output).then_some(scarce) }),
            _ if fits_beside => Ok(Offer { output: need.output, shrunk_by: None }),
            _ => Err(AccountRefusal::Busy),
        }
    }

    /// The longest answer that the tokens suffice for, if nothing else is under way.
    fn payable_tokens(&self, need: &RequestNeed) -> Result<u32, AccountRefusal> {
        let Some(limit) = self.limits.tokens else { return Ok(need.output) };
        let left = limit.checked_sub(self.spent.tokens.saturating_add(need.input));
        let most = left.map(|left| u32::try_from(left).unwrap_or(u32::MAX).min(need.output));
        most.filter(|most| *most >= need.least_output()).ok_or(AccountRefusal::Out(Scarce::Tokens))
    }

    /// The longest answer that the money suffices for, if nothing else is under way. What has no
    /// price cannot be paid.
    fn payable_cost(&self, need: &RequestNeed) -> Result<u32, AccountRefusal> {
        let Some(limit) = self.limits.cost_usd else { return Ok(need.output) };
        let out = AccountRefusal::Out(Scarce::Cost);
        let prices = need.prices.ok_or(out)?;
        let left = limit - self.spent.cost_usd - need.input_cost;
        if left < 0.0 {
            return Err(out);
        }
        if prices.output <= 0.0 {
            return Ok(need.output);
        }
        // A conversion from a large number ends at the largest.
        let most = ((left * 1e6 / prices.output).floor() as u32).min(need.output);
        if most < need.least_output() { Err(out) } else { Ok(most) }
    }

    /// The figures of what has run out.
    pub(crate) fn reason(&self, scarce: Scarce) -> PauseReason {
        match scarce {
            Scarce::Tokens => PauseReason::TokenBudget {
                used: self.spent.tokens,
                limit: self.limits.tokens.unwrap_or_default(),
            },
            Scarce::Cost => PauseReason::CostBudget {
                used: self.spent.cost_usd,
                limit: self.limits.cost_usd.unwrap_or_default(),
            },
            Scarce::Rounds => PauseReason::TurnLimit { turns: self.spent.rounds },
            Scarce::Time => PauseReason::TimeBudget {
                used_ms: self.began.map_or(0, |began| milliseconds(began.elapsed())),
                limit_ms: self.limits.wall_time.map_or(0, milliseconds),
            },
        }
    }
}
