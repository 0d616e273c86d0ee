//! How wide an output is, and which attributes of text it shows.

use crate::columns::fit;
use crate::ink::{Ink, Link};

/// The columns of an output that does not say how many it has.
const DEFAULT_WIDTH: usize = 80;

/// How text may look where it goes. Width and colours do not depend on each other: a user who wants no
/// colours still has a terminal with an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputStyle {
    /// The columns of a line.
    pub width: usize,
    /// Whether colours and weights are shown.
    pub colours: bool,
    /// Whether links can be followed (OSC 8). Elsewhere their targets are shown.
    pub links: bool,
    /// Whether a program may read it: Markdown stays as it was typed, and no line is cut.
    pub is_pipe: bool,
}

impl OutputStyle {
    /// A file or a pipe.
    pub const PIPE: OutputStyle =
        OutputStyle { width: DEFAULT_WIDTH, colours: false, links: false, is_pipe: true };

    /// A terminal with colours and links; one that does not know its width has 0 columns.
    pub const fn terminal(width: usize) -> OutputStyle {
        let width = if width == 0 { DEFAULT_WIDTH } else { width };
        OutputStyle { width, colours: true, links: true, is_pipe: false }
    }

    /// The same without colours, weights and links, as `NO_COLOR` and `TERM=dumb` ask for.
    pub const fn without_colours(self) -> OutputStyle {
        OutputStyle { colours: false, links: false, ..self }
    }

    /// `text` in `ink`, if the output shows colours.
    pub fn paint(self, ink: Ink, text: &str) -> String {
        if self.colours { ink.paint(text) } else { text.to_owned() }
    }

    /// `text` that leads to `target`, if the output has links and the target may be one.
    pub fn link(self, target: &str, text: &str) -> String {
        match Link::to(target) {
            Some(link) if self.links => link.around(text),
            _ => text.to_owned(),
        }
    }

    /// `text` cut to what is left of a line after `used` columns. In a pipe nothing is cut.
    pub fn fit(self, text: &str, used: usize) -> String {
        if self.is_pipe { text.to_owned() } else { fit(text, self.width.saturating_sub(used)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inks_add_up_and_places_without_colours_have_none() {
        let ink = Ink::BOLD.and(Ink::RED);
        let terminal = OutputStyle::terminal(100);
        assert_eq!(terminal.paint(ink, "no"), "\x1b[1;31mno\x1b[0m");
        assert_eq!(terminal.without_colours().paint(ink, "no"), "no");
        assert_eq!(terminal.without_colours().width, 100);
        assert_eq!(OutputStyle::terminal(0).width, 80);
        assert_eq!(Ink::PLAIN.paint("x"), "x");
    }

    #[test]
    fn lines_are_cut_where_the_terminal_ends_and_not_in_a_pipe() {
        let long = "x".repeat(200);
        assert_eq!(OutputStyle::terminal(10).without_colours().fit(&long, 4), "xxxxx…");
        assert_eq!(OutputStyle::PIPE.fit(&long, 4), long);
    }
}
