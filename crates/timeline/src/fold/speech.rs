//! What the model says and thinks, piece by piece and as a whole.

use protocol::{Content, ModelAnswer, SharedText};

use super::FoldStep;
use crate::item::{Answer, AnswerState, ItemBody, ItemId, Level, Topic};
use crate::safe_text::{SafeText, safe_shared};
use crate::scope::Streamed;
use crate::turn::text_of;

impl FoldStep<'_> {
    pub(super) fn answer_grows(&mut self, text: &SharedText) {
        self.thinking_ends(self.parent);
        let streamed = self.timeline.scope(self.parent).answer.take();
        let mut streamed = streamed.unwrap_or_else(|| {
            let empty = Answer { text: SharedText::new(), state: AnswerState::Streaming };
            Streamed { id: self.add(ItemBody::Answer(empty)), guard: SafeText::default() }
        });
        if let ItemBody::Answer(answer) = &mut self.timeline.items[streamed.id.0].body {
            let before = answer.text.len();
            streamed.guard.add(text, &mut answer.text);
            if answer.text.len() > before {
                self.changed(streamed.id);
            }
        }
        self.timeline.scope(self.parent).answer = Some(streamed);
    }

    pub(super) fn thinking_grows(&mut self, text: &str) {
        let streamed = self.timeline.scope(self.parent).thinking.take();
        let mut streamed = streamed.unwrap_or_else(|| {
            let id = self.add(ItemBody::Thinking { text: SharedText::new(), took_ms: None });
            Streamed { id, guard: SafeText::default() }
        });
        let text = streamed.guard.push(text);
        self.append(streamed.id, &text);
        self.timeline.scope(self.parent).thinking = Some(streamed);
    }

    /// The whole answer takes the place of its pieces.
    pub(super) fn model_answered(&mut self, answer: &ModelAnswer) {
        self.thinking_ends(self.parent);
        let streamed = self.timeline.scope(self.parent).answer.take();
        let said = text_of(&answer.content);
        let text = safe_shared(&said);
        if streamed.is_some() || !text.is_empty() {
            let whole = ItemBody::Answer(Answer { text, state: AnswerState::Complete });
            match streamed {
                Some(Streamed { id, .. }) => {
                    self.timeline.items[id.0].body = whole;
                    self.changed(id);
                }
                None => {
                    self.add(whole);
                }
            }
        }
        let is_empty = said.is_blank()
            && answer.broken.is_empty()
            && !answer
                .content
                .iter()
                .any(|part| matches!(part, Content::ToolUse(_) | Content::Image(_)));
        if is_empty {
            self.notice(Topic::EmptyAnswer, Level::Info, "(empty answer)".to_owned());
        }
        for part in &answer.content {
            match part {
                Content::ToolUse(call) => self.call_wanted(call),
                Content::Image(image) => {
                    self.keep_image(image);
                }
                _ => {}
            }
        }
    }

    /// Nothing more comes of what is being said.
    pub(super) fn cut_speech(&mut self, parent: Option<ItemId>) {
        self.thinking_ends(parent);
        if let Some(Streamed { id, mut guard }) = self.timeline.scope(parent).answer.take() {
            self.append(id, &guard.finish());
            if let ItemBody::Answer(answer) = &mut self.timeline.items[id.0].body {
                answer.state = AnswerState::Cut;
            }
            self.changed(id);
        }
    }

    fn thinking_ends(&mut self, parent: Option<ItemId>) {
        if let Some(Streamed { id, mut guard }) = self.timeline.scope(parent).thinking.take() {
            self.append(id, &guard.finish());
            let at = self.at;
            let item = &mut self.timeline.items[id.0];
            if let ItemBody::Thinking { took_ms, .. } = &mut item.body {
                *took_ms = Some(u64::try_from(at.saturating_sub(item.at)).unwrap_or_default());
            }
            self.changed(id);
        }
    }

    fn append(&mut self, id: ItemId, more: &str) {
        match &mut self.timeline.items[id.0].body {
            ItemBody::Answer(Answer { text, .. }) | ItemBody::Thinking { text, .. }
                if !more.is_empty() =>
            {
                text.push_str(more);
                self.changed(id);
            }
            _ => {}
        }
    }
}
