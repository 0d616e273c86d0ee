//! Server-Sent Events, as bytes arrive.

use context_manager::{ModelError, ModelErrorKind};

/// The largest event. The last one of a Responses stream repeats the whole answer.
const MAX_EVENT: usize = 16 * 1024 * 1024;
/// The most bytes of one stream, comments included. No honest answer comes near it.
const MAX_STREAM: usize = 64 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The name; empty if the server gave none.
    pub event: String,
    /// The lines of data, joined by line feeds.
    pub data: String,
}

/// Turns bytes into events, wherever the borders between the chunks are.
///
/// An event that is not closed by an empty line does not count: the stream was cut inside it.
#[derive(Debug)]
pub struct SseDecoder {
    /// The current line as far as it came. Lines are decoded whole, so that no character is split.
    line: Vec<u8>,
    event: String,
    data: Option<String>,
    after_carriage_return: bool,
    at_first_line: bool,
    seen: usize,
    max_event: usize,
    max_stream: usize,
    failed: bool,
}

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl SseDecoder {
    /// A decoder at the beginning of a stream.
    pub fn new() -> Self {
        Self::with_limits(MAX_EVENT, MAX_STREAM)
    }

    /// A decoder that refuses larger events and longer streams than these.
    pub(crate) fn with_limits(max_event: usize, max_stream: usize) -> Self {
        Self {
            line: Vec::new(),
            event: String::new(),
            data: None,
            after_carriage_return: false,
            at_first_line: true,
            seen: 0,
            max_event,
            max_stream,
            failed: false,
        }
    }

    /// The events that these bytes complete. After an error nothing follows.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Result<SseEvent, ModelError>> {
        let mut found = Vec::new();
        if self.failed {
            return found;
        }
        let allowed = bytes.len().min(self.max_stream - self.seen);
        self.seen += allowed;
        let mut outcome = self.read(&bytes[..allowed], &mut found);
        if outcome.is_ok() && allowed < bytes.len() {
            outcome = Err(too_large("the answer", self.max_stream));
        }
        if let Err(error) = outcome {
            self.failed = true;
            self.line = Vec::new();
            self.data = None;
            found.push(Err(error));
        }
        found
    }

    fn read(
        &mut self,
        mut bytes: &[u8],
        found: &mut Vec<Result<SseEvent, ModelError>>,
    ) -> Result<(), ModelError> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_carriage_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            let held = self.line.len() + self.data.as_ref().map_or(0, String::len);
            if held > self.max_event {
                return Err(too_large("one event of the answer", self.max_event));
            }
            let Some(end) = end else { break };
            self.after_carriage_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            found.extend(self.end_of_line().map(Ok));
        }
        Ok(())
    }

    fn end_of_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_first_line) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return self.data.take().map(|data| SseEvent { event, data });
        }
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = value.to_owned(),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // Comments have an empty name; `id` and `retry` are for clients that reconnect.
            _ => {}
        }
        None
    }
}

fn too_large(what: &str, limit: usize) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, format!("{what} is larger than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(chunks: &[&[u8]]) -> Vec<Result<SseEvent, ModelError>> {
        let mut decoder = SseDecoder::with_limits(40, 200);
        chunks.iter().flat_map(|chunk| decoder.push(chunk)).collect()
    }

    fn shown(text: &str) -> String {
        let show = |event: Result<SseEvent, ModelError>| match event {
            Ok(SseEvent { event, data }) => format!("{event}={data:?}"),
            Err(error) => format!("{:?}: {error}", error.kind),
        };
        decode(&[text.as_bytes()]).into_iter().map(show).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let cases = [
            ("data: a\n\n", r#"="a""#),
            ("event: e\rdata: a\r\r", r#"e="a""#),
            ("event: e\r\ndata: a\r\n\r\ndata: b\r\n\r\n", r#"e="a" | ="b""#),
            ("\u{feff}data: a\n\n", r#"="a""#),
            ("data: a\n\n\u{feff}data: b\n\n", r#"="a""#),
            ("data: a\ndata:b\ndata\ndata:  c\n\n", r#"="a\nb\n\n c""#),
            (": PROCESSING\n\n: more\ndata: a\n\n", r#"="a""#),
            ("event: lost\n\ndata: a\n\n", r#"="a""#),
            ("data:\n\n", r#"="""#),
            ("id: 1\nretry: 2\ndatabase: no\ndata: a:b\n\n", r#"="a:b""#),
            ("data: cut\n", ""),
            ("data: cut", ""),
            ("data: häß→🦀\n\n", r#"="häß→🦀""#),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let events = decode(&[b"data: a\xff\n\n"]);
        assert_eq!(events, [Ok(SseEvent { event: String::new(), data: "a\u{fffd}".into() })]);
    }

    #[test]
    fn what_is_too_large_is_an_error_and_the_end() {
        let long = "x".repeat(50);
        let error = "Malformed: one event of the answer is larger than 40 bytes";
        assert_eq!(
            shown(&format!("data: a\n\ndata: {long}\n\ndata: b\n\n")),
            format!("=\"a\" | {error}")
        );
        let lines = "data: 0123456789\n".repeat(5);
        assert_eq!(shown(&lines), error);
        assert_eq!(
            shown(&": 0123456789\n".repeat(30)),
            "Malformed: the answer is larger than 200 bytes"
        );
    }

    fn any_stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"event: ".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n\r\n".to_vec()),
            Just(BYTE_ORDER_MARK.to_vec()),
            "[a-z:é🦀 ]{0,9}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn borders_between_chunks_change_nothing(stream in any_stream(), size in 1_usize..20) {
            let whole = decode(&[&stream]);
            let bytes: Vec<_> = stream.chunks(1).collect();
            let chunks: Vec<_> = stream.chunks(size).collect();
            prop_assert_eq!(&decode(&bytes), &whole);
            prop_assert_eq!(&decode(&chunks), &whole);
        }
    }
}
