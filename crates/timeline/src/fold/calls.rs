//! How a call becomes a card, and what happens to it.

use protocol::{ApprovalRequest, ApprovalResponse, Image, ToolCall, ToolResult};
use serde_json::Map;

use super::FoldStep;
use crate::card::{CallFailure, CallState, Card, harmless_diffs};
use crate::item::{ItemBody, ItemId};
use crate::question::CardQuestion;
use crate::safe_text::one_line;
use crate::{checks, outcome, title};

/// What a call ends with.
pub(super) struct CallEnding<'a> {
    pub(super) result: &'a ToolResult,
    pub(super) text: Option<&'a str>,
    pub(super) images: &'a [Image],
    pub(super) title: Option<&'a str>,
    pub(super) duration_ms: u64,
}

impl FoldStep<'_> {
    /// The model wants to make a call.
    pub(super) fn call_wanted(&mut self, call: &ToolCall) {
        let scope = self.timeline.scope(self.parent);
        let open = scope.card_of(&call.id).filter(|id| scope.open.contains(id));
        let unnamed =
            open.filter(|id| self.timeline.card(*id).is_some_and(|card| card.tool.is_empty()));
        match unnamed {
            Some(id) => self.describe(id, call),
            None => {
                self.add_card(call);
            }
        }
    }

    /// The card of a call. A damaged log may tell of a call that no answer holds; it has a card too.
    pub(super) fn call(&mut self, call_id: &str) -> ItemId {
        match self.timeline.scope(self.parent).card_of(call_id) {
            Some(id) => id,
            None => self.add_card(&ToolCall::new(call_id, "", Map::new())),
        }
    }

    fn add_card(&mut self, call: &ToolCall) -> ItemId {
        let mut card = Card {
            call_id: one_line(&call.id),
            tool: one_line(&call.name),
            arguments: outcome::arguments(&call.arguments),
            ..Card::default()
        };
        card.begins_as(title::made(call));
        let id = self.add(ItemBody::Call(Box::new(card)));
        self.timeline.scope(self.parent).add_card(&call.id, id);
        if self.parent.is_none() {
            self.take_early(id, &call.id);
        }
        id
    }

    /// Output may be faster than the log.
    fn take_early(&mut self, id: ItemId, call_id: &str) {
        let Some(early) = self.timeline.live.early.remove(call_id) else { return };
        self.timeline.live.cutters.insert(id, early.cutter);
        self.timeline.live.previews.insert(id, early.preview);
        if let Some(card) = self.timeline.card(id) {
            card.output = early.output;
        }
    }

    /// Says what a call is about whose card was made without knowing it.
    fn describe(&mut self, id: ItemId, call: &ToolCall) {
        let Some(card) = self.timeline.card(id) else { return };
        if card.tool.is_empty() && !call.name.is_empty() {
            card.tool = one_line(&call.name);
            card.begins_as(title::made(call));
            card.arguments = outcome::arguments(&call.arguments);
            self.changed(id);
        }
    }

    pub(super) fn call_started(&mut self, call_id: &str, title: Option<&str>) {
        let (id, at) = (self.call(call_id), self.at);
        let Some(card) = self.timeline.card(id) else { return };
        if card.state == CallState::Pending {
            card.state = CallState::Running;
            card.started_at = Some(at);
            if let Some(title) = title::given(title) {
                card.begins_as(title);
            }
            self.changed(id);
        }
    }

    pub(super) fn approval_asked(&mut self, request: &ApprovalRequest) {
        let id = self.call(&request.step_id);
        let call = ToolCall::new("", request.tool.clone(), request.args.clone());
        self.describe(id, &call);
        let at = self.at;
        let Some(card) = self.timeline.card(id).filter(|card| !card.state.is_over()) else {
            return;
        };
        let was_asking = card.is_asking();
        card.state = CallState::WaitingForApproval;
        let question = CardQuestion::of(request, at, card.questions.last());
        card.questions.push(question);
        if !request.diffs.is_empty() {
            card.diffs = harmless_diffs(&request.diffs);
        }
        self.changed(id);
        if !was_asking {
            self.waiting_begins(id);
        }
    }

    pub(super) fn approval_answered(&mut self, call_id: &str, response: &ApprovalResponse) {
        let (id, at) = (self.call(call_id), self.at);
        let Some(card) = self.timeline.card(id).filter(|card| card.is_asking()) else { return };
        if let Some(question) = card.questions.last_mut() {
            question.answered(response, at);
        }
        if card.state == CallState::WaitingForApproval {
            card.state = CallState::Running;
            self.waiting_ends(id);
        }
        self.changed(id);
    }

    pub(super) fn call_ended(&mut self, call_id: &str, ended: &CallEnding<'_>) {
        let id = self.call(call_id);
        // The first result stands. One that comes after the turn was interrupted is the first.
        if self.timeline.card(id).is_none_or(|card| card.working_ms.is_some()) {
            return;
        }
        self.interrupt_open(Some(id));
        self.question_ends(id);
        let preview = self.timeline.live.previews.remove(&id).unwrap_or_default();
        let cutter = self.timeline.live.cutters.remove(&id);
        self.timeline.scope(self.parent).close(call_id, id);
        let images = ended.images.iter().map(|image| self.keep_image(image)).collect();
        let Some(card) = self.timeline.card(id) else { return };
        if let Some(mut cutter) = cutter {
            cutter.finish(&mut card.output);
        }
        card.state = CallState::of(ended.result);
        card.working_ms = Some(ended.duration_ms.saturating_sub(card.waiting.total_ms));
        card.images = images;
        if let Some(summary) = title::given(ended.title) {
            card.ends_as(summary);
        }
        match ended.result {
            Err(error) => card.failure = Some(CallFailure::of(error)),
            Ok(value) => {
                card.outcome = if preview.is_empty() { outcome::brief(value) } else { preview };
                card.detail = outcome::detail(value, ended.text);
                card.exit_code = outcome::exit_code(value);
                card.checks = checks::lines(value);
                card.told_diff = outcome::diff(value);
                card.dropped = outcome::dropped(value);
            }
        }
        self.changed(id);
    }

    /// Calls without a result get none, in sub-agents too, and what is being said there has ended.
    pub(super) fn interrupt_open(&mut self, parent: Option<ItemId>) {
        let mut scopes = vec![parent];
        while let Some(parent) = scopes.pop() {
            if parent.is_some_and(|card| !self.timeline.nested.contains_key(&card)) {
                continue;
            }
            self.cut_speech(parent);
            for id in std::mem::take(&mut self.timeline.scope(parent).open) {
                scopes.push(Some(id));
                self.interrupt(id);
            }
        }
    }

    fn interrupt(&mut self, id: ItemId) {
        self.question_ends(id);
        self.timeline.live.previews.remove(&id);
        let cutter = self.timeline.live.cutters.remove(&id);
        if let Some(card) = self.timeline.card(id) {
            if let Some(mut cutter) = cutter {
                cutter.finish(&mut card.output);
            }
            card.state = CallState::Interrupted;
            self.changed(id);
        }
    }

    fn question_ends(&mut self, id: ItemId) {
        let state = self.timeline.card(id).map(|card| card.state);
        if state == Some(CallState::WaitingForApproval) {
            self.waiting_ends(id);
        }
    }

    /// The call waits for the user, and with it every agent that it works for.
    fn waiting_begins(&mut self, id: ItemId) {
        let at = self.at;
        self.timeline.waiting.begin(at);
        self.with_ancestors(id, |card| card.waiting.begin(at));
    }

    fn waiting_ends(&mut self, id: ItemId) {
        let at = self.at;
        self.timeline.waiting.end(at);
        self.with_ancestors(id, |card| card.waiting.end(at));
    }

    fn with_ancestors(&mut self, id: ItemId, change: impl Fn(&mut Card)) {
        let mut next = Some(id);
        while let Some(id) = next {
            self.timeline.card(id).into_iter().for_each(&change);
            self.changed(id);
            next = self.timeline.items[id.0].parent;
        }
    }
}
