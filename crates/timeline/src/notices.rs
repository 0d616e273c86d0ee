//! What happens beside messages and tools, each in one line.

use protocol::{Compaction, ModelErrorKind, PauseReason, Rewind, Settings, TurnEnd};

use crate::safe_text::one_line;
use crate::{count, duration, money};

/// Why the turn waits.
pub(crate) fn paused(reason: &PauseReason) -> String {
    let why = match reason {
        PauseReason::TurnLimit { turns } => {
            format!("the model has used tools {turns} times in a row")
        }
        PauseReason::TokenBudget { used, limit } => {
            format!("{} tokens are used, {} are allowed", count(*used), count(*limit))
        }
        PauseReason::CostBudget { used, limit } => {
            format!("{} is spent, {} is allowed", money(*used), money(*limit))
        }
        PauseReason::TimeBudget { used_ms, limit_ms } => {
            format!("it took {}, {} is allowed", duration(*used_ms), duration(*limit_ms))
        }
        PauseReason::GoingInCircles { tool, times } => {
            format!("`{}` was called {times} times with the same result", one_line(tool))
        }
    };
    format!("paused: {why}")
}

/// The model did not answer; what happens next.
pub(crate) fn model_failed(
    kind: ModelErrorKind,
    message: &str,
    retry_in_ms: Option<u64>,
) -> String {
    let what = match kind {
        ModelErrorKind::InvalidRequest => "the provider refused the request",
        ModelErrorKind::Unauthorized => "the provider does not accept the key",
        ModelErrorKind::UnknownModel => "the provider does not have this model",
        ModelErrorKind::ContextFull => "the conversation is too long for the model",
        ModelErrorKind::RateLimited => "too many requests",
        ModelErrorKind::Overloaded => "the provider is overloaded",
        ModelErrorKind::Connection => "the connection failed",
        ModelErrorKind::Cut => "the answer was cut",
        ModelErrorKind::Malformed => "the answer cannot be understood",
        ModelErrorKind::Cancelled => "cancelled",
    };
    let message = one_line(message);
    let said = if message.is_empty() { String::new() } else { format!(": {message}") };
    match retry_in_ms {
        Some(wait) => format!("{what}{said}; trying again in {}", duration(wait)),
        None => format!("{what}{said}"),
    }
}

/// Which files with instructions the model is told, and what is to be said about any of them.
pub fn instructions<'a>(
    files: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> Option<String> {
    let named = files.into_iter().map(|(path, remark)| match remark {
        None => one_line(path),
        Some(remark) => format!("{} ({})", one_line(path), one_line(remark)),
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("instructions: {}", named.join(", ")))
}

/// The conversation was made shorter: from how much to how much, and what was left out.
pub fn compacted(compaction: &Compaction) -> String {
    let Compaction { summarised, elided, shortened, .. } = compaction;
    let parts = [
        counted(*summarised, "message summarised", "messages summarised"),
        counted(elided.len() as u64, "result shortened", "results shortened"),
        counted(shortened.len() as u64, "message of yours cut", "messages of yours cut"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let sizes = sizes(compaction.tokens_before, compaction.tokens_after);
    match parts.is_empty() {
        true => format!("made room: {sizes} tokens"),
        false => format!("made room: {sizes} tokens ({})", parts.join(", ")),
    }
}

fn counted(number: u64, one: &str, many: &str) -> Option<String> {
    (number > 0).then(|| format!("{number} {}", if number == 1 { one } else { many }))
}

/// Two sizes in the same unit, that of the first.
fn sizes(before: u64, after: u64) -> String {
    let thousands = |number: u64| number as f64 / 1e3;
    match before {
        0..1_000 => format!("{before} → {after}"),
        1_000..100_000 => format!("{:.1}k → {:.1}k", thousands(before), thousands(after)),
        _ => format!("{:.0}k → {:.0}k", thousands(before), thousands(after)),
    }
}

/// Which model answers from here on.
pub(crate) fn settings(settings: &Settings) -> String {
    let Settings { provider, model, role } = settings;
    format!("{} of {} answers, as {}", one_line(model), one_line(provider), one_line(role.name()))
}

/// How a turn ended, if not in the usual way.
pub(crate) fn unusual_end(end: TurnEnd) -> Option<&'static str> {
    match end {
        // The failure itself was told before.
        TurnEnd::Done | TurnEnd::Terminated | TurnEnd::Failed => None,
        TurnEnd::Refused => Some("the model will not answer this"),
        TurnEnd::MaxTokens => Some("the answer reached its greatest length and was cut"),
        TurnEnd::ContextFull => {
            Some("the conversation does not fit any more; begin a new one with /new")
        }
        TurnEnd::Cancelled => Some("cancelled"),
        TurnEnd::Stopped => Some("stopped"),
        TurnEnd::Interrupted => Some("the turn was interrupted"),
    }
}

/// Where the conversation goes on from, and what became of the files.
pub(crate) fn rewound(rewind: &Rewind, said: Option<&str>) -> String {
    let said = said.and_then(|said| said.lines().find(|line| !line.trim().is_empty()));
    let mut words = match said {
        Some(line) => format!("rewound to before \u{201c}{}\u{201d}", one_line(line)),
        None => format!("rewound to before entry {}", rewind.to),
    };
    for (what, paths) in
        [("restored", &rewind.restored), ("changed since, left alone", &rewind.kept)]
    {
        if !paths.is_empty() {
            words.push_str(&format!("; {what}: {}", one_line(&paths.join(", "))));
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use protocol::ShortenedMessage;

    use super::*;

    #[test]
    fn room_is_told_in_one_unit_with_what_was_left_out() {
        let compaction = |before, after, summarised, results: usize, cut: usize| Compaction {
            tokens_before: before,
            tokens_after: after,
            summarised,
            elided: vec![String::new(); results],
            shortened: vec![ShortenedMessage { sequence: 1, content: Vec::new() }; cut],
            ..Compaction::default()
        };
        let table = [
            (
                compaction(182_400, 61_000, 34, 12, 0),
                "made room: 182k → 61k tokens (34 messages summarised, 12 results shortened)",
            ),
            (
                compaction(1_200_000, 900, 1, 0, 0),
                "made room: 1200k → 1k tokens (1 message summarised)",
            ),
            (
                compaction(12_340, 940, 0, 1, 0),
                "made room: 12.3k → 0.9k tokens (1 result shortened)",
            ),
            (
                compaction(8_000, 950, 0, 0, 1),
                "made room: 8.0k → 0.9k tokens (1 message of yours cut)",
            ),
            (compaction(900, 90, 0, 0, 0), "made room: 900 → 90 tokens"),
        ];
        for (compaction, expected) in table {
            assert_eq!(compacted(&compaction), expected);
        }
    }

    #[test]
    fn pauses_and_failures_say_what_and_why() {
        let table = [
            (
                PauseReason::TurnLimit { turns: 10 },
                "paused: the model has used tools 10 times in a row",
            ),
            (
                PauseReason::CostBudget { used: 1.5, limit: 1.0 },
                "paused: $1.50 is spent, $1.00 is allowed",
            ),
            (
                PauseReason::GoingInCircles { tool: "grep".into(), times: 3 },
                "paused: `grep` was called 3 times with the same result",
            ),
        ];
        for (reason, expected) in table {
            assert_eq!(paused(&reason), expected);
        }
        assert_eq!(
            model_failed(ModelErrorKind::RateLimited, "slow\x07 down", Some(4_000)),
            "too many requests: slow\\x07 down; trying again in 4.0 s"
        );
        assert_eq!(model_failed(ModelErrorKind::Cut, "", None), "the answer was cut");
    }
}
