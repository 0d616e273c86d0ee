//! What a long answer costs in memory. The kernel counts it, in a process of its own: the allocations of SQLite
//! count too, and those of other tests do not.
#![allow(
    clippy::disallowed_methods,
    reason = "the test starts a process and asks the kernel what it took"
)]

use std::process::Command;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_manager::{
    ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, StopReason,
};
use futures_util::{StreamExt as _, stream};
use protocol::{LogEntry, SessionEvent};
use session::{Model, TurnOutcome};
use timeline::{ItemBody, Timeline};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::stage::{Scripted, Stage, send};

const VARIABLE: &str = "SESSION_TEST_LONG_ANSWER";
const LINE: &str = "A line of the answer says \"as much\" as a line of text can say.\n";
const LINES: usize = 160_000;
const ANSWER_BYTES: usize = LINES * LINE.len();
/// How many times the answer may be in memory while it comes: once, shared by the draft, the state, the log and the
/// timeline, and some room for all that does not grow with it.
const WHILE_IT_COMES: usize = 2;
/// The same when the whole answer is written. It is one row, of which there are then its JSON and two copies in SQLite.
const WHEN_IT_IS_WRITTEN: usize = 5;

/// Sends the long answer, made as it is read, and notes the memory at its end.
#[derive(Default)]
struct LongAnswer {
    at_the_end: Arc<Mutex<usize>>,
}

#[async_trait]
impl ModelProvider for LongAnswer {
    fn name(&self) -> &str {
        "long"
    }

    async fn stream(&self, _: &ModelRequest) -> Result<ModelStream, ModelError> {
        let lines = (0..LINES).map(|_| ModelEvent::Text(LINE.to_owned()));
        let note = Arc::clone(&self.at_the_end);
        let end = std::iter::once_with(move || {
            *note.lock().unwrap() = memory("VmHWM:");
            ModelEvent::Done(StopReason::EndOfTurn)
        });
        Ok(stream::iter(lines.chain(end).map(Ok)).boxed())
    }
}

/// A number of bytes that the kernel tells about this process.
fn memory(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Folds what is written, as a screen does, until the turn ends.
async fn shown(mut written: UnboundedReceiver<LogEntry>) -> Timeline {
    let mut timeline = Timeline::default();
    while let Some(entry) = written.recv().await {
        timeline.apply(&entry);
        if let SessionEvent::TurnEnded(_) = entry.event {
            break;
        }
    }
    timeline
}

/// Not a test of its own: the process that the test below starts.
#[tokio::test]
#[allow(clippy::print_stdout, reason = "it tells the test what it took")]
async fn takes_a_long_answer() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let long = LongAnswer::default();
    let at_the_end = Arc::clone(&long.at_the_end);
    let mut stage = Stage::new(&Scripted::new("scripted", [])).await;
    stage.parts.model = Model {
        provider: Arc::new(long),
        max_tokens: 20_000_000,
        context_tokens: 200_000_000,
        ..stage.parts.model
    };
    let mut session = stage.begin().await;
    let written = session.log().watch();
    let before = memory("VmRSS:");
    let (outcome, timeline) = tokio::join!(send(&mut session, "Go on."), shown(written));
    let (while_it_comes, in_all) =
        (*at_the_end.lock().unwrap() - before, memory("VmHWM:") - before);
    assert!(matches!(outcome, TurnOutcome::Ended(_)), "{outcome:?}");
    let answer = timeline.items().iter().find_map(|item| match &item.body {
        ItemBody::Answer(answer) => Some(answer.text.len()),
        _ => None,
    });
    assert_eq!(answer, Some(ANSWER_BYTES));
    println!("\ntook {while_it_comes} {in_all}");
}

#[test]
fn a_long_answer_is_in_memory_once_until_it_is_written_as_a_whole() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "long_answers::takes_a_long_answer", "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let took = said.lines().find_map(|line| line.strip_prefix("took ")).unwrap_or_else(|| {
        panic!("{said}{}", String::from_utf8_lossy(&output.stderr));
    });
    let took: Vec<usize> = took.split(' ').map(|bytes| bytes.parse().unwrap()).collect();
    let bounds = [WHILE_IT_COMES, WHEN_IT_IS_WRITTEN].map(|times| times * ANSWER_BYTES);
    let fits = took.iter().zip(bounds).all(|(took, bound)| *took <= bound);
    assert!(took.len() == bounds.len() && fits, "{took:?} > {bounds:?}");
}
