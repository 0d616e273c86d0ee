//! A command that runs on between calls.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::{CommandSpec, ToolError};
use sandbox::{Canceller, Ran, RunOptions, SandboxError};
use serde::Serialize;
use tokio::sync::Notify;

use super::backend::CommandBackend;
use super::report::whole_characters;

use crate::locked::locked;

/// Bytes of output that are kept of a job, the newest.
const KEPT_BYTES: usize = 256 * 1024;

/// One command in the background.
pub(crate) struct Job {
    pub(super) argv: Vec<String>,
    canceller: Canceller,
    input: Mutex<Option<Sender<Vec<u8>>>>,
    state: Mutex<JobState>,
    news: Notify,
}

#[derive(Default)]
struct JobState {
    kept: VecDeque<u8>,
    /// How many bytes came before those that are kept.
    dropped: u64,
    end: Option<JobEnd>,
}

/// How a job ended.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct JobEnd {
    /// Its exit code, if it ended by itself.
    pub(crate) exit_code: Option<i32>,
    /// What else is to be said.
    pub(crate) message: Option<String>,
}

/// A look at the output of a job.
pub(crate) struct JobView {
    pub(crate) output: String,
    pub(crate) cursor: u64,
    /// Bytes after the asked place that are not kept any more.
    pub(crate) missed: u64,
    pub(crate) end: Option<JobEnd>,
}

impl Job {
    /// Starts a command on a thread of its own.
    pub(super) fn start(backend: CommandBackend, spec: CommandSpec) -> Result<Arc<Job>, ToolError> {
        let failed = |error: std::io::Error| {
            ToolError::new(protocol::ErrorCode::ExecutionError, format!("no job: {error}"))
        };
        let (stdin, mut write) = std::io::pipe().map_err(failed)?;
        let (input, told) = mpsc::channel::<Vec<u8>>();
        let job = Arc::new(Job {
            argv: spec.argv.clone(),
            canceller: Canceller::new()?,
            input: Mutex::new(Some(input)),
            state: Mutex::default(),
            news: Notify::new(),
        });
        // A program that does not read keeps only this thread waiting.
        let writing = move || {
            for bytes in told {
                if write.write_all(&bytes).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().name("job input".into()).spawn(writing).map_err(failed)?;
        let running = Arc::clone(&job);
        let run = move || {
            let options = RunOptions {
                cancel: Some(&running.canceller),
                stdin: Some(stdin.into()),
                ..RunOptions::default()
            };
            let ran = backend.run(&spec, options, |chunk| running.take(chunk.bytes));
            running.finish(ran);
        };
        std::thread::Builder::new().name("job".into()).spawn(run).map_err(failed)?;
        Ok(job)
    }

    fn take(&self, bytes: &[u8]) {
        let mut state = locked(&self.state);
        state.kept.extend(bytes);
        let too_many = state.kept.len().saturating_sub(KEPT_BYTES);
        state.kept.drain(..too_many);
        state.dropped += too_many as u64;
        drop(state);
        self.news.notify_waiters();
    }

    fn finish(&self, ran: Result<Ran, SandboxError>) {
        let end = match ran {
            Ok(ran) => {
                use sandbox::Exit;
                let (exit_code, message) = match ran.exit {
                    Exit::Code(code) => (Some(code), None),
                    Exit::Signal(signal) => (None, Some(format!("ended by signal {signal}"))),
                    Exit::Timeout => (None, Some("its time was over".into())),
                    Exit::Cancelled => (None, Some("stopped".into())),
                    Exit::Limit(_) => (None, Some("it exceeded a limit".into())),
                };
                JobEnd { exit_code, message }
            }
            Err(error) => JobEnd { exit_code: None, message: Some(error.to_string()) },
        };
        locked(&self.state).end = Some(end);
        *locked(&self.input) = None;
        self.news.notify_waiters();
    }

    /// Ends it with everything it started.
    pub(super) fn stop(&self) {
        self.canceller.cancel();
    }

    /// Hands text to its standard input. Answers whether it still runs.
    pub(super) fn tell(&self, text: String) -> bool {
        let input = locked(&self.input);
        input.as_ref().is_some_and(|input| input.send(text.into_bytes()).is_ok())
    }

    pub(super) fn end(&self) -> Option<JobEnd> {
        locked(&self.state).end.clone()
    }

    /// What came after `cursor`.
    pub(super) fn look(&self, cursor: u64) -> JobView {
        let mut state = locked(&self.state);
        let missed = state.dropped.saturating_sub(cursor);
        let from = usize::try_from(cursor.saturating_sub(state.dropped)).unwrap_or(usize::MAX);
        let end = state.end.clone();
        let dropped = state.dropped;
        let bytes = state.kept.make_contiguous();
        let bytes = &bytes[from.min(bytes.len())..];
        // While it runs, the rest of a cut character is still to come.
        let whole = if end.is_some() { bytes.len() } else { whole_characters(bytes) };
        let output = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        let cursor = cursor.max(dropped) + whole as u64;
        JobView { output, cursor, missed, end }
    }

    /// Waits until there is something after `cursor`, or the job has ended, but not for long.
    pub(super) async fn wait(&self, cursor: u64, patience: Duration) {
        let news = self.news.notified();
        tokio::pin!(news);
        news.as_mut().enable();
        let look = self.look(cursor);
        if look.output.is_empty() && look.end.is_none() {
            let _ = tokio::time::timeout(patience, news).await;
        }
    }

    /// Waits until it has ended, but not for long.
    pub(super) async fn wait_for_end(&self, patience: Duration) {
        let ended = async {
            loop {
                let news = self.news.notified();
                tokio::pin!(news);
                news.as_mut().enable();
                if self.end().is_some() {
                    return;
                }
                news.await;
            }
        };
        let _ = tokio::time::timeout(patience, ended).await;
    }
}
