//! Spans and measures as messages of OTLP, version 1.

use crate::conventions::{SCHEMA_URL, key};
use crate::export::Resource;
use crate::measures::{DURATION, Histogram, Instrument, Measures, MetricDescription, TOKENS};
use crate::span::{AttributeValue, SpanKind, SpanStatus, TraceSpan};
use crate::wire::{Field, Message, fields};

/// Logs count milliseconds, OTLP nanoseconds.
const NS_PER_MS: u64 = 1_000_000;
/// The name of what has made the spans.
const SCOPE: &str = "toolkiln";
/// Histograms count from the beginning of the process on.
const CUMULATIVE: u64 = 2;
const STATUS_ERROR: u64 = 2;

/// The body of a request to `/v1/traces`.
pub fn traces_request(resource: &Resource, spans: &[TraceSpan]) -> Vec<u8> {
    request(resource, |scope| {
        for one in spans {
            scope.message(2, |message| span(message, one));
        }
    })
}

/// The body of a request to `/v1/metrics`, for measures that began and end at these times.
pub fn metrics_request(
    resource: &Resource,
    measures: &Measures,
    (began_ms, now_ms): (u64, u64),
) -> Vec<u8> {
    let times = (began_ms.saturating_mul(NS_PER_MS), now_ms.saturating_mul(NS_PER_MS));
    request(resource, |scope| {
        for (about, instrument) in [(DURATION, &measures.duration), (TOKENS, &measures.tokens)] {
            if !instrument.series.is_empty() {
                scope.message(2, |message| metric(message, &about, instrument, times));
            }
        }
    })
}

/// How many things the answer to a request says were not taken.
pub(crate) fn rejected(answer: &[u8]) -> u64 {
    let partial = fields(answer).into_iter().filter_map(|field| match field {
        (1, Field::Bytes(partial)) => Some(partial),
        _ => None,
    });
    let counts = partial.flat_map(fields).filter_map(|field| match field {
        (1, Field::Number(count)) => Some(count),
        _ => None,
    });
    counts.fold(0, u64::saturating_add)
}

/// Both kinds of request have the same three levels: resource, scope, and what is told.
fn request(resource: &Resource, told: impl FnOnce(&mut Message)) -> Vec<u8> {
    let mut request = Message::default();
    request.message(1, |all| {
        all.message(1, |message| {
            let known = [
                (key::SERVICE_NAME, Some(resource.service.as_str())),
                (key::SERVICE_VERSION, Some(resource.version.as_str())),
                (key::SERVICE_INSTANCE, resource.instance.as_deref()),
            ];
            for (name, value) in known {
                if let Some(value) = value {
                    attribute(message, 1, name, &value.into());
                }
            }
            for (name, value) in &resource.attributes {
                attribute(message, 1, name, &value.as_str().into());
            }
        });
        all.message(2, |scope| {
            scope.message(1, |message| {
                message.text(1, SCOPE);
                message.text(2, &resource.version);
            });
            told(scope);
            scope.text(3, SCHEMA_URL);
        });
        all.text(3, SCHEMA_URL);
    });
    request.into_bytes()
}

fn span(message: &mut Message, span: &TraceSpan) {
    message.bytes(1, &span.trace.0);
    message.bytes(2, &span.id.0);
    if let Some(state) = &span.state {
        message.text(3, state);
    }
    if let Some(parent) = span.parent {
        message.bytes(4, &parent.0);
    }
    message.text(5, &span.name);
    message.number(
        6,
        match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
    );
    message.fixed(7, span.start_ms.saturating_mul(NS_PER_MS));
    message.fixed(8, span.end_ms.saturating_mul(NS_PER_MS));
    for (name, value) in &span.attributes {
        attribute(message, 9, name, value);
    }
    if span.status == SpanStatus::Error {
        message.message(15, |status| status.number(3, STATUS_ERROR));
    }
}

fn attribute(message: &mut Message, field: u32, name: &str, value: &AttributeValue) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any_value(any, value));
    });
}

fn any_value(any: &mut Message, value: &AttributeValue) {
    match value {
        AttributeValue::Text(text) => any.chosen_text(1, text),
        AttributeValue::Flag(flag) => any.chosen_number(2, u64::from(*flag)),
        AttributeValue::Whole(number) => any.chosen_number(3, number.cast_unsigned()),
        AttributeValue::Number(number) => any.chosen_double(4, *number),
        AttributeValue::Texts(texts) => any.message(5, |array| {
            for text in texts {
                array.message(1, |any| any.chosen_text(1, text));
            }
        }),
    }
}

fn metric(
    message: &mut Message,
    about: &MetricDescription,
    instrument: &Instrument,
    times: (u64, u64),
) {
    message.text(1, about.name);
    message.text(2, about.about);
    message.text(3, about.unit);
    message.message(9, |histogram| {
        for (attributes, values) in &instrument.series {
            histogram.message(1, |point| {
                data_point(point, values, about.bounds, times);
                for (name, value) in attributes {
                    attribute(point, 9, name, &value.as_str().into());
                }
            });
        }
        histogram.number(2, CUMULATIVE);
    });
}

fn data_point(point: &mut Message, values: &Histogram, bounds: &[f64], (began, now): (u64, u64)) {
    point.fixed(2, began);
    point.fixed(3, now);
    point.fixed(4, values.count);
    point.chosen_double(5, values.sum);
    point.packed(6, values.counts.iter().map(|count| count.to_le_bytes()));
    point.packed(7, bounds.iter().map(|bound| bound.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_much_was_not_taken() {
        let mut answer = Message::default();
        answer.message(1, |partial| {
            partial.number(1, 7);
            partial.text(2, "too old");
        });
        assert_eq!(rejected(&answer.into_bytes()), 7);
        assert_eq!((rejected(b""), rejected(b"{\"partialSuccess\":{}}")), (0, 0));
    }
}
