//! Questions that a replica asks outside of any session, so that users of another one can answer them.

use async_trait::async_trait;
use serde_json::Value;

use crate::StoreError;

/// Questions of replicas that are in no log. They are gone with the replica that asks, which is the only one that knows
/// whether an answer counts: others leave theirs, the first one alone, and read what became of it.
#[async_trait]
pub trait QuestionBoard: Send + Sync {
    /// Shows a question of this replica to the others.
    async fn show_question(&self, question: Value) -> Result<i64, StoreError>;

    /// Takes a question of this replica away.
    async fn remove_question(&self, number: i64) -> Result<(), StoreError>;

    /// The questions of other replicas that live and have no answer, in order. What the caller knows is not read again.
    async fn questions_elsewhere(&self, known: &[i64]) -> Result<Vec<ShownQuestion>, StoreError>;

    /// Leaves an answer to a question. False if it has one, or is gone.
    async fn leave_answer(&self, number: i64, answer: Value) -> Result<bool, StoreError>;

    /// Takes back an answer that was not taken yet. False if it is too late.
    async fn take_back_answer(&self, number: i64) -> Result<bool, StoreError>;

    /// What became of questions, of those that are still there.
    async fn question_states(
        &self,
        numbers: &[i64],
    ) -> Result<Vec<(i64, QuestionState)>, StoreError>;

    /// Takes the answer to a question of this replica. It can be taken again until it is settled, because the first
    /// time may have failed after it was done.
    async fn take_answer(&self, number: i64) -> Result<Option<Value>, StoreError>;

    /// Says whether the answer that was taken has counted.
    async fn settle_answer(&self, number: i64, has_counted: bool) -> Result<(), StoreError>;
}

/// A question of another replica.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownQuestion {
    /// Its number among all.
    pub number: i64,
    /// None if the caller knows it.
    pub question: Option<Value>,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionState {
    /// It has no answer.
    Open,
    /// It has an answer that the replica which asks has not taken yet.
    Answered,
    /// The answer is taken, and it is not yet known whether it counts.
    Taken,
    /// The answer has counted.
    Done,
    /// Another answer was first, or the question was gone.
    Refused,
}

impl QuestionState {
    pub(crate) fn from_word(word: &str) -> Self {
        match word {
            "answered" => Self::Answered,
            "taken" => Self::Taken,
            "done" => Self::Done,
            "refused" => Self::Refused,
            _ => Self::Open,
        }
    }
}
