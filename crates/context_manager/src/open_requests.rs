//! Requests of sub-agents that are under way. They are charged even if the process ends first.

use std::collections::BTreeMap;

use protocol::{LogEntry, ModelErrorKind, SessionEvent, Usage};

use crate::purse::Receipt;
use crate::turn::failure;
use crate::{ModelError, ModelProvider, Prices};

/// What a request is charged with if the process ended before the answer did.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    takes_tokens: bool,
    prices: Option<Prices>,
}

impl Charge {
    /// What the requests to this model are charged with.
    pub fn of(model: &dyn ModelProvider, prices: Option<Prices>) -> Self {
        Self { takes_tokens: model.takes_tokens(), prices }
    }

    /// The end of a request that read and wrote about this many tokens.
    pub(crate) fn cut_off(self, input: u64, output: u64) -> SessionEvent {
        let usage = match self.takes_tokens {
            true => Usage { input, output, ..Usage::default() },
            false => Usage::default(),
        };
        let message = "the process ended before the answer did";
        let error = ModelError::new(ModelErrorKind::Cancelled, message);
        failure(error, None, Receipt::new(usage, self.prices))
    }
}

/// Whether a request begins or ends here. Most of what a sub-agent writes is pieces of answers.
fn tells_of_a_request(event: &SessionEvent) -> bool {
    match event {
        SessionEvent::Nested { entry, .. } => tells_of_a_request(&entry.event),
        SessionEvent::ModelAsked { .. }
        | SessionEvent::ModelAnswered(_)
        | SessionEvent::ModelFailed { .. }
        | SessionEvent::Paused(_)
        | SessionEvent::TurnEnded(_) => true,
        _ => false,
    }
}

/// Requests under way, by the calls that lead to their sub-agents.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRequests(BTreeMap<Vec<String>, Open>);

#[derive(Clone, Debug)]
struct Open {
    tokens: u64,
    /// The entries that tell of it, from the outermost sub-agent inwards.
    entries: Vec<(u64, i64)>,
}

impl OpenRequests {
    /// Takes an event of the session into account.
    pub(crate) fn note(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::CallEnded { call_id, .. } => {
                self.0.retain(|path, _| path.first() != Some(call_id));
            }
            SessionEvent::Nested { call_id, entry } if tells_of_a_request(&entry.event) => {
                self.nested(call_id, entry);
            }
            _ => {}
        }
    }

    fn nested(&mut self, call_id: &str, mut entry: &LogEntry) {
        let (mut path, mut entries) = (vec![call_id.to_owned()], vec![(entry.sequence, entry.at)]);
        while let SessionEvent::Nested { call_id, entry: inner } = &entry.event {
            path.push(call_id.clone());
            entries.push((inner.sequence, inner.at));
            entry = inner;
        }
        match &entry.event {
            SessionEvent::ModelAsked { estimated_tokens } => {
                self.0.insert(path, Open { tokens: *estimated_tokens, entries });
            }
            _ => drop(self.0.remove(&path)),
        }
    }

    /// What has to be written if none of them will ever end.
    pub(crate) fn cut_off(&self, charge: Charge) -> Vec<SessionEvent> {
        let events = self.0.iter().map(|(path, open)| {
            let ways = path.iter().zip(&open.entries).rev();
            ways.fold(charge.cut_off(open.tokens, 0), |event, (call_id, &(sequence, at))| {
                let entry = Box::new(LogEntry { sequence: sequence + 1, at, event });
                SessionEvent::Nested { call_id: call_id.clone(), entry }
            })
        });
        events.collect()
    }
}
