//! How many messages may wait for a session, and how long they may be together.

use protocol::{Content, SharedText};
use session::Inbox;

/// Messages that may wait for a turn, and bytes of them. They are in memory only.
const MOST_QUEUED: usize = 100;
const MOST_QUEUED_BYTES: usize = 96 * 1024 * 1024;

/// Whether one more message may wait. The first may be of any length.
pub(super) fn has_room(inbox: &Inbox, content: &[Content]) -> bool {
    let waiting = inbox.waiting();
    let queued: usize = waiting.iter().map(|message| length(&message.content)).sum();
    waiting.is_empty()
        || (waiting.len() < MOST_QUEUED && queued + length(content) <= MOST_QUEUED_BYTES)
}

fn length(content: &[Content]) -> usize {
    let lengths = content.iter().map(|part| match part {
        Content::Image(image) => image.base64().map_or(0, str::len),
        _ => part.words().map_or(0, SharedText::len),
    });
    lengths.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_goes_with_a_message_takes_room_in_the_queue() {
        let said = Content::Text { text: "said".into() };
        let attached = Content::attached("a.txt", "attached");
        assert_eq!(length(std::slice::from_ref(&said)), 4);
        assert!(length(&[said, attached]) > 4 + "attached".len());
    }
}
