//! Leaving out what costs time and defines nothing: the bodies of C and C++ functions.
//!
//! Most of a C file is in function bodies, and parsing is what takes the time. A body that begins and
//! ends at the margin, as nearly all do, and in which nothing is defined, is left out before parsing.
//! That makes the pass over the Linux source about three times as fast, which "pass over symbols, of
//! ctags' time" of `cargo xtask bench search` needs, and keeps macros in bodies from confusing the
//! parser about what comes after. When in doubt, a body stays.

use std::borrow::Cow;
use std::ops::Range;

use super::assemble::{RawKind, RawSymbol};
use super::cut_macros::attribute_macros;
use super::{SymbolKind, c_family};

/// A shorter body is not worth cutting.
const MIN_BYTES: usize = 16;

/// A text without function bodies, and the way back.
pub(super) struct Cut<'a> {
    pub(super) text: Cow<'a, [u8]>,
    /// Places in the shorter text, in order, and how many bytes are missing up to there.
    missing: Vec<(usize, usize)>,
    /// Places in the shorter text where bodies are missing.
    bodies: Vec<usize>,
}

impl Cut<'_> {
    /// Changes places in the shorter text to those in the original.
    pub(super) fn put_back(&self, found: &mut RawSymbol) {
        for range in [&mut found.name, &mut found.extent].into_iter().chain(&mut found.within) {
            *range = self.original(range.start)..self.original(range.end);
        }
    }

    /// Functions whose bodies were left out and which are not among `found`, each with its head, as
    /// places in the shorter text.
    pub(super) fn functions_not_in(&self, found: &[RawSymbol]) -> Vec<Range<usize>> {
        let is_function = |one: &&RawSymbol| {
            one.what == RawKind::Symbol(SymbolKind::Function) && one.order < c_family::DOUBTFUL
        };
        let mut known: Vec<&Range<usize>> =
            found.iter().filter(is_function).map(|one| &one.extent).collect();
        known.sort_by_key(|extent| extent.start);
        let mut pieces = Vec::new();
        let mut after = 0;
        for body in &self.bodies {
            let before = known.partition_point(|extent| extent.start < *body);
            // A function that was really recognised begins behind the one before.
            let is_known =
                before > 0 && known[before - 1].end == body + 1 && known[before - 1].start >= after;
            if !is_known {
                let head = self.head_of(after, *body);
                pieces.push(head..(body + 1).min(self.text.len()));
            }
            after = body + 1;
        }
        pieces
    }

    /// Where the head of a function begins: behind the last line before it that is blank or ends
    /// something else.
    fn head_of(&self, after: usize, body: usize) -> usize {
        let mut head = body;
        while head > after {
            let start = memchr::memrchr(b'\n', &self.text[after..head - 1])
                .map_or(after, |newline| after + newline + 1);
            let line = self.text[start..head].trim_ascii();
            let is_last = head == body;
            let ends = line.is_empty()
                || line.starts_with(b"#")
                || !is_last && matches!(line.last(), Some(b';' | b'}' | b'/' | b':'));
            if ends {
                break;
            }
            head = start;
        }
        head
    }

    fn original(&self, at: usize) -> usize {
        let before = self.missing.partition_point(|(place, _)| *place <= at);
        at + before.checked_sub(1).map_or(0, |last| self.missing[last].1)
    }
}

/// Leaves out bodies, and macros around what is defined.
pub(super) fn cut(is_cpp: bool, text: &[u8]) -> Cut<'_> {
    let bodies = bodies(text);
    let macros = attribute_macros(is_cpp, text, &bodies);
    let mut pieces: Vec<(Range<usize>, bool)> =
        bodies.into_iter().map(|body| (body, true)).collect();
    let outside = |range: &Range<usize>| {
        let before = pieces.partition_point(|(body, _)| body.start < range.end);
        before == 0 || pieces[before - 1].0.end <= range.start
    };
    let macros: Vec<_> = macros.into_iter().filter(outside).map(|range| (range, false)).collect();
    pieces.extend(macros);
    pieces.sort_by_key(|(range, _)| range.start);
    let mut cut = Cut { text: Cow::Borrowed(text), missing: Vec::new(), bodies: Vec::new() };
    if pieces.is_empty() {
        return cut;
    }
    let mut shorter = Vec::with_capacity(text.len());
    let mut from = 0;
    for (piece, is_body) in pieces {
        shorter.extend_from_slice(&text[from..piece.start]);
        from = piece.end;
        cut.missing.push((shorter.len(), from - shorter.len()));
        if is_body {
            cut.bodies.push(shorter.len());
        }
    }
    shorter.extend_from_slice(&text[from..]);
    cut.text = Cow::Owned(shorter);
    cut
}

/// What stands between the braces of functions that need not be looked into.
fn bodies(text: &[u8]) -> Vec<Range<usize>> {
    let mut bodies = Vec::new();
    // The last byte of code before the current line.
    let mut last = 0u8;
    // Whether the line goes on with what began at the margin.
    let mut in_head = false;
    let mut at = 0;
    while at < text.len() {
        let line = line_at(text, at);
        let trimmed = text[line.clone()].trim_ascii_end();
        in_head = match trimmed.first() {
            Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => true,
            Some(b' ' | b'\t') => in_head,
            _ => false,
        };
        if let Some(start) = body_start(trimmed, last, in_head)
            && let Some(end) = body_end(text, at + start, line.end + 1)
        {
            if end - (at + start) >= MIN_BYTES {
                bodies.push(at + start..end);
            }
            last = b'}';
            in_head = false;
            at = line_at(text, end).end + 1;
            continue;
        }
        if let Some(byte) = trimmed.last() {
            last = *byte;
        }
        in_head &= !matches!(trimmed.last(), Some(b';' | b'{' | b'}' | b'='));
        at = line.end + 1;
    }
    bodies
}

/// Without the line end.
fn line_at(text: &[u8], start: usize) -> Range<usize> {
    let start = start.min(text.len());
    start..memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length)
}

/// Where in a line the body of a function begins: `{` alone at the margin after a parenthesis, or
/// `… ) {` at the end of a head that began at the margin.
fn body_start(line: &[u8], last: u8, in_head: bool) -> Option<usize> {
    match line {
        b"{" => (last == b')').then_some(1),
        [.., b'{'] if in_head => {
            // `const`, `noexcept` or an attribute may follow the parameters.
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_ &".contains(byte);
            let before = line[..line.len() - 1].iter().rfind(|byte| !is_word(byte));
            (before == Some(&b')')).then_some(line.len())
        }
        _ => None,
    }
}

/// Where the closing brace at the margin stands, if all until there is a body without definitions.
fn body_end(text: &[u8], start: usize, first_line: usize) -> Option<usize> {
    let mut conditions = 0u32;
    let mut at = first_line;
    while at < text.len() {
        let line = line_at(text, at);
        let next = line.end + 1;
        match text[at] {
            b'}' => {
                let rest = text[at + 1..line.end].trim_ascii();
                let is_end = conditions == 0 && (rest.is_empty() || rest.starts_with(b"/"));
                return (is_end && !defines(&text[start..at])).then_some(at);
            }
            // The body of something else: the closing brace was not at the margin.
            b'{' => return None,
            b'#' => conditions = after_directive(text[at + 1..line.end].trim_ascii(), conditions)?,
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                is_label(&text[line]).then_some(())?;
            }
            _ => {}
        }
        at = next;
    }
    None
}

/// How many conditions are open after a directive; none if the body must stay because of it.
fn after_directive(directive: &[u8], open: u32) -> Option<u32> {
    if directive.starts_with(b"if") {
        Some(open + 1)
    } else if directive.starts_with(b"endif") {
        open.checked_sub(1)
    } else if directive.starts_with(b"el") {
        // The other half of a condition that began before the body.
        (open > 0).then_some(open)
    } else if directive.starts_with(b"define") {
        None
    } else {
        Some(open)
    }
}

fn is_label(line: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let end = line.iter().position(|byte| !is_word(byte)).unwrap_or(line.len());
    line[end..].trim_ascii_start().starts_with(b":")
}

/// Whether a type or a macro is defined in a body.
pub(super) fn defines(body: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(body, word).is_some();
    if has(b"typedef ") || has(b"#define") || has(b"# define") {
        return true;
    }
    let words: [&[u8]; 4] = [b"struct", b"union", b"enum", b"class"];
    words.into_iter().any(|word| {
        memchr::memmem::find_iter(body, word).any(|at| is_type_with_body(&body[at + word.len()..]))
    })
}

/// Whether ` name {`, ` {` or ` name : Base` follows.
fn is_type_with_body(rest: &[u8]) -> bool {
    let blank = |rest: &[u8]| rest.len() - rest.trim_ascii_start().len();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let rest = &rest[blank(rest)..];
    let name = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
    let rest = &rest[name..];
    matches!(rest[blank(rest)..].first(), Some(b'{' | b':'))
}
