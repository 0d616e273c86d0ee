//! The data of server-sent events, each of bounded length.

use crate::lines::{Line, LineSplitter};

/// Takes events apart and never holds more than the longest one allowed.
#[derive(Debug)]
pub(crate) struct EventSplitter {
    limit: usize,
    lines: LineSplitter,
    data: Vec<u8>,
    is_too_long: bool,
}

impl EventSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        // A line has the name of its field before the data.
        let lines = LineSplitter::new(limit + 16);
        Self { limit, lines, data: Vec::new(), is_too_long: false }
    }

    /// Takes the next piece of the stream, and gives the data of every event that it ends.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(Line<'_>)) {
        let Self { limit, lines, data, is_too_long } = self;
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
            }
        });
    }
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
}
