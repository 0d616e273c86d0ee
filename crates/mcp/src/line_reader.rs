//! Lines of bounded length from a stream.

use std::io;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::bytes::BytesMut;

use crate::envelope::Envelope;

/// Room made for each read; as much as a pipe holds.
const READ_BYTES: usize = 64 * 1024;
/// A buffer that has grown beyond this is freed once its line is taken.
const KEPT_BYTES: usize = 1024 * 1024;

/// A line without its line break.
pub(crate) enum InputLine {
    Whole(BytesMut),
    /// It was longer than allowed; only its id and method were kept.
    TooLong(Envelope),
}

/// Splits a stream into lines and never holds much more than the longest line allowed.
pub(crate) struct LineReader<R> {
    input: R,
    limit: usize,
    buffer: BytesMut,
    /// Bytes of `buffer` that hold no line break.
    searched: usize,
    /// Set while the rest of a line that is too long is skipped.
    passing: Option<Envelope>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self { input, limit, buffer: BytesMut::new(), searched: 0, passing: None }
    }

    /// The next line, or `None` at the end. Bytes after the last line break are a line too.
    /// Cancelling the wait loses nothing.
    pub(crate) async fn next(&mut self) -> io::Result<Option<InputLine>> {
        loop {
            if let Some(at) = memchr(b'\n', &self.buffer[self.searched..]) {
                let end = self.searched + at;
                let mut line = self.buffer.split_to(end + 1);
                line.truncate(end);
                return Ok(Some(self.finish(line)));
            }
            self.searched = self.buffer.len();
            self.let_pass();
            self.buffer.reserve(READ_BYTES);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                if self.buffer.is_empty() && self.passing.is_none() {
                    return Ok(None);
                }
                let line = self.buffer.split();
                return Ok(Some(self.finish(line)));
            }
        }
    }

    /// Empties the buffer if what it holds belongs to a line that is too long.
    fn let_pass(&mut self) {
        if let Some(envelope) = &mut self.passing {
            envelope.feed(&self.buffer);
            self.buffer.clear();
        } else if self.buffer.len() > self.limit {
            self.passing = Some(Envelope::of(&self.buffer));
            self.buffer = BytesMut::new();
        }
        self.searched = self.buffer.len();
    }

    fn finish(&mut self, line: BytesMut) -> InputLine {
        self.searched = 0;
        if line.len() > KEPT_BYTES {
            self.buffer = BytesMut::from(&self.buffer[..]);
        }
        match self.passing.take() {
            Some(mut envelope) => {
                envelope.feed(&line);
                InputLine::TooLong(envelope)
            }
            None if line.len() > self.limit => InputLine::TooLong(Envelope::of(&line)),
            None => InputLine::Whole(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, limit);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await.unwrap() {
            lines.push(match line {
                InputLine::Whole(line) => String::from_utf8(line.to_vec()).unwrap(),
                InputLine::TooLong(envelope) => format!("too long: {:?}", envelope.request_id()),
            });
        }
        lines
    }

    #[tokio::test]
    async fn lines_end_at_breaks_and_at_the_end() {
        assert_eq!(lines(b"a\n\nbc\nd", 10).await, ["a", "", "bc", "d"]);
        assert!(lines(b"", 10).await.is_empty());
    }

    #[tokio::test]
    async fn a_line_above_the_limit_leaves_only_its_envelope() {
        let long = format!(r#"{{"id":1,"method":"m","p":"{}"}}"#, "x".repeat(3 * READ_BYTES));
        let input = format!("ok\n{long}\nok\n{long}");
        let too_long = "too long: Some(Number(1))";
        assert_eq!(lines(input.as_bytes(), 10).await, ["ok", too_long, "ok", too_long]);
        assert_eq!(lines(input.as_bytes(), long.len() - 1).await[1], too_long);
        assert_eq!(lines(input.as_bytes(), long.len()).await[1], long);
    }

    #[tokio::test]
    async fn a_cancelled_wait_loses_nothing() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut reader = LineReader::new(server, 100);
        tokio::io::AsyncWriteExt::write_all(&mut client, b"half").await.unwrap();
        tokio::select! {
            biased;
            _ = reader.next() => unreachable!("the line has not ended"),
            () = std::future::ready(()) => {}
        }
        tokio::io::AsyncWriteExt::write_all(&mut client, b" whole\n").await.unwrap();
        let Some(InputLine::Whole(line)) = reader.next().await.unwrap() else { panic!("no line") };
        assert_eq!(&line[..], b"half whole");
    }
}
