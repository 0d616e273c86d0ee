//! What a server sent, read within bounds, whichever way it came.

use serde_json::Value;

use crate::lines::Line;

/// Values in one message. Each takes far more memory than in the text.
const MAX_VALUES: usize = 500_000;

/// What was sent.
#[derive(Debug, PartialEq)]
pub(crate) enum Received {
    Message(Value),
    /// More than is taken apart.
    TooLong,
    /// Not a message.
    Nothing,
}

impl From<Line<'_>> for Received {
    fn from(line: Line<'_>) -> Self {
        let Line::Whole(line) = line else { return Self::TooLong };
        if has_too_many_values(line) {
            return Self::TooLong;
        }
        serde_json::from_slice(line).map_or(Self::Nothing, Self::Message)
    }
}

/// Whether a message has more values than are taken apart.
fn has_too_many_values(line: &[u8]) -> bool {
    if line.len() <= MAX_VALUES {
        return false;
    }
    let (mut values, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in line {
        match (in_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b',' | b'[' | b'{') => values += 1,
            _ => {}
        }
    }
    values > MAX_VALUES
}
