//! Reading an answer: pieces are written down as they come, and the whole when it is complete.

use std::time::Duration;

use futures_util::StreamExt;
use protocol::{
    BrokenCall, Content, ErrorCode, ModelAnswer, ModelErrorKind, PauseReason, SessionEvent,
    SharedText, StopReason, ToolCall, ToolError, TurnEnd,
};
use serde_json::Map;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::budget::milliseconds;
use crate::calls::{begun_first, started};
use crate::meter::Meter;
use crate::purse::{Receipt, Reservation};
use crate::{AgentOptions, ChatContext, LogError, ModelError, ModelEvent, ModelRequest, Ports};

/// The most pieces of an answer that are taken at once.
const MOST_PIECES: usize = 256;
/// Pieces that come sooner than this after others were written wait and are written together, so that a fast model
/// does not cause a write for every word. Watchers wait for as long (`bench web`: event to 100 watchers).
const WRITE_SPACING: Duration = Duration::from_millis(2);
/// The same where many pieces come: shorter than a frame of any screen (`bench terminal`: cores).
const LONG_SPACING: Duration = Duration::from_millis(10);
/// How many pieces in one write are many: more than any model says in the shorter time, but a stored answer.
const MANY_PIECES: usize = 32;
/// Bytes of text from which on a new event is begun, so that a screen that draws one can look at the keys before it
/// draws the next (`bench terminal`: key to echo).
const LONG_DELTA_BYTES: usize = 8192;

/// What became of a request.
pub(crate) enum RequestOutcome {
    /// A whole answer. It is in the log.
    Answer { next: Next, stop: StopReason },
    /// An answer that was cut by the budget. It is in the log, and so is the pause.
    RanOut(PauseReason),
    /// No answer, or half of one. Nothing about that is in the log yet.
    Failure {
        error: ModelError,
        /// What it took all the same.
        receipt: Receipt,
    },
    /// The user or the clock has stopped it after this much. Nothing about that is in the log yet.
    Cancelled(Receipt),
}

/// A request that may be sent, and what for.
pub(crate) struct Asking<'a> {
    pub(crate) request: &'a ModelRequest,
    pub(crate) estimated_tokens: u64,
    pub(crate) reservation: Reservation,
}

/// What follows an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    RunCalls,
    /// The model wants to be asked again.
    AskAgain,
    /// The model has seen as much as it can, and is asked again when there is room.
    MakeRoom,
    /// Nothing: the turn is over.
    End(TurnEnd),
}

/// What follows an answer. One that was refused half-way has no calls to be trusted.
fn after(answer: &ModelAnswer) -> Next {
    let calls = answer.content.iter().any(|content| matches!(content, Content::ToolUse(_)));
    match (&answer.stop, calls) {
        (StopReason::Refusal, _) => Next::End(TurnEnd::Refused),
        (_, true) => Next::RunCalls,
        (StopReason::Pause, false) => Next::AskAgain,
        (StopReason::ContextFull, false) => Next::MakeRoom,
        (StopReason::MaxTokens, false) => Next::End(TurnEnd::MaxTokens),
        (StopReason::EndOfTurn | StopReason::ToolUse | StopReason::Other(_), false) => {
            Next::End(TurnEnd::Done)
        }
    }
}

/// Whether the turn goes on after an answer.
pub(crate) fn goes_on(answer: &ModelAnswer) -> bool {
    !matches!(after(answer), Next::End(_))
}

impl ChatContext {
    /// Sends a request and writes down what comes back. Whatever becomes of it, the purse is paid.
    pub(crate) async fn ask(
        &mut self,
        ports: &Ports,
        options: &AgentOptions,
        asking: Asking<'_>,
        cancel: &CancellationToken,
    ) -> Result<RequestOutcome, LogError> {
        let Asking { request, estimated_tokens, mut reservation } = asking;
        let asked = Instant::now();
        let event = SessionEvent::ModelAsked { estimated_tokens };
        // Nothing is sent before the stream is polled, so the request can be serialised while
        // the log is written. Dropping the stream is what ends it.
        let prepared = async {
            // The log has its turn first, so that it writes while the request is serialised.
            tokio::task::yield_now().await;
            tokio::select! {
                biased;
                () = cancel.cancelled() => None,
                stream = ports.model.stream(request) => Some(stream),
            }
        };
        let (written, stream) = tokio::join!(self.record(ports, vec![event]), prepared);
        written?;
        let Some(stream) = stream else { return Ok(RequestOutcome::Cancelled(Receipt::default())) };
        let mut pieces = match stream {
            Ok(stream) => stream.ready_chunks(MOST_PIECES),
            Err(error) => {
                return Ok(RequestOutcome::Failure { error, receipt: Receipt::default() });
            }
        };
        if cancel.is_cancelled() {
            // Nothing has been sent yet.
            return Ok(RequestOutcome::Cancelled(Receipt::default()));
        }
        let mut draft = AnswerDraft {
            meter: Meter::new(&*ports.model, estimated_tokens),
            ..AnswerDraft::default()
        };
        // What is taken and not yet written, of how many pieces, and when it is.
        let (mut events, mut taken_pieces, mut due) = (Vec::new(), 0, asked);
        loop {
            reservation.note(Receipt::new(draft.meter.so_far(), options.prices));
            let pieces = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    self.record(ports, events).await?;
                    return Ok(RequestOutcome::Cancelled(reservation.settle()));
                }
                pieces = pieces.next() => pieces,
                () = sleep_until(due), if !events.is_empty() => Some(Vec::new()),
            };
            taken_pieces += pieces.as_ref().map_or(0, Vec::len);
            let taken = draft.take_all(pieces, &mut events);
            // A server that does not keep to the limit is not listened to any longer.
            let too_long = draft.meter.is_longer_than(reservation.answer_limit());
            match taken.map(|stop| stop.or(too_long.then_some(StopReason::MaxTokens))) {
                // Pieces may be there for as long as nothing is written; whoever shares the task with this,
                // such as a screen with its keys, has its turn in between.
                Ok(None) if events.is_empty() || Instant::now() < due => {
                    tokio::task::yield_now().await;
                }
                Ok(None) => {
                    self.record(ports, std::mem::take(&mut events)).await?;
                    let are_many = std::mem::take(&mut taken_pieces) >= MANY_PIECES;
                    due = Instant::now() + if are_many { LONG_SPACING } else { WRITE_SPACING };
                }
                Ok(Some(stop)) => {
                    let answer = self.complete(draft, stop, options, asked);
                    return self.answered(ports, answer, reservation, events, cancel).await;
                }
                Err(error) => {
                    self.record(ports, events).await?;
                    reservation.note(Receipt::new(draft.meter.failed(&error), options.prices));
                    return Ok(RequestOutcome::Failure { error, receipt: reservation.settle() });
                }
            }
        }
    }

    /// Pays for a whole answer and writes it down, after the `events` of its last pieces.
    async fn answered(
        &mut self,
        ports: &Ports,
        answer: ModelAnswer,
        reservation: Reservation,
        mut events: Vec<SessionEvent>,
        cancel: &CancellationToken,
    ) -> Result<RequestOutcome, LogError> {
        let (next, stop) = (after(&answer), answer.stop.clone());
        let receipt = Receipt { usage: answer.usage, cost_usd: answer.cost_usd };
        let binding_limit =
            reservation.binding_limit().filter(|_| next == Next::End(TurnEnd::MaxTokens));
        reservation.answered(receipt, goes_on(&answer));
        if let Some(reason) =
            binding_limit.and_then(|binding_limit| ports.purse.exhaust(binding_limit))
        {
            events.extend(cut_by_budget(answer, reason.clone()));
            self.record(ports, events).await?;
            return Ok(RequestOutcome::RanOut(reason));
        }
        let begun = match next {
            Next::RunCalls if !cancel.is_cancelled() => begun_first(&answer, ports),
            _ => Vec::new(),
        };
        let starts: Vec<SessionEvent> =
            begun.iter().copied().map(|call| started(call, ports)).collect();
        self.begun_calls = begun.iter().map(|call| call.id.clone()).collect();
        events.extend(closing(answer, next));
        events.extend(starts);
        self.record(ports, events).await?;
        Ok(RequestOutcome::Answer { next, stop })
    }

    fn complete(
        &self,
        mut draft: AnswerDraft,
        stop: StopReason,
        options: &AgentOptions,
        asked: Instant,
    ) -> ModelAnswer {
        let mut calls: Vec<&mut ToolCall> = draft
            .content
            .iter_mut()
            .filter_map(|content| match content {
                Content::ToolUse(call) => Some(call),
                _ => None,
            })
            .collect();
        self.claim_ids(&mut calls);
        for (position, broken) in &mut draft.broken {
            if let Content::ToolUse(call) = &draft.content[*position] {
                broken.id.clone_from(&call.id);
            }
        }
        let Receipt { usage, cost_usd } = Receipt::new(draft.meter.complete(), options.prices);
        ModelAnswer {
            content: draft.content,
            broken: draft.broken.into_iter().map(|(_, broken)| broken).collect(),
            stop,
            usage,
            cost_usd,
            duration_ms: milliseconds(asked.elapsed()),
        }
    }
}

/// An answer, and the end of the turn if nothing follows it: both or none are written.
fn closing(answer: ModelAnswer, next: Next) -> Vec<SessionEvent> {
    let Next::End(end) = next else { return vec![SessionEvent::ModelAnswered(answer)] };
    let withdrawn = answer.content.iter().filter_map(|content| match content {
        Content::ToolUse(call) => Some(SessionEvent::CallEnded {
            call_id: call.id.clone(),
            result: Err(ToolError::new(
                ErrorCode::Cancelled,
                "This call was not run, because the answer that made it was withdrawn.",
            )),
            text: None,
            images: Vec::new(),
            title: None,
            found_tools: Vec::new(),
            duration_ms: 0,
        }),
        _ => None,
    });
    let withdrawn: Vec<_> = withdrawn.collect();
    let mut events = vec![SessionEvent::ModelAnswered(answer)];
    events.extend(withdrawn);
    events.push(SessionEvent::TurnEnded(end));
    events
}

/// An answer that would have been longer if it could have been paid for.
fn cut_by_budget(answer: ModelAnswer, reason: PauseReason) -> [SessionEvent; 3] {
    let text = "Your last answer was cut because the budget was used up. Go on where you stopped.";
    [
        SessionEvent::ModelAnswered(answer),
        SessionEvent::Nudged { text: text.to_owned() },
        SessionEvent::Paused(reason),
    ]
}

/// An answer on its way.
#[derive(Debug, Default)]
struct AnswerDraft {
    content: Vec<Content>,
    /// With their places in `content`.
    broken: Vec<(usize, BrokenCall)>,
    meter: Meter,
}

impl AnswerDraft {
    /// Takes the pieces that have arrived, and adds their log events to `events`.
    fn take_all(
        &mut self,
        pieces: Option<Vec<Result<ModelEvent, ModelError>>>,
        events: &mut Vec<SessionEvent>,
    ) -> Result<Option<StopReason>, ModelError> {
        for piece in pieces.ok_or_else(cut)? {
            let piece = piece?;
            self.meter.note(&piece);
            match piece {
                ModelEvent::Done(stop) => return Ok(Some(stop)),
                piece => self.take(piece, events),
            }
        }
        Ok(None)
    }

    fn take(&mut self, piece: ModelEvent, events: &mut Vec<SessionEvent>) {
        match piece {
            ModelEvent::Text(text) => {
                // The log, the state and every screen share the bytes of the draft.
                let text = match self.content.last_mut() {
                    Some(Content::Text { text: before }) => before.push_piece(&text),
                    _ => {
                        let mut whole = SharedText::new();
                        let piece = whole.push_piece(&text);
                        self.content.push(Content::Text { text: whole });
                        piece
                    }
                };
                match events.last_mut() {
                    Some(SessionEvent::TextDelta { text: before })
                        if before.len() < LONG_DELTA_BYTES =>
                    {
                        before.push(&text);
                    }
                    _ => events.push(SessionEvent::TextDelta { text }),
                }
            }
            ModelEvent::Thinking(text) => match events.last_mut() {
                Some(SessionEvent::ThinkingDelta { text: before })
                    if before.len() < LONG_DELTA_BYTES =>
                {
                    before.push_str(&text);
                }
                _ => events.push(SessionEvent::ThinkingDelta { text }),
            },
            ModelEvent::ToolCall(call) => self.content.push(Content::ToolUse(call)),
            ModelEvent::BrokenToolCall { id, name, arguments, reason } => {
                let broken = BrokenCall { id: id.clone(), arguments, reason };
                self.broken.push((self.content.len(), broken));
                self.content.push(Content::ToolUse(ToolCall::new(id, name, Map::new())));
            }
            ModelEvent::Kept(content) => self.content.push(content),
            ModelEvent::ToolCallStarted { .. } | ModelEvent::Usage(_) | ModelEvent::Done(_) => {}
        }
    }
}

pub(crate) fn cut() -> ModelError {
    ModelError::new(ModelErrorKind::Cut, "the answer ended before it was complete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_an_answer() {
        use StopReason::{ContextFull, EndOfTurn, MaxTokens, Other, Pause, Refusal, ToolUse};
        let table = [
            (EndOfTurn, Next::End(TurnEnd::Done), Next::RunCalls),
            (ToolUse, Next::End(TurnEnd::Done), Next::RunCalls),
            (MaxTokens, Next::End(TurnEnd::MaxTokens), Next::RunCalls),
            (ContextFull, Next::MakeRoom, Next::RunCalls),
            (Refusal, Next::End(TurnEnd::Refused), Next::End(TurnEnd::Refused)),
            (Pause, Next::AskAgain, Next::RunCalls),
            (Other("odd".into()), Next::End(TurnEnd::Done), Next::RunCalls),
        ];
        for (stop, without_calls, with_calls) in table {
            let call = Content::ToolUse(ToolCall::new("c", "t", Map::new()));
            for (content, expected) in [(vec![], without_calls), (vec![call], with_calls)] {
                let answer = ModelAnswer {
                    content,
                    broken: Vec::new(),
                    stop: stop.clone(),
                    usage: protocol::Usage::default(),
                    cost_usd: None,
                    duration_ms: 0,
                };
                assert_eq!(after(&answer), expected, "{stop:?}");
            }
        }
    }
}
