//! What an entry of the log changes in the timeline.

mod calls;
mod speech;

use protocol::{
    AgentRole, Content, ForkPoint, Image, ModelErrorKind, PlanStep, Rewind, SessionEvent, Settings,
    TurnEnd,
};

use crate::item::{AttachedText, Item, ItemBody, ItemId, Level, Notice, Topic, UserMessage};
use crate::notices;
use crate::safe_text::{one_line, safe};
use crate::timeline::{ItemChanges, Timeline};
use crate::turn::{TurnCosts, text_of};
use protocol::Waiting;

/// One entry on its way into the timeline.
pub(crate) struct FoldStep<'a> {
    timeline: &'a mut Timeline,
    at: i64,
    sequence: u64,
    /// The card of the call whose sub-agent the entry is about.
    parent: Option<ItemId>,
    depth: usize,
    pub(crate) changes: ItemChanges,
}

impl<'a> FoldStep<'a> {
    pub(crate) fn new(timeline: &'a mut Timeline, at: i64, sequence: u64) -> Self {
        let changes = timeline.no_changes();
        Self { timeline, at, sequence, parent: None, depth: 0, changes }
    }

    /// The entry is about the sub-agent of this call.
    pub(crate) fn enter(&mut self, call_id: &str) {
        self.parent = Some(self.call(call_id));
        self.depth += 1;
    }

    pub(crate) fn take(&mut self, event: &SessionEvent) {
        match event {
            // `Timeline::apply` has entered it.
            SessionEvent::Nested { .. } => {}
            SessionEvent::UserMessage { content } => self.user_message(content),
            SessionEvent::UserAdded { content } => self.said(content),
            SessionEvent::ModelAsked { .. } => self.cut_speech(self.parent),
            SessionEvent::TextDelta { text } => self.answer_grows(text),
            SessionEvent::ThinkingDelta { text } => self.thinking_grows(text),
            SessionEvent::ModelAnswered(answer) => self.model_answered(answer),
            SessionEvent::ModelFailed { kind, message, retry_in_ms, .. } => {
                self.cut_speech(self.parent);
                // The end of the turn tells of a cancelled request.
                if *kind != ModelErrorKind::Cancelled {
                    let words = notices::model_failed(*kind, message, *retry_in_ms);
                    let level = if retry_in_ms.is_some() { Level::Info } else { Level::Error };
                    self.notice(Topic::ModelFailed, level, words);
                }
            }
            SessionEvent::CallStarted { call_id, title } => {
                self.call_started(call_id, title.as_deref());
            }
            SessionEvent::ApprovalAsked(request) => self.approval_asked(request),
            SessionEvent::ApprovalAnswered { call_id, response } => {
                self.approval_answered(call_id, response);
            }
            SessionEvent::CallEnded {
                call_id, result, text, images, title, duration_ms, ..
            } => {
                let ended = calls::CallEnding {
                    result,
                    text: text.as_deref(),
                    images,
                    title: title.as_deref(),
                    duration_ms: *duration_ms,
                };
                self.call_ended(call_id, &ended);
            }
            SessionEvent::PlanChanged { steps } => self.plan_changed(steps),
            SessionEvent::TurnEnded(end) => self.turn_ended(*end),
            other => self.happened(other),
        }
    }

    /// What becomes a notice, or changes the facts of the session.
    fn happened(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Opened(opened) if self.parent.is_none() => {
                self.timeline.facts.root = one_line(&opened.root);
                self.timeline.facts.settings = Some(harmless(&opened.settings));
                let forked = opened.forked_from.as_ref();
                self.timeline.facts.forked_from = forked.map(|from| ForkPoint {
                    session: one_line(&from.session),
                    sequence: from.sequence,
                });
            }
            SessionEvent::Renamed { title } => {
                let title = one_line(title);
                let words = format!("this session is called {title}");
                if self.parent.is_none() {
                    self.timeline.facts.title = Some(title);
                }
                self.notice(Topic::Renamed, Level::Info, words);
            }
            SessionEvent::SettingsChanged(settings) => {
                if self.parent.is_none() {
                    self.timeline.facts.settings = Some(harmless(settings));
                }
                self.notice(Topic::Settings, Level::Info, notices::settings(settings));
            }
            SessionEvent::ImagesRefused { .. } => {
                let words = "the provider refused images: they are described in words until a model is \
                             chosen again";
                self.notice(Topic::ImagesRefused, Level::Warning, words.to_owned());
            }
            SessionEvent::Nudged { text } => {
                let words = format!("the model was told: {}", one_line(text));
                self.notice(Topic::Nudged, Level::Info, words);
            }
            SessionEvent::Instructed(told) => {
                let remark = told.remark.as_deref();
                let level = if remark.is_some() { Level::Warning } else { Level::Info };
                if let Some(words) = notices::instructions([(told.path.as_str(), remark)]) {
                    self.notice(Topic::Instructions, level, words);
                }
            }
            SessionEvent::Paused(reason) => {
                self.pause_begins();
                self.notice(Topic::Paused, Level::Warning, notices::paused(reason));
            }
            SessionEvent::Continued => self.pause_ends(),
            SessionEvent::Compacted(compaction) => {
                self.notice(Topic::Compacted, Level::Info, notices::compacted(compaction));
            }
            SessionEvent::Rewound(rewind) if self.parent.is_none() => self.rewind(rewind),
            SessionEvent::Repaired { notes } => {
                for note in notes {
                    let words = format!("the log was repaired: {}", one_line(note));
                    self.notice(Topic::Repaired, Level::Warning, words);
                }
            }
            _ => {}
        }
    }

    /// Marks what was taken back. Its costs stay counted.
    fn rewind(&mut self, rewind: &Rewind) {
        self.interrupt_open(None);
        self.pause_ends();
        let said = self.timeline.items.iter().find_map(|item| match &item.body {
            ItemBody::Message(message) if item.sequence == rewind.to => Some(message.text.clone()),
            _ => None,
        });
        for at in (0..self.timeline.items.len()).rev() {
            let item = &mut self.timeline.items[at];
            if item.sequence < rewind.to {
                break;
            }
            if !std::mem::replace(&mut item.rewound, true) {
                let id = item.id;
                self.changed(id);
            }
        }
        let standing = self.timeline.items.iter().rev().find_map(|item| match &item.body {
            ItemBody::Plan { steps } if item.parent.is_none() && !item.rewound => {
                Some(steps.clone())
            }
            _ => None,
        });
        self.timeline.root.plan = standing.unwrap_or_default();
        let words = notices::rewound(rewind, said.as_deref());
        let level = if rewind.kept.is_empty() { Level::Info } else { Level::Warning };
        self.notice(Topic::Rewound, level, words);
    }

    fn user_message(&mut self, content: &[Content]) {
        self.interrupt_open(self.parent);
        if self.parent.is_none() {
            self.timeline.is_paused = false;
            self.timeline.waiting = Waiting::default();
        }
        self.said(content);
    }

    /// The words of the user, with which no other turn begins.
    fn said(&mut self, content: &[Content]) {
        let images = content.iter().filter_map(|part| match part {
            Content::Image(image) => Some(self.keep_image(image)),
            _ => None,
        });
        let images: Vec<Image> = images.collect();
        let (mut said, mut attached, mut has_said) = (Vec::new(), Vec::new(), false);
        for part in content {
            match part {
                Content::Attached { name, text } => {
                    attached.push(attached_text(name, &text.to_string()));
                }
                // Logs of earlier versions hold attached files as further texts.
                Content::Text { text } if has_said => {
                    let text = text.to_string();
                    attached.push(attached_text(name_in(&text), &text));
                }
                _ => {
                    has_said |= matches!(part, Content::Text { .. });
                    said.push(part.clone());
                }
            }
        }
        let text = safe(&text_of(&said).to_string());
        let words = (!images.is_empty()).then(|| {
            let words = content.iter().find(|part| matches!(part, Content::Text { .. }));
            safe(&text_of(words.map(std::slice::from_ref).unwrap_or_default()).to_string())
        });
        self.add(ItemBody::Message(UserMessage { text, words, attached, images }));
    }

    fn plan_changed(&mut self, steps: &[PlanStep]) {
        let step = |step: &PlanStep| PlanStep { text: one_line(&step.text), status: step.status };
        let steps: Vec<PlanStep> = steps.iter().map(step).collect();
        let scope = self.timeline.scope(self.parent);
        if scope.plan != steps {
            scope.plan.clone_from(&steps);
            self.add(ItemBody::Plan { steps });
        }
    }

    fn turn_ended(&mut self, end: TurnEnd) {
        self.interrupt_open(self.parent);
        if let Some(words) = notices::unusual_end(end) {
            self.notice(Topic::TurnEnd, Level::Warning, words.to_owned());
        }
        if self.parent.is_some() {
            return;
        }
        self.pause_ends();
        self.timeline.live.early.clear();
        let turn = &self.timeline.turn;
        let duration_ms = turn.duration_ms();
        let costs = TurnCosts {
            end,
            usage: turn.usage,
            cost_usd: turn.cost_usd,
            context_tokens: turn.context_tokens,
            working_ms: duration_ms.saturating_sub(self.timeline.waiting.until(self.at)),
            duration_ms,
        };
        self.add(ItemBody::Turn(costs));
    }

    /// A sub-agent that reaches a limit does not wait for the user.
    fn pause_begins(&mut self) {
        if self.parent.is_none() && !std::mem::replace(&mut self.timeline.is_paused, true) {
            self.timeline.waiting.begin(self.at);
        }
    }

    fn pause_ends(&mut self) {
        if self.parent.is_none() && std::mem::take(&mut self.timeline.is_paused) {
            self.timeline.waiting.end(self.at);
        }
    }

    fn notice(&mut self, topic: Topic, level: Level, text: String) {
        self.add(ItemBody::Notice(Notice { topic, level, text }));
    }

    fn add(&mut self, body: ItemBody) -> ItemId {
        let id = ItemId(self.timeline.items.len());
        let Self { parent, depth, at, sequence, .. } = *self;
        let rewound = false;
        self.timeline.items.push(Item { id, parent, depth, at, sequence, rewound, body });
        self.timeline.scope(parent).items.push(id);
        self.changed(id);
        id
    }

    fn changed(&mut self, id: ItemId) {
        self.changes.ids.insert(id);
    }

    /// The image with a harmless name. Its bytes are kept to be found by their hash.
    fn keep_image(&mut self, image: &Image) -> Image {
        let mut image = image.clone();
        image.name = one_line(&image.name);
        if image.base64().is_some() {
            self.timeline.images.entry(image.hash).or_insert_with(|| image.clone());
        }
        image
    }
}

fn harmless(settings: &Settings) -> Settings {
    let Settings { provider, model, role } = settings;
    let role = match role {
        AgentRole::Custom { name, permissions } => {
            AgentRole::Custom { name: one_line(name), permissions: *permissions }
        }
        ours => ours.clone(),
    };
    Settings { provider: one_line(provider), model: one_line(model), role }
}

/// What an attached text is, in the words of its first line.
fn name_in(text: &str) -> &str {
    let head = text.lines().next().unwrap_or_default();
    head.strip_prefix("The user attached ").unwrap_or(head).trim_end_matches(':')
}

fn attached_text(name: &str, text: &str) -> AttachedText {
    // The first line says what it is.
    let title = match text.lines().skip(1).count() {
        0 => one_line(name),
        1 => format!("{}, 1 line", one_line(name)),
        lines => format!("{}, {lines} lines", one_line(name)),
    };
    AttachedText { title, text: safe(text) }
}
