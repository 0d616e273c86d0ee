//! What is the case when `/metrics` is asked for.

use std::collections::BTreeMap;

use super::Operation;
use super::exposition::Exposition;
use crate::hub::{LiveState, SessionHub};

/// The states of sessions, as labels: each is told even if no session is in it.
const STATES: [(LiveState, &str); 4] = [
    (LiveState::Idle, "idle"),
    (LiveState::Working, "working"),
    (LiveState::Waiting, "waiting"),
    (LiveState::Paused, "paused"),
];

/// Everything that is counted, as text for Prometheus.
pub(super) fn metrics(operation: &Operation, hub: &SessionHub, is_ending: bool) -> String {
    let mut text = Exposition::default();
    text.gauge("toolkiln_build_info", "The version of the service.")
        .add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.gauge("process_start_time_seconds", "When the process began, in seconds since 1970.")
        .add(&[], operation.started_s);
    text.gauge("toolkiln_ending", "Whether the service is about to end.")
        .add(&[], u64::from(is_ending));
    sessions(&mut text, hub);
    let Operation { room, .. } = operation;
    for (name, about, now, most) in [
        (
            "toolkiln_http_requests_in_flight",
            "Requests that are being answered.",
            room.requests_in_flight(),
            room.bounds.in_flight,
        ),
        ("toolkiln_streams_open", "Watchers.", room.open_streams(), room.bounds.streams),
    ] {
        text.gauge(name, about).add(&[], now as u64);
        text.gauge(&format!("{name}_limit"), "The most of them.").add(&[], most as u64);
    }
    operation.requests.tell(&mut text);
    hub.counters().tell(&mut text);
    if let Some(counts) = operation.telemetry.as_ref().and_then(|counts| counts()) {
        text.counter("toolkiln_telemetry_spans_total", "Spans for OTLP, by what became of them.")
            .add(&[("outcome", "sent")], counts.sent)
            .add(&[("outcome", "dropped")], counts.dropped);
        text.counter("toolkiln_telemetry_failed_requests_total", "Requests by OTLP that failed.")
            .add(&[], counts.failed_requests);
    }
    text.into_text()
}

fn sessions(text: &mut Exposition, hub: &SessionHub) {
    let live = hub.live_sessions();
    let mut states: BTreeMap<&str, u64> = STATES.iter().map(|(_, name)| (*name, 0)).collect();
    let (mut queued, mut questions) = (0, 0);
    for session in &live {
        let state = session.state();
        if let Some((_, name)) = STATES.iter().find(|(known, _)| *known == state) {
            *states.entry(name).or_default() += 1;
        }
        queued += session.queue_length() as u64;
        questions += session.approvals().count() as u64;
    }
    let direct = hub.projects().iter().flat_map(|project| project.all_direct_calls());
    let by_hand = direct.map(|calls| calls.approvals().count() as u64);
    let mut family = text.gauge("toolkiln_sessions", "Sessions that are open here, by state.");
    for (state, count) in &states {
        family = family.add(&[("state", state)], *count);
    }
    text.gauge("toolkiln_messages_queued", "Messages that wait for a turn.").add(&[], queued);
    text.gauge("toolkiln_approvals_waiting", "Questions that wait for an answer.")
        .add(&[], questions + by_hand.sum::<u64>());
    text.gauge("toolkiln_projects", "Projects that are served.")
        .add(&[], hub.projects().len() as u64);
}
