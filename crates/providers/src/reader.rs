//! What reading an answer has in common in all formats: it ends once, and nothing follows.

use context_manager::{ModelError, ModelErrorKind, ModelEvent};
use serde_json::Value;

use crate::SseEvent;
use crate::surrogates::SurrogateRepair;

/// How one provider answers: a state machine over the events of its stream.
pub trait Dialect {
    /// Reads one event. After [`ModelEvent::Done`] or an error it is not called again.
    fn read(&mut self, event: &SseEvent, out: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The bytes have ended before [`Self::read`] has said that the answer is complete.
    fn close(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let _ = out;
        Err(cut())
    }
}

/// Reads an answer in a dialect: one [`ModelEvent::Done`] or one error, and nothing after it.
#[derive(Clone, Debug, Default)]
pub struct AnswerReader<D> {
    dialect: D,
    surrogates: SurrogateRepair,
    ended: bool,
}

impl<D: Dialect> AnswerReader<D> {
    pub(crate) fn of(dialect: D) -> Self {
        Self { dialect, surrogates: SurrogateRepair::default(), ended: false }
    }

    /// What this event of the stream means.
    pub fn push(&mut self, mut event: SseEvent) -> Vec<Result<ModelEvent, ModelError>> {
        self.surrogates.mark(&mut event.data);
        self.step(|dialect, out| dialect.read(&event, out))
    }

    /// The stream has ended. An answer that was not complete by then was cut.
    pub fn finish(&mut self) -> Vec<Result<ModelEvent, ModelError>> {
        self.step(Dialect::close)
    }

    /// Whether the answer is complete or has failed.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    fn step(
        &mut self,
        step: impl FnOnce(&mut D, &mut Vec<ModelEvent>) -> Result<(), ModelError>,
    ) -> Vec<Result<ModelEvent, ModelError>> {
        if self.ended {
            return Vec::new();
        }
        let mut out = Vec::new();
        let outcome = step(&mut self.dialect, &mut out);
        self.ended = outcome.is_err() || matches!(out.last(), Some(ModelEvent::Done(_)));
        let failure = outcome.err().map(|error| Err(self.surrogates.repair_error(error)));
        self.surrogates.repair(out).into_iter().map(Ok).chain(failure).collect()
    }
}

/// The answer ended too early.
pub(crate) fn cut() -> ModelError {
    ModelError::new(ModelErrorKind::Cut, "the answer ended before it was complete")
}

/// The data of an event; none if it is empty or the closing mark of OpenAI's streams.
pub(crate) fn json_of(event: &SseEvent) -> Result<Option<Value>, ModelError> {
    if event.data.is_empty() || event.data == DONE {
        return Ok(None);
    }
    serde_json::from_str(&event.data).map(Some).map_err(|error| {
        let message = format!("a piece of the answer is not valid JSON: {error}");
        ModelError::new(ModelErrorKind::Malformed, message)
    })
}

/// What closes a stream of OpenAI's.
pub(crate) const DONE: &str = "[DONE]";

/// The text at `key`; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The number at `pointer`, if there is one.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer).and_then(Value::as_u64)
}
