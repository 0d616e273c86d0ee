//! One state of a screen as runs of equal style, without what differs from run to run.

use vt100::{Cell, Color, Screen};

use super::steady::steady;

/// How characters look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Of the text; `None` is the terminal's own.
    pub(crate) ink: Option<[u8; 3]>,
    /// Behind it.
    pub(crate) paper: Option<[u8; 3]>,
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underlined: bool,
}

/// A character in its place, which is one or two columns wide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glyph {
    pub(crate) text: String,
    pub(crate) columns: usize,
    pub(crate) look: Look,
}

/// Characters of one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) column: usize,
    pub(crate) columns: usize,
    pub(crate) text: String,
    pub(crate) look: Look,
}

/// A state of the screen and how long it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) rows: Vec<Vec<Run>>,
    /// Row and column, if the cursor is visible.
    pub(crate) cursor: Option<(usize, usize)>,
    pub(crate) milliseconds: u64,
}

impl Frame {
    pub(crate) fn new(screen: &Screen, milliseconds: u64) -> Frame {
        let (height, width) = screen.size();
        let row = |row: u16| {
            let cells = (0..width.get()).filter_map(|column| screen.cell(row, column));
            runs(&steady(cells.filter_map(glyph).collect()))
        };
        let (row_at, column_at) = screen.cursor_position();
        let cursor =
            (!screen.hide_cursor()).then_some((usize::from(row_at), usize::from(column_at)));
        Frame { rows: (0..height.get()).map(row).collect(), cursor, milliseconds }
    }

    /// The text alone, for messages.
    pub(crate) fn text(&self) -> String {
        self.rows.iter().map(|row| row_text(row)).collect::<Vec<_>>().join("\n")
    }
}

fn row_text(row: &[Run]) -> String {
    let mut text = String::new();
    let mut column = 0;
    for run in row {
        text += &" ".repeat(run.column.saturating_sub(column));
        text += &run.text;
        column = run.column + run.columns;
    }
    text
}

fn glyph(cell: &Cell) -> Option<Glyph> {
    if cell.is_wide_continuation() {
        return None;
    }
    let text = if cell.has_contents() { cell.contents() } else { " " };
    let (mut ink, mut paper) = (rgb(cell.fgcolor()), rgb(cell.bgcolor()));
    if cell.inverse() {
        (ink, paper) = (Some(paper.unwrap_or(PAPER)), Some(ink.unwrap_or(INK)));
    }
    let (bold, dim) = (cell.bold(), cell.dim());
    let (italic, underlined) = (cell.italic(), cell.underline());
    let look = Look { ink, paper, bold, dim, italic, underlined };
    Some(Glyph { text: text.to_owned(), columns: 1 + usize::from(cell.is_wide()), look })
}

/// Glyphs of one look together; blanks without a look of their own are left out where they stand at
/// the edge of a run, and a wide character is a run of its own, so that it gets its exact place.
fn runs(glyphs: &[Glyph]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut column, mut is_open) = (0, false);
    for glyph in glyphs {
        let Glyph { text, columns, look } = glyph;
        let joins = is_open && *columns == 1 && runs.last().is_some_and(|run| run.look == *look);
        match runs.last_mut() {
            Some(run) if joins => {
                run.text += text;
                run.columns += columns;
            }
            _ => runs.push(Run { column, columns: *columns, text: text.clone(), look: *look }),
        }
        is_open = *columns == 1;
        column += columns;
    }
    runs.into_iter().filter_map(trimmed).collect()
}

fn trimmed(mut run: Run) -> Option<Run> {
    if run.look.paper.is_some() || run.look.underlined {
        return Some(run);
    }
    let length = run.text.len();
    run.text.truncate(run.text.trim_end_matches(' ').len());
    run.columns -= length - run.text.len();
    let blanks = run.text.len() - run.text.trim_start_matches(' ').len();
    run.text.drain(..blanks);
    run.column += blanks;
    run.columns -= blanks;
    (!run.text.is_empty()).then_some(run)
}

/// The terminal's own colours.
pub(crate) const INK: [u8; 3] = [0xd8, 0xde, 0xe9];
pub(crate) const PAPER: [u8; 3] = [0x16, 0x1a, 0x21];

/// The sixteen colours that have names, chosen to be readable on [`PAPER`].
const NAMED: [[u8; 3]; 16] = [
    [0x3b, 0x42, 0x52],
    [0xf0, 0x71, 0x78],
    [0xa3, 0xd2, 0x7f],
    [0xeb, 0xc0, 0x6d],
    [0x7a, 0xb0, 0xf5],
    [0xc8, 0x9a, 0xea],
    [0x74, 0xcf, 0xd3],
    [0xd8, 0xde, 0xe9],
    [0x7b, 0x85, 0x98],
    [0xff, 0x8b, 0x92],
    [0xb8, 0xe3, 0x98],
    [0xff, 0xd5, 0x8a],
    [0x97, 0xc4, 0xff],
    [0xdb, 0xb4, 0xf7],
    [0x93, 0xe2, 0xe6],
    [0xff, 0xff, 0xff],
];

fn rgb(color: Color) -> Option<[u8; 3]> {
    match color {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some([red, green, blue]),
        Color::Idx(index) => Some(indexed(index)),
    }
}

/// The 256 colours: 16 with names, a cube of 6 × 6 × 6, and 24 greys.
fn indexed(index: u8) -> [u8; 3] {
    const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match index {
        0..=15 => NAMED[usize::from(index)],
        16..=231 => {
            let at = usize::from(index - 16);
            [CUBE[at / 36], CUBE[at / 6 % 6], CUBE[at % 6]]
        }
        232.. => [8 + 10 * (index - 232); 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(bytes: &str) -> Frame {
        let size = |number| std::num::NonZeroU16::new(number).expect("not zero");
        let mut parser = vt100::Parser::new(size(2), size(20), 0);
        parser.process(bytes.as_bytes());
        Frame::new(parser.screen(), 10)
    }

    #[test]
    fn runs_have_one_look_and_no_blanks_around_them() {
        let frame = frame("  a b \x1b[1;31mred\x1b[0m  x");
        let seen: Vec<(usize, usize, &str)> =
            frame.rows[0].iter().map(|run| (run.column, run.columns, &*run.text)).collect();
        assert_eq!(seen, [(2, 3, "a b"), (6, 3, "red"), (11, 1, "x")]);
        let red = frame.rows[0][1].look;
        assert!(red.bold && red.ink == Some(NAMED[1]));
        assert_eq!((frame.cursor, frame.text()), (Some((0, 12)), "  a b red  x\n".into()));
    }

    #[test]
    fn wide_characters_stand_alone_and_inverse_is_a_pair_of_colours() {
        let frame = frame("\x1b[?25l\x1b[7m窯 \x1b[0mab");
        let seen: Vec<(usize, usize, &str)> =
            frame.rows[0].iter().map(|run| (run.column, run.columns, &*run.text)).collect();
        assert_eq!(seen, [(0, 2, "窯"), (2, 1, " "), (3, 2, "ab")]);
        let look = frame.rows[0][0].look;
        assert_eq!((look.ink, look.paper), (Some(PAPER), Some(INK)));
        assert_eq!(frame.cursor, None);
    }

    #[test]
    fn the_256_colours_are_those_of_terminals() {
        assert_eq!((indexed(16), indexed(231)), ([0, 0, 0], [255, 255, 255]));
        assert_eq!((indexed(208), indexed(232), indexed(255)), ([255, 135, 0], [8; 3], [238; 3]));
    }
}
