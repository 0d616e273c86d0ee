//! How an agent behaves.

use protocol::{ImageTokens, estimate_tokens};

use crate::{Budget, Effort, Prices, RetryPolicy, ToolSpec};

/// How much of what a model can see is filled at most; estimates need the rest.
const FILLED_PERCENT: u64 = 90;

/// The part of what a model can see that is kept free for its answer, at most. In a small window
/// the tools and the user's words need the rest.
const ANSWER_SHARE: u64 = 4;

/// How the agent behaves; may differ from turn to turn.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// The model, as its provider calls it.
    pub model: String,
    /// Instructions that frame the conversation.
    pub system: String,
    /// The most tokens of one answer.
    pub max_tokens: u32,
    /// How hard to think, where the model can be told.
    pub effort: Option<Effort>,
    /// The most tokens that the model can see, its answer included.
    pub context_tokens: u64,
    /// What tokens cost, where that is known.
    pub prices: Option<Prices>,
    /// Whether the model is told about tools.
    pub offers_tools: bool,
    /// What an image takes, if the model can see images; it gets descriptions otherwise.
    pub images: Option<ImageTokens>,
    /// After how many answers with tool calls in a row the user is asked.
    pub turn_limit: u32,
    /// What may be used up before the user is asked.
    pub budget: Budget,
    /// When requests that failed are sent again.
    pub retry: RetryPolicy,
}

/// Tokens of an answer and of a context if nothing is known of the model: what the smallest of the
/// large models offer.
const USUAL_ANSWER: u32 = 8192;
const USUAL_CONTEXT: u64 = 200_000;

impl Default for AgentOptions {
    fn default() -> Self {
        Self {
            model: String::new(),
            system: String::new(),
            max_tokens: USUAL_ANSWER,
            effort: None,
            context_tokens: USUAL_CONTEXT,
            prices: None,
            offers_tools: true,
            images: None,
            turn_limit: 10,
            budget: Budget::default(),
            retry: RetryPolicy::default(),
        }
    }
}

impl AgentOptions {
    /// The most tokens that a request may take, so that an answer has its place too.
    pub(crate) fn room(&self) -> u64 {
        // A limit on answers that leaves no place for questions is not meant literally.
        let answer = u64::from(self.max_tokens).min(self.context_tokens / ANSWER_SHARE);
        (self.context_tokens.saturating_mul(FILLED_PERCENT) / 100).saturating_sub(answer)
    }

    /// The limit on an answer to a request of this size.
    pub(crate) fn answer_limit(&self, request_tokens: u64) -> u32 {
        let left = self.context_tokens.saturating_sub(request_tokens).max(1);
        u32::try_from(left).unwrap_or(u32::MAX).min(self.max_tokens)
    }
}

/// What a request takes before anything has been said.
pub(crate) fn frame_tokens(system: &str, tools: &[ToolSpec]) -> u64 {
    let tools = tools.iter().map(|tool| {
        estimate_tokens(&tool.name)
            + estimate_tokens(&tool.description)
            + estimate_tokens(&tool.parameters.to_string())
    });
    (estimate_tokens(system) + tools.sum::<usize>()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_leaves_room_for_the_answer() {
        let table = [(200_000, 8_192, 171_808), (10_000, 1_000, 8_000), (8_000, 8_000, 5_200)];
        for (context_tokens, max_tokens, room) in table {
            let options = AgentOptions { context_tokens, max_tokens, ..AgentOptions::default() };
            assert_eq!(options.room(), room);
        }
        let nothing = AgentOptions { context_tokens: 0, ..AgentOptions::default() };
        assert_eq!((nothing.room(), nothing.answer_limit(5)), (0, 1));
    }

    #[test]
    fn an_answer_may_not_be_longer_than_what_is_left() {
        let options = AgentOptions { context_tokens: 10_000, ..AgentOptions::default() };
        assert_eq!(options.answer_limit(1_000), 8_192);
        assert_eq!(options.answer_limit(9_000), 1_000);
    }
}
