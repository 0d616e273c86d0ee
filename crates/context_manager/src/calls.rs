//! Running the calls of an answer: beside each other if all of them only look, in order otherwise.
//! Whatever happens, each call gets exactly one result.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use protocol::{
    CallReport, Content, ErrorCode, ModelAnswer, PauseReason, SessionEvent, ToolCall, ToolError,
    ToolResult,
};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::budget::milliseconds;
use crate::state::{CallProgress, OpenCall};
use crate::{ChatContext, ContextState, Doors, LogError};

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

/// A call that has ended.
struct Ended {
    call_id: String,
    report: CallReport,
    duration_ms: u64,
}

impl From<Ended> for SessionEvent {
    fn from(ended: Ended) -> Self {
        let Ended { call_id, report, duration_ms } = ended;
        let CallReport { result, text, images, title, found_tools } = report;
        SessionEvent::CallEnded { call_id, result, text, images, title, found_tools, duration_ms }
    }
}

impl ChatContext {
    /// Runs the calls of the last answer and writes down their results. Without open calls it does
    /// nothing.
    pub async fn process_auto_tool_step(
        &mut self,
        doors: &Doors,
        cancel: &CancellationToken,
    ) -> Result<ToolStep, LogError> {
        self.run_open_calls(&HashSet::new(), doors, cancel).await
    }

    /// The same, where it is already written down that the calls in `begun` are being run.
    pub(crate) async fn run_open_calls(
        &mut self,
        begun: &HashSet<String>,
        doors: &Doors,
        cancel: &CancellationToken,
    ) -> Result<ToolStep, LogError> {
        let ContextState::RunningTools(open) = self.state() else { return Ok(ToolStep::Ran) };
        let mut unfit: Vec<SessionEvent> = Vec::new();
        let mut calls = Vec::new();
        for open in open {
            match unfit_to_run(open, begun) {
                Some(error) => unfit.push(without_running(&open.call, error).into()),
                None => calls.push(open.call.clone()),
            }
        }
        self.record(doors, unfit).await?;

        let ending: HashSet<String> = calls
            .iter()
            .filter(|call| doors.tools.terminates(call))
            .map(|call| call.id.clone())
            .collect();
        let succeeded = if run_beside_each_other(&calls, doors) {
            self.run_side_by_side(calls, begun, doors, cancel).await?
        } else {
            self.run_in_order(calls, begun, doors, cancel).await?
        };
        Ok(match () {
            () if cancel.is_cancelled() => ToolStep::Cancelled,
            () if !ending.is_disjoint(&succeeded) => ToolStep::Terminated,
            () => ToolStep::Ran,
        })
    }

    /// Answers with the calls that succeeded.
    async fn run_side_by_side(
        &mut self,
        calls: Vec<ToolCall>,
        begun: &HashSet<String>,
        doors: &Doors,
        cancel: &CancellationToken,
    ) -> Result<HashSet<String>, LogError> {
        let not_begun = calls.iter().filter(|call| !begun.contains(&call.id));
        self.record(doors, not_begun.map(|call| started(call, doors)).collect()).await?;
        let running = calls.into_iter().map(|call| run(doors, call, cancel));
        let mut ended =
            stream::iter(running).buffer_unordered(MOST_AT_ONCE).ready_chunks(MOST_AT_ONCE);
        let mut succeeded = HashSet::new();
        while let Some(ended) = ended.next().await {
            succeeded.extend(ended.iter().filter_map(Ended::success));
            self.record(doors, ended.into_iter().map(SessionEvent::from).collect()).await?;
        }
        Ok(succeeded)
    }

    /// Answers with the calls that succeeded.
    async fn run_in_order(
        &mut self,
        calls: Vec<ToolCall>,
        begun: &HashSet<String>,
        doors: &Doors,
        cancel: &CancellationToken,
    ) -> Result<HashSet<String>, LogError> {
        let mut succeeded = HashSet::new();
        // The end of a call and the beginning of the next are written together.
        let mut events: Vec<SessionEvent> = Vec::new();
        for call in calls {
            if cancel.is_cancelled() {
                events.push(without_running(&call, not_begun(doors)).into());
                continue;
            }
            if !begun.contains(&call.id) {
                events.push(started(&call, doors));
            }
            self.record(doors, std::mem::take(&mut events)).await?;
            let ended = run(doors, call, cancel).await;
            succeeded.extend(ended.success());
            events.push(ended.into());
        }
        self.record(doors, events).await?;
        Ok(succeeded)
    }
}

impl Ended {
    fn success(&self) -> Option<String> {
        self.report.result.is_ok().then(|| self.call_id.clone())
    }
}

/// The calls of an answer that are begun first, so that this can be written down together with the
/// answer. None if one of them cannot be run: that is told before another is begun.
pub(crate) fn begun_first<'a>(answer: &'a ModelAnswer, doors: &Doors) -> Vec<&'a ToolCall> {
    if !answer.broken.is_empty() {
        return Vec::new();
    }
    let calls = answer.content.iter().filter_map(|content| match content {
        Content::ToolUse(call) => Some(call),
        _ => None,
    });
    let mut calls: Vec<_> = calls.collect();
    if !run_beside_each_other(&calls, doors) {
        calls.truncate(1);
    }
    calls
}

fn run_beside_each_other(calls: &[impl Borrow<ToolCall>], doors: &Doors) -> bool {
    calls.len() > 1 && calls.iter().all(|call| doors.tools.is_read_only(call.borrow()))
}

pub(crate) fn started(call: &ToolCall, doors: &Doors) -> SessionEvent {
    SessionEvent::CallStarted { call_id: call.id.clone(), title: doors.tools.title(call) }
}

fn without_running(call: &ToolCall, error: ToolError) -> Ended {
    Ended { call_id: call.id.clone(), report: Err(error).into(), duration_ms: 0 }
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
    // Somebody has begun it before; twice would be worse than not at all.
    let is_new = open.progress == CallProgress::Announced || begun.contains(&open.call.id);
    (!is_new).then(|| open.interrupted())
}

fn not_begun(doors: &Doors) -> ToolError {
    let message = match time_limit(doors) {
        Some(limit) => format!("The time limit of {limit} was reached before this call was run."),
        None => "The user cancelled before this call was run.".to_owned(),
    };
    ToolError::new(ErrorCode::Cancelled, message)
}

fn left_behind(doors: &Doors) -> ToolError {
    let message = match time_limit(doors) {
        Some(limit) => {
            format!("The time limit of {limit} cut this call; it may still take effect.")
        }
        None => {
            "The user cancelled while this call was running; it may still take effect.".to_owned()
        }
    };
    ToolError::new(ErrorCode::Cancelled, message)
}

/// The result of a call that ended by itself. A tool that heeds a cancel cannot know where it came from.
fn told_why(result: ToolResult, doors: &Doors) -> ToolResult {
    let Err(mut error) = result else { return result };
    if error.code == ErrorCode::Cancelled
        && let Some(limit) = time_limit(doors)
    {
        error.message = format!("The time limit of {limit} cut this call: {}", error.message);
    }
    Err(error)
}

/// The time limit in words, if it has been reached.
fn time_limit(doors: &Doors) -> Option<String> {
    match doors.purse.time_is_up()? {
        PauseReason::TimeBudget { limit_ms, .. } if limit_ms.is_multiple_of(1000) => {
            Some(format!("{} s", limit_ms / 1000))
        }
        PauseReason::TimeBudget { limit_ms, .. } => Some(format!("{limit_ms} ms")),
        _ => None,
    }
}

/// Runs a call as a task of its own: a panic becomes a result, and a tool that does not heed a
/// cancel is left behind without being torn apart in the middle of a change.
async fn run(doors: &Doors, call: ToolCall, cancel: &CancellationToken) -> Ended {
    if cancel.is_cancelled() {
        return without_running(&call, not_begun(doors));
    }
    let begun = Instant::now();
    let call_id = call.id.clone();
    let token = cancel.child_token();
    // Whoever drops this future wants the tool to stop as well.
    let guard = token.clone().drop_guard();
    let tools = Arc::clone(&doors.tools);
    let mut task = tokio::spawn(async move { tools.execute_tool(&call, &token).await });
    let report = tokio::select! {
        biased;
        ended = &mut task => {
            let report = ended.unwrap_or_else(|error| Err(broke_down(error)).into());
            CallReport { result: told_why(report.result, doors), ..report }
        }
        () = grace_is_over(cancel) => Err(left_behind(doors)).into(),
    };
    guard.disarm();
    Ended { call_id, report, duration_ms: milliseconds(begun.elapsed()) }
}

fn broke_down(error: JoinError) -> ToolError {
    let panic = error.try_into_panic().ok();
    let said = panic.as_deref().and_then(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
    });
    let message = format!("The tool broke down: {}.", said.unwrap_or("it was stopped"));
    ToolError::new(ErrorCode::Internal, message)
}

async fn grace_is_over(cancel: &CancellationToken) {
    cancel.cancelled().await;
    sleep(GRACE).await;
}
