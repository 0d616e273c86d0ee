//! The text around a name, as tokens.

use crate::lookup::word::is_name_byte;

/// How far back or ahead a bracket is looked for.
const BRACKET_REACH: usize = 4096;
/// How far back the opening of a comment is looked for.
const COMMENT_REACH: usize = 64 * 1024;

/// A name in its text.
#[derive(Clone, Copy)]
pub(crate) struct NameContext<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// What begins a comment to the end of the line.
    comment: &'static [u8],
}

/// What stands before a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenBefore<'a> {
    /// The beginning of the file.
    Nothing,
    /// A word that begins at the place.
    Word(&'a [u8], usize),
    /// Another character, at the place.
    Sign(u8, usize),
}

impl<'a> NameContext<'a> {
    pub(crate) fn new(text: &'a [u8], start: usize, end: usize, comment: &'static [u8]) -> Self {
        Self { text, start, end, comment }
    }

    pub(crate) fn name(&self) -> &'a [u8] {
        &self.text[self.start..self.end]
    }

    pub(crate) fn before(&self) -> TokenBefore<'a> {
        self.before_place(self.start)
    }

    /// The token before a place; blanks and comments are passed over.
    pub(crate) fn before_place(&self, at: usize) -> TokenBefore<'a> {
        let text = self.text;
        let mut at = at;
        loop {
            let end = text[..at].trim_ascii_end().len();
            let other_line = memchr::memchr(b'\n', &text[end..at]).is_some();
            at = end;
            if other_line && let Some(comment) = self.comment_before(at) {
                at = comment;
                continue;
            }
            // A line that goes on in the next one.
            if text[..at].ends_with(b"\\") {
                at -= 1;
                continue;
            }
            if !text[..at].ends_with(b"*/") {
                break;
            }
            let reach = at.saturating_sub(COMMENT_REACH);
            match memchr::memmem::rfind(&text[reach..at - 2], b"/*") {
                Some(open) => at = reach + open,
                None => break,
            }
        }
        match at.checked_sub(1).map(|last| text[last]) {
            None => TokenBefore::Nothing,
            Some(byte) if is_name_byte(byte) => {
                let begin = text[..at].iter().rposition(|&byte| !is_name_byte(byte));
                let begin = begin.map_or(0, |before| before + 1);
                TokenBefore::Word(&text[begin..at], begin)
            }
            Some(byte) => TokenBefore::Sign(byte, at - 1),
        }
    }

    /// Where the comment begins in which the line up to `at` ends. A mark in the midst of a word, as
    /// in an address, begins none.
    fn comment_before(&self, at: usize) -> Option<usize> {
        let start = memchr::memrchr(b'\n', &self.text[..at]).map_or(0, |newline| newline + 1);
        let line = &self.text[start..at];
        let begins = |found: &usize| *found == 0 || line[found - 1].is_ascii_whitespace();
        memchr::memmem::find_iter(line, self.comment).find(begins).map(|found| start + found)
    }

    /// The character after the name; blanks and block comments are passed over. 0 at the end.
    pub(crate) fn next(&self) -> u8 {
        self.sign_at(self.next_at(self.end))
    }

    /// Where the next token at or after `at` begins.
    pub(crate) fn next_at(&self, mut at: usize) -> usize {
        loop {
            let rest = &self.text[at.min(self.text.len())..];
            at = self.text.len() - rest.trim_ascii_start().len();
            let rest = &self.text[at..];
            if rest.starts_with(b"/*")
                && let Some(close) = memchr::memmem::find(rest, b"*/")
            {
                at += close + 2;
            } else if rest.starts_with(b"\\\n") || rest.starts_with(b"\\\r") {
                at += 1;
            } else {
                return at;
            }
        }
    }

    pub(crate) fn sign_at(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The word that begins at `at`; empty if none does.
    pub(crate) fn word_at(&self, at: usize) -> &'a [u8] {
        let rest = &self.text[at.min(self.text.len())..];
        let length = rest.iter().position(|&byte| !is_name_byte(byte)).unwrap_or(rest.len());
        &rest[..length]
    }

    /// Whether the next token after the name is this word.
    pub(crate) fn is_followed_by(&self, word: &[u8]) -> bool {
        self.word_at(self.next_at(self.end)) == word
    }

    /// Where the line of the name begins.
    pub(crate) fn line_start(&self) -> usize {
        memchr::memrchr(b'\n', &self.text[..self.start]).map_or(0, |newline| newline + 1)
    }

    /// The line up to the name, without indentation.
    pub(crate) fn line_before(&self) -> &'a [u8] {
        self.text[self.line_start()..self.start].trim_ascii_start()
    }

    /// The rest of the line after the name.
    pub(crate) fn line_after(&self) -> &'a [u8] {
        let rest = &self.text[self.end..];
        &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
    }

    /// Whether the line of the name is not indented.
    pub(crate) fn is_outermost(&self) -> bool {
        !self.sign_at(self.line_start()).is_ascii_whitespace()
    }

    /// Whether the name is the first thing in its line.
    pub(crate) fn begins_line(&self) -> bool {
        self.line_before().is_empty()
    }

    /// The bracket that is open at `at`, looked for backwards: where it is. None if a statement or
    /// block begins first, or if it is too far.
    pub(crate) fn open_parenthesis(&self, at: usize) -> Option<usize> {
        let from = at.saturating_sub(BRACKET_REACH);
        let mut depth = 0u32;
        for place in (from..at).rev() {
            match self.text[place] {
                b')' => depth += 1,
                b'(' if depth == 0 => return Some(place),
                b'(' => depth -= 1,
                b'{' | b'}' | b';' if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The bracket that the one at `close` closes.
    pub(crate) fn opening_of(&self, close: usize) -> Option<usize> {
        let from = close.saturating_sub(BRACKET_REACH);
        let mut depth = 0u32;
        for place in (from..close).rev() {
            match self.text[place] {
                b')' => depth += 1,
                b'(' if depth == 0 => return Some(place),
                b'(' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// What follows the bracket that is opened at `open`: where it begins. None if the bracket is
    /// not closed soon.
    pub(crate) fn after_closing(&self, open: usize) -> Option<usize> {
        let to = self.text.len().min(open + BRACKET_REACH);
        let mut depth = 0u32;
        for place in open..to {
            match self.text[place] {
                b'(' => depth += 1,
                b')' if depth <= 1 => return Some(self.next_at(place + 1)),
                b')' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Whether the name stands in a line of a block comment that begins with a star, or in a
    /// comment that takes the whole line.
    pub(crate) fn in_comment_line(&self) -> bool {
        let line = &self.text[self.line_start()..];
        let line = line.trim_ascii_start();
        if line.starts_with(self.comment) {
            return true;
        }
        if !line.starts_with(b"*") {
            return false;
        }
        // A star may also begin a pointer, but not below another line of the comment.
        let above = self.text[..self.line_start()].trim_ascii_end();
        let above = &above[memchr::memrchr(b'\n', above).map_or(0, |newline| newline + 1)..];
        let above = above.trim_ascii_start();
        let ends = memchr::memmem::find(above, b"*/").is_some();
        (above.starts_with(b"/*") || above.starts_with(b"*")) && !ends
    }
}
