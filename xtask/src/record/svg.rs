//! Frames of a terminal as an animated SVG. A pure function: the same frames give the same bytes.
//!
//! Each different row is defined once and used by the frames that show it. The last frame is visible without
//! animation; style sheets hide it while another one is shown. So viewers without animation, and readers
//! who have switched it off, see the end of the run.

mod box_lines;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Write as _;

use super::picture::{Frame, INK, PAPER, Run};

/// Of a character, in units of the picture: the proportions of common monospace fonts.
const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: f64 = 18.0;
const FONT_SIZE: f64 = 14.0;
/// From the top of a row to the line that letters stand on.
const BASELINE: f64 = 13.5;
/// Around the screen.
const MARGIN: f64 = 16.0;
const CORNER: f64 = 10.0;
const EDGE: &str = "#3b4252";
const DIM_OPACITY: &str = "0.6";
const CURSOR_OPACITY: &str = "0.55";
const FONTS: &str = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/// The picture. `columns` is the width of the screen, and `title` what screen readers say.
pub(crate) fn svg(frames: &[Frame], columns: usize, title: &str) -> String {
    let rows = frames.iter().map(|frame| frame.rows.len()).max().unwrap_or(0);
    let width = number(columns as f64 * CELL_WIDTH + 2.0 * MARGIN);
    let height = number(rows as f64 * CELL_HEIGHT + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"{FONTS}\" font-size=\"{FONT_SIZE}\" role=\"img\">\n<title>{}</title>\n",
        escaped(title)
    );
    out += &style(frames);
    let defined = define_rows(frames, &mut out);
    let _ = writeln!(
        out,
        "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"{CORNER}\" fill=\"{}\" stroke=\"{EDGE}\"/>",
        number(columns as f64 * CELL_WIDTH + 2.0 * MARGIN - 1.0),
        number(rows as f64 * CELL_HEIGHT + 2.0 * MARGIN - 1.0),
        color(PAPER),
    );
    for (at, frame) in frames.iter().enumerate() {
        let hidden = if at + 1 == frames.len() { "" } else { " visibility=\"hidden\"" };
        let _ = writeln!(out, "<g class=\"f{at}\"{hidden}>");
        draw_frame(frame, &defined, &mut out);
        out += "</g>\n";
    }
    out + "</svg>\n"
}

/// Shows each frame in its part of the time, again and again.
fn style(frames: &[Frame]) -> String {
    let mut out = "<style>\ntext { white-space: pre; }\n".to_owned();
    let total: u64 = frames.iter().map(|frame| frame.milliseconds).sum();
    if frames.len() > 1 && total > 0 {
        out += "@media (prefers-reduced-motion: no-preference) {\n";
        let mut start = 0;
        for (at, frame) in frames.iter().enumerate() {
            let end = start + frame.milliseconds;
            let percent = |time: u64| number(time as f64 * 100.0 / total as f64);
            let _ = write!(
                out,
                ".f{at} {{ animation: k{at} {total}ms step-end infinite; }}\n@keyframes k{at} {{ "
            );
            if start > 0 {
                out += "0% { visibility: hidden; } ";
            }
            let _ = write!(out, "{}% {{ visibility: visible; }} ", percent(start));
            let last = if end < total { "hidden" } else { "visible" };
            let _ = writeln!(out, "{}% {{ visibility: {last}; }} }}", percent(end));
            start = end;
        }
        out += "}\n";
    }
    out + "</style>\n"
}

/// Defines each different row, and answers with their numbers.
fn define_rows(frames: &[Frame], out: &mut String) -> HashMap<String, usize> {
    let mut defined = HashMap::new();
    *out += "<defs>\n";
    for row in frames.iter().flat_map(|frame| &frame.rows).filter(|row| !row.is_empty()) {
        let next = defined.len();
        if let Entry::Vacant(entry) = defined.entry(drawn_row(row)) {
            let _ = writeln!(out, "<g id=\"r{next}\">{}</g>", entry.key());
            entry.insert(next);
        }
    }
    *out += "</defs>\n";
    defined
}

fn draw_frame(frame: &Frame, defined: &HashMap<String, usize>, out: &mut String) {
    for (at, row) in frame.rows.iter().enumerate() {
        if let Some(id) = defined.get(&drawn_row(row)) {
            let (x, y) = (number(MARGIN), number(MARGIN + at as f64 * CELL_HEIGHT));
            let _ = writeln!(out, "<use href=\"#r{id}\" x=\"{x}\" y=\"{y}\"/>");
        }
    }
    if let Some((row, column)) = frame.cursor {
        let x = number(MARGIN + column as f64 * CELL_WIDTH);
        let y = number(MARGIN + row as f64 * CELL_HEIGHT);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL_WIDTH}\" height=\"{CELL_HEIGHT}\" fill=\"{}\" fill-opacity=\"{CURSOR_OPACITY}\"/>",
            color(INK),
        );
    }
}

/// The row at the top left corner.
fn drawn_row(row: &[Run]) -> String {
    let mut out = String::new();
    for run in row {
        if let Some(paper) = run.look.paper {
            let _ = write!(
                out,
                "<rect x=\"{}\" width=\"{}\" height=\"{CELL_HEIGHT}\" fill=\"{}\"/>",
                number(run.column as f64 * CELL_WIDTH),
                number(run.columns as f64 * CELL_WIDTH),
                color(paper),
            );
        }
        draw_run(run, &mut out);
    }
    out
}

/// Lines of boxes are drawn, since letters of fonts leave gaps between rows; the rest is text.
fn draw_run(run: &Run, out: &mut String) {
    let mut column = run.column;
    let mut rest = run.text.as_str();
    while let Some(first) = rest.chars().next() {
        let is_line = box_lines::is_line(first);
        let end = rest.find(|c| box_lines::is_line(c) != is_line).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        // Only a character that stands alone is wide, and only a whole run has combining marks.
        let columns = if end == run.text.len() { run.columns } else { part.chars().count() };
        let fill = color(run.look.ink.unwrap_or(INK));
        let faded =
            if run.look.dim { format!(" opacity=\"{DIM_OPACITY}\"") } else { String::new() };
        if is_line {
            let path = box_lines::path(part, column as f64 * CELL_WIDTH, CELL_WIDTH, CELL_HEIGHT);
            let _ = write!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"{fill}\"{faded}/>");
        } else if !part.trim().is_empty() {
            let mut attributes = faded;
            if run.look.bold {
                attributes += " font-weight=\"bold\"";
            }
            if run.look.italic {
                attributes += " font-style=\"italic\"";
            }
            if run.look.underlined {
                attributes += " text-decoration=\"underline\"";
            }
            let _ = write!(
                out,
                "<text x=\"{}\" y=\"{BASELINE}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" \
                 xml:space=\"preserve\" fill=\"{fill}\"{attributes}>{}</text>",
                number(column as f64 * CELL_WIDTH),
                number(columns as f64 * CELL_WIDTH),
                escaped(part),
            );
        }
        column += columns;
        rest = after;
    }
}

fn color([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// With at most three digits after the point, which is less than can be seen.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    // Characters that XML cannot hold never come from a screen, but from titles they could.
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
