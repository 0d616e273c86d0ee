//! The variables that OpenTelemetry has for every program.

/// Where telemetry goes, and what is told with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TelemetryVariables {
    /// Whether there is to be none, whatever else is said.
    pub(crate) is_disabled: bool,
    /// A server for everything; each kind has its own path there.
    pub(crate) endpoint: Option<String>,
    /// Where traces go, exactly as it stands.
    pub(crate) traces_endpoint: Option<String>,
    /// Where metrics go, exactly as it stands.
    pub(crate) metrics_endpoint: Option<String>,
    /// Kinds that are not to be sent.
    pub(crate) no_traces: bool,
    pub(crate) no_metrics: bool,
    /// The protocol, if it is not the one that we speak.
    pub(crate) other_protocol: Option<String>,
    /// With every request, such as keys.
    pub(crate) headers: Vec<(String, String)>,
    /// How long an answer is waited for.
    pub(crate) timeout_ms: Option<u64>,
    /// The name of this program, in place of our own.
    pub(crate) service: Option<String>,
    /// With everything.
    pub(crate) attributes: Vec<(String, String)>,
}

/// The one protocol that we speak.
const PROTOCOL: &str = "http/protobuf";
/// The exporter that sends nothing.
const NO_EXPORTER: &str = "none";

impl TelemetryVariables {
    pub(super) fn from(read: impl Fn(&str) -> Option<String>) -> Self {
        let is = |name: &str, value: &str| {
            read(name).is_some_and(|given| given.trim().eq_ignore_ascii_case(value))
        };
        let pairs = |name: &str| read(name).map(|text| pairs(&text)).unwrap_or_default();
        let protocol = read("OTEL_EXPORTER_OTLP_PROTOCOL");
        Self {
            is_disabled: is("OTEL_SDK_DISABLED", "true"),
            endpoint: read("OTEL_EXPORTER_OTLP_ENDPOINT"),
            traces_endpoint: read("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            metrics_endpoint: read("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
            no_traces: is("OTEL_TRACES_EXPORTER", NO_EXPORTER),
            no_metrics: is("OTEL_METRICS_EXPORTER", NO_EXPORTER),
            other_protocol: protocol.filter(|protocol| protocol.trim() != PROTOCOL),
            headers: pairs("OTEL_EXPORTER_OTLP_HEADERS"),
            timeout_ms: read("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|ms| ms.trim().parse().ok()),
            service: read("OTEL_SERVICE_NAME"),
            attributes: pairs("OTEL_RESOURCE_ATTRIBUTES"),
        }
    }
}

/// `key=value,key=value`, with `%` and two digits for letters that would be misread.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), decoded(value.trim())))
    };
    text.split(',').filter_map(pair).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| first == b'%');
        let byte = digits.and_then(|two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_opentelemetry_are_understood() {
        let variables = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b%3D, x = 1%,,=2,bad"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
            ("OTEL_SDK_DISABLED", "TRUE"),
        ];
        let read = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let expected = TelemetryVariables {
            is_disabled: true,
            endpoint: Some("http://collector:4318".to_owned()),
            no_metrics: true,
            other_protocol: Some("grpc".to_owned()),
            headers: vec![pair("api-key", "a b="), pair("x", "1%")],
            timeout_ms: Some(250),
            attributes: vec![pair("deployment.environment.name", "test")],
            ..TelemetryVariables::default()
        };
        assert_eq!(TelemetryVariables::from(read), expected);
        assert_eq!(TelemetryVariables::from(|_| None), TelemetryVariables::default());
    }
}
