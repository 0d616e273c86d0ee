//! What statistics count and audits show, as narrow rows that are derived from the logs. Pure.
//!
//! What an entry means depends on those before it: the tool of a call stands in an earlier answer, the model in the
//! settings, and how long a call worked in its questions. So each entry is read once, in order, and leaves at most
//! one row of [`CountedRow`], which the database adds up. Where the reader stands is kept beside them, so that the
//! next one reads only what was written since.

use protocol::Usage;
use serde::Serialize;

use crate::call_reader::{ApprovalVerdict, CallReader, Observation};
use crate::event_data::EventData;
use crate::summary::signed;

/// Changes with the meaning of the rows or of what is kept: sessions that were read by another one are read anew.
pub(crate) const VERSION: i32 = 2;

/// Entries that are read in one step, between which others get at the database. Few in tests, whose logs are short.
pub(crate) const STEP_ENTRIES: i64 = if cfg!(test) { 7 } else { 500 };

/// A single number is at most this much, so that a wrong one from a provider does not make a sum too large for the
/// database: that takes a million of them.
const LARGEST: u64 = 1 << 43;

/// The same for costs, in US dollars: a sum that overflows is an error for PostgreSQL, and budgets could not be read.
const LARGEST_COST: f64 = 1e12;

/// Such a moment is not one; it would be too large to move it to another time zone.
const LATEST: i64 = 1 << 53;

/// Something that is counted. Which of the fields say something depends on `what`.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct CountedRow {
    pub(crate) sequence: i64,
    pub(crate) at: i64,
    pub(crate) what: &'static str,
    /// The tool, or the provider of a model.
    pub(crate) name: String,
    pub(crate) model: String,
    /// The error of a call, or the answer to a question.
    pub(crate) word: Option<String>,
    pub(crate) duration_ms: i64,
    /// An estimate for the result of a call.
    pub(crate) tokens: i64,
    pub(crate) input: i64,
    pub(crate) output: i64,
    pub(crate) cache_read: i64,
    pub(crate) cache_write: i64,
    pub(crate) cost: Option<f64>,
}

/// The values of `what`.
pub(crate) mod what {
    /// Where the session was forked, in `tokens`. It is not counted, but says from where on the session has paid itself.
    pub(crate) const FORKED: &str = "forked";
    pub(crate) const TURN: &str = "turn";
    pub(crate) const ANSWER: &str = "answer";
    pub(crate) const COMPACTION: &str = "compaction";
    pub(crate) const FAILURE: &str = "failure";
    pub(crate) const CALL: &str = "call";
    pub(crate) const ASKED: &str = "asked";
    pub(crate) const ANSWERED: &str = "answered";
}

/// The values of `word` in an answer to a question.
pub(crate) mod verdict {
    pub(crate) const APPROVED: &str = "approved";
    pub(crate) const EDITED: &str = "edited";
    pub(crate) const DENIED: &str = "denied";
}

impl CountedRow {
    fn of(seen: &Observation<'_>) -> Option<Self> {
        let row = Self::default();
        let row = match *seen {
            Observation::Forked { at } => Self { what: what::FORKED, tokens: signed(at), ..row },
            Observation::Turn => Self { what: what::TURN, ..row },
            Observation::Answer { settings, usage, cost, duration_ms } => Self {
                what: what::ANSWER,
                name: settings.provider.clone(),
                model: settings.model.clone(),
                duration_ms: bounded(duration_ms),
                ..Self::spending(usage, cost)
            },
            Observation::Compaction { settings, usage, cost } => Self {
                what: what::COMPACTION,
                name: settings.provider.clone(),
                model: settings.model.clone(),
                ..Self::spending(usage, cost)
            },
            Observation::Failure { settings, usage, cost } => Self {
                what: what::FAILURE,
                name: settings.provider.clone(),
                model: settings.model.clone(),
                ..Self::spending(usage, cost)
            },
            Observation::Call { tool, error, duration_ms, tokens } => Self {
                what: what::CALL,
                name: tool.to_owned(),
                word: error.map(str::to_owned),
                duration_ms: bounded(duration_ms),
                tokens: bounded(tokens as u64),
                ..row
            },
            Observation::Asked { tool } => Self { what: what::ASKED, name: tool.to_owned(), ..row },
            Observation::Answered { tool, verdict, .. } => {
                let word = match verdict {
                    ApprovalVerdict::Approved | ApprovalVerdict::Remembered => verdict::APPROVED,
                    ApprovalVerdict::Edited => verdict::EDITED,
                    ApprovalVerdict::Denied => verdict::DENIED,
                };
                let word = Some(word.to_owned());
                Self { what: what::ANSWERED, name: tool.to_owned(), word, ..row }
            }
            Observation::Helped { .. } | Observation::Decided { .. } => return None,
        };
        Some(row)
    }

    fn spending(usage: Usage, cost: Option<f64>) -> Self {
        Self {
            input: bounded(usage.input),
            output: bounded(usage.output),
            cache_read: bounded(usage.cache_read),
            cache_write: bounded(usage.cache_write),
            cost: cost.map(|cost| cost.clamp(-LARGEST_COST, LARGEST_COST)),
            ..Self::default()
        }
    }
}

fn bounded(number: u64) -> i64 {
    signed(number.min(LARGEST))
}

/// An answer to a question, as an audit shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct DecidedRow {
    pub(crate) sequence: i64,
    pub(crate) at: i64,
    pub(crate) by_user: Option<String>,
    pub(crate) subject: String,
    pub(crate) is_approved: bool,
    /// Whether a rule was made of it.
    pub(crate) is_remembered: bool,
}

/// Reads a session from where the last reader stopped.
#[derive(Default)]
pub(crate) struct Counting {
    reader: CallReader,
    pub(crate) counted: Vec<CountedRow>,
    pub(crate) decided: Vec<DecidedRow>,
}

impl Counting {
    /// None if what was kept does not read; then the session is read from its beginning.
    pub(crate) fn resume(kept: &str) -> Option<Self> {
        let reader = serde_json::from_str(kept).ok()?;
        Some(Self { reader, ..Self::default() })
    }

    /// Where it stands, for the next reader.
    pub(crate) fn kept(&self) -> String {
        // Plain data; what could not be written does not read, and then all is read anew.
        serde_json::to_string(&self.reader).unwrap_or_default()
    }

    /// Takes the next entry.
    pub(crate) fn read(&mut self, sequence: i64, at: i64, kind: &str, data: EventData<'_>) {
        let Self { reader, counted, decided } = self;
        let moment = at.clamp(-LATEST, LATEST);
        reader.read(kind, at, data, &mut |seen| {
            if let Observation::Decided { subject, response } = seen {
                decided.push(DecidedRow {
                    sequence,
                    at: moment,
                    by_user: response.by.clone(),
                    subject: subject.to_owned(),
                    is_approved: response.is_approved(),
                    is_remembered: response.remember.is_some(),
                });
            }
            if let Some(row) = CountedRow::of(&seen) {
                counted.push(CountedRow { sequence, at: moment, ..row });
            }
        });
    }
}
