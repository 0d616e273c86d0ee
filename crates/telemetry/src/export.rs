//! Sends spans and measures by OTLP over HTTP, in the background.
//!
//! Whoever offers a span never waits: it goes into a queue with room for so many, and is dropped and counted if there is
//! none. A server that is slow, broken or gone therefore costs telemetry and nothing else.

mod sending;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::Uri;
use net::{InvalidProxy, Network};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use crate::measures::Measures;
use crate::otlp::{metrics_request, traces_request};
use crate::span::TraceSpan;
use sending::{Destination, SendOutcome};

/// Spans that wait to be sent: a few megabytes at most, and some seconds of a busy service.
const QUEUE: usize = 4_096;
/// Spans of one request.
const BATCH: usize = 512;
/// How long a span waits for others to be sent with it.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// How often measures are sent.
const MEASURES_TIME: Duration = Duration::from_secs(15);
/// The answer to a request is waited for so long, unless configured.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// Where telemetry goes.
#[derive(Clone)]
pub struct ExportSettings {
    /// The address that traces are sent to; they are not if there is none.
    pub traces: Option<String>,
    /// The address that metrics are sent to; they are not if there is none.
    pub metrics: Option<String>,
    /// Headers of every request, which often hold a key.
    pub headers: Vec<(String, String)>,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Who sends it.
    pub resource: Resource,
}

impl ExportSettings {
    /// Traces and metrics to one server: `http://localhost:4318`.
    pub fn new(endpoint: &str, resource: Resource) -> Self {
        let base = endpoint.trim_end_matches('/');
        Self {
            traces: Some(format!("{base}/v1/traces")),
            metrics: Some(format!("{base}/v1/metrics")),
            headers: Vec::new(),
            timeout: ANSWER_TIME,
            resource,
        }
    }
}

/// The program whose telemetry it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub service: String,
    pub version: String,
    /// Which of several processes it is.
    pub instance: Option<String>,
    /// What else the operator wants to be told with everything.
    pub attributes: Vec<(String, String)>,
}

/// The address of a server is not one, or cannot be reached by the configured proxy.
#[derive(Debug, thiserror::Error)]
pub enum InvalidEndpoint {
    /// It is not an address.
    #[error("`telemetry.endpoint` is not an address such as http://localhost:4318")]
    Address,
    /// A header cannot be sent. Its value is not repeated, because it may be a key.
    #[error(
        "the header `{0}` for telemetry cannot be sent: its name or value has letters that headers cannot have"
    )]
    Header(String),
    /// The proxy is not one.
    #[error(transparent)]
    Proxy(#[from] InvalidProxy),
}

/// What became of telemetry so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportStatus {
    /// Spans that the server has taken.
    pub sent: u64,
    /// Spans that were lost: no room in the queue, refused, or the server was not to be reached.
    pub dropped: u64,
    pub failed_requests: u64,
}

#[derive(Debug, Default)]
struct Counters {
    sent: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// Sends what it is given.
pub struct Exporter {
    queue: mpsc::Sender<TraceSpan>,
    sends_traces: bool,
    stop: Mutex<Option<oneshot::Sender<oneshot::Sender<()>>>>,
    measures: Arc<Mutex<Measures>>,
    counters: Arc<Counters>,
}

impl Exporter {
    /// Begins to send, in a task of its own.
    pub fn start(settings: ExportSettings, network: &Network) -> Result<Self, InvalidEndpoint> {
        let traces = destination(settings.traces.as_deref(), &settings, network)?;
        let metrics = destination(settings.metrics.as_deref(), &settings, network)?;
        let sends_traces = traces.is_some();
        let (queue, spans) = mpsc::channel(QUEUE);
        let (stop, stopped) = oneshot::channel();
        let (measures, counters) = (Arc::<Mutex<Measures>>::default(), Arc::<Counters>::default());
        let sender = Sender {
            resource: settings.resource,
            traces,
            metrics,
            measures: Arc::clone(&measures),
            counters: Arc::clone(&counters),
            began_ms: now_ms(),
        };
        tokio::spawn(sender.run(spans, stopped));
        Ok(Self { queue, sends_traces, stop: Mutex::new(Some(stop)), measures, counters })
    }

    /// Whether spans are sent anywhere.
    pub fn sends_traces(&self) -> bool {
        self.sends_traces
    }

    /// Has a span sent, if there is room for it.
    pub fn offer(&self, span: TraceSpan) {
        if self.queue.try_send(span).is_err() {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What was measured.
    pub fn measures(&self) -> MutexGuard<'_, Measures> {
        locked(&self.measures)
    }

    /// What became of it so far.
    pub fn status(&self) -> ExportStatus {
        let Counters { sent, dropped, failed } = &*self.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ExportStatus { sent: read(sent), dropped: read(dropped), failed_requests: read(failed) }
    }

    /// Sends what waits, for so long at most. What is offered afterwards is dropped.
    pub async fn shutdown(&self, limit: Duration) {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(stop) = stop else { return };
        let (done, is_done) = oneshot::channel();
        if stop.send(done).is_ok() {
            let _ = tokio::time::timeout(limit, is_done).await;
        }
    }
}

fn destination(
    address: Option<&str>,
    settings: &ExportSettings,
    network: &Network,
) -> Result<Option<Destination>, InvalidEndpoint> {
    let Some(address) = address else { return Ok(None) };
    let uri: Uri = address.parse().map_err(|_| InvalidEndpoint::Address)?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(InvalidEndpoint::Address);
    }
    Destination::new(uri, &settings.headers, settings.timeout, network).map(Some)
}

/// The task.
struct Sender {
    resource: Resource,
    traces: Option<Destination>,
    metrics: Option<Destination>,
    measures: Arc<Mutex<Measures>>,
    counters: Arc<Counters>,
    began_ms: u64,
}

impl Sender {
    async fn run(
        self,
        mut spans: mpsc::Receiver<TraceSpan>,
        mut stopped: oneshot::Receiver<oneshot::Sender<()>>,
    ) {
        let mut batch: Vec<TraceSpan> = Vec::new();
        let mut send_at: Option<Instant> = None;
        let mut measure_at = Instant::now() + MEASURES_TIME;
        let mut done = None;
        while done.is_none() {
            let deadline = send_at.unwrap_or(measure_at).min(measure_at);
            tokio::select! {
                biased;
                asked = &mut stopped => match asked {
                    Ok(asker) => done = Some(asker),
                    // The exporter is gone: nothing more can be offered.
                    Err(_) => return,
                },
                Some(span) = spans.recv() => {
                    batch.push(span);
                    send_at.get_or_insert_with(|| Instant::now() + BATCH_TIME);
                }
                () = sleep_until(deadline) => {}
            }
            if batch.len() >= BATCH || send_at.is_some_and(|at| at <= Instant::now()) {
                self.send_spans(std::mem::take(&mut batch)).await;
                send_at = None;
            }
            if measure_at <= Instant::now() {
                self.send_measures().await;
                measure_at = Instant::now() + MEASURES_TIME;
            }
        }
        spans.close();
        while let Some(span) = spans.recv().await {
            batch.push(span);
        }
        for rest in batch.chunks(BATCH) {
            self.send_spans(rest.to_vec()).await;
        }
        self.send_measures().await;
        if let Some(done) = done {
            let _ = done.send(());
        }
    }

    async fn send_spans(&self, spans: Vec<TraceSpan>) {
        let count = spans.len() as u64;
        let Some(traces) = self.traces.as_ref().filter(|_| count > 0) else { return };
        let sent = traces.send(traces_request(&self.resource, &spans)).await;
        self.counters.failed.fetch_add(sent.failures(), Ordering::Relaxed);
        let lost = match sent {
            SendOutcome::Taken { rejected, .. } => rejected.min(count),
            SendOutcome::Lost { .. } => count,
        };
        self.counters.dropped.fetch_add(lost, Ordering::Relaxed);
        self.counters.sent.fetch_add(count - lost, Ordering::Relaxed);
    }

    async fn send_measures(&self) {
        let Some(metrics) = &self.metrics else { return };
        let body = {
            let measures = locked(&self.measures);
            if measures.is_empty() {
                return;
            }
            metrics_request(&self.resource, &measures, (self.began_ms, now_ms()))
        };
        let sent = metrics.send(body).await;
        self.counters.failed.fetch_add(sent.failures(), Ordering::Relaxed);
    }
}

fn locked(measures: &Mutex<Measures>) -> MutexGuard<'_, Measures> {
    measures.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
}
