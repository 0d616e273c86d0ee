//! The one line of a call: what is done, to what, and what came of it.

use super::{BODY, CardPlace, INDENT};
use crate::columns::{columns, fit, without_tabs};
use crate::ink::Ink;

/// Verbs of this many columns or fewer have the same column behind them.
const VERB: usize = 8;
/// Between the parts.
const GAP: usize = 2;
/// Narrower screens have the result on a line of its own.
const WIDE_ENOUGH: usize = 80;
/// On a wider screen the result would be too far from what it belongs to.
const RIGHT_EDGE: usize = 100;
/// What is left of the object at least, beside a result.
const SHORTEST_OBJECT: usize = 16;

/// A call in parts.
#[derive(Debug)]
pub(crate) struct CardLine<'a> {
    pub(crate) verb: &'a str,
    pub(crate) object: &'a str,
    pub(crate) result: String,
    /// The ink of the result.
    pub(crate) ink: Ink,
}

impl CardLine<'_> {
    pub(crate) fn draw(&self, place: CardPlace) -> String {
        let style = place.style;
        let margin = place.margin(INDENT);
        let verb = style.fit(&without_tabs(self.verb), columns(&margin) + GAP);
        let space = if self.object.is_empty() && self.result.is_empty() {
            0
        } else {
            VERB.saturating_sub(columns(&verb)) + GAP
        };
        let used = columns(&margin) + columns(&verb) + space;
        let head = format!("{margin}{}{}", style.paint(Ink::BOLD, &verb), " ".repeat(space));
        let object = without_tabs(self.object);
        let result = without_tabs(&self.result);
        let edge = style.width.min(RIGHT_EDGE);
        let room = edge.saturating_sub(used + GAP + columns(&result));
        let least = columns(&object).min(SHORTEST_OBJECT);
        let is_whole = !style.is_pipe || columns(&object) <= room;
        if style.width >= WIDE_ENOUGH && !result.is_empty() && room >= least && is_whole {
            let object = fit(&object, room);
            let free = room - columns(&object) + GAP;
            let result = style.paint(self.ink, &result);
            return format!("{head}{object}{}{result}\n", " ".repeat(free));
        }
        let line = format!("{head}{}\n", style.fit(&object, used));
        if result.is_empty() { line } else { line + &place.cut_line(BODY, &result, self.ink) }
    }
}
