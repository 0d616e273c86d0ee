//! An answer is seen as it comes.

use super::DrawnChat;
use super::drawn_chat::{gated, rows_of};

#[test]
fn an_answer_is_shown_while_it_is_streamed() {
    let (gate, reply) = gated(&["The first paragraph.\n\n", "The second one.\n\n", "The end."]);
    let mut chat = DrawnChat::start([reply]);
    chat.say("hello");
    gate.pass(1);
    chat.see("The first paragraph.");
    let text = chat.screen.text();
    assert!(!text.contains("The second one."), "{text}");
    gate.open();
    chat.see("The end.");
    chat.wait_ready();
    let text = chat.screen.text();
    assert_eq!(text.matches("The second one.").count(), 1, "{text}");
    chat.leave();
}

#[test]
fn a_word_is_seen_as_far_as_it_has_come() {
    let (gate, reply) = gated(&["A ka", "olin", "ite."]);
    let mut chat = DrawnChat::start([reply]);
    chat.say("hello");
    for seen in ["A ka", "A kaolin", "A kaolinite."] {
        gate.pass(1);
        chat.screen.wait_until(|screen| rows_of(screen).iter().any(|row| row == seen));
    }
    chat.wait_ready();
    let text = chat.screen.text();
    assert_eq!(text.matches("A ka").count(), 1, "{text}");
    chat.leave();
}
