//! What those need who run the service: whether it is well, what it does, and that it does not do too much.
//!
//! `/healthz` and `/readyz` answer every client, and say nothing that is secret. `/metrics` answers clients that
//! are logged in and, unless there is a proxy before the service, programs of this machine. None of the three is ever
//! turned away for want of room.

mod bounds;
mod entrance;
mod exposition;
mod gauges;
mod health;
mod request_log;
mod service_metrics;
#[cfg(test)]
mod tests;

use std::time::{SystemTime, UNIX_EPOCH};

pub use bounds::Bounds;
use bounds::Room;
pub(crate) use entrance::{enter, reason};
pub use health::HealthCheck;
pub(crate) use request_log::RequestNotes;
pub use request_log::{RequestLog, RequestRecord};
pub(crate) use service_metrics::{RequestCounters, SessionCounters};

use health::Health;
use request_log::RequestNames;

/// What became of telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TelemetryCounts {
    /// Spans that were sent.
    pub sent: u64,
    /// Spans that were lost.
    pub dropped: u64,
    pub failed_requests: u64,
}

/// Tells what became of telemetry; none if nothing is sent.
pub type TelemetryCounter = Box<dyn Fn() -> Option<TelemetryCounts> + Send + Sync>;

/// How the service is run.
#[derive(Default)]
pub struct OperationSettings {
    /// How much is done at a time.
    pub bounds: Bounds,
    /// Is told of every request that was answered.
    pub request_log: Option<RequestLog>,
    /// Without what the service is not ready, beside the stores and directories of its projects.
    pub checks: Vec<Box<dyn HealthCheck>>,
    /// What became of telemetry.
    pub telemetry: Option<TelemetryCounter>,
}

/// The same, at work.
pub(crate) struct Operation {
    pub(crate) room: Room,
    pub(crate) requests: RequestCounters,
    pub(crate) health: Health,
    names: RequestNames,
    request_log: Option<RequestLog>,
    telemetry: Option<TelemetryCounter>,
    started_s: u64,
}

impl Operation {
    pub(crate) fn new(settings: OperationSettings) -> Self {
        let OperationSettings { bounds, request_log, checks, telemetry } = settings;
        let started_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self {
            room: Room::new(bounds),
            requests: RequestCounters::default(),
            health: Health::new(checks),
            names: RequestNames::new(started_s, std::process::id()),
            request_log,
            telemetry,
            started_s,
        }
    }
}
