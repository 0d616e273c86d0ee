//! The data of server-sent events, each of bounded length.

use std::time::Duration;

use crate::lines::{Line, LineSplitter};

/// Bytes of the id of an event, which is sent back in a header.
const MAX_ID: usize = 1024;

/// Takes events apart and never holds more than the longest one allowed.
#[derive(Debug)]
pub(crate) struct EventSplitter {
    limit: usize,
    lines: LineSplitter,
    data: Vec<u8>,
    is_too_long: bool,
    place: StreamPlace,
}

/// Where a stream can be taken up again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamPlace {
    /// The id of the last event that had one.
    pub(crate) event: Option<String>,
    /// How long the server wants to be left alone before.
    pub(crate) pause: Option<Duration>,
}

impl EventSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        // A line has the name of its field before the data.
        let lines = LineSplitter::new(limit + 16);
        let place = StreamPlace::default();
        Self { limit, lines, data: Vec::new(), is_too_long: false, place }
    }

    /// Where the stream is now.
    pub(crate) fn place(&self) -> &StreamPlace {
        &self.place
    }

    /// Takes the next piece of the stream, and gives the data of every event that it ends.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        let Self { limit, lines, data, is_too_long, place } = self;
        lines.feed(bytes, |line| {
            let line = match line {
                Line::TooLong => {
                    *is_too_long = true;
                    return;
                }
                Line::Whole(line) => line.strip_suffix(b"\r").unwrap_or(line),
            };
            if line.is_empty() {
                if std::mem::take(is_too_long) {
                    take(Line::TooLong);
                } else if !data.is_empty() {
                    take(Line::Whole(data));
                }
                *data = Vec::new();
            } else if let Some(more) = line.strip_prefix(b"data:") {
                let more = more.strip_prefix(b" ").unwrap_or(more);
                if data.len() + more.len() > *limit {
                    *is_too_long = true;
                    *data = Vec::new();
                } else if !*is_too_long {
                    if !data.is_empty() {
                        data.push(b'\n');
                    }
                    data.extend_from_slice(more);
                }
            } else if let Some(value) = field(line, b"id:") {
                let is_fit = value.len() <= MAX_ID && !value.contains('\0');
                place.event = Some(value.to_owned()).filter(|id| is_fit && !id.is_empty());
            } else if let Some(value) = field(line, b"retry:") {
                place.pause = value.parse().ok().map(Duration::from_millis).or(place.pause);
            }
        });
    }
}

/// The value of a field, if the line is one of this name.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let value = line.strip_prefix(name)?;
    std::str::from_utf8(value.strip_prefix(b" ").unwrap_or(value)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(limit: usize, text: &str) -> Vec<String> {
        let mut splitter = EventSplitter::new(limit);
        let mut events = Vec::new();
        for piece in text.as_bytes().chunks(3) {
            splitter.feed(piece, |line| {
                events.push(match line {
                    Line::Whole(data) => String::from_utf8_lossy(data).into_owned(),
                    Line::TooLong => "(too long)".to_owned(),
                });
            });
        }
        events
    }

    #[test]
    fn the_data_of_events_is_put_together_and_all_else_is_passed_over() {
        let text = ": hello\n\nevent: message\r\nid: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\n\n\ndata: lost";
        assert_eq!(events(100, text), ["{\"a\":\n1}", "x"]);
    }

    #[test]
    fn an_event_that_is_too_long_is_told_once() {
        let long = format!("data: {}\n\ndata: ok\n\n", "x".repeat(90));
        assert_eq!(events(20, &long), ["(too long)", "ok"]);
        let many = format!("{}\ndata: ok\n\n", "data: 12345\n".repeat(9));
        assert_eq!(events(20, &many), ["(too long)", "ok"]);
    }

    #[test]
    fn the_place_is_that_of_the_last_event_with_an_id() {
        let place = |text: &str| {
            let mut splitter = EventSplitter::new(100);
            text.as_bytes().chunks(3).for_each(|piece| splitter.feed(piece, |_| {}));
            let StreamPlace { event, pause } = splitter.place().clone();
            (event.unwrap_or_default(), pause.map(|pause| pause.as_millis()))
        };
        assert_eq!(place("data: 1\n\n"), (String::new(), None));
        assert_eq!(place("id: a\nretry: 500\ndata:\n\n"), ("a".into(), Some(500)));
        assert_eq!(place("id: a\ndata: 1\n\nid:b\r\n\r\ndata: 2\n\n"), ("b".into(), None));
        assert_eq!(place("id: a\n\nretry: soon\nid: \n\n"), (String::new(), None));
        let long = format!("id: {}\n\n", "x".repeat(MAX_ID + 1));
        assert_eq!(place(&long), (String::new(), None));
    }
}
