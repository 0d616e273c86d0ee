//! Messages as lines of bounded length.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// A longer line is not a message: images and embedded files fit many times.
const MAX_LINE: usize = 64 * 1024 * 1024;
/// Stands for a line that is not read. It is not JSON, so the editor is told of a mistake.
const TOO_LONG: &str = "a line of more than 64 MiB";
const NOT_UTF8: &str = "a line that is not UTF-8";

/// The next line that holds anything; none at the end.
pub(crate) async fn next_line(
    input: &mut BufReader<impl AsyncRead + Unpin>,
) -> io::Result<Option<String>> {
    loop {
        let (mut line, mut is_whole, mut is_too_long) = (Vec::new(), false, false);
        while !is_whole {
            let read = input.fill_buf().await?;
            if read.is_empty() {
                break;
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            is_whole = end.is_some();
            let taken = end.map_or(read.len(), |end| end + 1);
            is_too_long |= line.len() + taken > MAX_LINE;
            if is_too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(&read[..taken]);
            }
            input.consume(taken);
        }
        if is_too_long {
            return Ok(Some(TOO_LONG.to_owned()));
        }
        match String::from_utf8(line) {
            Ok(text) if !text.trim().is_empty() => return Ok(Some(text.trim().to_owned())),
            // The end, or an empty line.
            Ok(_) if !is_whole => return Ok(None),
            Ok(_) => {}
            Err(_) => return Ok(Some(NOT_UTF8.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_blank_ones_left_out() {
        let mut text = b"{\"a\":1}\r\n\n  \n\xff\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', MAX_LINE + 1));
        text.extend(b"\nlast");
        let mut input = BufReader::new(&text[..]);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).await.unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, ["{\"a\":1}", NOT_UTF8, TOO_LONG, "last"]);
    }
}
