//! What a call prints while it runs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::safe_text::output_line;

/// How much of the output is kept: its end, at most twice this many bytes.
const KEPT_BYTES: usize = 64 * 1024;
/// A line that is longer is taken although it has not ended.
const LONGEST_LINE: usize = 4096;

/// Whole lines that a call has printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// Bytes at the beginning that are no longer kept.
    pub left_out: u64,
    /// The lines after them, each with its end.
    pub text: String,
}

impl Output {
    /// The position after the last line, counted from the first byte of all output.
    pub fn end(&self) -> u64 {
        self.left_out + self.text.len() as u64
    }

    /// What came after the position `from`, as far as it is kept.
    pub fn after(&self, from: u64) -> &str {
        let from = usize::try_from(from.saturating_sub(self.left_out)).unwrap_or(usize::MAX);
        self.text.get(from..).unwrap_or_default()
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        if self.text.len() > 2 * KEPT_BYTES {
            // Half of it goes at once, so that a byte is moved a bounded number of times.
            let least = self.text.len() - KEPT_BYTES;
            let cut = self.text.as_bytes()[least..].iter().position(|byte| *byte == b'\n');
            let cut = cut.map_or(self.text.len(), |at| least + at + 1);
            self.text.drain(..cut);
            self.left_out += cut as u64;
        }
    }
}

/// Cuts output that comes in pieces into lines.
#[derive(Debug, Default)]
pub(crate) struct LineCutter {
    partial: String,
}

impl LineCutter {
    /// Takes the next piece. Answers whether a line has ended.
    pub(crate) fn push(&mut self, text: &str, output: &mut Output) -> bool {
        let before = output.end();
        for part in text.split_inclusive('\n') {
            self.partial.push_str(part);
            while self.partial.trim_end_matches('\n').len() > LONGEST_LINE {
                let cut = self.partial.floor_char_boundary(LONGEST_LINE);
                let rest = self.partial.split_off(cut);
                self.finish(output);
                self.partial = rest;
            }
            if part.ends_with('\n') {
                self.finish(output);
            }
        }
        output.end() != before
    }

    /// Takes a last line that has not ended.
    pub(crate) fn finish(&mut self, output: &mut Output) {
        if !self.partial.is_empty() {
            output.push(&output_line(&std::mem::take(&mut self.partial)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pieces: &[&str]) -> Output {
        let (mut cutter, mut output) = (LineCutter::default(), Output::default());
        for piece in pieces {
            cutter.push(piece, &mut output);
        }
        cutter.finish(&mut output);
        output
    }

    #[test]
    fn lines_are_harmless_and_the_same_wherever_they_are_cut() {
        let expected = "running 2 tests\nok\n30%\nno end\n";
        let text = "running 2 tests\r\n\x1b[32mok\x1b[0m\n10%\r30%\nno end";
        assert_eq!(printed(&[text]).text, expected);
        let pieces: Vec<&str> = text.split_inclusive(|_: char| true).collect();
        assert_eq!(printed(&pieces).text, expected);
    }

    #[test]
    fn of_much_output_the_end_is_kept_and_positions_stay() {
        let text: String = (0..40_000).map(|line| format!("line {line}\n")).collect();
        let output = printed(&[&text]);
        assert!(output.text.len() <= 2 * KEPT_BYTES, "{}", output.text.len());
        assert!(output.text.starts_with("line ") && output.text.ends_with("line 39999\n"));
        assert_eq!(output.end(), text.len() as u64);
        assert_eq!(output.after(output.end() - 6), "39999\n");
        assert_eq!(output.after(0), output.text);
        assert_eq!(output.after(u64::MAX), "");
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let long = "ä".repeat(LONGEST_LINE);
        let output = printed(&[&long, "\n"]);
        assert_eq!(output.text.lines().count(), 2);
        assert_eq!(output.text.replace('\n', ""), long);
        assert_eq!(printed(&[&format!("{long}\n")]), output);
    }
}
