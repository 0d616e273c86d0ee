//! What a session has used, what it may use, and how large its next request will be.

use std::time::Duration;

use protocol::{ModelAnswer, PauseReason, SessionEvent, Usage};

use crate::AgentOptions;
use crate::answer::goes_on;
use crate::purse::{CAUTION, OpeningBalance, PurseLimits, Spent};

/// What a session and its sub-agents may use up before the user is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Tokens of the session.
    pub tokens: Option<u64>,
    /// US dollars of the session.
    pub cost_usd: Option<f64>,
    /// Time since the user last said something; what runs then is stopped.
    pub wall_time: Option<Duration>,
}

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Read by the model and not taken from the cache.
    pub input: f64,
    /// Written by the model.
    pub output: f64,
    /// Taken from the cache.
    pub cache_read: f64,
    /// Put into the cache.
    pub cache_write: f64,
}

impl Prices {
    /// What this much costs, in US dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        parts.iter().map(|&(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6
    }
}

/// What a session has used so far, folded from its log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) usage: Usage,
    pub(crate) cost_usd: f64,
    size: Option<Size>,
    /// What was spent when the present allowance of tokens and of money began.
    tokens_from: u64,
    cost_from: f64,
    /// The user has just asked to go on: one request is sent in any case.
    granted: bool,
    /// The tokens of the last request that the provider has kept in its cache, as far as it said so.
    cached: u64,
    /// Answers after which the turn went on, those of sub-agents included: in this turn, and since
    /// the user last spoke.
    in_turn: u32,
    in_a_row: u32,
}

/// The size of a request, when it was last known.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// What the request took, with all around the conversation.
    tokens: u64,
    /// What the conversation alone was estimated to take then.
    estimate: u64,
}

impl Ledger {
    /// Counts what an event cost that was taken back later.
    pub(crate) fn note_spent(&mut self, event: &SessionEvent) {
        if let Some((usage, cost_usd)) = event.spent() {
            self.usage += usage;
            self.cost_usd += cost_usd.unwrap_or_default();
        }
    }

    /// Takes an event into account; `conversation` is what the conversation is estimated to take after `event`.
    pub(crate) fn note(&mut self, event: &SessionEvent, conversation: u64) {
        self.note_spent(event);
        match event {
            SessionEvent::UserMessage { .. } => {
                (self.in_turn, self.in_a_row) = (0, 0);
                // The user may take longer than a cache lasts.
                self.cached = 0;
            }
            // Another model has another cache, and counts otherwise.
            SessionEvent::SettingsChanged(_) | SessionEvent::Rewound(_) => {
                (self.cached, self.size) = (0, None);
            }
            SessionEvent::ModelAsked { estimated_tokens } => {
                self.granted = false;
                self.size = Some(Size { tokens: *estimated_tokens, estimate: conversation });
            }
            SessionEvent::ModelAnswered(answer) => self.answered(answer, conversation),
            // What it took to read the request is known, although nothing came of it.
            SessionEvent::ModelFailed { usage, .. } if usage.seen() > 0 => {
                self.size = Some(Size { tokens: usage.seen(), estimate: conversation });
            }
            SessionEvent::Nested { entry, .. } => self.nested(&entry.event),
            SessionEvent::Compacted(compaction) => {
                self.cached = 0;
                let size = Size { tokens: compaction.tokens_after, estimate: conversation };
                self.size = Some(size);
            }
            _ => {}
        }
    }

    fn answered(&mut self, answer: &ModelAnswer, conversation: u64) {
        self.cached = answer.usage.cache_read.saturating_add(answer.usage.cache_write);
        if answer.usage.seen() > 0 {
            // What was written is part of the conversation now, as far as it is sent back.
            let estimate = self.size.map_or(conversation, |asked| asked.estimate);
            self.size = Some(Size { tokens: answer.usage.seen(), estimate });
        }
        if goes_on(answer) {
            self.round();
        }
    }

    /// The end of a sub-agent is not the end of the turn: each of its answers is a round.
    fn nested(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::ModelAnswered(_) => self.round(),
            SessionEvent::Nested { entry, .. } => self.nested(&entry.event),
            _ => {}
        }
    }

    fn round(&mut self) {
        self.in_turn = self.in_turn.saturating_add(1);
        self.in_a_row = self.in_a_row.saturating_add(1);
    }

    /// The user wants a turn to go on that was paused for this reason.
    pub(crate) fn grant(&mut self, reason: &PauseReason) {
        match reason {
            PauseReason::TokenBudget { .. } => self.tokens_from = self.usage.total(),
            PauseReason::CostBudget { .. } => self.cost_from = self.cost_usd,
            _ => {}
        }
        self.in_a_row = 0;
        self.cached = 0;
        self.granted = true;
    }

    /// What a request is thought to take now, `frame` being all around the conversation: what the
    /// last one took and what came since, but never less than our own estimate, and never more than
    /// can be in it. A server may report any number: the request must fit all the same, and an
    /// impossible report must not end the conversation.
    pub(crate) fn request_tokens(&self, frame: u64, conversation: u64) -> u64 {
        let estimate = frame.saturating_add(conversation);
        self.known_tokens(conversation).clamp(estimate, estimate.saturating_mul(CAUTION))
    }

    /// What a request may be charged for: whatever was reported counts, since it is paid.
    pub(crate) fn charged_tokens(&self, frame: u64, conversation: u64) -> u64 {
        self.known_tokens(conversation).max(frame.saturating_add(conversation))
    }

    /// The same where nothing is known of what is around the conversation.
    pub(crate) fn shown_tokens(&self, conversation: u64) -> u64 {
        self.known_tokens(conversation).max(conversation)
    }

    fn known_tokens(&self, conversation: u64) -> u64 {
        self.size.map_or(0, |size| {
            size.tokens.saturating_add(conversation.saturating_sub(size.estimate))
        })
    }

    /// The tokens that the request under way is thought to take.
    pub(crate) fn asked_tokens(&self) -> u64 {
        self.size.map_or(0, |size| size.tokens)
    }

    /// The same conversation is estimated by another rule. What the provider counted stands.
    pub(crate) fn estimated_anew(&mut self, before: u64, after: u64) {
        if let Some(size) = &mut self.size {
            size.estimate = size.estimate.saturating_add(after).saturating_sub(before);
        }
    }

    /// Tokens as the provider counts them, per estimated token: never less than one.
    pub(crate) fn scale(&self, frame: u64) -> Scale {
        match self.size {
            Some(size) if size.tokens > frame.saturating_add(size.estimate) => {
                let estimated = frame.saturating_add(size.estimate).max(1);
                Scale { real: size.tokens.min(estimated.saturating_mul(CAUTION)), estimated }
            }
            _ => Scale { real: 1, estimated: 1 },
        }
    }

    /// What a turn begins with: the log is the truth about what was spent before it.
    pub(crate) fn opening(&self, options: &AgentOptions) -> OpeningBalance {
        let Budget { tokens, cost_usd, wall_time } = options.budget;
        let before = self.in_turn - self.in_a_row;
        let limits = PurseLimits {
            tokens: tokens.map(|tokens| self.tokens_from.saturating_add(tokens)),
            cost_usd: cost_usd.map(|cost| self.cost_from + cost),
            rounds: Some(before.saturating_add(options.turn_limit.max(1))),
            wall_time,
        };
        let (tokens, cost_usd) = (self.usage.total(), self.cost_usd);
        let spent = Spent { tokens, cost_usd, rounds: self.in_turn };
        OpeningBalance { spent, limits, granted: self.granted }
    }

    /// What a request of this size is thought to cost: what the provider has in its cache is cheaper,
    /// and the rest costs whichever is more, to read it or to keep it too.
    pub(crate) fn projected(&self, prices: &Prices, request_tokens: u64) -> f64 {
        let cache_read = self.cached.min(request_tokens);
        let rest = request_tokens - cache_read;
        let read = Usage { input: rest, cache_read, ..Usage::default() };
        let kept = Usage { cache_write: rest, cache_read, ..Usage::default() };
        match self.cached {
            0 => prices.cost(&read),
            _ => prices.cost(&read).max(prices.cost(&kept)),
        }
    }
}

/// A duration as the log writes it.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How far estimates are from what the provider counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    real: u64,
    estimated: u64,
}

impl Scale {
    /// Estimated tokens as the provider would count them.
    pub(crate) fn real(self, estimated: u64) -> u64 {
        scaled(estimated, self.real, self.estimated)
    }

    /// How many estimated tokens the provider would count as this many.
    pub(crate) fn estimated(self, real: u64) -> u64 {
        scaled(real, self.estimated, self.real)
    }
}

fn scaled(amount: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(amount) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(budget: Budget) -> AgentOptions {
        let prices = Prices { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 };
        AgentOptions { budget, prices: Some(prices), ..AgentOptions::default() }
    }

    #[test]
    fn a_cost_is_the_sum_of_its_parts() {
        let prices = options(Budget::default()).prices.unwrap();
        let usage =
            Usage { input: 1_000_000, output: 100_000, cache_read: 2_000_000, cache_write: 0 };
        assert!((prices.cost(&usage) - 5.1).abs() < 1e-9);
    }

    #[test]
    fn what_the_provider_has_in_its_cache_is_projected_at_its_price_until_it_may_be_gone() {
        let prices = options(Budget::default()).prices.unwrap();
        let usage = Usage { input: 100, output: 0, cache_read: 600_000, cache_write: 200_000 };
        let answered = SessionEvent::ModelAnswered(ModelAnswer {
            content: Vec::new(),
            broken: Vec::new(),
            stop: protocol::StopReason::ToolUse,
            usage,
            cost_usd: None,
            duration_ms: 0,
        });
        let mut ledger = Ledger::default();
        let costs = |ledger: &Ledger| (ledger.projected(&prices, 1_000_000) * 1e6).round() / 1e6;
        assert_eq!(costs(&ledger), 3.0, "nothing is known of a cache");
        let ends = [
            SessionEvent::UserMessage { content: Vec::new() },
            SessionEvent::Compacted(protocol::Compaction::default()),
        ];
        for end in ends {
            ledger.note(&answered, 0);
            // 0.8 million from the cache, and the rest is put into it.
            assert_eq!(costs(&ledger), 0.8 * 0.3 + 0.2 * 3.75);
            ledger.note(&end, 0);
            assert_eq!(costs(&ledger), 3.0);
        }
        ledger.note(&answered, 0);
        ledger.grant(&PauseReason::TurnLimit { turns: 1 });
        assert_eq!(costs(&ledger), 3.0, "the user was asked in between");
    }

    fn answered(stop: protocol::StopReason, usage: Usage) -> SessionEvent {
        SessionEvent::ModelAnswered(ModelAnswer {
            content: Vec::new(),
            broken: Vec::new(),
            stop,
            usage,
            cost_usd: Some(0.5),
            duration_ms: 0,
        })
    }

    fn nested(event: SessionEvent) -> SessionEvent {
        let entry = Box::new(protocol::LogEntry { sequence: 1, at: 0, event });
        SessionEvent::Nested { call_id: "d".into(), entry }
    }

    #[test]
    fn going_on_grants_another_helping_from_what_was_used() {
        let budget = Budget { tokens: Some(100), cost_usd: Some(2.0), wall_time: None };
        let options = AgentOptions { turn_limit: 3, ..options(budget) };
        let usage = Usage { output: 30, ..Usage::default() };
        let mut ledger = Ledger::default();
        ledger.note(&answered(protocol::StopReason::Pause, usage), 0);
        ledger.note(&nested(nested(answered(protocol::StopReason::EndOfTurn, usage))), 0);
        let opening = ledger.opening(&options);
        assert_eq!(opening.spent, Spent { tokens: 60, cost_usd: 1.0, rounds: 2 });
        assert_eq!((opening.limits.tokens, opening.limits.rounds), (Some(100), Some(3)));
        ledger.grant(&PauseReason::TokenBudget { used: 60, limit: 100 });
        let opening = ledger.opening(&options);
        assert_eq!((opening.limits.tokens, opening.limits.cost_usd), (Some(160), Some(2.0)));
        assert_eq!((opening.limits.rounds, opening.granted), (Some(5), true));
        ledger.note(&SessionEvent::ModelAsked { estimated_tokens: 500 }, 400);
        assert!(!ledger.opening(&options).granted);
    }

    #[test]
    fn a_report_of_almost_nothing_does_not_make_a_request_small() {
        let mut ledger = Ledger::default();
        let usage = Usage { input: 90, output: 10, ..Usage::default() };
        ledger.note(&answered(protocol::StopReason::ToolUse, usage), 5000);
        assert_eq!(ledger.request_tokens(700, 5000), 5700);
        assert_eq!(ledger.request_tokens(700, 6000), 6700);
    }

    #[test]
    fn the_size_of_a_request_is_the_last_one_and_what_came_since() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.request_tokens(50, 100), 150);
        ledger.note(&SessionEvent::ModelAsked { estimated_tokens: 300 }, 100);
        assert_eq!(ledger.request_tokens(50, 120), 320);
        assert_eq!(ledger.scale(50).real(10), 20);
        assert_eq!(ledger.scale(50).estimated(20), 10);
        assert_eq!(ledger.scale(5000).real(10), 10, "an estimate is never made smaller");
    }
}
