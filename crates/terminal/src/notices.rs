//! What a turn took, in a line of the terminal.

use timeline::{TurnCosts, count, duration, money};

use crate::cards::wrapped_line;
use crate::ink::Ink;
use crate::output_style::OutputStyle;

/// `window` is what the model can see at most.
pub(crate) fn turn_costs(turn: &TurnCosts, window: Option<u64>, style: OutputStyle) -> String {
    let usage = turn.usage;
    let cached = match usage.cache_read {
        0 => String::new(),
        read => format!(" ({} cached)", count(read)),
    };
    let mut parts = Vec::new();
    if usage.total() > 0 {
        parts.push(format!("{} in{cached}", count(usage.seen())));
        parts.push(format!("{} out", count(usage.output)));
    }
    parts.extend(turn.cost_usd.map(money));
    parts.push(duration(turn.working_ms));
    if let (Some(used), Some(window @ 1..)) = (turn.context_tokens, window) {
        parts.push(format!("context {}%", used.saturating_mul(100).div_ceil(window)));
    }
    wrapped_line("", &parts.join(" · "), Ink::DIM, style)
}
