//! A session as updates: what the timeline shows, in the words of the protocol.
//!
//! [`Drawing`] takes the entries of a log and answers with what the editor has not been told yet. It remembers
//! what it has told, so that text is sent once and calls are sent as what has changed.

mod call;
mod whole_text;

use std::collections::{HashMap, HashSet};

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, Cost, ImageContent, MessageId,
    Notice as EditorNotice, NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    SessionInfoUpdate, SessionUpdate, ToolCall, ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use protocol::{ApprovalRequest, Image, LogEntry, PlanStep, SessionEvent, SharedText, StepStatus};
use timeline::{
    Card, Item, ItemBody, ItemChanges, ItemId, Level, Notice, Timeline, Topic, UserMessage,
};
use tool_system::ProjectTools;

use crate::wire::EditorTraits;
use call::DrawnCall;
use whole_text::WholeDiff;

/// Whether the editor knows the user's messages, because it has just sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UserMessages {
    Known,
    /// A session is shown again.
    Shown,
}

/// What an entry of the log means for the editor.
#[derive(Default)]
pub(crate) struct DrawnEntry {
    pub(crate) updates: Vec<SessionUpdate>,
    /// The question that the user is asked from now on, with its call.
    pub(crate) asked: Option<(ToolCallUpdate, Box<ApprovalRequest>)>,
}

/// What the editor has been told of a session.
pub(crate) struct Drawing {
    timeline: Timeline,
    tools: ProjectTools,
    editor: EditorTraits,
    /// The most tokens that the model can see, if there is a model.
    window: Option<u64>,
    texts: HashMap<ItemId, usize>,
    calls: HashMap<ItemId, ToolCall>,
    /// The changes that were asked about last, as whole texts.
    diffs: HashMap<ItemId, Vec<WholeDiff>>,
    /// Calls of which everything was told; what they were told with is forgotten.
    over: HashSet<ItemId>,
}

/// What is still to be shown of a session that is shown again.
pub(crate) struct ShownPast<'a> {
    ids: std::vec::IntoIter<ItemId>,
    /// The last question about each call.
    asked: HashMap<ItemId, &'a ApprovalRequest>,
    is_over: bool,
}

impl Drawing {
    pub(crate) fn new(tools: ProjectTools, editor: EditorTraits, window: u64) -> Self {
        Self {
            timeline: Timeline::default(),
            tools,
            editor,
            window: known_window(window),
            texts: HashMap::new(),
            calls: HashMap::new(),
            diffs: HashMap::new(),
            over: HashSet::new(),
        }
    }

    /// Another model has another window.
    pub(crate) fn set_window(&mut self, window: u64) {
        self.window = known_window(window);
    }

    /// Why the model did not answer, if that ended the turn.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.timeline.turn().failure.as_deref()
    }

    /// Takes the next entry of the log.
    pub(crate) fn apply(&mut self, entry: &LogEntry) -> DrawnEntry {
        let changes = self.timeline.apply(entry);
        let request = asked(&entry.event);
        let asked_about = request.and_then(|request| self.card_of(&changes, &request.step_id));
        if let (Some(request), Some(id)) = (request, asked_about) {
            let diffs = whole_text::diffs(request, &self.tools);
            self.diffs.insert(id, diffs);
        }
        if let Some((call_id, change)) = change_made(&entry.event)
            && let Some(id) = self.card_of(&changes, call_id)
            && !self.diffs.contains_key(&id)
        {
            self.diffs.insert(id, whole_text::made(change, &self.tools));
        }
        let mut updates = Vec::new();
        for id in changes.ids() {
            updates.extend(self.item(id, UserMessages::Known));
        }
        updates.extend(self.facts(&entry.event));
        let asked = request.zip(asked_about).and_then(|(request, id)| {
            Some((whole_update(self.calls.get(&id)?), Box::new(request.clone())))
        });
        DrawnEntry { updates, asked }
    }

    /// Takes the whole log of a session that is shown again. What the conversation has gone back from is left out.
    pub(crate) fn take_past<'a>(&mut self, entries: &'a [LogEntry]) -> ShownPast<'a> {
        let mut asked_about = HashMap::new();
        for entry in entries {
            let changes = self.timeline.apply(entry);
            let request = asked(&entry.event);
            if let Some(request) = request
                && let Some(id) = self.card_of(&changes, &request.step_id)
            {
                asked_about.insert(id, request);
            }
        }
        let items = self.timeline.items();
        let is_plan = |item: &&Item| item.depth == 0 && matches!(item.body, ItemBody::Plan { .. });
        let plan = items.iter().rev().find(is_plan).map(|item| item.id);
        let is_shown = |item: &&Item| {
            let is_earlier_plan =
                matches!(item.body, ItemBody::Plan { .. }) && plan != Some(item.id);
            !item.rewound && !is_earlier_plan
        };
        let ids: Vec<ItemId> = items.iter().filter(is_shown).map(|item| item.id).collect();
        ShownPast { ids: ids.into_iter(), asked: asked_about, is_over: false }
    }

    /// How the next item of the past has ended and, after the last, what is true of the whole session. One after the
    /// other: the texts of all of them together can be many times as long as the log.
    pub(crate) fn next_of(&mut self, past: &mut ShownPast<'_>) -> Option<Vec<SessionUpdate>> {
        if let Some(id) = past.ids.next() {
            if let Some(request) = past.asked.remove(&id) {
                self.diffs.insert(id, whole_text::diffs(request, &self.tools));
            }
            return Some(self.item(id, UserMessages::Shown));
        }
        if std::mem::replace(&mut past.is_over, true) {
            return None;
        }
        let title = self.timeline.facts().title.clone();
        let title = title.map(|title| SessionInfoUpdate::new().title(title));
        Some(title.map(SessionUpdate::SessionInfoUpdate).into_iter().chain(self.usage()).collect())
    }

    /// Takes what a call prints while it runs. Answers with its item if there is a line more.
    pub(crate) fn output(&mut self, call_id: &str, text: &str) -> Option<ItemId> {
        self.timeline.output(call_id, text).ids().next()
    }

    /// Takes a few lines about the result of a call.
    pub(crate) fn preview(&mut self, call_id: &str, lines: &[String]) {
        self.timeline.preview(call_id, lines);
    }

    /// What has changed in a call since the editor was last told.
    pub(crate) fn grown(&mut self, id: ItemId) -> Option<SessionUpdate> {
        self.call(id)
    }

    fn card_of(&self, changes: &ItemChanges, call_id: &str) -> Option<ItemId> {
        let is_meant = |id: &ItemId| {
            self.timeline.item(*id).card().is_some_and(|card| card.call_id == call_id)
        };
        changes.ids().find(is_meant)
    }

    fn item(&mut self, id: ItemId, messages: UserMessages) -> Vec<SessionUpdate> {
        let item = self.timeline.item(id);
        if item.card().is_some() {
            return self.call(id).into_iter().collect();
        }
        // What a sub-agent says is for the agent that has asked it; its calls are shown.
        if item.depth > 0 {
            return Vec::new();
        }
        let is_first = !self.texts.contains_key(&id);
        match &item.body {
            ItemBody::Message(message) if is_first && messages == UserMessages::Shown => {
                let updates = user_message(item, message, &self.timeline);
                self.texts.insert(id, 0);
                updates
            }
            ItemBody::Answer(answer) => {
                let text = answer.text.clone();
                self.chunk(id, &text, SessionUpdate::AgentMessageChunk)
            }
            ItemBody::Thinking { text, .. } => {
                let text = text.clone();
                self.chunk(id, &text, SessionUpdate::AgentThoughtChunk)
            }
            ItemBody::Plan { steps } if is_first => {
                let plan = SessionUpdate::Plan(Plan::new(steps.iter().map(plan_entry).collect()));
                self.texts.insert(id, 0);
                vec![plan]
            }
            ItemBody::Notice(notice) if is_first => {
                let updates = self.notice(item, notice);
                self.texts.insert(id, 0);
                updates
            }
            _ => Vec::new(),
        }
    }

    /// What follows of a text that grows.
    fn chunk(
        &mut self,
        id: ItemId,
        text: &SharedText,
        update: fn(ContentChunk) -> SessionUpdate,
    ) -> Vec<SessionUpdate> {
        let sent = self.texts.entry(id).or_default();
        if text.len() <= *sent {
            return Vec::new();
        }
        let more = text.copied(*sent..text.len());
        *sent = text.len();
        let name = message_id(self.timeline.item(id));
        vec![update(ContentChunk::new(more.into()).message_id(name))]
    }

    fn call(&mut self, id: ItemId) -> Option<SessionUpdate> {
        let item = self.timeline.item(id);
        let card = item.card().filter(|_| !self.over.contains(&id))?;
        let is_over = card.state.is_over();
        let diffs = self.diffs.get(&id).map(Vec::as_slice).unwrap_or_default();
        let images: Vec<&Image> = self.images(card);
        let drawn = DrawnCall { item, card, diffs, images, tools: &self.tools }.whole();
        let update = match self.calls.get(&id) {
            None => Some(SessionUpdate::ToolCall(drawn.clone())),
            Some(before) => what_changed(before, &drawn).map(SessionUpdate::ToolCallUpdate),
        };
        match is_over {
            false => _ = self.calls.insert(id, drawn),
            true => {
                self.over.insert(id);
                self.calls.remove(&id);
                self.diffs.remove(&id);
            }
        }
        update
    }

    fn images(&self, card: &Card) -> Vec<&Image> {
        card.images.iter().filter_map(|image| self.timeline.image(image.hash)).collect()
    }

    /// A notice where the editor shows them; else what the user must know stands in the conversation.
    fn notice(&self, item: &Item, notice: &Notice) -> Vec<SessionUpdate> {
        let Notice { topic, level, text } = notice;
        match topic {
            Topic::Compacted if self.editor.shows_compactions => {
                let name = format!("compaction-{}", item.sequence);
                let update = CompactionUpdate::new(name, CompactionStatus::Completed);
                return vec![SessionUpdate::CompactionUpdate(update)];
            }
            // The answer to the prompt says so.
            Topic::TurnEnd | Topic::Renamed => return Vec::new(),
            _ => {}
        }
        if self.editor.shows_notices {
            let severity = match level {
                Level::Info => NoticeSeverity::Info,
                Level::Warning => NoticeSeverity::Warning,
                Level::Error => NoticeSeverity::Error,
            };
            return vec![SessionUpdate::Notice(EditorNotice::new(severity, text.clone()))];
        }
        match level {
            Level::Info => Vec::new(),
            Level::Warning | Level::Error => {
                let chunk = ContentChunk::new(format!("_{text}_\n\n").into());
                vec![SessionUpdate::AgentMessageChunk(chunk.message_id(message_id(item)))]
            }
        }
    }

    /// What an entry says about the session as a whole.
    fn facts(&self, event: &SessionEvent) -> Option<SessionUpdate> {
        match event {
            SessionEvent::Renamed { .. } => {
                let title = self.timeline.facts().title.clone()?;
                Some(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title)))
            }
            SessionEvent::ModelAnswered(_) | SessionEvent::Compacted(_) => self.usage(),
            _ => None,
        }
    }

    fn usage(&self) -> Option<SessionUpdate> {
        let (used, size) = (self.timeline.turn().context_tokens?, self.window?);
        let cost = self.timeline.facts().cost_usd.map(|dollars| Cost::new(dollars, "USD"));
        Some(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(cost)))
    }
}

/// The guide sees everything, so that there is nothing to tell.
fn known_window(tokens: u64) -> Option<u64> {
    (tokens < u64::MAX).then_some(tokens)
}

/// The question that an event asks, in a sub-agent too.
fn asked(event: &SessionEvent) -> Option<&ApprovalRequest> {
    match event {
        SessionEvent::ApprovalAsked(request) => Some(request),
        SessionEvent::Nested { entry, .. } => asked(&entry.event),
        _ => None,
    }
}

/// The change that a call has made, in a sub-agent too.
fn change_made(event: &SessionEvent) -> Option<(&str, &str)> {
    match event {
        SessionEvent::CallEnded { call_id, result: Ok(value), .. } => {
            Some((call_id, value.get("change_id")?.as_str()?))
        }
        SessionEvent::Nested { entry, .. } => change_made(&entry.event),
        _ => None,
    }
}

fn message_id(item: &Item) -> MessageId {
    let kind = match &item.body {
        ItemBody::Message(_) => "message",
        ItemBody::Thinking { .. } => "thought",
        ItemBody::Notice(_) => "notice",
        _ => "answer",
    };
    MessageId::new(format!("{kind}-{}", item.sequence))
}

fn user_message(item: &Item, message: &UserMessage, timeline: &Timeline) -> Vec<SessionUpdate> {
    let name = message_id(item);
    let words = message.words.as_ref().unwrap_or(&message.text);
    let attached = message.attached.iter().map(|attached| format!("\n[{}]", attached.title));
    let text: String = std::iter::once(words.clone()).chain(attached).collect();
    let images = message.images.iter().filter_map(|image| timeline.image(image.hash));
    let blocks = std::iter::once(ContentBlock::from(text)).chain(images.filter_map(image_block));
    blocks
        .map(|block| ContentChunk::new(block).message_id(name.clone()))
        .map(SessionUpdate::UserMessageChunk)
        .collect()
}

pub(crate) fn image_block(image: &Image) -> Option<ContentBlock> {
    let data = image.base64()?;
    Some(ContentBlock::Image(ImageContent::new(data, image.format.media_type())))
}

fn plan_entry(step: &PlanStep) -> PlanEntry {
    let status = match step.status {
        StepStatus::Pending => PlanEntryStatus::Pending,
        StepStatus::InProgress => PlanEntryStatus::InProgress,
        StepStatus::Done => PlanEntryStatus::Completed,
    };
    PlanEntry::new(step.text.clone(), PlanEntryPriority::Medium, status)
}

/// All of a call as an update, for an editor that may not have kept it.
fn whole_update(call: &ToolCall) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .title(call.title.clone())
        .kind(call.kind)
        .status(call.status)
        .content(call.content.clone())
        .locations(call.locations.clone())
        .raw_input(call.raw_input.clone());
    ToolCallUpdate::new(call.tool_call_id.clone(), fields)
}

/// The parts of a call that are not as they were told.
fn what_changed(before: &ToolCall, now: &ToolCall) -> Option<ToolCallUpdate> {
    let mut fields = ToolCallUpdateFields::new();
    if before.title != now.title {
        fields = fields.title(now.title.clone());
    }
    if before.kind != now.kind {
        fields = fields.kind(now.kind);
    }
    if before.status != now.status {
        fields = fields.status(now.status);
    }
    if before.content != now.content {
        fields = fields.content(now.content.clone());
    }
    if before.locations != now.locations {
        fields = fields.locations(now.locations.clone());
    }
    if before.raw_input != now.raw_input {
        fields = fields.raw_input(now.raw_input.clone());
    }
    let is_empty = fields == ToolCallUpdateFields::new();
    (!is_empty).then(|| ToolCallUpdate::new(now.tool_call_id.clone(), fields))
}
