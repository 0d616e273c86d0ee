//! Markdown that arrives in pieces, written to a terminal as soon as each part is certain.
//!
//! What was written is never touched again, so nothing flickers, and wherever the text was cut the
//! same comes out. A line break stays a line break. Underlined headings, reference links and HTML
//! are shown as they were typed: what they mean is known too late, or not at all.

mod blocks;
mod code;
mod entity;
mod flow;
mod inline;
mod line;
mod table;
#[cfg(test)]
mod tests;

use crate::ink::Ink;
use crate::output_style::OutputStyle;
use blocks::Blocks;
pub(crate) use flow::wrapped;
use timeline::safe_text::SafeText;

/// The text of one message. Nothing in it can drive the terminal.
#[derive(Debug)]
pub(crate) struct Markdown {
    guard: SafeText,
    form: MarkdownForm,
}

#[derive(Debug)]
enum MarkdownForm {
    /// The text as it is.
    Plain {
        at_line_start: bool,
    },
    Styled(Box<Blocks>),
}

impl Markdown {
    /// For an output; all of the text has the attributes of `ink`.
    pub(crate) fn new(style: OutputStyle, ink: Ink) -> Self {
        let form = if style.is_pipe {
            MarkdownForm::Plain { at_line_start: true }
        } else {
            MarkdownForm::Styled(Box::new(Blocks::new(style, ink)))
        };
        Self { guard: SafeText::default(), form }
    }

    /// What is written from here on has this many columns.
    pub(crate) fn set_width(&mut self, width: usize) {
        if let MarkdownForm::Styled(blocks) = &mut self.form {
            blocks.set_width(width);
        }
    }

    /// Takes the next piece and gives what can be written now.
    #[must_use]
    pub(crate) fn push(&mut self, text: &str) -> String {
        let safe = self.guard.push(text);
        self.form.push(safe)
    }

    /// The last word, which is held back until its length is known. It may begin a line.
    pub(crate) fn unfinished(&self) -> String {
        match &self.form {
            MarkdownForm::Plain { .. } => String::new(),
            MarkdownForm::Styled(blocks) => blocks.unfinished(),
        }
    }

    /// Gives what is left at the end of the message, which ends with a line end.
    #[must_use]
    pub(crate) fn finish(mut self) -> String {
        let safe = self.guard.finish();
        let mut out = self.form.push(safe);
        match self.form {
            MarkdownForm::Plain { at_line_start: true } => {}
            MarkdownForm::Plain { at_line_start: false } => out.push('\n'),
            MarkdownForm::Styled(blocks) => out.push_str(&blocks.finish()),
        }
        out
    }
}

impl MarkdownForm {
    fn push(&mut self, safe: String) -> String {
        match self {
            MarkdownForm::Plain { at_line_start } => {
                if !safe.is_empty() {
                    *at_line_start = safe.ends_with('\n');
                }
                safe
            }
            MarkdownForm::Styled(blocks) => blocks.push(&safe),
        }
    }
}
