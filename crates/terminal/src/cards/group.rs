//! Calls of one kind in a row, on one line.

use timeline::{CallState, Card};

use super::{CardLine, CardPlace, Finished};
use crate::ink::Ink;

/// Verbs of calls that look at something and of which many come in a row.
const LOOKING: [&str; 5] = ["Read", "Searched", "Looked", "Listed", "Outlined"];
/// So many are named, and the others counted.
const NAMED: usize = 2;

/// Calls that have ended and whose line is not written yet, because the next may belong to it.
#[derive(Debug)]
pub(crate) struct CardGroup {
    first: Card,
    depth: usize,
    others: Vec<String>,
}

impl CardGroup {
    /// A group of one, if others could join it.
    pub(crate) fn of(card: &Card, depth: usize) -> Option<CardGroup> {
        let is_quiet = card.state == CallState::Done
            && card.checks.is_empty()
            && card.questions.is_empty()
            && card.images.is_empty()
            && card.exit_code.is_none()
            && !card.headline.object.is_empty();
        let is_looking = LOOKING.contains(&&*card.headline.verb);
        (is_quiet && is_looking).then(|| CardGroup {
            first: card.clone(),
            depth,
            others: Vec::new(),
        })
    }

    /// Adds a group that came after this one, or gives it back if it is of another kind.
    pub(crate) fn join(&mut self, next: CardGroup) -> Option<CardGroup> {
        if self.depth != next.depth || self.first.headline.verb != next.first.headline.verb {
            return Some(next);
        }
        self.others.push(next.first.headline.object);
        self.others.extend(next.others);
        None
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn draw(&self, place: CardPlace) -> String {
        let headline = &self.first.headline;
        if self.others.is_empty() {
            return Finished { card: &self.first, has_seen_diff: true }.draw(place);
        }
        let all: Vec<&str> = std::iter::once(&headline.object)
            .chain(&self.others)
            .map(|object| if headline.verb == "Read" { file_name(object) } else { object })
            .collect();
        let object = match all.as_slice() {
            [one, two] => format!("{one} and {two}"),
            all => format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED),
        };
        let line = CardLine {
            verb: &headline.verb,
            object: &object,
            result: String::new(),
            ink: Ink::DIM,
        };
        line.draw(place)
    }
}

/// `src/cart.ts, lines 1 to 9` is `cart.ts` where several are named.
fn file_name(object: &str) -> &str {
    let path = object.split_once(", ").map_or(object, |(path, _)| path);
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path)
}
