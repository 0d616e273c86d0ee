//! What one answer has used, as far as can be told while it comes.

use protocol::Usage;

use crate::purse::CAUTION;
use crate::{ModelError, ModelEvent, ModelProvider};

/// Bytes that make a token, as a rule of thumb.
const BYTES_PER_TOKEN: u64 = 4;
/// Tokens that any answer may be longer than it is allowed to be.
const LEEWAY: u64 = 1024;

/// Counts an answer on its way. What the provider reports is taken as it is; where it reports nothing,
/// our own estimate stands in, so that a budget ends on any server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    takes_tokens: bool,
    /// The tokens that the request is thought to take.
    estimated_input: u64,
    reported: Option<Usage>,
    written_bytes: u64,
    begun: bool,
}

impl Meter {
    /// A meter for the answer to a request of about this many tokens.
    pub(crate) fn new(model: &dyn ModelProvider, estimated_input: u64) -> Self {
        Self { takes_tokens: model.takes_tokens(), estimated_input, ..Self::default() }
    }

    /// Takes a piece of the answer into account.
    pub(crate) fn note(&mut self, piece: &ModelEvent) {
        let bytes = match piece {
            ModelEvent::Usage(usage) => {
                self.reported =
                    Some(self.reported.map_or(*usage, |before| before.and_later(usage)));
                0
            }
            ModelEvent::Text(text) | ModelEvent::Thinking(text) => text.len(),
            ModelEvent::ToolCall(call) => {
                call.name.len()
                    + serde_json::to_string(&call.arguments).map_or(0, |json| json.len())
            }
            ModelEvent::BrokenToolCall { name, arguments, .. } => name.len() + arguments.len(),
            ModelEvent::ToolCallStarted { .. } | ModelEvent::Kept(_) | ModelEvent::Done(_) => 0,
        };
        self.begun = true;
        self.written_bytes = self.written_bytes.saturating_add(bytes as u64);
    }

    /// What a complete answer has used. A part of which nothing is reported is estimated.
    pub(crate) fn complete(&self) -> Usage {
        let reported = self.reported.unwrap_or_default();
        let so_far = self.so_far();
        let output = if reported.output > 0 { reported.output } else { so_far.output };
        Usage { output, ..so_far }
    }

    /// Whether an answer is longer than one of at most `tokens` tokens can be.
    pub(crate) fn is_longer_than(&self, tokens: u32) -> bool {
        let written = self.written_bytes / BYTES_PER_TOKEN;
        written > u64::from(tokens).saturating_mul(CAUTION).saturating_add(LEEWAY)
    }

    /// What an answer has used that was sent for and broke off here: what it announced, and at least
    /// what can be seen of it.
    pub(crate) fn so_far(&self) -> Usage {
        let mut usage = self.reported.unwrap_or_default();
        if !self.takes_tokens {
            return usage;
        }
        if usage.seen() == 0 {
            usage.input = self.estimated_input;
        }
        usage.output = usage.output.max(self.written_bytes.div_ceil(BYTES_PER_TOKEN));
        usage
    }

    /// What a request has used that ended in this way.
    pub(crate) fn failed(&self, error: &ModelError) -> Usage {
        if self.begun || error.may_be_charged { self.so_far() } else { Usage::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelErrorKind;

    const ANNOUNCED: Usage = Usage { input: 30, output: 1, cache_read: 0, cache_write: 0 };

    fn meter(pieces: &[ModelEvent]) -> Meter {
        let mut meter = Meter { takes_tokens: true, estimated_input: 100, ..Meter::default() };
        pieces.iter().for_each(|piece| meter.note(piece));
        meter
    }

    fn tokens(usage: Usage) -> (u64, u64) {
        (usage.input, usage.output)
    }

    #[test]
    fn a_report_counts_and_without_one_the_estimate() {
        let text = || ModelEvent::Text("twelve bytes".into());
        let nothing = Usage::default();
        let (read, written) = (Usage { output: 0, ..ANNOUNCED }, Usage { output: 7, ..nothing });
        let table = [
            (vec![], (100, 0), (100, 0)),
            (vec![text()], (100, 3), (100, 3)),
            (vec![ModelEvent::Usage(ANNOUNCED), text()], (30, 1), (30, 3)),
            (vec![ModelEvent::Usage(nothing)], (100, 0), (100, 0)),
            // Only one half is reported.
            (vec![ModelEvent::Usage(written), text()], (100, 7), (100, 7)),
            (vec![ModelEvent::Usage(read), text()], (30, 3), (30, 3)),
            // What was told once is not taken back.
            (vec![ModelEvent::Usage(ANNOUNCED), ModelEvent::Usage(written)], (30, 7), (30, 7)),
        ];
        for (pieces, complete, broken) in table {
            let meter = meter(&pieces);
            assert_eq!(tokens(meter.complete()), complete, "{pieces:?}");
            assert_eq!(tokens(meter.so_far()), broken, "{pieces:?}");
        }
        let mut free = Meter { takes_tokens: false, ..meter(&[]) };
        free.note(&text());
        assert_eq!((free.complete(), free.so_far()), (nothing, nothing));
    }

    #[test]
    fn a_refusal_is_free_and_what_broke_off_is_not() {
        use ModelErrorKind::{Connection, Cut, Overloaded, RateLimited};
        let error = |kind| ModelError::new(kind, "x");
        let unreachable = ModelError { may_be_charged: false, ..error(Connection) };
        let announced = vec![ModelEvent::Usage(ANNOUNCED)];
        let table = [
            (vec![], error(RateLimited), (0, 0)),
            (vec![], error(Cut), (100, 0)),
            (vec![], error(Connection), (100, 0)),
            (vec![], unreachable, (0, 0)),
            (announced, error(Overloaded), (30, 1)),
        ];
        for (pieces, error, expected) in table {
            assert_eq!(tokens(meter(&pieces).failed(&error)), expected, "{pieces:?} {error:?}");
        }
    }
}
