//! Images in a conversation: what they take, how many are shown, and how a log holds each once.

use std::sync::Arc;

use protocol::{Content, Image, ImageTokens, Message, SessionEvent, TokenCount};

use crate::conversation::Unit;

/// The most images of a request. Anthropic takes more of them, but then none above 2000 pixels.
const MOST_IMAGES: usize = 20;
/// The most bytes of the images of a request, as encoded: in Base64 that is 27 of the 32 megabytes
/// that Anthropic takes at once, which is the smallest such limit.
const MOST_BYTES: u64 = 20 * 1000 * 1000;

/// What a message is thought to take for a model that sees images at these rates, or none.
pub(crate) fn message_tokens(message: &Message, sight: Option<ImageTokens>) -> u64 {
    let json = |message: &Message| {
        let mut count = TokenCount::default();
        // Messages are plain data, and counting never fails.
        let _ = serde_json::to_writer(&mut count, message);
        count.tokens() as u64
    };
    if images(&message.content).next().is_none() {
        return json(message);
    }
    let mut bare = message.clone();
    for image in images_mut(&mut bare.content) {
        *image = image.without_data();
    }
    json(&bare) + tokens_of(images(&message.content), sight)
}

/// What images are thought to take beside the words about them.
pub(crate) fn tokens_of<'a>(
    images: impl IntoIterator<Item = &'a Image>,
    sight: Option<ImageTokens>,
) -> u64 {
    let Some(sight) = sight else { return 0 };
    let shown = images.into_iter().filter(|image| image.base64().is_some());
    shown.map(|image| sight.count(image.width, image.height)).sum()
}

/// All images of a message.
pub(crate) fn images(content: &[Content]) -> impl DoubleEndedIterator<Item = &Image> {
    content.iter().flat_map(|content| match content {
        Content::Image(image) => std::slice::from_ref(image),
        Content::ToolResult { images, .. } => images,
        _ => &[],
    })
}

fn images_mut(content: &mut [Content]) -> impl DoubleEndedIterator<Item = &mut Image> {
    content.iter_mut().flat_map(|content| match content {
        Content::Image(image) => std::slice::from_mut(image),
        Content::ToolResult { images, .. } => images,
        _ => &mut [],
    })
}

/// How much of the images of a conversation is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    images: usize,
    bytes: u64,
}

impl Extent {
    fn add(&mut self, image: &Image) {
        self.images += 1;
        self.bytes = self.bytes.saturating_add(image.size);
    }

    fn with(mut self, image: &Image) -> Self {
        self.add(image);
        self
    }

    fn fits(self, part: u64) -> bool {
        self.images as u64 <= MOST_IMAGES as u64 / part && self.bytes <= MOST_BYTES / part
    }
}

/// Leaves out the bytes of the oldest images if there are more than a request can hold: half of what
/// is allowed stays, so that the beginning of the conversation does not change again with the very
/// next image. The newest unit may fill all of it. An image without its bytes is described in words.
pub(crate) fn bound(units: &mut [Unit]) {
    let mut all = Extent::default();
    let messages = units.iter().flat_map(Unit::messages);
    messages.flat_map(|message| images(&message.content)).for_each(|image| {
        if image.base64().is_some() {
            all.add(image);
        }
    });
    if all.fits(1) {
        return;
    }
    let mut kept = Extent::default();
    for (age, unit) in units.iter_mut().rev().enumerate() {
        let part = if age == 0 { 1 } else { 2 };
        for message in unit.messages_mut().rev() {
            if images(&message.content).next().is_none() {
                continue;
            }
            let shown = images_mut(&mut Arc::make_mut(message).content).rev();
            for image in shown.filter(|image| image.base64().is_some()) {
                match kept.with(image) {
                    more if more.fits(part) => kept = more,
                    _ => *image = image.without_data(),
                }
            }
        }
    }
}

/// The image of a conversation with the same bytes as `wanted`.
fn shown(units: &[Unit], wanted: &Image) -> Option<Image> {
    units.iter().flat_map(Unit::messages).find_map(|message| {
        let same = |image: &&Image| image.hash == wanted.hash && image.base64().is_some();
        images(&message.content).find(same).cloned()
    })
}

/// An event as it is written down, without the bytes of images that `units` show already: the log
/// holds them once.
pub(crate) fn thinned(mut event: SessionEvent, units: &[Unit]) -> SessionEvent {
    for image in event.images_mut() {
        if shown(units, image).is_some() {
            *image = image.without_data();
        }
    }
    event
}

/// An event with the bytes that it had before it was [`thinned`]; none if it has all of its own.
pub(crate) fn filled(event: &SessionEvent, units: &[Unit]) -> Option<SessionEvent> {
    let has_images = match event {
        SessionEvent::UserMessage { content } | SessionEvent::UserAdded { content } => {
            images(content).next().is_some()
        }
        SessionEvent::CallEnded { images, .. } => !images.is_empty(),
        _ => false,
    };
    if !has_images {
        return None;
    }
    let (mut event, mut changed) = (event.clone(), false);
    for image in event.images_mut().into_iter().filter(|image| image.base64().is_none()) {
        if let Some(whole) = shown(units, image) {
            *image = image.with_data_of(&whole);
            changed = true;
        }
    }
    changed.then_some(event)
}
