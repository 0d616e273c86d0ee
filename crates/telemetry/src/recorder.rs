//! The sessions of a process that are open, each with its fold.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::{LogEntry, TraceContext};

use crate::content::ContentCapture;
use crate::export::{ExportStatus, Exporter};
use crate::fold::SpanFold;
use crate::served_call::{ServedCall, server_span};

/// Reads what is written to the logs of sessions, and has it sent.
pub struct Recorder {
    content: ContentCapture,
    exporter: Exporter,
    folds: Mutex<HashMap<String, SpanFold>>,
}

impl Recorder {
    /// Nothing is read yet.
    pub fn new(exporter: Exporter, content: ContentCapture) -> Self {
        Self { content, exporter, folds: Mutex::default() }
    }

    /// A session is taken up, with what its log holds. What has ended of the turn that is open is sent again, because
    /// whoever had the session may have died before that was sent; the ids are the same.
    pub fn taken_up(&self, session: &str, entries: &[LogEntry]) {
        let mut fold = SpanFold::new(session, self.content);
        let mut ended = Vec::new();
        for entry in entries.iter().filter(|entry| !entry.event.is_delta()) {
            ended.extend(fold.apply(entry).spans);
            let open = fold.open_trace();
            ended.retain(|span| Some(span.trace) == open);
        }
        ended.into_iter().for_each(|span| self.exporter.offer(span));
        self.folds().insert(session.to_owned(), fold);
    }

    /// Entries were written.
    pub fn written(&self, session: &str, entries: &[LogEntry]) {
        let mut folds = self.folds();
        let fold =
            folds.entry(session.to_owned()).or_insert_with(|| SpanFold::new(session, self.content));
        for entry in entries.iter().filter(|entry| !entry.event.is_delta()) {
            let folded = fold.apply(entry);
            self.exporter.measures().count(&folded);
            folded.spans.into_iter().for_each(|span| self.exporter.offer(span));
        }
    }

    /// A session is not open here any more. What is open in its log is closed by whoever takes it up.
    pub fn left(&self, session: &str) {
        self.folds().remove(session);
    }

    /// The span of a call that runs, as other programs are told of it: the one that is sent when the call has ended.
    /// None if traces are not sent anywhere.
    pub fn trace_context(
        &self,
        session: &str,
        path: &[String],
        call_id: &str,
    ) -> Option<TraceContext> {
        if !self.exporter.sends_traces() {
            return None;
        }
        let folds = self.folds();
        let span = folds.get(session)?.running_call(path, call_id)?;
        let (trace, span) = (span.trace.0, span.id.0);
        Some(TraceContext { trace, span, is_sampled: true, state: None })
    }

    /// A call of another program's has ended. It is sent as a part of that program's trace, if that is recorded.
    pub fn served(&self, call: ServedCall) {
        if call.context.is_sampled {
            self.exporter.offer(server_span(call));
        }
    }

    /// What became of it so far.
    pub fn status(&self) -> ExportStatus {
        self.exporter.status()
    }

    /// Sends what waits, for so long at most.
    pub async fn shutdown(&self, limit: Duration) {
        self.exporter.shutdown(limit).await;
    }

    fn folds(&self) -> MutexGuard<'_, HashMap<String, SpanFold>> {
        self.folds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
