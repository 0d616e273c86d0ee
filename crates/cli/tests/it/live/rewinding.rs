//! Going back to an earlier message, with what was changed since or without it.

use testkit::{Fixture, ModelServer, Reply};

use super::LiveChat;
use super::live_chat::{DB, DOWN, ESC, NEW_DB, edit, project};

/// A chat in which the second of two messages has changed a file.
fn changed() -> (Fixture, ModelServer, LiveChat) {
    let project = project();
    let (tool, arguments) = edit();
    let server = ModelServer::start([
        Reply::text("Good day."),
        Reply::call(tool, arguments),
        Reply::text("Changed."),
        Reply::text("Once more."),
    ]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("hello");
    chat.sees("Good day.");
    chat.is_idle();
    chat.say("change it");
    chat.answers("Edit src/db.js", "y");
    chat.sees("Changed.");
    chat.is_idle();
    (project, server, chat)
}

/// Says something else instead of the second message, which is in the box again.
fn says_otherwise(chat: &mut LiveChat, server: &ModelServer) {
    chat.has_typed("change it");
    chat.press(" better\r");
    chat.sees("Once more.");
    let said = server.calls()[3].user_texts();
    assert!(said.first().is_some_and(|text| text == "hello"), "{said:?}");
    let last = said.last().cloned().unwrap_or_default();
    assert!(last.ends_with("change it better"), "{said:?}");
    assert!(!said.iter().any(|text| text == "change it"), "{said:?}");
}

#[test]
fn esc_esc_goes_back_with_the_files() {
    let (project, server, mut chat) = changed();
    chat.press(ESC);
    chat.sees("esc again goes back to an earlier message");
    chat.press(ESC);
    chat.sees("Go back to before");
    // The newest message is the one that is mostly meant.
    chat.press("\r");
    chat.sees("conversation and files");
    chat.press("\r");
    chat.sees("Restored: src/db.js");
    assert_eq!(project.read("src/db.js"), DB);
    says_otherwise(&mut chat, &server);
}

#[test]
fn rewind_goes_back_without_the_files() {
    let (project, server, mut chat) = changed();
    chat.say("/rewind");
    chat.sees("Go back to before");
    chat.press("\r");
    chat.sees("conversation only");
    chat.press(&format!("{DOWN}\r"));
    chat.sees("Back to before that message.");
    assert_eq!(project.read("src/db.js"), NEW_DB);
    says_otherwise(&mut chat, &server);
    assert_eq!(project.read("src/db.js"), NEW_DB);
}

#[test]
fn a_list_that_is_closed_changes_nothing() {
    let (project, _server, mut chat) = changed();
    for closes_at_files in [false, true] {
        chat.say("/rewind");
        chat.sees("Go back to before");
        if closes_at_files {
            chat.press("\r");
            chat.sees("conversation only");
        }
        chat.press(ESC);
        chat.no_longer_sees("Go back");
        chat.is_idle();
    }
    assert_eq!(project.read("src/db.js"), NEW_DB);
}
