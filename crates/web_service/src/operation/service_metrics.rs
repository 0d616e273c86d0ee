//! Counts what happens in the service, for `/metrics`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::{LogEntry, SessionEvent};
use session::LogObserver;
use store::SessionId;

use super::exposition::{Durations, Exposition};
use super::request_log::RequestRecord;

/// What happened to requests. Every label has few values: routes and methods come from tables.
#[derive(Debug, Default)]
pub(crate) struct RequestCounters(Mutex<Requests>);

#[derive(Debug, Default)]
struct Requests {
    answered: BTreeMap<(&'static str, &'static str, u16), u64>,
    durations: BTreeMap<&'static str, Durations>,
    refused: BTreeMap<&'static str, u64>,
    shed: BTreeMap<&'static str, u64>,
}

impl RequestCounters {
    pub(crate) fn answered(&self, record: &RequestRecord, took: Duration) {
        let mut requests = locked(&self.0);
        *requests.answered.entry((record.method, record.route, record.status)).or_default() += 1;
        requests.durations.entry(record.route).or_default().record(took.as_secs_f64());
    }

    /// A request was not listened to, for this reason.
    pub(crate) fn refused(&self, reason: &'static str) {
        *locked(&self.0).refused.entry(reason).or_default() += 1;
    }

    /// There was no room for a `request`, a `stream` or a `connection`.
    pub(crate) fn shed(&self, what: &'static str) {
        *locked(&self.0).shed.entry(what).or_default() += 1;
    }

    pub(crate) fn tell(&self, text: &mut Exposition) {
        let requests = locked(&self.0);
        let mut family =
            text.counter("toolkiln_http_requests_total", "Requests that were answered.");
        for ((method, route, status), count) in &requests.answered {
            let status = status.to_string();
            let labels = [("method", *method), ("route", *route), ("status", status.as_str())];
            family = family.add(&labels, *count);
        }
        let about = "Time from the head of a request to the head of its answer.";
        let mut family = text.histogram("toolkiln_http_request_duration_seconds", about);
        for (route, durations) in &requests.durations {
            family = family.add_seconds(&[("route", route)], durations);
        }
        let about = "Requests that were not listened to.";
        counts(text, "toolkiln_http_refused_total", about, "reason", &requests.refused);
        let about = "What was turned away because there was no room for it.";
        counts(text, "toolkiln_http_shed_total", about, "what", &requests.shed);
    }
}

/// What happened in sessions that are open here.
#[derive(Debug, Default)]
pub(crate) struct SessionCounters(Mutex<Sessions>);

#[derive(Debug, Default)]
struct Sessions {
    entries: u64,
    turns: BTreeMap<String, u64>,
    tokens: BTreeMap<&'static str, u64>,
    answers: BTreeMap<String, u64>,
    calls: BTreeMap<String, u64>,
    approvals: BTreeMap<&'static str, u64>,
}

impl Sessions {
    fn count(&mut self, event: &SessionEvent) {
        if let Some((usage, _)) = event.spent() {
            *self.tokens.entry("input").or_default() += usage.seen();
            *self.tokens.entry("output").or_default() += usage.output;
        }
        let inner = innermost(event);
        match inner {
            SessionEvent::TurnEnded(end) => *self.turns.entry(word(end)).or_default() += 1,
            SessionEvent::ModelAnswered(_) => {
                *self.answers.entry("ok".to_owned()).or_default() += 1;
            }
            SessionEvent::ModelFailed { kind, .. } => {
                *self.answers.entry(word(kind)).or_default() += 1;
            }
            SessionEvent::CallEnded { result, .. } => {
                let outcome = result.as_ref().map_or_else(
                    |error| error.code.as_str().to_ascii_lowercase(),
                    |_| "ok".to_owned(),
                );
                *self.calls.entry(outcome).or_default() += 1;
            }
            SessionEvent::ApprovalAnswered { response, .. } => {
                let answer = if response.is_approved() { "approved" } else { "denied" };
                *self.approvals.entry(answer).or_default() += 1;
            }
            _ => {}
        }
    }
}

/// What happened, in a sub-agent too.
fn innermost(event: &SessionEvent) -> &SessionEvent {
    match event {
        SessionEvent::Nested { entry, .. } => innermost(&entry.event),
        event => event,
    }
}

/// The one word that stands for a value in the log.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

impl LogObserver for SessionCounters {
    fn taken_up(&self, _: &SessionId, _: &[LogEntry]) {}

    fn written(&self, _: &SessionId, entries: &[LogEntry]) {
        let mut sessions = locked(&self.0);
        sessions.entries += entries.len() as u64;
        entries.iter().for_each(|entry| sessions.count(&entry.event));
    }

    fn left(&self, _: &SessionId) {}
}

impl SessionCounters {
    pub(crate) fn tell(&self, text: &mut Exposition) {
        let sessions = locked(&self.0);
        text.counter(
            "toolkiln_log_entries_total",
            "Entries that were written to logs of sessions.",
        )
        .add(&[], sessions.entries);
        let about = "Turns that have ended, those of sub-agents included.";
        counts(text, "toolkiln_turns_total", about, "end", &sessions.turns);
        let about = "Tokens that models have read and written.";
        counts(text, "toolkiln_tokens_total", about, "type", &sessions.tokens);
        let about = "Requests to models, by what came of them.";
        counts(text, "toolkiln_model_requests_total", about, "outcome", &sessions.answers);
        let about = "Calls of tools, by what came of them.";
        counts(text, "toolkiln_tool_calls_total", about, "outcome", &sessions.calls);
        let about = "Questions that were answered.";
        counts(text, "toolkiln_approvals_total", about, "answer", &sessions.approvals);
    }
}

fn counts<K: AsRef<str>>(
    text: &mut Exposition,
    name: &str,
    about: &str,
    label: &str,
    counts: &BTreeMap<K, u64>,
) {
    let mut family = text.counter(name, about);
    for (value, count) in counts {
        family = family.add(&[(label, value.as_ref())], *count);
    }
}

fn locked<T>(counters: &Mutex<T>) -> MutexGuard<'_, T> {
    counters.lock().unwrap_or_else(PoisonError::into_inner)
}
