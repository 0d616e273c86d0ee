//! What the list of sessions says about a session, folded from its events.

use protocol::{AgentRole, Content, Opened, SessionEvent, Settings, Usage};

use crate::SessionState;
use crate::row::Row;

/// A title made from a message is cut here.
const TITLE_CHARACTERS: usize = 80;

/// What every reader of JSON can hold.
const LARGEST: i64 = (1 << 53) - 1;

/// What some events in a row change about the summary of their session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) turns: u64,
    /// The name, if one was given.
    pub(crate) title: Option<String>,
    /// The beginning of the first message.
    pub(crate) opening: Option<String>,
    pub(crate) settings: Option<Settings>,
    pub(crate) state: Option<SessionState>,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<f64>,
}

impl Summary {
    pub(crate) fn of<'a>(events: impl IntoIterator<Item = &'a SessionEvent>) -> Self {
        let mut summary = Self::default();
        events.into_iter().for_each(|event| summary.take(event));
        summary
    }

    fn take(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Opened(opened) => {
                self.settings = Some(opened.settings.clone());
                self.state = Some(SessionState::Idle);
            }
            SessionEvent::Renamed { title } => self.title = Some(title.clone()),
            SessionEvent::SettingsChanged(settings) => self.settings = Some(settings.clone()),
            SessionEvent::UserMessage { content } => {
                self.turns += 1;
                self.state = Some(SessionState::Working);
                if self.opening.is_none() {
                    self.opening = first_line(content);
                }
            }
            SessionEvent::Continued
            | SessionEvent::UserAdded { .. }
            | SessionEvent::ModelAsked { .. }
            | SessionEvent::CallStarted { .. }
            | SessionEvent::ApprovalAnswered { .. } => self.state = Some(SessionState::Working),
            SessionEvent::ApprovalAsked(_) => self.state = Some(SessionState::Waiting),
            SessionEvent::Paused(_) => self.state = Some(SessionState::Paused),
            SessionEvent::TurnEnded(_) | SessionEvent::Rewound(_) => {
                self.state = Some(SessionState::Idle);
            }
            SessionEvent::ModelAnswered(_)
            | SessionEvent::ModelFailed { .. }
            | SessionEvent::Compacted(_)
            | SessionEvent::Nested { .. } => self.spend(event),
            SessionEvent::TextDelta { .. }
            | SessionEvent::ThinkingDelta { .. }
            | SessionEvent::CallEnded { .. }
            | SessionEvent::ImagesRefused { .. }
            | SessionEvent::Nudged { .. }
            | SessionEvent::Instructed(_)
            | SessionEvent::PlanChanged { .. }
            | SessionEvent::Repaired { .. } => {}
        }
    }

    /// What sub-agents use counts for the session that started them.
    fn spend(&mut self, event: &SessionEvent) {
        let Some((usage, cost)) = event.spent() else { return };
        self.usage += usage;
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
        }
    }
}

fn first_line(content: &[Content]) -> Option<String> {
    let line = content.iter().find_map(|part| match part {
        Content::Text { text } => {
            let text = text.to_string();
            text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
        }
        _ => None,
    })?;
    let mut title: String = line.chars().take(TITLE_CHARACTERS).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
}

/// When a session began and was last written to, and where its log ends.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) last: u64,
}

/// The summary of a whole log.
pub(crate) struct SummaryOfRows {
    pub(crate) span: Span,
    pub(crate) opened: Opened,
    pub(crate) summary: Summary,
}

impl SummaryOfRows {
    /// None if the rows do not say how the session was opened.
    pub(crate) fn new(rows: &[Row]) -> Option<Self> {
        let (first, last) = (rows.first()?, rows.last()?);
        let events: Vec<SessionEvent> =
            rows.iter().filter_map(Row::entry).map(|entry| entry.event).collect();
        let opened = events.iter().find_map(|event| match event {
            SessionEvent::Opened(opened) => Some(opened.clone()),
            _ => None,
        })?;
        let updated = rows.iter().map(|row| row.at).fold(first.at, i64::max);
        let span = Span { created: first.at, updated, last: last.sequence };
        Some(Self { span, opened, summary: Summary::of(&events) })
    }
}

/// A role as it is stored.
pub(crate) fn role_text(role: &AgentRole) -> String {
    // Plain data; a role that could not be written is read back as unknown.
    serde_json::to_string(role).unwrap_or_default()
}

/// Databases have no unsigned numbers, and SQLite adds beyond its largest as fractions. A wrong number from a
/// provider must not get there.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX).min(LARGEST)
}

#[cfg(test)]
mod tests {
    use protocol::{Compaction, LogEntry, ModelAnswer, StopReason, TurnEnd};

    use super::*;

    fn says(text: &str) -> SessionEvent {
        SessionEvent::UserMessage { content: vec![Content::Text { text: text.into() }] }
    }

    fn answer(output: u64, cost_usd: Option<f64>) -> SessionEvent {
        SessionEvent::ModelAnswered(ModelAnswer {
            content: Vec::new(),
            broken: Vec::new(),
            stop: StopReason::EndOfTurn,
            usage: Usage { output, ..Usage::default() },
            cost_usd,
            duration_ms: 1,
        })
    }

    #[test]
    fn turns_tokens_and_cost_add_up_with_those_of_sub_agents() {
        let inner = LogEntry { sequence: 1, at: 0, event: answer(5, Some(0.5)) };
        let nested = SessionEvent::Nested { call_id: "c".into(), entry: Box::new(inner) };
        let usage = Usage { output: 10, ..Usage::default() };
        let shorter = Compaction { usage, cost_usd: Some(0.25), ..Compaction::default() };
        let shorter = SessionEvent::Compacted(shorter);
        let failed = SessionEvent::ModelFailed {
            kind: protocol::ModelErrorKind::Cut,
            message: "cut".into(),
            retry_in_ms: None,
            usage,
            cost_usd: Some(0.25),
        };
        let events = [says("a"), answer(1, None), nested, shorter, failed, says("b")];
        let summary = Summary::of(&events);
        assert_eq!((summary.turns, summary.usage.output, summary.cost), (2, 26, Some(1.0)));
        assert_eq!(summary.state, Some(SessionState::Working));
        let ended = Summary::of(&[says("a"), SessionEvent::TurnEnded(TurnEnd::Done)]);
        assert_eq!(ended.state, Some(SessionState::Idle));
    }

    #[test]
    fn the_first_words_stand_for_a_name() {
        let summary = Summary::of(&[says("\n  Fix the build  \nplease"), says("more")]);
        assert_eq!(summary.opening.as_deref(), Some("Fix the build"));
        let long = Summary::of(&[says(&"é".repeat(200))]).opening.unwrap();
        assert_eq!(long.chars().count(), TITLE_CHARACTERS + 1);
        assert_eq!(Summary::of(&[says("  ")]).opening, None);
    }
}
