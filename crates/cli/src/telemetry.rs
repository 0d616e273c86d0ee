//! Traces and metrics of this process, if they are wanted anywhere.

use std::process;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp::{CallTracer, TracedCall};
use protocol::{LogEntry, TraceContext};
use session::LogObserver;
use store::SessionId;
use telemetry::{
    ContentCapture, ExportSettings, ExportStatus, Exporter, Recorder, Resource, ServedCall,
};

use crate::config::TelemetryConfig;
use crate::environment::TelemetryVariables;
use crate::output;
use crate::project::Project;

/// The name of this program, unless it is given another.
const SERVICE: &str = "toolkiln";
/// How long the end of the process waits for what was not sent yet.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// There is one for all projects: none of them can choose where it sends to.
static RECORDER: OnceLock<Option<Arc<Recorder>>> = OnceLock::new();

/// Who reads the logs of sessions.
pub(crate) fn observers(project: &Project) -> Vec<Arc<dyn LogObserver>> {
    recorder(project).map(|recorder| Arc::new(Observer(recorder)) as _).into_iter().collect()
}

/// Who is told of calls over MCP that are parts of other programs' traces.
pub(crate) fn tracer(project: &Project) -> Option<Arc<dyn CallTracer>> {
    recorder(project).map(|recorder| Arc::new(Tracer(recorder)) as _)
}

/// Begins to send, if anything is to be sent. Within a runtime only.
fn recorder(project: &Project) -> Option<Arc<Recorder>> {
    RECORDER.get_or_init(|| started(project).map(Arc::new)).clone()
}

/// Sends what was not sent yet, before the process ends.
pub(crate) async fn flush() {
    if let Some(Some(recorder)) = RECORDER.get() {
        recorder.shutdown(LAST_WORDS).await;
    }
}

/// What became of it so far; none if nothing is sent.
pub(crate) fn status() -> Option<ExportStatus> {
    RECORDER.get()?.as_ref().map(|recorder| recorder.status())
}

/// A mistake here must not keep the user from working: it is told, and nothing is sent.
fn started(project: &Project) -> Option<Recorder> {
    let (config, variables) = (&project.config.telemetry, &project.environment.telemetry);
    let settings = match settings(config, variables)? {
        Ok(settings) => settings,
        Err(why) => {
            output::to_user(&format!("toolkiln: no telemetry is sent: {why}"));
            return None;
        }
    };
    let content = if config.content { ContentCapture::Recorded } else { ContentCapture::LeftOut };
    match Exporter::start(settings, &project.environment.network.for_providers()) {
        Ok(exporter) => Some(Recorder::new(exporter, content)),
        Err(error) => {
            output::to_user(&format!("toolkiln: no telemetry is sent: {error}"));
            None
        }
    }
}

/// Where telemetry goes. A configured address comes before the usual variables; none if neither is there.
fn settings(
    config: &TelemetryConfig,
    variables: &TelemetryVariables,
) -> Option<Result<ExportSettings, String>> {
    if variables.is_disabled {
        return None;
    }
    let resource = Resource {
        service: variables.service.clone().unwrap_or_else(|| SERVICE.to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: Some(process::id().to_string()),
        attributes: variables.attributes.clone(),
    };
    let configured = config.endpoint.as_ref().map(|url| url.as_str());
    let mut settings = match configured.or(variables.endpoint.as_deref()) {
        Some(endpoint) => ExportSettings::new(endpoint, resource),
        None => ExportSettings { traces: None, metrics: None, ..ExportSettings::new("", resource) },
    };
    if configured.is_none() {
        settings.traces = variables.traces_endpoint.clone().or(settings.traces);
        settings.metrics = variables.metrics_endpoint.clone().or(settings.metrics);
    }
    settings.traces = settings.traces.filter(|_| !variables.no_traces);
    settings.metrics = settings.metrics.filter(|_| !variables.no_metrics);
    if settings.traces.is_none() && settings.metrics.is_none() {
        return None;
    }
    if let (None, Some(protocol)) = (configured, &variables.other_protocol) {
        return Some(Err(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL is {protocol}, and only http/protobuf is spoken; set telemetry.endpoint to a \
             server of it"
        )));
    }
    settings.headers.clone_from(&variables.headers);
    settings.timeout = variables.timeout_ms.map_or(settings.timeout, Duration::from_millis);
    Some(Ok(settings))
}

struct Observer(Arc<Recorder>);

impl LogObserver for Observer {
    fn taken_up(&self, session: &SessionId, entries: &[LogEntry]) {
        self.0.taken_up(session.as_str(), entries);
    }

    fn written(&self, session: &SessionId, entries: &[LogEntry]) {
        self.0.written(session.as_str(), entries);
    }

    fn left(&self, session: &SessionId) {
        self.0.left(session.as_str());
    }

    fn trace_context(
        &self,
        session: &SessionId,
        path: &[String],
        call_id: &str,
    ) -> Option<TraceContext> {
        self.0.trace_context(session.as_str(), path, call_id)
    }
}

struct Tracer(Arc<Recorder>);

impl CallTracer for Tracer {
    fn ended(&self, call: TracedCall) {
        let TracedCall { context, tool, request, version, began, ended, failure } = call;
        let (began_ms, ended_ms) = (milliseconds(began), milliseconds(ended));
        self.0.served(ServedCall { context, tool, request, version, began_ms, ended_ms, failure });
    }
}

/// Milliseconds since 1970.
fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_to(config: &TelemetryConfig, variables: &TelemetryVariables) -> String {
        match settings(config, variables) {
            None => "nowhere".to_owned(),
            Some(Err(why)) => why,
            Some(Ok(settings)) => format!("{:?} {:?}", settings.traces, settings.metrics),
        }
    }

    #[test]
    fn nothing_is_sent_unless_an_address_is_configured() {
        let none = TelemetryConfig::default();
        let url = |text: &str| Some(text.to_owned().try_into().unwrap());
        let here = TelemetryConfig { endpoint: url("http://here:4318/"), ..none.clone() };
        let variable = || TelemetryVariables {
            endpoint: Some("http://there".to_owned()),
            other_protocol: Some("grpc".to_owned()),
            ..TelemetryVariables::default()
        };
        let only_traces = TelemetryVariables {
            traces_endpoint: Some("http://there/otel".to_owned()),
            ..TelemetryVariables::default()
        };
        let disabled = TelemetryVariables { is_disabled: true, ..variable() };
        let told = [
            sent_to(&none, &TelemetryVariables::default()),
            sent_to(&here, &TelemetryVariables::default()),
            sent_to(&none, &TelemetryVariables { other_protocol: None, ..variable() }),
            sent_to(&here, &variable()),
            sent_to(&none, &variable()),
            sent_to(&none, &only_traces),
            sent_to(&none, &TelemetryVariables { no_traces: true, ..only_traces.clone() }),
            sent_to(&here, &disabled),
        ];
        insta::assert_snapshot!(told.join("\n"), @r#"
        nowhere
        Some("http://here:4318/v1/traces") Some("http://here:4318/v1/metrics")
        Some("http://there/v1/traces") Some("http://there/v1/metrics")
        Some("http://here:4318/v1/traces") Some("http://here:4318/v1/metrics")
        OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and only http/protobuf is spoken; set telemetry.endpoint to a server of it
        Some("http://there/otel") None
        nowhere
        nowhere
        "#);
    }
}
