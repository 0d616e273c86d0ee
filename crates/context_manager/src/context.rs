//! A conversation as a pure fold over its log. Effects are in `turn.rs`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use protocol::{
    CallReport, Content, ErrorCode, ImageTokens, LogEntry, Message, ModelAnswer, ModelErrorKind,
    PlanStep, RewoundEntries, SessionEvent, Settings, StopReason, ToolCall, TurnEnd, Usage,
    estimate_tokens,
};

use crate::budget::Ledger;
use crate::calls::ended_event;
use crate::circles::Circles;
use crate::conversation::Conversation;
use crate::facts::Facts;
use crate::images;
use crate::instructed::Instructed;
use crate::open_requests::OpenRequests;
use crate::state::{self, OpenCall};
use crate::tool_list::{FirstFound, ToolList};
use crate::{Charge, ContextState, LogError, Ports};

/// A conversation: what its log amounts to.
#[derive(Clone, Debug, Default)]
pub struct ChatContext {
    state: ContextState,
    conversation: Conversation,
    settings: Option<Settings>,
    title: Option<String>,
    plan: Vec<PlanStep>,
    ledger: Ledger,
    circles: Circles,
    facts: Facts,
    instructed: Instructed,
    /// The ids of all calls there ever were.
    call_ids: HashSet<String>,
    open_requests: OpenRequests,
    last_end: Option<TurnEnd>,
    /// The entry that ended the last turn; what follows belongs to the present one.
    turn_from: u64,
    last_sequence: u64,
    /// The provider of the present model has refused images.
    images_refused: bool,
    /// Tools that the model has asked for, in the order in which they were found.
    found_tools: Vec<FirstFound>,
    tool_list: ToolList,
    /// Images were counted for a model since the log was read.
    sight_is_known: bool,
    /// The calls of the last answer that this process has begun, as the log says. Not a part of the
    /// fold: calls that another process began are not run again.
    pub(crate) begun_calls: HashSet<String>,
}

impl ChatContext {
    /// The conversation that a log amounts to, whatever its entries are. Of what was taken back by a
    /// [`protocol::Rewind`] only the costs and the names of calls count.
    pub fn replay<'a>(entries: impl IntoIterator<Item = &'a LogEntry, IntoIter: Clone>) -> Self {
        let entries = entries.into_iter();
        let rewound = RewoundEntries::of(entries.clone());
        let mut context = Self::default();
        for entry in entries {
            match rewound.contains(entry.sequence) {
                true => context.pass_over(entry),
                false => context.apply(entry),
            }
        }
        context
    }

    /// What stays of an entry that was taken back.
    fn pass_over(&mut self, entry: &LogEntry) {
        self.last_sequence = entry.sequence;
        self.ledger.note_spent(&entry.event);
        match &entry.event {
            SessionEvent::ModelAnswered(answer) => self.claim_calls(answer),
            SessionEvent::SettingsChanged(settings) => self.settings_changed(settings),
            SessionEvent::Renamed { title } => self.title = Some(title.clone()),
            _ => {}
        }
    }

    fn claim_calls(&mut self, answer: &ModelAnswer) {
        self.call_ids.extend(answer.content.iter().filter_map(|content| match content {
            Content::ToolUse(call) => Some(call.id.clone()),
            _ => None,
        }));
    }

    pub(crate) fn found_tools(&self) -> &[FirstFound] {
        &self.found_tools
    }

    pub(crate) fn tool_list_mut(&mut self) -> &mut ToolList {
        &mut self.tool_list
    }

    /// Takes the next entry of the log into account. One that is not possible now changes nothing.
    /// After [`SessionEvent::Rewound`] the log has to be replayed: what was taken back is still here.
    pub fn apply(&mut self, entry: &LogEntry) {
        self.last_sequence = entry.sequence;
        let event = self.cleaned(&entry.event);
        let before = std::mem::take(&mut self.state);
        let ended = match (&before, &*event) {
            (ContextState::RunningTools(open), SessionEvent::CallEnded { call_id, .. }) => {
                open.iter().find(|open| open.call.id == *call_id).cloned()
            }
            _ => None,
        };
        match &*event {
            // What breaks off is closed by what is known of it before the step.
            SessionEvent::UserMessage { .. }
            | SessionEvent::UserAdded { .. }
            | SessionEvent::Rewound(_)
            | SessionEvent::TurnEnded(_) => {
                self.close(&before, entry.sequence);
            }
            // The user has seen the words of an answer that was stopped on purpose.
            SessionEvent::ModelFailed { kind: ModelErrorKind::Cancelled, .. } => {
                self.broke_off(&before, entry.sequence);
            }
            SessionEvent::Continued => {
                if let ContextState::Paused(reason) = &before {
                    self.ledger.grant(reason);
                    self.circles.forget();
                }
            }
            _ => {}
        }
        let step = state::next(before, &event);
        self.state = step.state;
        if step.taken {
            self.take(entry.sequence, &event, ended.as_ref());
            self.open_requests.note(&event);
            self.ledger.note(&event, self.conversation.tokens());
        }
    }

    /// What the conversation waits for.
    pub fn state(&self) -> &ContextState {
        &self.state
    }

    /// What the model gets to see. Each call has exactly one result directly after it; one that is
    /// still open has a stand-in.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.conversation.messages(|id| stand_in(&self.state, id))
    }

    /// The model that answers, and the role it acts in.
    pub fn settings(&self) -> Option<&Settings> {
        self.settings.as_ref()
    }

    /// The name of the session.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    pub fn plan(&self) -> &[PlanStep] {
        &self.plan
    }

    /// What was used so far, by sub-agents and summaries too.
    pub fn usage(&self) -> Usage {
        self.ledger.usage
    }

    /// What was spent so far in US dollars, as far as prices were known.
    pub fn cost_usd(&self) -> f64 {
        self.ledger.cost_usd
    }

    /// What the next request is thought to take. Before the first one, that is without
    /// instructions and tools.
    pub fn context_tokens_used(&self) -> u64 {
        self.ledger.shown_tokens(self.conversation.tokens())
    }

    /// How the last turn ended, if one did.
    pub fn last_end(&self) -> Option<TurnEnd> {
        self.last_end
    }

    /// What has to be written before the conversation can go on after a crash. Nothing if it is at
    /// rest or paused. Requests that were under way may have been charged.
    pub fn unfinished(&self, charge: Charge) -> Vec<SessionEvent> {
        let mut events = self.open_requests.cut_off(charge);
        let open = match &self.state {
            ContextState::Idle | ContextState::Paused(_) => return Vec::new(),
            ContextState::RunningTools(open) => open.as_slice(),
            ContextState::AwaitingModel(partial) => {
                let written = estimate_tokens(&partial.text.to_string()) as u64;
                events.push(charge.cut_off(self.ledger.asked_tokens(), written));
                &[]
            }
            ContextState::Ready => &[],
        };
        events.extend(
            open.iter().map(|open| ended_event(&open.call.id, Err(open.interrupted()).into(), 0)),
        );
        events.push(SessionEvent::TurnEnded(TurnEnd::Interrupted));
        events
    }

    /// Writes events down, and only then takes them into account.
    pub(crate) async fn record(
        &mut self,
        ports: &Ports,
        events: Vec<SessionEvent>,
    ) -> Result<(), LogError> {
        self.record_taking(ports, events, &[]).await
    }

    /// The same for events that these items of a shared inbox have caused.
    pub(crate) async fn record_taking(
        &mut self,
        ports: &Ports,
        events: Vec<SessionEvent>,
        items: &[i64],
    ) -> Result<(), LogError> {
        if events.is_empty() {
            return Ok(());
        }
        let shown = self.conversation.units();
        let events = events.into_iter().map(|event| images::thinned(event, shown)).collect();
        for entry in &ports.log.append_taking(events, items).await? {
            self.apply(entry);
        }
        Ok(())
    }

    /// Counts images as the model does that is asked next: it sees them at these rates, or gets
    /// them described.
    pub(crate) fn see_images(&mut self, sight: Option<ImageTokens>) {
        let before = self.conversation.tokens();
        self.conversation.see_images(sight);
        let after = self.conversation.tokens();
        // A log does not say what its images took; what the provider counted holds them already.
        let was_unknown = !std::mem::replace(&mut self.sight_is_known, true);
        if was_unknown || after < before {
            self.ledger.estimated_anew(before, after);
        }
    }

    /// Whether the provider of the present model has refused images.
    pub(crate) fn images_refused(&self) -> bool {
        self.images_refused
    }

    pub(crate) fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn circles(&self) -> &Circles {
        &self.circles
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The user's messages of the turn that is under way, by their entries.
    pub(crate) fn running(&self) -> Vec<u64> {
        if matches!(self.state, ContextState::Idle) {
            return Vec::new();
        }
        let said = self.facts.said.iter().map(|said| said.sequence);
        said.filter(|&sequence| sequence > self.turn_from).collect()
    }

    pub(crate) fn instructed(&self) -> &Instructed {
        &self.instructed
    }

    pub(crate) fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// What a request is thought to take now, `frame` being all around the conversation.
    pub(crate) fn request_tokens(&self, frame: u64) -> u64 {
        self.ledger.request_tokens(frame, self.conversation.tokens())
    }

    /// Gives calls other ids where theirs was used before: results find their calls by id, and servers
    /// number from 0 in every answer, or send no ids at all. Only the log knows all that were used.
    pub(crate) fn claim_ids(&self, calls: &mut [&mut ToolCall]) {
        let mut claimed: HashSet<String> = HashSet::new();
        for call in calls {
            let (wanted, mut count) = (call.id.clone(), claimed.len() + 2);
            while self.call_ids.contains(&call.id) || claimed.contains(&call.id) {
                call.id = format!("{wanted}_{count}");
                count += 1;
            }
            claimed.insert(call.id.clone());
        }
    }

    /// An event with the bytes of its images; an answer without what cannot be sent back: results,
    /// images, and calls with an id that was used before. Our own answers hold none of these.
    fn cleaned<'e>(&self, event: &'e SessionEvent) -> Cow<'e, SessionEvent> {
        let SessionEvent::ModelAnswered(answer) = event else {
            let filled = images::filled(event, self.conversation.units());
            return filled.map_or(Cow::Borrowed(event), Cow::Owned);
        };
        let mut ids = HashSet::new();
        let belongs: Vec<bool> = answer
            .content
            .iter()
            .map(|content| match content {
                Content::ToolResult { .. } | Content::Image(_) | Content::Attached { .. } => false,
                Content::ToolUse(call) => {
                    !self.call_ids.contains(&call.id) && ids.insert(call.id.as_str())
                }
                Content::Text { .. } | Content::Opaque { .. } => true,
            })
            .collect();
        if belongs.iter().all(|&belongs| belongs) {
            return Cow::Borrowed(event);
        }
        let kept = answer.content.iter().zip(belongs).filter(|(_, belongs)| *belongs);
        let content = kept.map(|(content, _)| content.clone()).collect();
        Cow::Owned(SessionEvent::ModelAnswered(ModelAnswer { content, ..answer.clone() }))
    }

    /// Closes what is open, with the words the user has seen and stand-ins for results.
    fn close(&mut self, before: &ContextState, sequence: u64) {
        self.conversation.settle(|id| stand_in(before, id));
        self.broke_off(before, sequence);
    }

    fn broke_off(&mut self, before: &ContextState, sequence: u64) {
        if let ContextState::AwaitingModel(partial) = before {
            self.conversation.broke_off(sequence, &partial.text);
        }
    }

    fn take(&mut self, sequence: u64, event: &SessionEvent, open: Option<&OpenCall>) {
        match event {
            SessionEvent::Opened(opened) => self.settings = Some(opened.settings.clone()),
            SessionEvent::SettingsChanged(settings) => self.settings_changed(settings),
            SessionEvent::Renamed { title } => self.title = Some(title.clone()),
            SessionEvent::PlanChanged { steps } => self.plan.clone_from(steps),
            SessionEvent::UserMessage { content } | SessionEvent::UserAdded { content } => {
                self.conversation.user(sequence, content);
                self.facts.user(sequence, content);
                self.circles.forget();
            }
            SessionEvent::ModelAnswered(answer) => self.take_answer(sequence, answer),
            SessionEvent::CallEnded { result, text, images, found_tools, .. } => {
                if let Some(open) = open {
                    for name in found_tools {
                        if !self.found_tools.iter().any(|found| found.name == *name) {
                            let (name, call_id) = (name.clone(), open.call.id.clone());
                            self.found_tools.push(FirstFound { name, call_id });
                        }
                    }
                    let result = match text {
                        Some(text) if result.is_ok() => Ok(text.as_str().into()),
                        _ => result.clone(),
                    };
                    let report = CallReport {
                        images: images.clone(),
                        found_tools: found_tools.clone(),
                        ..result.into()
                    };
                    self.call_ended(sequence, &open.call, report);
                }
            }
            SessionEvent::ImagesRefused { .. } => self.images_refused = true,
            SessionEvent::Nudged { text } => {
                self.conversation.nudge(sequence, text);
                self.circles.told();
            }
            SessionEvent::TurnEnded(end) => {
                self.last_end = Some(*end);
                self.turn_from = sequence;
            }
            SessionEvent::Rewound(_) => {
                self.turn_from = sequence;
                self.circles.forget();
            }
            SessionEvent::Instructed(told) => {
                self.conversation.nudge(sequence, &told.text);
                self.instructed.told(sequence, told);
            }
            SessionEvent::Compacted(compaction) => self.conversation.compact(compaction),
            _ => {}
        }
    }

    fn take_answer(&mut self, sequence: u64, answer: &ModelAnswer) {
        self.claim_calls(answer);
        self.facts.answer(sequence, &answer.content);
        // Providers refuse thoughts that nothing follows, unless they asked to have them back.
        let speaks = |content: &Content| !matches!(content, Content::Opaque { .. });
        if answer.stop == StopReason::Pause || answer.content.iter().any(speaks) {
            self.conversation.answer(sequence, answer.content.clone());
        }
    }

    fn settings_changed(&mut self, settings: &Settings) {
        let same_model = self.settings.as_ref().is_some_and(|before| {
            before.model == settings.model && before.provider == settings.provider
        });
        if !same_model {
            self.conversation.forget_opaque();
        }
        // The same model in another role sees as much as before; one that is chosen again is tried.
        let same_role = self.settings.as_ref().is_some_and(|before| before.role == settings.role);
        if !same_model || same_role {
            self.images_refused = false;
        }
        self.settings = Some(settings.clone());
    }

    fn call_ended(&mut self, sequence: u64, call: &ToolCall, report: CallReport) {
        let json = match &report.result {
            Ok(value) => value.to_string(),
            Err(error) => {
                if error.code == ErrorCode::Rejected {
                    self.facts.refusal(call, error);
                }
                format!("{}: {}", error.code, error.full_message())
            }
        };
        self.circles.note(call, &json);
        self.facts.result(sequence, call, json.chars().count());
        let tokens = estimate_tokens(&json) as u64;
        self.conversation.result(sequence, &call.id, report, tokens);
    }
}

/// What stands for the result of a call that has none.
fn stand_in(state: &ContextState, id: &str) -> protocol::ToolError {
    let open = match state {
        ContextState::RunningTools(open) => open.iter().find(|open| open.call.id == id),
        _ => None,
    };
    open.map_or_else(|| state::interrupted(None), OpenCall::interrupted)
}
