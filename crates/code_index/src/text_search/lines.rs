//! The matching lines of one file.

use std::io;

use grep_matcher::Matcher as _;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch};
use workspace::RelPath;

use super::line_matcher::LineMatcher;
use super::{TextMatch, TextQuery};
use crate::excerpt::{Excerpt, excerpt};

/// A match over several lines may show this many times the characters of a line.
const LINES_OF_A_MATCH: usize = 5;

/// Gathers the matching lines of one file.
pub(super) struct MatchingLines<'a> {
    pub(super) query: &'a TextQuery,
    pub(super) matcher: &'a LineMatcher,
    pub(super) path: &'a RelPath,
    /// How many matches to keep; the rest is counted.
    pub(super) room: usize,
    /// The last line that an earlier page has shown; 0 if none.
    pub(super) shown_to: u64,
    pub(super) matches: Vec<TextMatch>,
    before: Vec<String>,
    /// Whether the latest match is kept, so that the lines after it are its context.
    is_latest_kept: bool,
    pub(super) total: u64,
    /// Matches up to `shown_to`.
    pub(super) earlier: u64,
    pub(super) is_binary: bool,
}

impl<'a> MatchingLines<'a> {
    pub(super) fn new(query: &'a TextQuery, matcher: &'a LineMatcher, path: &'a RelPath) -> Self {
        Self {
            query,
            matcher,
            path,
            room: 0,
            shown_to: 0,
            matches: Vec::new(),
            before: Vec::new(),
            is_latest_kept: false,
            total: 0,
            earlier: 0,
            is_binary: false,
        }
    }

    fn shown(&mut self, line: u64, bytes: &[u8]) -> TextMatch {
        let focus = self.matcher.find(bytes).ok().flatten().map_or(0, |at| at.start());
        let lines = if self.query.multiline { LINES_OF_A_MATCH } else { 1 };
        let shown = Excerpt::of(bytes, focus, self.query.max_line_chars.saturating_mul(lines));
        TextMatch {
            path: self.path.clone(),
            line,
            text: shown.text,
            is_cut: shown.is_cut,
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        }
    }
}

impl Sink for MatchingLines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        // Over several lines the engine looks for binary data only at the beginning of a file.
        if self.query.multiline && self.total == 0 && memchr::memchr(0, found.buffer()).is_some() {
            self.is_binary = true;
            return Ok(false);
        }
        self.total += 1;
        let line = found.line_number().unwrap_or(0);
        self.is_latest_kept = false;
        if self.shown_to > 0 && line <= self.shown_to {
            self.earlier += 1;
            self.before.clear();
        } else if self.matches.len() < self.room {
            let shown = self.shown(line, found.bytes());
            self.matches.push(shown);
            self.is_latest_kept = true;
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let text = || excerpt(context.bytes(), 0, self.query.max_line_chars);
        match context.kind() {
            SinkContextKind::Before if self.matches.len() < self.room => self.before.push(text()),
            SinkContextKind::After if self.is_latest_kept => {
                let text = text();
                if let Some(last) = self.matches.last_mut() {
                    last.after.push(text);
                }
            }
            _ => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.before.clear();
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}
