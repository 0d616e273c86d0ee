//! What a scripted model says, in no particular wire format.

use serde_json::Value;

use super::gate::Gate;
use super::wire::{WireFormat, pieces, sse};

/// One answer of a scripted model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What it consists of, in this order.
    pub parts: Vec<Part>,
    /// What it says it has used; some servers say nothing.
    pub usage: Option<ReplyUsage>,
    /// Why it ends.
    pub stop: Stop,
    /// What goes wrong with it.
    pub fault: Option<Fault>,
    /// What each piece of its text has to pass. A reply with a fault does not look at it.
    pub gate: Option<Gate>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text for the user.
    Text(String),
    /// Text for the user, each piece an event of its own.
    Pieces(Vec<String>),
    /// A thought, with a seal that only its maker understands where the format has one.
    Thinking(String),
    /// A tool call.
    Call {
        /// Its id; made up if there is none.
        id: Option<String>,
        /// The tool.
        name: String,
        /// The arguments as JSON, or as whatever a test wants instead.
        arguments: String,
    },
}

/// What an answer has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyUsage {
    /// Tokens read anew.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// As its parts say: for tools if there are calls, else because all is said.
    #[default]
    Natural,
    /// The limit of tokens was reached.
    Limit,
    /// The model refuses.
    Refusal,
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Another status than 200.
    Status {
        status: u16,
        /// Headers besides the usual ones.
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Status 200 and something that is no stream of events.
    Body {
        /// The type it claims to be.
        content_type: String,
        /// The bytes.
        body: Vec<u8>,
    },
    /// A body in an encoding that was not asked for, sent in chunks.
    Encoded {
        status: u16,
        /// What `content-encoding` says.
        encoding: String,
        /// The bytes.
        body: Vec<u8>,
    },
    /// The connection is closed without an answer.
    CloseBefore,
    /// Nothing is ever answered.
    HangBefore,
    /// So many bytes of the stream are sent, and nothing more.
    HangAfter(usize),
    /// So many bytes of the stream are sent, and the connection is closed.
    CutAfter(usize),
    /// A piece in the middle is not valid JSON.
    InvalidJson,
    /// The stream ends, cleanly as far as HTTP goes, in the middle of the first call.
    HalfCall,
    /// The stream breaks off with an error after so many events.
    ErrorEvent {
        /// How many events come first.
        after: usize,
        /// The provider's name for the error.
        kind: String,
        message: String,
    },
}

impl Fault {
    /// A refusal with a message, in a form that all formats share.
    pub fn status(status: u16, message: &str) -> Self {
        let body = serde_json::json!({"error": {"message": message}}).to_string();
        Self::Status { status, headers: Vec::new(), body }
    }

    /// The same with one more header. For faults without headers nothing changes.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Self::Status { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

impl Part {
    /// Text as it is streamed; nothing for other parts.
    pub(super) fn pieces(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => pieces(text),
            Self::Pieces(pieces) => pieces.iter().map(String::as_str).collect(),
            Self::Thinking(_) | Self::Call { .. } => Vec::new(),
        }
    }
}

impl Reply {
    /// An answer of text.
    pub fn text(text: &str) -> Self {
        Self { usage: Some(ReplyUsage { input: 10, output: 5, cache_read: 3 }), ..Self::default() }
            .and_text(text)
    }

    /// An answer of one tool call.
    pub fn call(name: &str, arguments: Value) -> Self {
        let mut reply = Self::text("");
        reply.parts.clear();
        reply.and_call(name, arguments)
    }

    /// Nothing but something that goes wrong.
    pub fn fault(fault: Fault) -> Self {
        Self::text("lost").with_fault(fault)
    }

    /// More text.
    #[must_use]
    pub fn and_text(self, text: &str) -> Self {
        self.and(Part::Text(text.to_owned()))
    }

    /// Text that is streamed in exactly these pieces.
    pub fn pieces(pieces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut reply = Self::text("");
        reply.parts = vec![Part::Pieces(pieces.into_iter().map(Into::into).collect())];
        reply
    }

    /// Holds back each piece of text until `gate` lets it go.
    #[must_use]
    pub fn through(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// A thought.
    #[must_use]
    pub fn and_thinking(self, thought: &str) -> Self {
        self.and(Part::Thinking(thought.to_owned()))
    }

    /// One more tool call.
    #[must_use]
    pub fn and_call(self, name: &str, arguments: Value) -> Self {
        self.and(Part::Call { id: None, name: name.to_owned(), arguments: arguments.to_string() })
    }

    /// One more tool call with an id of its own choosing and arguments that need not be JSON.
    #[must_use]
    pub fn and_raw_call(self, id: &str, name: &str, arguments: &str) -> Self {
        let (id, name) = (Some(id.to_owned()), name.to_owned());
        self.and(Part::Call { id, name, arguments: arguments.to_owned() })
    }

    /// Any part.
    #[must_use]
    pub fn and(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Another account of what was used; none for servers that give none.
    #[must_use]
    pub fn using(mut self, usage: Option<ReplyUsage>) -> Self {
        self.usage = usage;
        self
    }

    /// Another reason to end.
    #[must_use]
    pub fn stopped(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Something that goes wrong with it.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The stream of the answer to the request with this number, with those faults in it that are
    /// in what is said and not in how it is sent.
    pub fn render(&self, format: WireFormat, request: usize) -> Vec<u8> {
        let mut events = format.events(self, request);
        let mut spoilt = None;
        match &self.fault {
            Some(Fault::HalfCall) => {
                let half = events.iter().position(|event| event.in_call);
                events.truncate(half.map_or(0, |at| at + 1));
            }
            Some(Fault::InvalidJson) => spoilt = Some(events.len() / 2),
            Some(Fault::ErrorEvent { after, kind, message }) => {
                events.truncate(*after);
                events.push(format.error(kind, message));
            }
            _ => {}
        }
        sse(&events, spoilt)
    }

    /// The stream in pieces: each but the first begins with an event that the gate holds back.
    pub(super) fn held_pieces(&self, format: WireFormat, request: usize) -> Vec<Vec<u8>> {
        let events = format.events(self, request);
        let mut starts: Vec<usize> = vec![0];
        starts.extend((0..events.len()).filter(|&at| events[at].is_text));
        let ends = starts.iter().skip(1).copied().chain([events.len()]);
        let spans = starts.iter().zip(ends);
        spans.map(|(&start, end): (&usize, usize)| sse(&events[start..end], None)).collect()
    }

    /// The parts with an id for each call.
    pub(super) fn numbered(&self, request: usize) -> impl Iterator<Item = (usize, Part)> {
        self.parts.iter().cloned().enumerate().map(move |(at, mut part)| {
            if let Part::Call { id, .. } = &mut part {
                id.get_or_insert_with(|| format!("call_{request}_{at}"));
            }
            (at, part)
        })
    }

    pub(super) fn has_calls(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    }
}
