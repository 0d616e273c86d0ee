//! Spans from the log of a session. Pure: entries in, spans that have ended out.
//!
//! Time never goes back here, whatever the clocks said, and whatever closes a span closes its parts first. So spans
//! nest, in logs of any shape.

mod attributes;

use std::collections::{BTreeMap, HashMap};

use protocol::{
    ApprovalResponse, LogEntry, ModelAnswer, SessionEvent, Settings, ToolCall, ToolResult, Usage,
};

use crate::content::{self, ContentCapture};
use crate::conventions::{AGENT, INTERRUPTED, SUB_AGENT, key, operation};
use crate::span::{SpanId, SpanKind, SpanStatus, TraceId, TraceSpan};

/// Reads the log of one session, entry by entry.
#[derive(Debug)]
pub struct SpanFold {
    session: String,
    content: ContentCapture,
    /// The latest time that the log has told, in milliseconds since 1970.
    now: u64,
    open: Vec<OpenSpan>,
    /// The conversation and its sub-agents, by the calls that lead to them.
    scopes: BTreeMap<Vec<String>, SpanScope>,
}

/// What an entry has brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    /// Spans that have ended, parts before the whole.
    pub spans: Vec<TraceSpan>,
    /// Tokens that were used.
    pub tokens: Option<TokenUse>,
}

/// Tokens that a model has used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenUse {
    /// Who serves it.
    pub provider: String,
    pub model: String,
    /// How many.
    pub usage: Usage,
}

#[derive(Debug, Default)]
struct SpanScope {
    settings: Option<Settings>,
    /// Calls of the turn that is open, by their ids.
    calls: HashMap<String, ToolCall>,
}

#[derive(Debug)]
struct OpenSpan {
    span: TraceSpan,
    path: Vec<String>,
    what: What,
    usage: Usage,
    cost_usd: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Turn,
    Chat,
    Tool(String),
    Approval(String),
    Pause,
}

/// Where an entry stands: in which agent's log, and at which position of the session's.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a [String],
    sequence: u64,
}

/// How a span ends.
enum Ending {
    Well,
    Failed(String),
}

/// All spans of a log. What is open at its end is closed as interrupted.
pub fn spans_of(session: &str, entries: &[LogEntry], content: ContentCapture) -> Vec<TraceSpan> {
    let mut fold = SpanFold::new(session, content);
    let mut spans: Vec<TraceSpan> =
        entries.iter().flat_map(|entry| fold.apply(entry).spans).collect();
    spans.extend(fold.interrupt());
    spans
}

impl SpanFold {
    /// A log of which nothing was read.
    pub fn new(session: &str, content: ContentCapture) -> Self {
        let session = session.to_owned();
        Self { session, content, now: 0, open: Vec::new(), scopes: BTreeMap::new() }
    }

    /// Reads one more entry.
    pub fn apply(&mut self, entry: &LogEntry) -> Folded {
        self.step(At { path: &[], sequence: entry.sequence }, entry)
    }

    /// Whether a turn is open.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The trace of the turn that is open.
    pub(crate) fn open_trace(&self) -> Option<TraceId> {
        self.open.first().map(|open| open.span.trace)
    }

    /// The span of a call that runs, of the agent that these calls lead to.
    pub(crate) fn running_call(&self, path: &[String], call_id: &str) -> Option<&TraceSpan> {
        self.find(path, &What::Tool(call_id.to_owned()))
    }

    /// Closes what is open, because the log ends here.
    pub fn interrupt(&mut self) -> Vec<TraceSpan> {
        let mut spans = Vec::new();
        while let Some(outermost) = self.open.first().map(|open| open.span.id) {
            self.close(outermost, &Ending::Failed(INTERRUPTED.to_owned()), &mut spans);
        }
        spans
    }

    fn step(&mut self, at: At<'_>, entry: &LogEntry) -> Folded {
        self.now = self.now.max(u64::try_from(entry.at).unwrap_or(0));
        if let SessionEvent::Nested { call_id, entry } = &entry.event {
            let path: Vec<String> = at.path.iter().chain([call_id]).cloned().collect();
            return self.step(At { path: &path, ..at }, entry);
        }
        let tokens = self.spent(at, &entry.event);
        let mut spans = Vec::new();
        self.conversation(at, &entry.event, &mut spans);
        Folded { spans, tokens }
    }

    /// What concerns turns and requests; the rest concerns calls.
    fn conversation(&mut self, at: At<'_>, event: &SessionEvent, ended: &mut Vec<TraceSpan>) {
        match event {
            SessionEvent::Opened(opened) => {
                self.scope(at.path).settings = Some(opened.settings.clone());
            }
            SessionEvent::SettingsChanged(settings) => {
                self.scope(at.path).settings = Some(settings.clone());
            }
            SessionEvent::UserMessage { content } => {
                self.end_turn(at, &Ending::Failed(INTERRUPTED.to_owned()), ended);
                self.begin(at, What::Turn);
                if self.content == ContentCapture::Recorded {
                    self.note(
                        at,
                        &What::Turn,
                        key::INPUT_MESSAGES,
                        content::message("user", content),
                    );
                }
            }
            SessionEvent::ModelAsked { .. } => {
                self.end(at, &What::Chat, &Ending::Failed(INTERRUPTED.to_owned()), ended);
                self.begin(at, What::Chat);
            }
            SessionEvent::ModelAnswered(answer) => self.answered(at, answer, ended),
            SessionEvent::ModelFailed { kind, usage, cost_usd, .. } => {
                self.note_usage(at, *usage, *cost_usd);
                self.end(at, &What::Chat, &Ending::Failed(attributes::word(kind)), ended);
            }
            SessionEvent::Paused(_) => {
                self.end(at, &What::Pause, &Ending::Well, ended);
                self.begin(at, What::Pause);
            }
            SessionEvent::Continued => self.end(at, &What::Pause, &Ending::Well, ended),
            SessionEvent::TurnEnded(end) => {
                self.note(at, &What::Turn, key::TURN_END, attributes::word(end));
                self.end_turn(at, &attributes::ending(*end), ended);
            }
            SessionEvent::Rewound(_) => {
                self.end_turn(at, &Ending::Failed(INTERRUPTED.to_owned()), ended);
            }
            call => self.calls(at, call, ended),
        }
    }

    fn calls(&mut self, at: At<'_>, event: &SessionEvent, ended: &mut Vec<TraceSpan>) {
        match event {
            SessionEvent::CallStarted { call_id, .. } => {
                let tool = What::Tool(call_id.clone());
                self.end(at, &tool, &Ending::Failed(INTERRUPTED.to_owned()), ended);
                self.begin(at, tool);
            }
            SessionEvent::ApprovalAsked(request) => {
                let approval = What::Approval(request.step_id.clone());
                self.end(at, &approval, &Ending::Well, ended);
                self.begin(at, approval);
            }
            SessionEvent::ApprovalAnswered { call_id, response } => {
                self.approved(at, call_id, response, ended);
            }
            SessionEvent::CallEnded { call_id, result, text, duration_ms, .. } => {
                self.call_ended(at, call_id, (result, text.as_deref()), *duration_ms, ended);
            }
            _ => {}
        }
    }

    fn answered(&mut self, at: At<'_>, answer: &ModelAnswer, ended: &mut Vec<TraceSpan>) {
        self.ensure(at, &What::Chat, answer.duration_ms);
        for call in answer.content.iter().filter_map(attributes::call_in) {
            self.scope(at.path).calls.insert(call.id.clone(), call.clone());
        }
        self.note_usage(at, answer.usage, answer.cost_usd);
        if let Some(open) = self.open_mut(at, &What::Chat) {
            open.span.attributes.push((key::FINISH_REASONS, attributes::finish(&answer.stop)));
        }
        if self.content == ContentCapture::Recorded {
            let said = content::message("assistant", &answer.content);
            self.note(at, &What::Chat, key::OUTPUT_MESSAGES, said);
        }
        self.end(at, &What::Chat, &Ending::Well, ended);
    }

    fn approved(
        &mut self,
        at: At<'_>,
        call_id: &str,
        response: &ApprovalResponse,
        ended: &mut Vec<TraceSpan>,
    ) {
        let approval = What::Approval(call_id.to_owned());
        if let Some(open) = self.open_mut(at, &approval) {
            open.span.attributes.push((key::APPROVED, response.is_approved().into()));
        }
        self.end(at, &approval, &Ending::Well, ended);
    }

    fn call_ended(
        &mut self,
        at: At<'_>,
        call_id: &str,
        (result, text): (&ToolResult, Option<&str>),
        duration_ms: u64,
        ended: &mut Vec<TraceSpan>,
    ) {
        let tool = What::Tool(call_id.to_owned());
        // A call that was refused before it could begin has a result all the same.
        self.ensure(at, &tool, duration_ms);
        if self.content == ContentCapture::Recorded {
            self.note(at, &tool, key::TOOL_RESULT, content::result(result, text));
        }
        let ending = match result {
            Ok(_) => Ending::Well,
            Err(error) => Ending::Failed(error.code.as_str().to_ascii_lowercase()),
        };
        self.end(at, &tool, &ending, ended);
        let inner: Vec<String> = at.path.iter().cloned().chain([call_id.to_owned()]).collect();
        self.scopes.retain(|path, _| !path.starts_with(&inner));
    }

    /// Counts what an event says was used, for the turns it happened in.
    fn spent(&mut self, at: At<'_>, event: &SessionEvent) -> Option<TokenUse> {
        let (usage, cost) = event.spent().filter(|(usage, _)| !usage.is_zero())?;
        let turns = self.open.iter_mut().filter(|open| open.what == What::Turn);
        for open in turns.filter(|open| at.path.starts_with(&open.path)) {
            open.usage += usage;
            open.cost_usd =
                cost.map_or(open.cost_usd, |cost| Some(open.cost_usd.unwrap_or(0.0) + cost));
        }
        let settings = self.settings(at.path)?;
        let provider = crate::conventions::provider(&settings.provider).to_owned();
        Some(TokenUse { provider, model: settings.model.clone(), usage })
    }

    fn note_usage(&mut self, at: At<'_>, usage: Usage, cost_usd: Option<f64>) {
        if let Some(open) = self.open_mut(at, &What::Chat) {
            (open.usage, open.cost_usd) = (usage, cost_usd);
        }
    }

    fn note(&mut self, at: At<'_>, what: &What, name: &'static str, value: String) {
        if let Some(open) = self.open_mut(at, what) {
            open.span.attributes.push((name, value.into()));
        }
    }

    fn scope(&mut self, path: &[String]) -> &mut SpanScope {
        self.scopes.entry(path.to_vec()).or_default()
    }

    /// The model of an agent: its own, or that of the agent that started it.
    fn settings(&self, path: &[String]) -> Option<&Settings> {
        let prefixes = (0..=path.len()).rev().map(|length| &path[..length]);
        prefixes.into_iter().find_map(|path| self.scopes.get(path)?.settings.as_ref())
    }

    fn open_mut(&mut self, at: At<'_>, what: &What) -> Option<&mut OpenSpan> {
        self.open.iter_mut().find(|open| open.path == at.path && open.what == *what)
    }

    fn find(&self, path: &[String], what: &What) -> Option<&TraceSpan> {
        let found = self.open.iter().find(|open| open.path == path && open.what == *what);
        found.map(|open| &open.span)
    }

    /// The span that a new one is a part of.
    fn parent(&self, path: &[String], what: &What) -> Option<&TraceSpan> {
        if let What::Approval(call_id) = what
            && let Some(tool) = self.find(path, &What::Tool(call_id.clone()))
        {
            return Some(tool);
        }
        let turn = (*what != What::Turn).then(|| self.find(path, &What::Turn)).flatten();
        turn.or_else(|| {
            let (call_id, outer) = path.split_last()?;
            self.find(outer, &What::Tool(call_id.clone()))
        })
    }

    /// Begins a span unless it has begun; it is known only now that it took so long.
    fn ensure(&mut self, at: At<'_>, what: &What, duration_ms: u64) {
        if self.find(at.path, what).is_some() {
            return;
        }
        self.begin(at, what.clone());
        let (path, now) = (at.path, self.now);
        let earliest = self.parent(path, what).map_or(now, |parent| parent.start_ms);
        if let Some(open) = self.open_mut(at, what) {
            open.span.start_ms = now.saturating_sub(duration_ms).max(earliest);
        }
    }

    /// Begins a span. What happens outside of every turn has none.
    fn begin(&mut self, at: At<'_>, what: What) {
        let parent = self.parent(at.path, &what);
        let trace = match (parent, &what) {
            (Some(parent), _) => parent.trace,
            (None, What::Turn) if at.path.is_empty() => TraceId::of(&self.session, at.sequence),
            (None, _) => return,
        };
        let parent = parent.map(|parent| parent.id);
        let agent = if at.path.is_empty() { AGENT } else { SUB_AGENT };
        let scope = self.scopes.get(at.path);
        let facts = attributes::SpanFacts {
            session: &self.session,
            settings: self.settings(at.path),
            agent,
            call: what.call_id().and_then(|id| scope?.calls.get(id)),
            content: self.content,
        };
        let (operation, kind) = what.operation();
        let (name, attributes) = facts.describe(operation, what.call_id());
        let id = SpanId::of(&self.session, at.sequence);
        let (start_ms, end_ms, status) = (self.now, self.now, SpanStatus::Unset);
        let span = TraceSpan {
            trace,
            id,
            parent,
            state: None,
            name,
            kind,
            start_ms,
            end_ms,
            status,
            attributes,
        };
        let (path, usage, cost_usd) = (at.path.to_vec(), Usage::default(), None);
        self.open.push(OpenSpan { span, path, what, usage, cost_usd });
    }

    fn end_turn(&mut self, at: At<'_>, ending: &Ending, ended: &mut Vec<TraceSpan>) {
        self.end(at, &What::Turn, ending, ended);
        self.scope(at.path).calls.clear();
    }

    fn end(&mut self, at: At<'_>, what: &What, ending: &Ending, ended: &mut Vec<TraceSpan>) {
        if let Some(id) = self.find(at.path, what).map(|span| span.id) {
            self.close(id, ending, ended);
        }
    }

    /// Closes a span, after its parts: what is still open of it was interrupted, unless it only waited.
    fn close(&mut self, id: SpanId, ending: &Ending, ended: &mut Vec<TraceSpan>) {
        let is_part = |open: &OpenSpan| open.span.parent == Some(id);
        while let Some(part) = self.open.iter().find(|open| is_part(open)) {
            let ending = match part.what {
                What::Approval(_) | What::Pause => Ending::Well,
                _ => Ending::Failed(INTERRUPTED.to_owned()),
            };
            self.close(part.span.id, &ending, ended);
        }
        let Some(index) = self.open.iter().position(|open| open.span.id == id) else { return };
        let OpenSpan { mut span, usage, cost_usd, .. } = self.open.remove(index);
        span.end_ms = self.now.max(span.start_ms);
        attributes::add_usage(&mut span, usage, cost_usd);
        if let Ending::Failed(why) = ending {
            span.status = SpanStatus::Error;
            span.attributes.push((key::ERROR_TYPE, why.as_str().into()));
        }
        ended.push(span);
    }
}

impl What {
    fn call_id(&self) -> Option<&str> {
        match self {
            Self::Tool(id) | Self::Approval(id) => Some(id),
            Self::Turn | Self::Chat | Self::Pause => None,
        }
    }

    fn operation(&self) -> (&'static str, SpanKind) {
        match self {
            Self::Turn => (operation::INVOKE_AGENT, SpanKind::Internal),
            Self::Chat => (operation::CHAT, SpanKind::Client),
            Self::Tool(_) => (operation::EXECUTE_TOOL, SpanKind::Internal),
            Self::Approval(_) => (operation::AWAIT_APPROVAL, SpanKind::Internal),
            Self::Pause => (operation::AWAIT_USER, SpanKind::Internal),
        }
    }
}
