//! Timelines as documents.

mod hardened;
mod html;
mod markdown;

pub use html::html;
pub use markdown::markdown;

use jiff::Timestamp;

use crate::card::{CallState, Card};
use crate::item::ItemBody;
use crate::safe_text::one_line;
use crate::timeline::{SessionFacts, Timeline};
use crate::turn::TurnCosts;
use crate::{count, duration, money};

/// The heading of a session without a name and a message.
const NO_TITLE: &str = "Session";

/// Characters of a heading that is the beginning of the first message.
const MAX_HEADING: usize = 60;

/// The name of the session, or how its first message begins.
fn heading(timeline: &Timeline) -> String {
    if let Some(title) = &timeline.facts().title {
        return title.clone();
    }
    let said = timeline.children(None).find_map(|item| match &item.body {
        ItemBody::Message(message) => Some(one_line(&message.text)),
        _ => None,
    });
    let said = said.filter(|said| !said.is_empty()).unwrap_or_else(|| NO_TITLE.to_owned());
    match said.char_indices().nth(MAX_HEADING) {
        Some((cut, _)) => format!("{}…", &said[..cut]),
        None => said,
    }
}

/// The sign before the title of a card.
fn mark(state: CallState) -> &'static str {
    match state {
        CallState::Pending | CallState::Running => "…",
        CallState::WaitingForApproval => "?",
        CallState::Done => "✔",
        CallState::Failed => "✘",
        CallState::Refused | CallState::Interrupted => "⊘",
    }
}

/// What stands after the title of a card: the state, if it is not the usual one, and the time.
fn remarks(card: &Card) -> Vec<String> {
    let state = match card.state {
        CallState::Done => None,
        CallState::Pending => Some("not run"),
        CallState::Running => Some("running"),
        CallState::WaitingForApproval => Some("waits for approval"),
        CallState::Failed => Some("failed"),
        CallState::Refused => Some("refused"),
        CallState::Interrupted => Some("interrupted"),
    };
    let code = card.exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}"));
    let time = card.working_ms.map(duration);
    state.map(str::to_owned).into_iter().chain(code).chain(time).collect()
}

/// What a turn took.
fn costs(turn: &TurnCosts) -> String {
    let mut parts = Vec::new();
    if turn.usage.total() > 0 {
        parts.push(format!("{} tokens in", count(turn.usage.seen())));
        parts.push(format!("{} out", count(turn.usage.output)));
    }
    parts.extend(turn.cost_usd.map(money));
    parts.push(duration(turn.working_ms));
    parts.join(" · ")
}

/// What is true of the session, as names and values.
fn facts(facts: &SessionFacts) -> Vec<(&'static str, String)> {
    let settings = facts.settings.as_ref();
    let forked = facts.forked_from.as_ref();
    let total = (facts.usage.total() > 0).then(|| {
        let cost = facts.cost_usd.map(|cost| format!(" · {}", money(cost)));
        format!("{} tokens{}", count(facts.usage.total()), cost.unwrap_or_default())
    });
    let rows = [
        ("Project", Some(facts.root.clone()).filter(|root| !root.is_empty())),
        ("Model", settings.map(|of| format!("{} of {}", of.model, of.provider))),
        ("Role", settings.map(|of| of.role.name().to_owned())),
        ("Forked from", forked.map(|of| format!("{}, entry {}", of.session, of.sequence))),
        ("Began", facts.began_at.map(moment)),
        ("Last entry", facts.began_at.map(|_| moment(facts.last_at))),
        ("Used", total),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A moment to the second, UTC.
fn moment(milliseconds: i64) -> String {
    match Timestamp::from_second(milliseconds.div_euclid(1000)) {
        Ok(time) => time.to_string().replace('T', " ").replace('Z', " UTC"),
        // No calendar has such a day.
        Err(_) => format!("{milliseconds} ms"),
    }
}
