//! A call that has not ended, for the part of the screen that is drawn again and again.

use timeline::{CallState, Card, duration};

use super::{BODY, CardLine, CardPlace};
use crate::ink::Ink;

/// Shorter calls do not say how long they have been running.
const TELLING_MS: u64 = 1_000;

/// The line of a call that runs at `now`, in milliseconds since 1970, or waits for the user.
pub fn running(card: &Card, now: i64, place: CardPlace) -> String {
    let since = card.started_at.map(|start| now.saturating_sub(start));
    let since = since.and_then(|time| u64::try_from(time).ok()).unwrap_or_default();
    let worked = since.saturating_sub(card.waiting.until(now));
    let (result, ink) = match card.state {
        CallState::WaitingForApproval => ("waiting for you".to_owned(), Ink::YELLOW),
        _ if worked >= TELLING_MS => (duration(worked), Ink::DIM),
        _ => (String::new(), Ink::DIM),
    };
    let headline = &card.headline;
    CardLine { verb: &headline.verb, object: &headline.object, result, ink }.draw(place)
}

/// The last `count` lines that a call has printed, each on one line of the screen.
pub fn last_lines(card: &Card, count: usize, place: CardPlace) -> Vec<String> {
    let lines: Vec<&str> = card.output.text.lines().rev().take(count).collect();
    let draw = |line: &&str| place.cut_line(BODY, line, Ink::DIM).trim_end_matches('\n').to_owned();
    lines.iter().rev().map(draw).collect()
}
