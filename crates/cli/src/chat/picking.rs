//! Lists to pick from: sessions, models, earlier messages.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use session::{RewindPoint, SessionParts};
use store::{ListFilter, SessionId, SessionInfo, short_ids};
use terminal::Picker;

use super::ChatScreen;
use super::live::{Feeds, Live};
use super::safe_text::one_line;
use protocol::Content;

/// Has the user pick a session that can be taken up, but not `open`, which is open here. None if none is wanted.
pub(super) async fn session(
    live: &mut Live,
    screen: &mut ChatScreen,
    feeds: &mut Feeds,
    parts: &SessionParts,
    open: Option<&SessionId>,
) -> anyhow::Result<Option<SessionId>> {
    let sessions = parts.store.list(&ListFilter::default()).await?;
    let others: Vec<&SessionInfo> =
        sessions.iter().filter(|session| Some(&session.id) != open).collect();
    anyhow::ensure!(!others.is_empty(), "there are no other sessions yet");
    let short = short_ids(sessions.iter().map(|session| &session.id));
    let now = Timestamp::now();
    let rows = others.iter().map(|info| {
        let id = short.get(&info.id).copied().unwrap_or_default();
        session_row(info, id, now, &TimeZone::system())
    });
    let picker = Picker::new("Resume", rows.collect());
    let picked = live.pick(screen, feeds, picker).await?;
    Ok(picked.and_then(|row| others.get(row)).map(|info| info.id.clone()))
}

fn session_row(info: &SessionInfo, id: &str, now: Timestamp, zone: &TimeZone) -> Vec<String> {
    let title = info.title.as_deref().map(one_line).unwrap_or_else(|| "(no title)".to_owned());
    let turns = match info.turns {
        1 => "1 message".to_owned(),
        turns => format!("{turns} messages"),
    };
    let open = if info.held_by.is_some() { "open elsewhere" } else { "" };
    vec![title, when(info.updated, now, zone), turns, id.to_owned(), open.to_owned()]
}

/// Has the user pick an earlier message.
pub(super) async fn message(
    live: &mut Live,
    screen: &mut ChatScreen,
    feeds: &mut Feeds,
    points: &[RewindPoint],
) -> anyhow::Result<Option<usize>> {
    let now = Timestamp::now();
    // The newest stands first, and is the one that is mostly meant.
    let rows = points
        .iter()
        .rev()
        .map(|point| vec![first_line(&point.content), when(point.at, now, &TimeZone::system())]);
    let picker = Picker::new("Go back to before", rows.collect());
    let picked = live.pick(screen, feeds, picker).await?;
    Ok(picked.map(|row| points.len() - 1 - row))
}

/// Has the user pick one of a few lines.
pub(super) async fn one_of(
    live: &mut Live,
    screen: &mut ChatScreen,
    feeds: &mut Feeds,
    title: &str,
    rows: Vec<Vec<String>>,
    selected: Option<usize>,
) -> anyhow::Result<Option<usize>> {
    let mut picker = Picker::new(title, rows);
    if let Some(selected) = selected {
        picker.select(selected);
    }
    live.pick(screen, feeds, picker).await
}

/// The text of a message without what was attached to it.
pub(super) fn first_text(content: &[Content]) -> String {
    let texts = content.iter().find_map(|part| match part {
        Content::Text { text } => Some(text.to_string()),
        _ => None,
    });
    texts.unwrap_or_default()
}

fn first_line(content: &[Content]) -> String {
    one_line(first_text(content).trim().lines().next().unwrap_or_default())
}

/// A moment as the user's clock shows it, as exact as it matters: today's time, a weekday, a date.
fn when(at: i64, now: Timestamp, zone: &TimeZone) -> String {
    let Ok(at) = Timestamp::from_millisecond(at) else { return String::new() };
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let days = at.date().until(now.date()).map_or(i32::MAX, |span| span.get_days());
    let format = match days {
        0 => "today %H:%M",
        1 => "yesterday %H:%M",
        2..=6 => "%A %H:%M",
        _ => "%Y-%m-%d",
    };
    at.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_by_the_users_clock() {
        let now: Timestamp = "2026-11-16T00:30:00Z".parse().unwrap();
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let table = [
            ("2026-11-16T00:10:00Z", "today 02:10"),
            ("2026-11-15T22:10:00Z", "today 00:10"),
            ("2026-11-15T20:00:00Z", "yesterday 22:00"),
            ("2026-11-12T09:00:00Z", "Thursday 11:00"),
            ("2026-10-01T09:00:00Z", "2026-10-01"),
        ];
        for (at, expected) in table {
            let at: Timestamp = at.parse().unwrap();
            assert_eq!(when(at.as_millisecond(), now, &zone), expected, "{at}");
        }
    }
}
