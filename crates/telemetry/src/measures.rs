//! Histograms of what operations took.

use std::collections::BTreeMap;

use crate::conventions::{DURATION_BOUNDS, TOKEN_BOUNDS, key, metric, operation};
use crate::fold::{Folded, TokenUse};
use crate::span::TraceSpan;

/// Series of one metric. Models, providers and errors are few; what comes beyond is counted together, so that nothing
/// can fill the memory.
const MOST_SERIES: usize = 1_000;
/// The attribute of the series that stands for all others, as the specification of metrics has it.
const OVERFLOW: &str = "otel.metric.overflow";
const MS_PER_S: f64 = 1_000.0;

/// Everything that was measured since the process began.
#[derive(Debug, Default)]
pub struct Measures {
    pub(crate) duration: Instrument,
    pub(crate) tokens: Instrument,
}

/// One metric, with a histogram for each combination of attributes.
#[derive(Debug, Default)]
pub(crate) struct Instrument {
    pub(crate) series: BTreeMap<Vec<(&'static str, String)>, Histogram>,
}

/// How many values fell between which bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Histogram {
    pub(crate) counts: Vec<u64>,
    pub(crate) count: u64,
    pub(crate) sum: f64,
}

/// What a metric is called, counted in, and divided by.
pub(crate) struct MetricDescription {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) about: &'static str,
    pub(crate) bounds: &'static [f64],
}

pub(crate) const DURATION: MetricDescription = MetricDescription {
    name: metric::DURATION,
    unit: "s",
    about: "How long operations took.",
    bounds: &DURATION_BOUNDS,
};

pub(crate) const TOKENS: MetricDescription = MetricDescription {
    name: metric::TOKENS,
    unit: "{token}",
    about: "Tokens of requests to models.",
    bounds: &TOKEN_BOUNDS,
};

impl Measures {
    /// Counts what an entry has brought.
    pub fn count(&mut self, folded: &Folded) {
        for span in &folded.spans {
            self.count_span(span);
        }
        if let Some(used) = &folded.tokens {
            self.count_tokens(used);
        }
    }

    /// Whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.duration.series.is_empty() && self.tokens.series.is_empty()
    }

    fn count_span(&mut self, span: &TraceSpan) {
        let is_measured = |name: &str| {
            matches!(name, operation::INVOKE_AGENT | operation::CHAT | operation::EXECUTE_TOOL)
        };
        if !span.text(key::OPERATION).is_some_and(is_measured) {
            return;
        }
        const KEYS: [&str; 5] =
            [key::OPERATION, key::PROVIDER, key::REQUEST_MODEL, key::TOOL_NAME, key::ERROR_TYPE];
        let known = KEYS.iter().filter_map(|name| Some((*name, span.text(name)?.to_owned())));
        let took = span.end_ms.saturating_sub(span.start_ms);
        self.duration.record(known.collect(), ms_as_seconds(took), DURATION.bounds);
    }

    fn count_tokens(&mut self, used: &TokenUse) {
        for (kind, tokens) in [("input", used.usage.seen()), ("output", used.usage.output)] {
            let attributes = vec![
                (key::OPERATION, operation::CHAT.to_owned()),
                (key::PROVIDER, used.provider.clone()),
                (key::REQUEST_MODEL, used.model.clone()),
                (key::TOKEN_TYPE, kind.to_owned()),
            ];
            self.tokens.record(attributes, as_number(tokens), TOKENS.bounds);
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "durations are far below 2^53 ms")]
fn ms_as_seconds(ms: u64) -> f64 {
    ms as f64 / MS_PER_S
}

#[allow(clippy::cast_precision_loss, reason = "a histogram needs no more digits than a float has")]
fn as_number(tokens: u64) -> f64 {
    tokens as f64
}

impl Instrument {
    fn record(&mut self, attributes: Vec<(&'static str, String)>, value: f64, bounds: &[f64]) {
        let has_room = self.series.len() < MOST_SERIES || self.series.contains_key(&attributes);
        let attributes = if has_room { attributes } else { vec![(OVERFLOW, true.to_string())] };
        let histogram = self.series.entry(attributes).or_default();
        histogram.counts.resize(bounds.len() + 1, 0);
        histogram.counts[bounds.partition_point(|bound| *bound < value)] += 1;
        histogram.count += 1;
        histogram.sum += value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_falls_below_the_first_bound_that_is_not_less() {
        let mut instrument = Instrument::default();
        for value in [0.5, 1.0, 1.1, 4.0, 5.0] {
            instrument.record(Vec::new(), value, &[1.0, 4.0]);
        }
        let histogram = Histogram { counts: vec![2, 2, 1], count: 5, sum: 11.6 };
        assert_eq!(instrument.series[&Vec::new()], histogram);
    }

    #[test]
    fn too_many_series_are_counted_together() {
        let mut instrument = Instrument::default();
        for number in 0..MOST_SERIES + 5 {
            instrument.record(vec![(key::REQUEST_MODEL, number.to_string())], 1.0, &[1.0]);
        }
        // One that is known goes on to be counted.
        instrument.record(vec![(key::REQUEST_MODEL, "0".to_owned())], 1.0, &[1.0]);
        assert_eq!(instrument.series.len(), MOST_SERIES + 1);
        let count = |name, value: &str| instrument.series[&vec![(name, value.to_owned())]].count;
        assert_eq!((count(OVERFLOW, "true"), count(key::REQUEST_MODEL, "0")), (5, 2));
    }
}
