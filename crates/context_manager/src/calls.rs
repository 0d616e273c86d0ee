//! Running the calls of an answer: in parallel if all of them are read-only, in order otherwise.
//! Whatever happens, each call gets exactly one result.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use protocol::{
    CallReport, Content, ErrorCode, ModelAnswer, PauseReason, SessionEvent, ToolCall, ToolError,
    ToolResult,
};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::budget::milliseconds;
use crate::state::{CallProgress, OpenCall};
use crate::{ChatContext, ContextState, LogError, Ports};

/// The most calls that run at once.
const MOST_AT_ONCE: usize = 8;
/// How long a tool may take to end after a cancel.
const GRACE: Duration = Duration::from_millis(50);

/// What became of the calls of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStep {
    /// They have their results, and the model is to see them.
    Ran,
    /// They have their results, and the model wanted its turn to end with them.
    Terminated,
    /// The user or the clock has stopped the turn; what was not done by then is not done.
    Cancelled,
}

impl ChatContext {
    /// The step of the loop that runs the calls of the last answer and writes down their results.
    /// Without open calls it does nothing.
    pub async fn process_auto_tool_step(
        &mut self,
        ports: &Ports,
        cancel: &CancellationToken,
    ) -> Result<ToolStep, LogError> {
        let begun = &std::mem::take(&mut self.begun_calls);
        let ContextState::RunningTools(open) = self.state() else { return Ok(ToolStep::Ran) };
        let mut unfit: Vec<SessionEvent> = Vec::new();
        let mut calls = Vec::new();
        for open in open {
            match unfit_to_run(open, begun) {
                Some(error) => unfit.push(ended_event(&open.call.id, Err(error).into(), 0)),
                None => calls.push(open.call.clone()),
            }
        }
        self.record(ports, unfit).await?;

        let ending: HashSet<String> = calls
            .iter()
            .filter(|call| ports.tools.terminates(call))
            .map(|call| call.id.clone())
            .collect();
        let succeeded = if run_beside_each_other(&calls, ports) {
            self.run_side_by_side(calls, begun, ports, cancel).await?
        } else {
            self.run_in_order(calls, begun, ports, cancel).await?
        };
        Ok(match () {
            () if cancel.is_cancelled() => ToolStep::Cancelled,
            () if !ending.is_disjoint(&succeeded) => ToolStep::Terminated,
            () => ToolStep::Ran,
        })
    }

    /// Returns the calls that succeeded.
    async fn run_side_by_side(
        &mut self,
        calls: Vec<ToolCall>,
        begun: &HashSet<String>,
        ports: &Ports,
        cancel: &CancellationToken,
    ) -> Result<HashSet<String>, LogError> {
        let not_begun = calls.iter().filter(|call| !begun.contains(&call.id));
        self.record(ports, not_begun.map(|call| started(call, ports)).collect()).await?;
        let running = calls.into_iter().map(|call| run(ports, call, cancel));
        let mut ended =
            stream::iter(running).buffer_unordered(MOST_AT_ONCE).ready_chunks(MOST_AT_ONCE);
        let mut succeeded = HashSet::new();
        while let Some(ended) = ended.next().await {
            succeeded.extend(ended.iter().filter_map(success));
            self.record(ports, ended).await?;
        }
        Ok(succeeded)
    }

    /// Returns the calls that succeeded.
    async fn run_in_order(
        &mut self,
        calls: Vec<ToolCall>,
        begun: &HashSet<String>,
        ports: &Ports,
        cancel: &CancellationToken,
    ) -> Result<HashSet<String>, LogError> {
        let mut succeeded = HashSet::new();
        // The end of a call and the beginning of the next are written together.
        let mut events: Vec<SessionEvent> = Vec::new();
        for call in calls {
            if cancel.is_cancelled() {
                events.push(ended_event(&call.id, Err(not_begun(ports)).into(), 0));
                continue;
            }
            if !begun.contains(&call.id) {
                events.push(started(&call, ports));
            }
            self.record(ports, std::mem::take(&mut events)).await?;
            let ended = run(ports, call, cancel).await;
            succeeded.extend(success(&ended));
            events.push(ended);
        }
        self.record(ports, events).await?;
        Ok(succeeded)
    }
}

/// The call that has succeeded, if this is the end of one.
fn success(event: &SessionEvent) -> Option<String> {
    match event {
        SessionEvent::CallEnded { call_id, result: Ok(_), .. } => Some(call_id.clone()),
        _ => None,
    }
}

/// The calls of an answer that are begun first, so that this can be written down together with the
/// answer. None if one of them cannot be run: that is told before another is begun.
pub(crate) fn begun_first<'a>(answer: &'a ModelAnswer, ports: &Ports) -> Vec<&'a ToolCall> {
    if !answer.broken.is_empty() {
        return Vec::new();
    }
    let calls = answer.content.iter().filter_map(|content| match content {
        Content::ToolUse(call) => Some(call),
        _ => None,
    });
    let mut calls: Vec<_> = calls.collect();
    if !run_beside_each_other(&calls, ports) {
        calls.truncate(1);
    }
    calls
}

fn run_beside_each_other(calls: &[impl Borrow<ToolCall>], ports: &Ports) -> bool {
    calls.len() > 1 && calls.iter().all(|call| ports.tools.is_read_only(call.borrow()))
}

pub(crate) fn started(call: &ToolCall, ports: &Ports) -> SessionEvent {
    SessionEvent::CallStarted { call_id: call.id.clone(), title: ports.tools.title(call) }
}

/// The end of a call.
pub(crate) fn ended_event(call_id: &str, report: CallReport, duration_ms: u64) -> SessionEvent {
    let CallReport { result, text, images, title, found_tools } = report;
    let call_id = call_id.to_owned();
    SessionEvent::CallEnded { call_id, result, text, images, title, found_tools, duration_ms }
}

/// Why a call must not be run.
fn unfit_to_run(open: &OpenCall, begun: &HashSet<String>) -> Option<ToolError> {
    if let Some(reason) = &open.broken {
        let error = ToolError::new(
            ErrorCode::InvalidArguments,
            format!("This call of {} was not run: {reason}.", open.call.name),
        );
        return Some(error.suggest("Make the call again with complete, valid JSON arguments."));
    }
    // Another process has begun it; running it twice would be worse than not at all.
    let is_new = open.progress == CallProgress::Announced || begun.contains(&open.call.id);
    (!is_new).then(|| open.interrupted())
}

fn not_begun(ports: &Ports) -> ToolError {
    let message = match time_limit(ports) {
        Some(limit) => format!("The time limit of {limit} was reached before this call was run."),
        None => "The user cancelled before this call was run.".to_owned(),
    };
    ToolError::new(ErrorCode::Cancelled, message)
}

fn left_behind(ports: &Ports) -> ToolError {
    let message = match time_limit(ports) {
        Some(limit) => {
            format!("The time limit of {limit} cut this call; it may still take effect.")
        }
        None => {
            "The user cancelled while this call was running; it may still take effect.".to_owned()
        }
    };
    ToolError::new(ErrorCode::Cancelled, message)
}

/// The result of a call that ended by itself. A tool that was cancelled cannot know
/// whether the user or the time limit did it.
fn told_why(result: ToolResult, ports: &Ports) -> ToolResult {
    let Err(mut error) = result else { return result };
    if error.code == ErrorCode::Cancelled
        && let Some(limit) = time_limit(ports)
    {
        error.message = format!("The time limit of {limit} cut this call: {}", error.message);
    }
    Err(error)
}

/// The time limit in words, if it has been reached.
fn time_limit(ports: &Ports) -> Option<String> {
    match ports.purse.time_is_up()? {
        PauseReason::TimeBudget { limit_ms, .. } if limit_ms.is_multiple_of(1000) => {
            Some(format!("{} s", limit_ms / 1000))
        }
        PauseReason::TimeBudget { limit_ms, .. } => Some(format!("{limit_ms} ms")),
        _ => None,
    }
}

/// Runs a call as a task of its own: a tool that ignores its cancellation is left to finish, instead
/// of being dropped in the middle of a change.
async fn run(ports: &Ports, call: ToolCall, cancel: &CancellationToken) -> SessionEvent {
    if cancel.is_cancelled() {
        return ended_event(&call.id, Err(not_begun(ports)).into(), 0);
    }
    let begun = Instant::now();
    let call_id = call.id.clone();
    let token = cancel.child_token();
    // Dropping this future stops the tool as well.
    let guard = token.clone().drop_guard();
    let tools = Arc::clone(&ports.tools);
    let mut task = tokio::spawn(async move { tools.execute_tool(&call, &token).await });
    let report = tokio::select! {
        biased;
        ended = &mut task => {
            let report = ended.unwrap_or_else(|error| match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(_) => {
                    let message = "The process ended while this call was running.";
                    Err(ToolError::new(ErrorCode::Cancelled, message)).into()
                }
            });
            CallReport { result: told_why(report.result, ports), ..report }
        }
        () = async { cancel.cancelled().await; sleep(GRACE).await } => {
            Err(left_behind(ports)).into()
        }
    };
    guard.disarm();
    ended_event(&call_id, report, milliseconds(begun.elapsed()))
}
