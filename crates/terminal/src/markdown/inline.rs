//! Emphasis, code and links within a paragraph, found as far as they are certain.

use super::entity::{LONGEST_ENTITY, entity};
use crate::columns::StyledText;
use crate::ink::{Ink, Link};

/// Marks further apart than this many bytes do not belong together. It bounds what is held back.
const LONGEST_SPAN: usize = 2000;
/// Emphasis that is not closed within this many marks, and brackets that are nested deeper, are
/// none. Without it, a text of nothing but marks would be read again with every piece of it.
const MOST_MARKS_WITHIN: usize = 32;
/// A longer run of stars is not emphasis.
const MOST_MARKS: usize = 3;
const SPECIAL: [char; 9] = ['\\', '`', '*', '_', '~', '[', '!', '<', '&'];
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// The whole of `text`, with `ink` as its own.
pub(super) fn pieces(text: &str, ink: Ink, links: bool) -> Vec<StyledText> {
    let mut pieces = Vec::new();
    settle(InlineSource { text, before: None, complete: true, links }, ink, &mut pieces);
    pieces
}

/// A part of a paragraph.
#[derive(Clone, Copy, Debug)]
pub(super) struct InlineSource<'a> {
    pub(super) text: &'a str,
    /// The character before it.
    pub(super) before: Option<char>,
    /// Whether the paragraph ends with it.
    pub(super) complete: bool,
    /// Whether links can be followed, so that their targets need not be shown.
    pub(super) links: bool,
}

/// Appends what is certain to `pieces` and says how many bytes that was.
pub(super) fn settle(source: InlineSource<'_>, ink: Ink, pieces: &mut Vec<StyledText>) -> usize {
    let mut at = 0;
    while at < source.text.len() {
        let plain = source.text[at..].find(SPECIAL).unwrap_or(source.text.len() - at);
        push(pieces, ink, &source.text[at..at + plain]);
        at += plain;
        if at == source.text.len() {
            break;
        }
        match source.step(at) {
            Markup::Wait => break,
            Markup::Literal(length) => {
                push(pieces, ink, &source.text[at..at + length]);
                at += length;
            }
            Markup::Escaped(end) => {
                push(pieces, ink, &source.text[at + 1..end]);
                at = end;
            }
            Markup::Code { inner: (start, stop), end } => {
                push(pieces, ink.and(Ink::CYAN), code_text(&source.text[start..stop]));
                at = end;
            }
            Markup::Span { ink: own, inner: (start, stop), end } => {
                let inner = InlineSource {
                    text: &source.text[start..stop],
                    before: source.text[..start].chars().next_back(),
                    complete: true,
                    ..source
                };
                settle(inner, ink.and(own), pieces);
                at = end;
            }
            Markup::Link { label: (start, stop), target, end } => {
                link(&source, (start, stop), target, ink, pieces);
                at = end;
            }
            Markup::Address { inner: (start, stop), end } => {
                let address = &source.text[start..stop];
                let target = source.links.then(|| address.to_owned());
                let text = address.to_owned();
                pieces.push(StyledText { ink: ink.and(Ink::UNDERLINED), text, target });
                at = end;
            }
            Markup::Entity { text, end } => {
                push(pieces, ink, &text);
                at = end;
            }
        }
    }
    at
}

/// A label that leads to its target, or with the target behind it where links cannot be followed.
fn link(
    source: &InlineSource<'_>,
    (start, stop): TextRange,
    target: TextRange,
    ink: Ink,
    pieces: &mut Vec<StyledText>,
) {
    let label = &source.text[start..stop];
    let target = &source.text[target.0..target.1];
    let inner = InlineSource { text: label, before: Some('['), complete: true, links: false };
    let mut shown = Vec::new();
    settle(inner, ink.and(Ink::UNDERLINED), &mut shown);
    let leads = source.links && !shown.is_empty() && Link::to(target).is_some();
    if leads {
        shown.iter_mut().for_each(|piece| piece.target = Some(target.to_owned()));
    }
    pieces.append(&mut shown);
    let says_it_itself = label == target && target.contains("://");
    if !leads && !says_it_itself {
        push(pieces, ink, " ");
        push(pieces, ink.and(Ink::DIM), &format!("({target})"));
    }
}

fn push(pieces: &mut Vec<StyledText>, ink: Ink, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.ink == ink && last.target.is_none() => last.text.push_str(text),
        _ => pieces.push(StyledText::new(ink, text)),
    }
}

/// One space within the marks is there to keep backticks apart.
fn code_text(text: &str) -> &str {
    let inner = text.strip_prefix(' ').and_then(|text| text.strip_suffix(' '));
    inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(text)
}

type TextRange = (usize, usize);

/// What stands at a special character.
enum Markup {
    /// It depends on what follows.
    Wait,
    /// Nothing special, for this many bytes.
    Literal(usize),
    /// A character after a backslash, up to here.
    Escaped(usize),
    Code {
        inner: TextRange,
        end: usize,
    },
    Span {
        ink: Ink,
        inner: TextRange,
        end: usize,
    },
    Link {
        label: TextRange,
        target: TextRange,
        end: usize,
    },
    Address {
        inner: TextRange,
        end: usize,
    },
    /// The character that `&…;` stands for, made harmless.
    Entity {
        text: String,
        end: usize,
    },
}

/// Whether a closing mark is there.
enum Search<T> {
    Found(T),
    Missing,
    Unknown,
}

impl<T> Search<T> {
    /// What was found, or the step to take without it.
    fn or_literal(self, length: usize) -> Result<T, Markup> {
        match self {
            Search::Found(found) => Ok(found),
            Search::Missing => Err(Markup::Literal(length)),
            Search::Unknown => Err(Markup::Wait),
        }
    }
}

impl InlineSource<'_> {
    fn step(&self, at: usize) -> Markup {
        let step = match self.text.as_bytes()[at] {
            b'\\' => Ok(self.escape(at)),
            b'`' => self.code(at),
            b'[' => self.link(at, at),
            b'!' => match self.text.as_bytes().get(at + 1) {
                Some(b'[') => self.link(at, at + 1),
                None if !self.complete => Ok(Markup::Wait),
                _ => Ok(Markup::Literal(1)),
            },
            b'<' => self.address(at),
            b'&' => Ok(self.entity(at)),
            _ => self.emphasis(at),
        };
        step.unwrap_or_else(|other| other)
    }

    fn escape(&self, at: usize) -> Markup {
        match self.text[at + 1..].chars().next() {
            None if !self.complete => Markup::Wait,
            Some(c) if c.is_ascii_punctuation() || c == '\n' => {
                Markup::Escaped(at + 1 + c.len_utf8())
            }
            _ => Markup::Literal(1),
        }
    }

    fn code(&self, at: usize) -> Result<Markup, Markup> {
        let length = self.run(at);
        let start = at + length;
        let stop = self.code_end(start, length).or_literal(length)?;
        Ok(Markup::Code { inner: (start, stop), end: stop + length })
    }

    /// Where the run of exactly `length` backticks begins that ends the code which begins at `start`.
    fn code_end(&self, start: usize, length: usize) -> Search<usize> {
        let mut at = start;
        while let Some(found) = self.text[at..].find('`') {
            at += found;
            if at - start > LONGEST_SPAN {
                return Search::Missing;
            }
            let run = self.run(at);
            if at + run == self.text.len() && !self.complete {
                return Search::Unknown;
            }
            if run == length {
                return Search::Found(at);
            }
            at += run;
        }
        self.not_found(start)
    }

    fn emphasis(&self, at: usize) -> Result<Markup, Markup> {
        let (mark, length) = (self.text.as_bytes()[at], self.run(at));
        let start = at + length;
        if start == self.text.len() {
            return Err(if self.complete { Markup::Literal(length) } else { Markup::Wait });
        }
        let known = if mark == b'~' { length == 2 } else { length <= MOST_MARKS };
        if !known || !self.opens(at, length) {
            return Err(Markup::Literal(length));
        }
        let (stop, end) = self.emphasis_end(mark, length, start).or_literal(length)?;
        let ink = match (mark, length) {
            (b'~', _) => Ink::STRUCK,
            (_, 1) => Ink::ITALIC,
            (_, 2) => Ink::BOLD,
            _ => Ink::BOLD.and(Ink::ITALIC),
        };
        Ok(Markup::Span { ink, inner: (start, stop), end })
    }

    /// Where the text in emphasis ends, and where its closing mark ends.
    fn emphasis_end(&self, mark: u8, length: usize, start: usize) -> Search<TextRange> {
        let mut open = vec![length];
        let mut at = start;
        let mut marks = 0;
        while let Some(found) = self.text[at..].find(['\\', '`', mark as char]) {
            at += found;
            marks += 1;
            if at - start > LONGEST_SPAN || marks > MOST_MARKS_WITHIN {
                return Search::Missing;
            }
            let run = self.run(at);
            match self.text.as_bytes()[at] {
                b'\\' => {
                    at += 1 + self.text[at + 1..].chars().next().map_or(0, char::len_utf8);
                    continue;
                }
                b'`' => match self.code_end(at + run, run) {
                    Search::Found(end) => at = end,
                    Search::Missing => {}
                    Search::Unknown => return Search::Unknown,
                },
                _ if at + run == self.text.len() && !self.complete => return Search::Unknown,
                _ if self.closes(at, run) => {
                    if let Some(used) = close(&mut open, run) {
                        return Search::Found((at + used - length, at + used));
                    }
                }
                _ if self.opens(at, run) => open.push(run),
                _ => {}
            }
            at += run;
        }
        self.not_found(start)
    }

    fn link(&self, at: usize, bracket: usize) -> Result<Markup, Markup> {
        let literal = bracket + 1 - at;
        let stop = self.matching(bracket, b'[', b']').or_literal(literal)?;
        match self.text.as_bytes().get(stop + 1) {
            None if !self.complete => return Err(Markup::Wait),
            Some(b'(') => {}
            _ => return Err(Markup::Literal(literal)),
        }
        let target_end = self.matching(stop + 1, b'(', b')').or_literal(literal)?;
        Ok(Markup::Link {
            label: (bracket + 1, stop),
            target: (stop + 2, target_end),
            end: target_end + 1,
        })
    }

    /// Where the bracket that opens at `from` is closed, on the same line.
    fn matching(&self, from: usize, open: u8, close: u8) -> Search<usize> {
        let mut depth = 0_usize;
        let mut bytes = self.text.bytes().enumerate().skip(from).take(LONGEST_SPAN);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => {
                    bytes.next();
                }
                b'\n' => return Search::Missing,
                _ if byte == open && depth == MOST_MARKS_WITHIN => return Search::Missing,
                _ if byte == open => depth += 1,
                _ if byte == close && depth == 1 => return Search::Found(at),
                _ if byte == close => depth -= 1,
                _ => {}
            }
        }
        self.not_found(from)
    }

    /// `<https://…>`
    fn address(&self, at: usize) -> Result<Markup, Markup> {
        let start = at + 1;
        let end = self.text[start..].find(|c: char| c == '>' || c == '<' || c.is_whitespace());
        let Some(end) = end.map(|end| start + end) else {
            return Err(match self.not_found::<()>(start) {
                Search::Unknown => Markup::Wait,
                _ => Markup::Literal(1),
            });
        };
        let known = SCHEMES.iter().any(|scheme| self.text[start..end].starts_with(scheme));
        if !known || !self.text[end..].starts_with('>') || end - start > LONGEST_SPAN {
            return Err(Markup::Literal(1));
        }
        Ok(Markup::Address { inner: (start, end), end: end + 1 })
    }

    /// `&amp;`
    fn entity(&self, at: usize) -> Markup {
        let name = &self.text[at + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '#';
        match name.find(|c: char| !is_name(c)) {
            None if !self.complete && name.len() <= LONGEST_ENTITY => Markup::Wait,
            Some(end) if name[end..].starts_with(';') => match entity(&name[..end]) {
                Some(text) => Markup::Entity { text, end: at + end + 2 },
                None => Markup::Literal(1),
            },
            _ => Markup::Literal(1),
        }
    }

    /// The end of the text was reached in a search that began at `start`.
    fn not_found<T>(&self, start: usize) -> Search<T> {
        if self.complete || self.text.len() - start > LONGEST_SPAN {
            Search::Missing
        } else {
            Search::Unknown
        }
    }

    /// How often the character at `at` is repeated.
    fn run(&self, at: usize) -> usize {
        let bytes = &self.text.as_bytes()[at..];
        bytes.iter().take_while(|byte| **byte == bytes[0]).count()
    }

    /// Whether emphasis can begin with the run at `at`.
    fn opens(&self, at: usize, length: usize) -> bool {
        let (before, after) = self.around(at, length);
        let flanking = !is_space(after) && (!is_mark(after) || is_space(before) || is_mark(before));
        let word = self.text.as_bytes()[at] == b'_' && !is_space(before) && !is_mark(before);
        flanking && !word
    }

    /// Whether emphasis can end with the run at `at`.
    fn closes(&self, at: usize, length: usize) -> bool {
        let (before, after) = self.around(at, length);
        let flanking = !is_space(before) && (!is_mark(before) || is_space(after) || is_mark(after));
        let word = self.text.as_bytes()[at] == b'_' && !is_space(after) && !is_mark(after);
        flanking && !word
    }

    fn around(&self, at: usize, length: usize) -> (Option<char>, Option<char>) {
        let before = self.text[..at].chars().next_back().or(self.before);
        (before, self.text[at + length..].chars().next())
    }
}

/// Closes what a run of `length` marks can close, innermost first. If that was everything, says how
/// many of the marks it took.
fn close(open: &mut Vec<usize>, length: usize) -> Option<usize> {
    if let Some(equal) = open.iter().rposition(|opened| *opened == length) {
        open.truncate(equal);
        return open.is_empty().then_some(length);
    }
    let mut left = length;
    while let Some(last) = open.pop_if(|last| *last <= left) {
        left -= last;
    }
    open.is_empty().then_some(length - left)
}

fn is_space(c: Option<char>) -> bool {
    c.is_none_or(char::is_whitespace)
}

fn is_mark(c: Option<char>) -> bool {
    c.is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace())
}

#[cfg(test)]
mod tests;
