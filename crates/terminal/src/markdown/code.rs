//! A block of code that is being written.

use code_index::CodeColours;

use super::flow::LinePrefix;
use super::line::Fence;
use crate::columns::StyledText;
use crate::ink::Ink;
use crate::syntax::{coloured, syntax_ink};

/// A longer block has no colours from there on: each line is read with those before it.
const MOST_COLOURED_LINES: usize = 500;
const MOST_COLOURED_BYTES: usize = 32 * 1024;

#[derive(Debug)]
pub(super) struct Code {
    pub(super) fence: Fence,
    pub(super) prefix: LinePrefix,
    pub(super) depth: usize,
    pub(super) indent: usize,
    is_diff: bool,
    /// Ink of what has no colour of its own.
    ink: Ink,
    colours: Option<CodeColours>,
    lines: usize,
}

impl Code {
    /// `info` is what stands behind the opening fence.
    pub(super) fn new(
        fence: Fence,
        prefix: LinePrefix,
        depth: usize,
        indent: usize,
        info: &str,
    ) -> Code {
        let language = info.split([' ', ',', '{', ':', ';']).next().unwrap_or_default();
        let colours = CodeColours::new(language);
        let is_diff = matches!(language, "diff" | "patch");
        let ink = if colours.is_some() { Ink::PLAIN } else { Ink::CYAN };
        Code { fence, prefix, depth, indent, is_diff, ink, colours, lines: 0 }
    }

    /// A line without tabs in its colours.
    pub(super) fn line(&mut self, text: &str) -> Vec<StyledText> {
        if self.is_diff {
            return vec![StyledText::new(diff_ink(text), text)];
        }
        self.lines += 1;
        let bytes = self.colours.as_ref().map_or(0, CodeColours::len) + text.len();
        if self.lines > MOST_COLOURED_LINES || bytes > MOST_COLOURED_BYTES {
            self.colours = None;
        }
        let parts = match &mut self.colours {
            Some(colours) => colours.push(&format!("{text}\n")),
            None => Vec::new(),
        };
        coloured(text, &parts, self.ink, syntax_ink)
    }
}

fn diff_ink(line: &str) -> Ink {
    match line.as_bytes().first() {
        Some(b'+') => Ink::GREEN,
        Some(b'-') => Ink::RED,
        Some(b'@') => Ink::CYAN,
        _ => Ink::PLAIN,
    }
}
