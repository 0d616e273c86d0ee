//! A turn: from a message of the user until the turn ends or pauses. A plain loop of asking the model
//! and running its calls, as long as the budget lasts.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use protocol::{Content, ModelErrorKind, PauseReason, SessionEvent, StopReason, TurnEnd};
use tokio_util::sync::CancellationToken;

use crate::answer::{Asking, Next, RequestOutcome};
use crate::budget::milliseconds;
use crate::circles::RepetitionVerdict;
use crate::compaction::{RoomOutcome, Want};
use crate::options::frame_tokens;
use crate::purse::{Purpose, Receipt, Refused, RequestNeed};
use crate::retry::{self, Attempts};
use crate::{
    AgentOptions, CacheHint, Charge, ChatContext, ContextState, LogError, ModelError, ModelRequest,
    Ports, ToolSpec, ToolStep,
};

/// How a turn ended or why it waits.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnOutcome {
    /// It is over.
    Ended(TurnEnd),
    /// It waits for the user.
    Paused(PauseReason),
}

/// What a turn keeps from request to request.
struct RunningTurn<'a> {
    ports: &'a Ports,
    options: &'a AgentOptions,
    /// Fires when the user cancels and when the time is up.
    stop: CancellationToken,
    /// Made once, because describing all tools takes time; only the messages change.
    request: ModelRequest,
    /// What the request takes without the conversation.
    frame: u64,
    attempts: Attempts<'a>,
    /// The model has seen as much as it can, whatever our estimate says.
    overfull: bool,
    /// Room has been made for that reason since the last good answer.
    made_room: bool,
    /// The last answer was cut in the middle of a call.
    cut_short: bool,
    /// The model goes on with an answer it has begun, and nothing may stand between.
    resumes_answer: bool,
    /// What the provider said when it refused a request with images, which was then repeated
    /// without them.
    refusal: Option<String>,
}

impl ChatContext {
    /// The user says something, and the turn runs until it ends or pauses.
    ///
    /// A turn that was left unfinished is closed first; one that was paused is ended.
    pub async fn send_message(
        &mut self,
        content: Vec<Content>,
        ports: &Ports,
        options: &AgentOptions,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, LogError> {
        self.say(content, ports, options).await?;
        self.run(ports, options, cancel).await
    }

    /// Writes down what the user says; [`Self::run`] has it answered. Answers with its place in the log.
    ///
    /// A turn that was left unfinished is closed first; one that was paused is ended.
    pub async fn say(
        &mut self,
        content: Vec<Content>,
        ports: &Ports,
        options: &AgentOptions,
    ) -> Result<u64, LogError> {
        let mut events = self.closing(Charge::of(&*ports.model, options.prices));
        events.push(SessionEvent::UserMessage { content });
        self.record(ports, events).await?;
        Ok(self.last_sequence())
    }

    /// The user lets a paused turn go on, with the same amount again of whatever ran out.
    ///
    /// If nothing is paused, this only tells how the last turn ended.
    pub async fn continue_turn(
        &mut self,
        ports: &Ports,
        options: &AgentOptions,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, LogError> {
        if !matches!(self.state(), ContextState::Paused(_)) {
            return self.stop_turn(ports).await;
        }
        self.record(ports, vec![SessionEvent::Continued]).await?;
        self.run(ports, options, cancel).await
    }

    /// The user ends a paused turn.
    ///
    /// If nothing is paused, this only tells how the last turn ended.
    pub async fn stop_turn(&mut self, ports: &Ports) -> Result<TurnOutcome, LogError> {
        self.record(ports, self.closing(Charge::of(&*ports.model, None))).await?;
        Ok(TurnOutcome::Ended(self.last_end().unwrap_or(TurnEnd::Done)))
    }

    /// The events that close what is still open.
    pub(crate) fn closing(&self, charge: Charge) -> Vec<SessionEvent> {
        match self.state() {
            ContextState::Paused(_) => vec![SessionEvent::TurnEnded(TurnEnd::Stopped)],
            _ => self.unfinished(charge),
        }
    }

    /// The turn runs until it ends or pauses.
    pub async fn run(
        &mut self,
        ports: &Ports,
        options: &AgentOptions,
        cancel: &CancellationToken,
    ) -> Result<TurnOutcome, LogError> {
        ports.tools.turn_began();
        ports.purse.open(self.ledger().opening(options));
        let tools = self.listed_tools(ports, options);
        let mut turn = RunningTurn::new(ports, options, tools, cancel.child_token());
        let _clock = ports.purse.watch(&turn.stop);
        loop {
            if let Some(outcome) = self.advance_boxed(&mut turn).await? {
                return Ok(outcome);
            }
        }
    }

    /// A round behind a pointer. Else the compiler would write the whole loop again for every crate that has
    /// conversations.
    fn advance_boxed<'a>(
        &'a mut self,
        turn: &'a mut RunningTurn<'_>,
    ) -> BoxFuture<'a, Result<Option<TurnOutcome>, LogError>> {
        self.advance(turn).boxed()
    }

    /// One round: open calls are run, limits are checked, the model is asked.
    async fn advance(
        &mut self,
        turn: &mut RunningTurn<'_>,
    ) -> Result<Option<TurnOutcome>, LogError> {
        if let Some(outcome) = self.run_calls(turn).await? {
            return Ok(Some(outcome));
        }
        if turn.stop.is_cancelled() {
            return self.stopped(turn, Receipt::default()).await;
        }
        self.take_queued(turn).await?;
        self.tell_instructions(turn.ports, turn.options).await?;
        let sight = turn.options.images;
        let sight = sight.filter(|_| turn.refusal.is_none() && !self.images_refused());
        self.see_images(sight);
        turn.request.shows_images = sight.is_some();
        turn.list(self.listed_tools(turn.ports, turn.options));
        let tokens = self.request_tokens(turn.frame);
        if let Some(reason) = turn.ports.purse.lacks(&self.need(turn, tokens)) {
            return self.pause(turn, reason).await;
        }
        match self.have_room(turn, tokens).await? {
            None | Some(RoomOutcome::Made(_)) => {}
            Some(RoomOutcome::None) => return self.end(turn, TurnEnd::ContextFull).await,
            Some(RoomOutcome::Cancelled) => return self.stopped(turn, Receipt::default()).await,
        }
        // What made room may have left out where the model was told of a tool.
        turn.list(self.listed_tools(turn.ports, turn.options));
        let estimated_tokens = self.request_tokens(turn.frame);
        let need = self.need(turn, estimated_tokens);
        let reservation = match turn.ports.purse.reserve(&need, &turn.stop).await {
            Ok(reservation) => reservation,
            Err(Refused::RanOut(reason)) => return self.pause(turn, reason).await,
            Err(Refused::Cancelled) => return self.stopped(turn, Receipt::default()).await,
            Err(Refused::Unknown(error)) => return Err(error),
        };
        turn.request.messages = self.messages();
        turn.request.max_tokens = reservation.answer_limit();
        let asking = Asking { request: &turn.request, estimated_tokens, reservation };
        match self.ask(turn.ports, turn.options, asking, &turn.stop).await? {
            RequestOutcome::Cancelled(receipt) => self.stopped(turn, receipt).await,
            RequestOutcome::RanOut(reason) => Ok(Some(TurnOutcome::Paused(reason))),
            RequestOutcome::Failure { error, receipt } => self.failed(turn, error, receipt).await,
            RequestOutcome::Answer { next, stop } => {
                if let Some(message) = turn.refusal.take() {
                    // Without the images the request succeeded, so they were the cause.
                    self.record(turn.ports, vec![SessionEvent::ImagesRefused { message }]).await?;
                }
                self.go_on(turn, next, &stop).await
            }
        }
    }

    /// Takes what the user has said in the meantime. All calls have their results here, so that the
    /// words stand behind them.
    async fn take_queued(&mut self, turn: &RunningTurn<'_>) -> Result<(), LogError> {
        if turn.resumes_answer {
            return Ok(());
        }
        if let Some(taken) = turn.ports.inbox.take() {
            self.record_taking(turn.ports, taken.events(), &taken.items()).await?;
            taken.written();
            turn.ports.tools.turn_began();
        }
        Ok(())
    }

    /// What the next request draws on the purse.
    fn need(&self, turn: &RunningTurn<'_>, tokens: u64) -> RequestNeed {
        let prices = turn.options.prices;
        let charged = self.ledger().charged_tokens(turn.frame, self.conversation().tokens());
        RequestNeed {
            purpose: Purpose::Turn,
            input: charged,
            input_cost: prices.map_or(0.0, |prices| self.ledger().projected(&prices, charged)),
            output: turn.options.answer_limit(tokens),
            prices,
        }
    }

    async fn run_calls(
        &mut self,
        turn: &mut RunningTurn<'_>,
    ) -> Result<Option<TurnOutcome>, LogError> {
        if !matches!(self.state(), ContextState::RunningTools(_)) {
            return Ok(None);
        }
        match self.process_auto_tool_step(turn.ports, &turn.stop).await? {
            ToolStep::Cancelled => return self.stopped(turn, Receipt::default()).await,
            ToolStep::Terminated => return self.end(turn, TurnEnd::Terminated).await,
            ToolStep::Ran => {}
        }
        let verdict = self.circles().verdict();
        if std::mem::take(&mut turn.cut_short) {
            let limit = turn.request.max_tokens;
            self.nudge(turn, format!(
                "Your last answer was cut at the limit of {limit} tokens, and a call in it was not \
                 run. Do the work in smaller calls.",
            )).await?;
        }
        match verdict {
            RepetitionVerdict::Fine => Ok(None),
            RepetitionVerdict::Tell { tool, times } => {
                self.nudge(turn, format!(
                    "You have called {tool} {times} times with the same arguments and got the same \
                     result each time. Calling it again will not help: use what you know, try \
                     something else, or tell the user what is in the way.",
                )).await?;
                Ok(None)
            }
            RepetitionVerdict::Ask { tool, times } => {
                self.pause(turn, PauseReason::GoingInCircles { tool, times }).await
            }
        }
    }

    /// Makes room if the next request would not fit. None if it fits already.
    async fn have_room(
        &mut self,
        turn: &mut RunningTurn<'_>,
        tokens: u64,
    ) -> Result<Option<RoomOutcome>, LogError> {
        let want = if turn.overfull {
            Want::Less { than: tokens }
        } else if tokens > turn.options.room() {
            Want::Fit
        } else {
            return Ok(None);
        };
        turn.made_room |= turn.overfull;
        turn.overfull = false;
        self.make_room(want, turn.frame, turn.ports, turn.options, &turn.stop).await.map(Some)
    }

    async fn go_on(
        &mut self,
        turn: &mut RunningTurn<'_>,
        next: Next,
        stop: &StopReason,
    ) -> Result<Option<TurnOutcome>, LogError> {
        turn.attempts.succeeded();
        let broken = matches!(self.state(), ContextState::RunningTools(open)
            if open.iter().any(|open| open.broken.is_some()));
        turn.cut_short = *stop == StopReason::MaxTokens && broken;
        turn.resumes_answer = next == Next::AskAgain;
        if *stop != StopReason::ContextFull {
            turn.made_room = false;
        } else if turn.made_room && next == Next::MakeRoom {
            return self.end(turn, TurnEnd::ContextFull).await;
        } else {
            turn.overfull = true;
        }
        match next {
            Next::End(end) => Ok(Some(TurnOutcome::Ended(end))),
            Next::RunCalls | Next::AskAgain => Ok(None),
            Next::MakeRoom => {
                let text = "Your last answer was cut because the conversation had become too long. \
                            Go on where you stopped.";
                self.nudge(turn, text.to_owned()).await?;
                Ok(None)
            }
        }
    }

    async fn failed(
        &mut self,
        turn: &mut RunningTurn<'_>,
        mut error: ModelError,
        receipt: Receipt,
    ) -> Result<Option<TurnOutcome>, LogError> {
        if error.kind == ModelErrorKind::Cancelled {
            return self.stopped(turn, receipt).await;
        }
        if turn.refusal.is_none() && self.conversation().shows_images() && may_be_images(&error) {
            turn.refusal = Some(error.message.clone());
            let message = format!("{}; asking again with images described in words", error.message);
            let failed = failure(ModelError { message, ..error }, Some(Duration::ZERO), receipt);
            self.record(turn.ports, vec![failed]).await?;
            return Ok(None);
        }
        if let Some(delay) = turn.retry(&mut error, !receipt.usage.is_zero()) {
            let failed = failure(error, Some(delay), receipt);
            self.record(turn.ports, vec![failed]).await?;
            retry::wait(delay, &turn.stop).await;
            return Ok(None);
        }
        let end = match error.kind {
            ModelErrorKind::ContextFull => TurnEnd::ContextFull,
            _ => TurnEnd::Failed,
        };
        let events = vec![failure(error, None, receipt), SessionEvent::TurnEnded(end)];
        self.record(turn.ports, events).await?;
        Ok(Some(TurnOutcome::Ended(end)))
    }

    /// The turn is stopped, in the middle of an answer or between: by the clock, then it pauses, or by
    /// the user, then it is over.
    async fn stopped(
        &mut self,
        turn: &RunningTurn<'_>,
        receipt: Receipt,
    ) -> Result<Option<TurnOutcome>, LogError> {
        let time_is_up = turn.ports.purse.time_is_up();
        let is_asking = matches!(self.state(), ContextState::AwaitingModel(_));
        let mut events = Vec::new();
        if is_asking && (time_is_up.is_some() || !receipt.usage.is_zero()) {
            events.push(cut_short(time_is_up.is_some(), receipt));
        }
        let (event, outcome) = match time_is_up {
            Some(reason) => (SessionEvent::Paused(reason.clone()), TurnOutcome::Paused(reason)),
            None => {
                let end = TurnEnd::Cancelled;
                (SessionEvent::TurnEnded(end), TurnOutcome::Ended(end))
            }
        };
        events.push(event);
        self.record(turn.ports, events).await?;
        Ok(Some(outcome))
    }

    async fn nudge(&mut self, turn: &RunningTurn<'_>, text: String) -> Result<(), LogError> {
        self.record(turn.ports, vec![SessionEvent::Nudged { text }]).await
    }

    async fn pause(
        &mut self,
        turn: &RunningTurn<'_>,
        reason: PauseReason,
    ) -> Result<Option<TurnOutcome>, LogError> {
        self.record(turn.ports, vec![SessionEvent::Paused(reason.clone())]).await?;
        Ok(Some(TurnOutcome::Paused(reason)))
    }

    async fn end(
        &mut self,
        turn: &RunningTurn<'_>,
        end: TurnEnd,
    ) -> Result<Option<TurnOutcome>, LogError> {
        self.record(turn.ports, vec![SessionEvent::TurnEnded(end)]).await?;
        Ok(Some(TurnOutcome::Ended(end)))
    }
}

/// Whether a request may have failed because of the images in it. Services that cannot show images
/// refuse the request; some say instead that there is no such model, or fail.
fn may_be_images(error: &ModelError) -> bool {
    match error.kind {
        ModelErrorKind::InvalidRequest => true,
        ModelErrorKind::UnknownModel | ModelErrorKind::Overloaded | ModelErrorKind::Malformed => {
            error.message.to_lowercase().contains("image")
        }
        _ => false,
    }
}

pub(crate) fn failure(
    error: ModelError,
    retry_in: Option<Duration>,
    receipt: Receipt,
) -> SessionEvent {
    let Receipt { usage, cost_usd } = receipt;
    let retry_in_ms = retry_in.map(milliseconds);
    let ModelError { kind, message, .. } = error;
    SessionEvent::ModelFailed { kind, message, retry_in_ms, usage, cost_usd }
}

/// An answer that was stopped on purpose, for this much.
pub(crate) fn cut_short(time_is_up: bool, receipt: Receipt) -> SessionEvent {
    let message =
        if time_is_up { "the time limit cut the answer" } else { "the user stopped the answer" };
    failure(ModelError::new(ModelErrorKind::Cancelled, message), None, receipt)
}

impl<'a> RunningTurn<'a> {
    fn new(
        ports: &'a Ports,
        options: &'a AgentOptions,
        tools: Arc<[ToolSpec]>,
        stop: CancellationToken,
    ) -> Self {
        let frame = frame_tokens(&options.system, &tools);
        let request = ModelRequest {
            model: options.model.clone(),
            system: options.system.clone(),
            messages: Vec::new(),
            tools,
            max_tokens: options.max_tokens,
            effort: options.effort,
            cache: CacheHint::Conversation,
            shows_images: options.images.is_some(),
        };
        Self {
            ports,
            options,
            stop,
            request,
            frame,
            attempts: Attempts::new(&options.retry),
            overfull: false,
            made_room: false,
            cut_short: false,
            resumes_answer: false,
            refusal: None,
        }
    }

    /// Lists these tools from here on.
    fn list(&mut self, tools: Arc<[ToolSpec]>) {
        if !Arc::ptr_eq(&tools, &self.request.tools) {
            self.frame = frame_tokens(&self.options.system, &tools);
            self.request.tools = tools;
        }
    }

    /// After how long a failed request is to be sent again, if at all.
    fn retry(&mut self, error: &mut ModelError, is_charged: bool) -> Option<Duration> {
        if error.kind == ModelErrorKind::ContextFull && !self.made_room {
            self.overfull = true;
            return Some(Duration::ZERO);
        }
        self.attempts.wait_after(error, is_charged)
    }
}
