//! A conversation as every provider wants it: speakers take turns, answers to calls come first,
//! nothing is empty, no turn ends with a thought, and no provider sees the blocks of another.

use std::borrow::Cow;
use std::sync::Arc;

use context_manager::{ModelRequest, ToolListing, ToolSpec};
use protocol::{Content, Image, Message, Speaker, ToolResult};
use serde_json::Value;

/// What one side says until the other side speaks.
#[derive(Debug, PartialEq)]
pub(crate) enum WireTurn<'a> {
    /// The user, and the tools on their machine.
    User {
        /// Answers to the calls of the turn before.
        results: Vec<CallAnswer<'a>>,
        said: Vec<UserPart<'a>>,
    },
    /// The model.
    Assistant(Vec<&'a Content>),
}

#[derive(Debug, PartialEq)]
pub(crate) struct CallAnswer<'a> {
    pub(crate) id: &'a str,
    pub(crate) result: &'a ToolResult,
    /// Images that belong to it, or words in their place.
    pub(crate) images: Vec<UserPart<'a>>,
    /// Tools that the model has found with this call and that the request does not list plainly.
    pub(crate) found: Vec<&'a ToolSpec>,
    /// Whether the call was one for tools, by means of the provider.
    pub(crate) is_search: bool,
}

/// A piece of what the user says.
#[derive(Debug, PartialEq)]
pub(crate) enum UserPart<'a> {
    Text(Cow<'a, str>),
    /// An image whose bytes are there.
    Image(&'a Image),
}

impl<'a> UserPart<'a> {
    /// An image, or a description of it for a model that does not get to see it.
    fn of_image(image: &'a Image, shows_images: bool) -> Self {
        match image.base64() {
            Some(_) if shows_images => UserPart::Image(image),
            _ => UserPart::Text(format!("[image, not shown: {image}]").into()),
        }
    }

    pub(crate) fn is_image(&self) -> bool {
        matches!(self, UserPart::Image(_))
    }
}

impl CallAnswer<'_> {
    /// The result as one text, for providers that cannot mark an error, with descriptions of images
    /// that are not shown.
    pub(crate) fn text(&self) -> String {
        self.images.iter().fold(result_text(self.result), |text, image| match image {
            UserPart::Text(description) => format!("{text}\n{description}"),
            UserPart::Image(_) => text,
        })
    }

    pub(crate) fn shown(&self) -> impl Iterator<Item = &UserPart<'_>> {
        self.images.iter().filter(|part| part.is_image())
    }
}

/// A turn, and the messages that it was made of.
#[derive(Debug, PartialEq)]
pub(crate) struct Placed<'a> {
    pub(crate) turn: WireTurn<'a>,
    /// The first of the messages, by its index.
    pub(crate) first: usize,
    /// The last of them.
    pub(crate) last: usize,
}

/// The turns of a request to `provider`.
pub(crate) fn turns<'a>(request: &'a ModelRequest, provider: &str) -> Vec<WireTurn<'a>> {
    let placed = placed_turns(&request.messages, provider, request);
    placed.into_iter().map(|placed| placed.turn).collect()
}

/// The turns that some messages of a request make for `provider`.
pub(crate) fn placed_turns<'a>(
    messages: &'a [Arc<Message>],
    provider: &str,
    request: &'a ModelRequest,
) -> Vec<Placed<'a>> {
    let mut turns = WireTurns {
        placed: Vec::new(),
        thoughts: Vec::new(),
        index: 0,
        shows_images: request.shows_images,
        request,
        finder: request.tools.iter().find(|tool| tool.listing == ToolListing::Finder),
    };
    for (index, message) in messages.iter().enumerate() {
        turns.index = index;
        for content in &message.content {
            turns.add(message, content, provider);
        }
    }
    turns.placed
}

/// Turns as far as the message with this index.
struct WireTurns<'a> {
    placed: Vec<Placed<'a>>,
    /// Blocks of the provider after which the model has said nothing yet, with the indexes of their
    /// messages. If it never does, they are left out: Anthropic refuses a message that ends in a
    /// thought, and OpenAI a thought without "its required following item".
    thoughts: Vec<(usize, &'a Content)>,
    index: usize,
    shows_images: bool,
    request: &'a ModelRequest,
    /// The tool by which the model asks for others, where its provider knows such tools.
    finder: Option<&'a ToolSpec>,
}

impl<'a> WireTurns<'a> {
    /// Calls are the model's, answers and attached files are the user's, whatever message they were found in.
    fn add(&mut self, message: &Message, content: &'a Content, provider: &str) {
        match content {
            Content::Text { text } if text.is_blank() => {}
            Content::Text { .. } if message.role == Speaker::Assistant => self.assistant(content),
            Content::Text { text } | Content::Attached { text, .. } => {
                self.user(|_, said| said.push(UserPart::Text(text.to_string().into())));
            }
            Content::Image(image) => {
                let part = UserPart::of_image(image, self.shows_images);
                self.user(|_, said| said.push(part));
            }
            Content::ToolResult { tool_use_id, result, images, found_tools } => {
                let shows = self.shows_images;
                let images = images.iter().map(|image| UserPart::of_image(image, shows)).collect();
                let deferred = |tool: &&ToolSpec| {
                    tool.listing == ToolListing::OnDemand && found_tools.contains(&tool.name)
                };
                let found = match found_tools.is_empty() {
                    true => Vec::new(),
                    false => self.request.tools.iter().filter(deferred).collect(),
                };
                let is_search = self.is_search(tool_use_id);
                let answered = CallAnswer { id: tool_use_id, result, images, found, is_search };
                self.user(|results, _| results.push(answered));
            }
            Content::Opaque { provider: owner, .. } if owner != provider => {}
            Content::Opaque { .. } => self.thoughts.push((self.index, content)),
            Content::ToolUse(_) => self.assistant(content),
        }
    }

    /// Whether the call with this id was one for tools. It is looked for in the whole request, since
    /// the turns may begin after it.
    fn is_search(&self, id: &str) -> bool {
        let Some(finder) = self.finder else { return false };
        let contents = self.request.messages.iter().rev().flat_map(|message| &message.content);
        let mut calls = contents.filter_map(|content| match content {
            Content::ToolUse(call) => Some(call),
            _ => None,
        });
        calls.find(|call| call.id == id).is_some_and(|call| call.name == finder.name)
    }

    /// Adds to the model's turn at the end, after the thoughts that led there.
    fn assistant(&mut self, content: &'a Content) {
        let is_assistant = |turn: &WireTurn<'_>| matches!(turn, WireTurn::Assistant(_));
        let thoughts = std::mem::take(&mut self.thoughts);
        for (index, content) in thoughts.into_iter().chain([(self.index, content)]) {
            let turn = self.last(index, is_assistant, || WireTurn::Assistant(Vec::new()));
            if let WireTurn::Assistant(parts) = turn {
                parts.push(content);
            }
        }
    }

    /// Adds to the user's turn at the end.
    fn user(&mut self, add: impl FnOnce(&mut Vec<CallAnswer<'a>>, &mut Vec<UserPart<'a>>)) {
        self.thoughts.clear();
        let is_user = |turn: &WireTurn<'_>| matches!(turn, WireTurn::User { .. });
        let index = self.index;
        let turn =
            self.last(index, is_user, || WireTurn::User { results: Vec::new(), said: Vec::new() });
        if let WireTurn::User { results, said } = turn {
            add(results, said);
        }
    }

    /// The turn at the end if it is of the right kind, or a new one; the message with this index
    /// belongs to it.
    fn last(
        &mut self,
        index: usize,
        fits: impl Fn(&WireTurn<'_>) -> bool,
        new: impl FnOnce() -> WireTurn<'a>,
    ) -> &mut WireTurn<'a> {
        if !self.placed.last().is_some_and(|placed| fits(&placed.turn)) {
            self.placed.push(Placed { turn: new(), first: index, last: index });
        }
        let end = self.placed.len() - 1;
        self.placed[end].last = index;
        &mut self.placed[end].turn
    }
}

fn result_text(result: &ToolResult) -> String {
    match result {
        Ok(Value::String(text)) => text.clone(),
        Ok(value) => value.to_string(),
        Err(error) => format!("Error: {}", error.full_message()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::empty_request;

    fn message(role: Speaker, content: Vec<Content>) -> Arc<Message> {
        Arc::new(Message { role, content })
    }

    fn text(text: &str) -> Content {
        Content::Text { text: text.into() }
    }

    fn thought(provider: &str) -> Content {
        Content::Opaque { provider: provider.into(), block: json!({"of": provider}) }
    }

    #[test]
    fn a_thought_is_sent_back_only_to_its_provider_and_before_something() {
        let messages = [
            message(Speaker::User, vec![text("a")]),
            message(Speaker::Assistant, vec![thought("mine")]),
            message(Speaker::User, vec![text("b")]),
            message(Speaker::Assistant, vec![thought("mine"), thought("theirs")]),
            message(Speaker::Assistant, vec![text("c"), thought("mine")]),
            message(Speaker::User, vec![text("d")]),
            message(Speaker::Assistant, vec![thought("mine")]),
        ];
        let mine = thought("mine");
        let request = ModelRequest { messages: messages.into(), ..empty_request() };
        let turns = placed_turns(&request.messages, "mine", &request);
        let shown: Vec<_> = turns.iter().map(|placed| (placed.first, placed.last)).collect();
        assert_eq!(shown, [(0, 2), (3, 4), (5, 5)]);
        let said = ["a", "b"].map(|text| UserPart::Text(text.to_string().into()));
        assert_eq!(turns[0].turn, WireTurn::User { results: Vec::new(), said: said.into() });
        assert_eq!(turns[1].turn, WireTurn::Assistant(vec![&mine, &text("c")]));
    }
}
