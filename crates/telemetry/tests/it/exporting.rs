//! How spans are sent: to a real server over HTTP, in batches, and never so that a session waits.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use net::Network;
use telemetry::{
    ContentCapture, ExportSettings, ExportStatus, Exporter, Recorder, Resource, TraceSpan, spans_of,
};
use tokio::net::TcpListener;
use tokio::sync::{Notify, mpsc};

use crate::story::{SESSION, answers, asks, log, opened, says};

/// A long time for a test that does not go wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Received {
    path: String,
    content_type: String,
    key: Option<String>,
    pub(crate) body: Bytes,
}

/// A server that answers as it is told, the last answer again and again.
pub(crate) struct Collector {
    pub(crate) address: String,
    received: mpsc::UnboundedReceiver<Received>,
}

impl Collector {
    pub(crate) async fn start(statuses: &[u16], held: Option<Arc<Notify>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, received) = mpsc::unbounded_channel();
        let statuses = Arc::new(Mutex::new(statuses.to_vec()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tell, statuses, held) = (tell.clone(), Arc::clone(&statuses), held.clone());
                let answer = service_fn(move |request: Request<Incoming>| {
                    let (tell, statuses, held) =
                        (tell.clone(), Arc::clone(&statuses), held.clone());
                    async move {
                        let text = |name: &str| {
                            let value = request.headers().get(name)?;
                            Some(value.to_str().unwrap().to_owned())
                        };
                        let (path, key) = (request.uri().path().to_owned(), text("x-key"));
                        let content_type = text("content-type").unwrap();
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        let _ = tell.send(Received { path, content_type, key, body });
                        if let Some(held) = held {
                            held.notified().await;
                        }
                        let mut left = statuses.lock().unwrap();
                        let status = if left.len() > 1 { left.remove(0) } else { left[0] };
                        let mut response = Response::new(Full::<Bytes>::default());
                        *response.status_mut() = status.try_into().unwrap();
                        response.headers_mut().insert("retry-after", "0".parse().unwrap());
                        Ok::<_, Infallible>(response)
                    }
                });
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), answer));
            }
        });
        Self { address, received }
    }

    pub(crate) async fn next(&mut self) -> Received {
        tokio::time::timeout(PATIENCE, self.received.recv()).await.unwrap().unwrap()
    }
}

pub(crate) fn settings(address: &str) -> ExportSettings {
    let resource = Resource {
        service: "toolkiln".into(),
        version: "1".into(),
        instance: Some("here".into()),
        attributes: vec![("deployment.environment.name".into(), "test".into())],
    };
    let headers = vec![("x-key".to_owned(), "k1".to_owned())];
    ExportSettings { headers, ..ExportSettings::new(address, resource) }
}

fn spans() -> Vec<TraceSpan> {
    spans_of(
        SESSION,
        &log([opened(), says("go"), asks(), answers("", Vec::new())]),
        ContentCapture::LeftOut,
    )
}

fn status(sent: u64, dropped: u64, failed_requests: u64) -> ExportStatus {
    ExportStatus { sent, dropped, failed_requests }
}

#[tokio::test]
async fn what_sessions_write_arrives_as_traces_and_metrics() {
    let mut collector = Collector::start(&[200], None).await;
    let exporter = Exporter::start(settings(&collector.address), &Network::default()).unwrap();
    let recorder = Recorder::new(exporter, ContentCapture::LeftOut);
    let entries = log([opened(), says("go"), asks(), answers("", Vec::new()), says("on")]);
    recorder.written(SESSION, &entries);
    recorder.shutdown(PATIENCE).await;
    let (traces, metrics) = (collector.next().await, collector.next().await);
    assert_eq!((traces.path.as_str(), metrics.path.as_str()), ("/v1/traces", "/v1/metrics"));
    assert_eq!(traces.content_type, "application/x-protobuf");
    assert_eq!(traces.key.as_deref(), Some("k1"));
    let holds = |body: &Bytes, text: &str| body.windows(text.len()).any(|it| it == text.as_bytes());
    assert!(holds(&traces.body, "chat m-1") && holds(&traces.body, "invoke_agent toolkiln"));
    assert!(holds(&metrics.body, "gen_ai.client.token.usage"));
    assert_eq!(recorder.status(), status(2, 0, 0));
}

#[tokio::test]
async fn a_session_that_is_taken_up_sends_what_its_open_turn_had_ended_but_measures_nothing_twice()
{
    let mut collector = Collector::start(&[200], None).await;
    let exporter = Exporter::start(settings(&collector.address), &Network::default()).unwrap();
    let recorder = Recorder::new(exporter, ContentCapture::LeftOut);
    let before = [opened(), says("go"), asks(), answers("", Vec::new()), says("on"), asks()];
    recorder.taken_up(SESSION, &log(before));
    assert_eq!(recorder.status(), status(0, 0, 0));
    recorder.taken_up(SESSION, &log([opened(), says("go"), asks(), answers("", Vec::new())]));
    recorder.shutdown(PATIENCE).await;
    assert_eq!(collector.next().await.path, "/v1/traces");
    assert_eq!(recorder.status(), status(1, 0, 0));
    assert!(collector.received.try_recv().is_err(), "there are no measures");
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    for (statuses, expected) in [(&[503, 429, 200][..], status(2, 0, 2)), (&[400], status(0, 2, 1))]
    {
        let collector = Collector::start(statuses, None).await;
        let exporter = Exporter::start(settings(&collector.address), &Network::default()).unwrap();
        spans().into_iter().for_each(|span| exporter.offer(span));
        exporter.shutdown(PATIENCE).await;
        assert_eq!(exporter.status(), expected, "{statuses:?}");
    }
}

#[tokio::test]
async fn whoever_offers_never_waits_and_what_finds_no_room_is_counted() {
    const OFFERED: u64 = 20_000;
    let held = Arc::new(Notify::new());
    let mut collector = Collector::start(&[200], Some(Arc::clone(&held))).await;
    let exporter = Exporter::start(settings(&collector.address), &Network::default()).unwrap();
    let one = spans().remove(0);
    // The test has one thread: nothing is sent while spans are offered.
    (0..OFFERED).for_each(|_| exporter.offer(one.clone()));
    let dropped = exporter.status().dropped;
    assert_eq!(dropped, OFFERED - 4_096);
    assert_eq!(collector.next().await.path, "/v1/traces");
    // The server holds the first batch; the queue takes the place that it left.
    (0..OFFERED).for_each(|_| exporter.offer(one.clone()));
    assert_eq!(exporter.status().dropped, dropped + OFFERED - 512);
    let answering = tokio::spawn(async move {
        loop {
            held.notify_waiters();
            tokio::task::yield_now().await;
        }
    });
    exporter.shutdown(PATIENCE).await;
    answering.abort();
    let ExportStatus { sent, dropped, .. } = exporter.status();
    assert_eq!(sent + dropped, 2 * OFFERED);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_gone_costs_telemetry_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let exporter = Exporter::start(settings(&address), &Network::default()).unwrap();
    spans().into_iter().for_each(|span| exporter.offer(span));
    exporter.shutdown(PATIENCE).await;
    assert_eq!(exporter.status(), status(0, 2, 4));
}

#[tokio::test]
async fn an_address_that_is_none_is_refused_without_repeating_it() {
    let refusal = |settings| match Exporter::start(settings, &Network::default()) {
        Ok(_) => panic!("it is refused"),
        Err(error) => error.to_string(),
    };
    for address in ["localhost:4318", "ftp://secret@host", "http://a b"] {
        assert_eq!(
            refusal(settings(address)),
            "`telemetry.endpoint` is not an address such as http://localhost:4318"
        );
    }
    let headers = vec![("x-key".to_owned(), "secret\n".to_owned())];
    let told = refusal(ExportSettings { headers, ..settings("http://localhost:1") });
    assert!(told.contains("x-key") && !told.contains("secret"), "{told}");
}
