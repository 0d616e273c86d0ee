//! Paragraphs, lists, quotes, code and tables, one line after the other.

use super::code::Code;
use super::flow::{LinePrefix, TextFlow};
use super::inline::{InlineSource, settle};
use super::line::{
    Fence, MarkdownKind, MarkdownLine, classify, indentation, opening_fence, quotes,
};
use super::table::Table;
use crate::columns::{StyledText, columns, cut, folded, without_tabs};
use crate::ink::Ink;
use crate::output_style::OutputStyle;

/// Narrower terminals are written to as if they had this many columns.
const NARROWEST: usize = 20;
/// A line that is not known after this many bytes is waited for. It bounds what is read again with
/// every piece of it.
const LONGEST_BEGINNING: usize = 200;
/// From this indentation on a line outside of lists is code.
const CODE_INDENT: usize = 4;
const CODE_MARGIN: usize = 2;
const CODE_RULE: &str = "───";
const LONGEST_RULE: usize = 40;
const QUOTE: &str = "│ ";
const BULLET: &str = "•";

/// The blocks of one message.
#[derive(Debug)]
pub(super) struct Blocks {
    style: OutputStyle,
    /// What all of the text has, besides its own.
    ink: Ink,
    /// The beginning of a line whose kind is not known yet.
    line: String,
    /// The current line is known to be text of the open paragraph.
    in_line: bool,
    open: MarkdownBlock,
    /// The last line without indentation was of a list.
    in_list: bool,
    /// A blank line is due before the next block.
    gap: bool,
    started: bool,
    out: String,
}

#[derive(Debug)]
enum MarkdownBlock {
    Nothing,
    Paragraph(Paragraph),
    Code(Box<Code>),
    Table { lines: Vec<String>, depth: usize, indent: usize },
}

#[derive(Debug)]
struct Paragraph {
    flow: TextFlow,
    depth: usize,
    ink: Ink,
    is_heading: bool,
    /// What is not certain yet.
    text: String,
    before: Option<char>,
}

impl Blocks {
    pub(super) fn new(style: OutputStyle, ink: Ink) -> Self {
        Self {
            style: OutputStyle { width: style.width.max(NARROWEST), ..style },
            ink,
            line: String::new(),
            in_line: false,
            open: MarkdownBlock::Nothing,
            in_list: false,
            gap: false,
            started: false,
            out: String::new(),
        }
    }

    /// What is written from here on has this many columns.
    pub(super) fn set_width(&mut self, width: usize) {
        self.style.width = width.max(NARROWEST);
        if let MarkdownBlock::Paragraph(paragraph) = &mut self.open {
            paragraph.flow.set_width(self.style.width);
        }
    }

    pub(super) fn push(&mut self, text: &str) -> String {
        let mut lines = text.split('\n');
        if let Some(first) = lines.next() {
            self.more(first);
        }
        for next in lines {
            self.end_line();
            self.more(next);
        }
        std::mem::take(&mut self.out)
    }

    /// The word of a paragraph that has not ended.
    pub(super) fn unfinished(&self) -> String {
        match &self.open {
            MarkdownBlock::Paragraph(paragraph) => self.painted(&paragraph.flow.unfinished()),
            _ => String::new(),
        }
    }

    pub(super) fn finish(mut self) -> String {
        if self.in_line || !self.line.is_empty() {
            self.end_line();
        }
        self.close();
        self.out
    }

    /// More of the current line.
    fn more(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.in_line {
            self.write(text);
            return;
        }
        self.line.push_str(text);
        if matches!(self.open, MarkdownBlock::Code(_)) || self.may_be_indented_code(&self.line) {
            return;
        }
        let beginning = &self.line[..self.line.floor_char_boundary(LONGEST_BEGINNING)];
        if classify(beginning, false).is_none() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        if let Some(known) = classify(&line, false) {
            self.start(known);
            self.in_line = true;
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            self.end_text_line();
            return;
        }
        let line = std::mem::take(&mut self.line);
        if matches!(self.open, MarkdownBlock::Code(_)) {
            self.code_line(&line);
        } else if self.may_be_indented_code(&line) && !line.trim().is_empty() {
            self.indented_code(&line);
        } else if let Some(known) = classify(&line, true) {
            let is_text = matches!(
                known.kind,
                MarkdownKind::Text(_) | MarkdownKind::Heading { .. } | MarkdownKind::Item { .. }
            );
            self.start(known);
            if is_text {
                self.end_text_line();
            }
        }
    }

    fn end_text_line(&mut self) {
        self.write("\n");
        if matches!(&self.open, MarkdownBlock::Paragraph(paragraph) if paragraph.is_heading) {
            self.close();
            self.gap = true;
        }
    }

    fn start(&mut self, line: MarkdownLine<'_>) {
        let MarkdownLine { depth, indent, kind } = line;
        match kind {
            MarkdownKind::Blank => {
                self.close();
                self.gap = true;
            }
            MarkdownKind::Text(text) => self.text(depth, indent, text),
            MarkdownKind::Heading { level, text } => {
                self.in_list &= indent > 0;
                self.gap = true;
                self.begin();
                let prefix = self.prefix(depth, indent);
                self.paragraph(depth, &prefix, prefix.clone(), heading_ink(level));
                if let MarkdownBlock::Paragraph(paragraph) = &mut self.open {
                    paragraph.is_heading = true;
                }
                self.write(text);
            }
            MarkdownKind::Item { mark, text } => self.item(depth, indent, mark, text),
            MarkdownKind::Rule => {
                self.begin();
                let prefix = self.prefix(depth, 0);
                let length = self.style.width.saturating_sub(prefix.columns).min(LONGEST_RULE);
                self.line_of(&prefix, &"─".repeat(length), Ink::DIM);
            }
            MarkdownKind::Fence { fence, info } => self.fence(depth, indent, fence, info),
            MarkdownKind::TableRow(row) => match &mut self.open {
                MarkdownBlock::Table { lines, depth: open, .. } if *open == depth => {
                    lines.push(row.to_owned());
                }
                _ => {
                    self.begin();
                    self.open = MarkdownBlock::Table { lines: vec![row.to_owned()], depth, indent };
                }
            },
        }
    }

    fn text(&mut self, depth: usize, indent: usize, text: &str) {
        let goes_on =
            matches!(&self.open, MarkdownBlock::Paragraph(paragraph) if paragraph.depth == depth);
        if !goes_on {
            self.in_list &= indent > 0;
            self.begin();
            let prefix = self.prefix(depth, indent);
            self.paragraph(depth, &prefix, prefix.clone(), Ink::PLAIN);
        }
        self.write(text);
    }

    fn item(&mut self, depth: usize, indent: usize, mark: &str, text: &str) {
        self.begin();
        self.in_list = true;
        let shown = if mark.ends_with(['.', ')']) { mark } else { BULLET };
        let room = (columns(shown) + 1).min(self.style.width / 4);
        let before = self.prefix_within(depth, indent, self.style.width / 2 - room);
        let first = before.then(shown, Ink::CYAN).then_space(1);
        let hanging = before.then_space(first.columns - before.columns);
        self.paragraph(depth, &first, hanging, Ink::PLAIN);
        if let Some((fence, info)) = opening_fence(text) {
            self.fence(depth, indent + mark.len() + 1, fence, info);
        } else {
            self.write(text);
        }
    }

    fn fence(&mut self, depth: usize, indent: usize, fence: Fence, info: &str) {
        self.begin();
        let prefix = self.prefix(depth, indent);
        let rule = format!("{CODE_RULE} {info}");
        self.line_of(&prefix, rule.trim_end(), Ink::DIM);
        let code = Code::new(fence, prefix, depth, indent, info);
        self.open = MarkdownBlock::Code(Box::new(code));
    }

    fn code_line(&mut self, line: &str) {
        let MarkdownBlock::Code(code) = &mut self.open else { return };
        let (depth, inner) = quotes(line, code.depth);
        if depth < code.depth {
            // The quote that the code stands in has ended.
            self.close();
            self.line = line.to_owned();
            self.end_line();
            return;
        }
        if code.fence.is_closed_by(inner) {
            self.close();
            return;
        }
        let pieces = code.line(&without_tabs(without_indent(inner, code.indent)));
        let prefix = code.prefix.then_space(CODE_MARGIN);
        self.code_pieces(&prefix, &pieces);
    }

    /// A line of code, over several lines if it has to be.
    fn code_pieces(&mut self, prefix: &LinePrefix, pieces: &[StyledText]) {
        if pieces.iter().all(|piece| piece.text.trim().is_empty()) {
            self.out.push('\n');
            return;
        }
        let prefix = prefix.within(self.style.width);
        for line in folded(pieces, self.style.width - prefix.columns) {
            self.emit(&prefix.pieces);
            self.emit(&line);
            self.out.push('\n');
        }
    }

    fn may_be_indented_code(&self, line: &str) -> bool {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let space = line.bytes().take(CODE_INDENT).take_while(is_space).count();
        matches!(self.open, MarkdownBlock::Nothing)
            && !self.in_list
            && indentation(&line[..space]) >= CODE_INDENT
    }

    fn indented_code(&mut self, line: &str) {
        self.begin();
        let prefix = LinePrefix::default().then_space(CODE_MARGIN);
        let text = without_tabs(without_indent(line, CODE_INDENT));
        self.code_pieces(&prefix, &[StyledText::new(Ink::CYAN, text)]);
    }

    /// Ends what is open and leaves the blank line that is due.
    fn begin(&mut self) {
        self.close();
        if std::mem::take(&mut self.gap) && self.started {
            self.out.push('\n');
        }
        self.started = true;
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, MarkdownBlock::Nothing) {
            MarkdownBlock::Nothing => {}
            MarkdownBlock::Paragraph(mut paragraph) => {
                let mut out = paragraph.settle(true, self.style.links);
                paragraph.flow.finish(&mut out);
                self.emit(&out);
            }
            MarkdownBlock::Code(code) => self.line_of(&code.prefix, CODE_RULE, Ink::DIM),
            MarkdownBlock::Table { lines, depth, indent } => {
                let prefix = self.prefix(depth, indent);
                match Table::read(&lines) {
                    Some(table) => {
                        let width = self.style.width - prefix.columns;
                        for line in table.draw(width, self.style.links) {
                            self.emit(&prefix.pieces);
                            self.emit(&line);
                            self.out.push('\n');
                        }
                    }
                    None => {
                        self.paragraph(depth, &prefix, prefix.clone(), Ink::PLAIN);
                        self.write(&lines.join("\n"));
                        self.close();
                    }
                }
            }
        }
    }

    fn paragraph(&mut self, depth: usize, first: &LinePrefix, rest: LinePrefix, ink: Ink) {
        let mut out = Vec::new();
        let flow = TextFlow::begin(self.style.width, first, rest, &mut out);
        self.emit(&out);
        self.open = MarkdownBlock::Paragraph(Paragraph {
            flow,
            depth,
            ink,
            is_heading: false,
            text: String::new(),
            before: None,
        });
    }

    /// More text of the open paragraph.
    fn write(&mut self, text: &str) {
        if let MarkdownBlock::Paragraph(paragraph) = &mut self.open {
            paragraph.text.push_str(text);
            let out = paragraph.settle(false, self.style.links);
            self.emit(&out);
        }
    }

    fn line_of(&mut self, prefix: &LinePrefix, text: &str, ink: Ink) {
        let line = prefix.then(&without_tabs(text), ink).pieces;
        self.emit(&cut(&line, self.style.width));
        self.out.push('\n');
    }

    fn emit(&mut self, pieces: &[StyledText]) {
        let painted = self.painted(pieces);
        self.out.push_str(&painted);
    }

    fn painted(&self, pieces: &[StyledText]) -> String {
        let paint = |piece: &StyledText| match piece.text.trim() {
            "" => piece.text.clone(),
            _ => piece.paint_with(self.ink, self.style),
        };
        pieces.iter().map(paint).collect()
    }

    /// Quote marks and space, but never more than half of a line.
    fn prefix(&self, depth: usize, indent: usize) -> LinePrefix {
        self.prefix_within(depth, indent, self.style.width / 2)
    }

    fn prefix_within(&self, depth: usize, indent: usize, most: usize) -> LinePrefix {
        let quotes = QUOTE.repeat(depth.min(most / 4));
        let prefix = LinePrefix::default().then(&quotes, Ink::DIM);
        let space = indent.min(most - prefix.columns);
        prefix.then_space(space)
    }
}

impl Paragraph {
    /// What is certain of the text, on its lines.
    fn settle(&mut self, complete: bool, links: bool) -> Vec<StyledText> {
        let mut pieces = Vec::new();
        let source = InlineSource { text: &self.text, before: self.before, complete, links };
        let end = settle(source, self.ink, &mut pieces);
        self.before = self.text[..end].chars().next_back().or(self.before);
        self.text.drain(..end);
        let mut out = Vec::new();
        self.flow.write(&pieces, &mut out);
        out
    }
}

/// The level of a heading by its weight.
fn heading_ink(level: usize) -> Ink {
    match level {
        1 => Ink::BOLD.and(Ink::UNDERLINED),
        2 => Ink::BOLD,
        3 => Ink::BOLD.and(Ink::ITALIC),
        _ => Ink::ITALIC,
    }
}

/// `line` without the first `columns` of its white space.
fn without_indent(line: &str, columns: usize) -> &str {
    let mut rest = line;
    let mut left = columns;
    while let Some(after) = rest.strip_prefix([' ', '\t']) {
        let width = indentation(&rest[..1]);
        if width > left {
            break;
        }
        left -= width;
        rest = after;
    }
    rest
}
