//! Metrics in the text format of Prometheus, version 0.0.4. Pure.

use std::fmt::Write as _;

/// The type of an answer in this format.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The bounds of the buckets of all durations, in seconds.
pub(crate) const DURATION_BOUNDS: [f64; 11] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Metrics that are being written.
#[derive(Debug, Default)]
pub(crate) struct Exposition(String);

/// How many values fell below which bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Durations {
    counts: [u64; DURATION_BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Durations {
    pub(crate) fn record(&mut self, seconds: f64) {
        for (count, bound) in self.counts.iter_mut().zip(DURATION_BOUNDS) {
            *count += u64::from(seconds <= bound);
        }
        self.count += 1;
        self.sum += seconds;
    }
}

/// What a series is told apart by.
pub(crate) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// A number that only grows.
    pub(crate) fn counter(&mut self, name: &str, about: &str) -> Family<'_> {
        self.family(name, "counter", about)
    }

    /// A number that grows and shrinks.
    pub(crate) fn gauge(&mut self, name: &str, about: &str) -> Family<'_> {
        self.family(name, "gauge", about)
    }

    pub(crate) fn histogram(&mut self, name: &str, about: &str) -> Family<'_> {
        self.family(name, "histogram", about)
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }

    fn family(&mut self, name: &str, kind: &str, about: &str) -> Family<'_> {
        let about = about.replace('\\', "\\\\").replace('\n', "\\n");
        let _ = writeln!(self.0, "# HELP {name} {about}\n# TYPE {name} {kind}");
        Family { text: &mut self.0, name: name.to_owned() }
    }
}

/// One metric, to which series are added.
pub(crate) struct Family<'a> {
    text: &'a mut String,
    name: String,
}

impl Family<'_> {
    pub(crate) fn add(self, labels: Labels<'_>, value: u64) -> Self {
        self.line("", labels, &value.to_string())
    }

    pub(crate) fn add_seconds(self, labels: Labels<'_>, values: &Durations) -> Self {
        let mut family = self;
        for (bound, count) in DURATION_BOUNDS.iter().zip(values.counts) {
            family = family.bucket(labels, &bound.to_string(), count);
        }
        family
            .bucket(labels, "+Inf", values.count)
            .line("_sum", labels, &values.sum.to_string())
            .line("_count", labels, &values.count.to_string())
    }

    fn bucket(self, labels: Labels<'_>, bound: &str, count: u64) -> Self {
        let labels: Vec<(&str, &str)> = labels.iter().copied().chain([("le", bound)]).collect();
        self.line("_bucket", &labels, &count.to_string())
    }

    fn line(self, suffix: &str, labels: Labels<'_>, value: &str) -> Self {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.name);
        self
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_written_as_prometheus_reads_them() {
        let mut text = Exposition::default();
        text.counter("a_total", "Line one\nand two.")
            .add(&[], 3)
            .add(&[("name", "quote \" slash \\ line \n")], 4);
        let mut durations = Durations::default();
        [0.0004, 0.01, 0.3, 60.0].iter().for_each(|seconds| durations.record(*seconds));
        text.histogram("b_seconds", "Time.").add_seconds(&[("route", "/api")], &durations);
        text.gauge("c", "None yet.");
        insta::assert_snapshot!(text.into_text(), @r#"
        # HELP a_total Line one\nand two.
        # TYPE a_total counter
        a_total 3
        a_total{name="quote \" slash \\ line \n"} 4
        # HELP b_seconds Time.
        # TYPE b_seconds histogram
        b_seconds_bucket{route="/api",le="0.001"} 1
        b_seconds_bucket{route="/api",le="0.005"} 1
        b_seconds_bucket{route="/api",le="0.01"} 2
        b_seconds_bucket{route="/api",le="0.025"} 2
        b_seconds_bucket{route="/api",le="0.05"} 2
        b_seconds_bucket{route="/api",le="0.1"} 2
        b_seconds_bucket{route="/api",le="0.25"} 2
        b_seconds_bucket{route="/api",le="0.5"} 3
        b_seconds_bucket{route="/api",le="1"} 3
        b_seconds_bucket{route="/api",le="2.5"} 3
        b_seconds_bucket{route="/api",le="10"} 3
        b_seconds_bucket{route="/api",le="+Inf"} 4
        b_seconds_sum{route="/api"} 60.3104
        b_seconds_count{route="/api"} 4
        # HELP c None yet.
        # TYPE c gauge
        "#);
    }
}
