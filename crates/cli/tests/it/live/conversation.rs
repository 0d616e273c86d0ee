//! Messages, changes, and what leads through a session.

use serde_json::json;
use testkit::{Fault, ModelServer, Reply};

use super::LiveChat;
use super::live_chat::{CTRL_C, DB, edit, project};

#[test]
fn a_request_shows_its_calls_and_the_answer_and_ctrl_d_leaves() {
    let project = project();
    let mut chat = LiveChat::offline(&project);
    chat.say("Read package.json and tell me the project name");
    chat.sees("kiln-shop");
    chat.is_idle();
    let text = chat.leave();
    assert!(text.contains("Read      package.json"), "{text}");
    eprintln!("{text}");
}

#[test]
fn a_change_is_shown_approved_and_taken_back_by_undo() {
    let project = project();
    let (tool, arguments) = edit();
    let server = ModelServer::start([Reply::call(tool, arguments), Reply::text("Done.")]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("open is wrong");
    chat.asks("src/db.js");
    eprintln!("{}", chat.screen.look(|s| s.contents()));
    chat.press("y");
    chat.sees("Done.");
    chat.is_idle();
    assert_eq!(project.read("src/db.js"), "exports.open = () => 2;\n");
    eprintln!("{}", chat.screen.look(|s| s.contents()));
    chat.say("/undo");
    chat.answers("src/db.js", "y");
    chat.sees("undo: done");
    chat.is_idle();
    assert_eq!(project.read("src/db.js"), DB);
    eprintln!("{}", chat.screen.look(|s| s.contents()));
    chat.leave();
}

#[test]
fn ctrl_c_cancels_the_turn_and_again_leaves() {
    let project = project();
    let server = ModelServer::start([Reply::fault(Fault::HangBefore)]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("hello?");
    server.watch().wait_for_calls(1);
    chat.press(CTRL_C);
    server.watch().wait_for_abandoned(1);
    chat.sees("ctrl-c again leaves");
    chat.is_idle();
    chat.press(CTRL_C);
    assert_eq!(chat.screen.wait_exit(), 0);
    let _ = json!(1);
}
