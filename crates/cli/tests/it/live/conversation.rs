//! Messages, changes, and what leads through a session.

use serde_json::json;
use testkit::live_screen::Signal;
use testkit::{Fault, ModelServer, Reply};

use super::LiveChat;
use super::live_chat::{CTRL_C, DB, NEW_DB, chat_command, edit, project};
use crate::run::run_with_state;

#[test]
fn a_request_shows_its_calls_and_the_answer_and_ctrl_d_leaves() {
    let project = project();
    let mut chat = LiveChat::offline(&project);
    chat.say("Read package.json and tell me the project name");
    chat.sees("kiln-shop");
    chat.is_idle();
    let text = chat.leave();
    assert!(text.contains("  Read      package.json"), "{text}");
    assert!(text.contains("Go on later: toolkiln resume "), "{text}");
}

#[test]
fn a_chat_in_which_nothing_was_said_is_not_kept() {
    let project = project();
    let mut chat = LiveChat::offline(&project);
    chat.say("/help");
    chat.sees("list the commands and keys");
    chat.is_idle();
    let shown = chat.leave();
    assert!(!shown.contains("toolkiln resume"), "{shown}");
    let listed = run_with_state(&project, &["sessions", "list", "--json"]).stdout;
    assert_eq!(listed.trim(), "[]");
}

#[test]
fn a_change_is_shown_approved_and_taken_back_by_undo() {
    let project = project();
    let (tool, arguments) = edit();
    let server = ModelServer::start([
        Reply::call(tool, arguments),
        Reply::text("Done."),
        Reply::text("I see."),
    ]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("open is wrong");
    chat.asks("Edit src/db.js, +1 −1?");
    chat.sees("+ exports.open = () => 2;");
    assert_eq!(project.read("src/db.js"), DB);
    chat.press("y");
    chat.sees("Done.");
    chat.is_idle();
    assert_eq!(project.read("src/db.js"), NEW_DB);
    chat.say("/undo");
    chat.answers("Edit src/db.js, +1 −1?", "y");
    chat.sees("Undid change ");
    chat.sees(": src/db.js");
    chat.is_idle();
    assert_eq!(project.read("src/db.js"), DB);
    chat.say("what now?");
    chat.sees("I see.");
    chat.is_idle();
    let said = server.calls()[2].user_texts().join("\n");
    assert!(
        said.contains("The user has used undo. Undid change ") && said.contains("src/db.js"),
        "{said}"
    );
    let text = chat.leave();
    assert!(text.contains("  Rewrote   src/db.js"), "{text}");
    assert_eq!(text.matches("+ exports.open = () => 2;").count(), 1, "questions go: {text}");
    assert!(!text.contains("y yes"), "{text}");
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
    assert_eq!(chat.screen.changed_modes(), [""; 0]);
}

#[test]
fn mentioned_files_and_images_go_along_and_a_missing_one_is_told() {
    let project = project();
    project.write("shot.png", super::PNG);
    let server = ModelServer::start([Reply::text("I see."), Reply::text("I saw.")]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("what is in @src/db.js?");
    chat.sees("I see.");
    chat.is_idle();
    let texts = server.calls()[0].user_texts();
    assert!(texts.iter().any(|text| text.contains("exports.open = () => 1;")), "{texts:?}");
    chat.say("what is in @shot.png and @gone.png?");
    chat.sees("attached shot.png (PNG image, 2x1 pixels, ");
    chat.sees("gone.png is not attached: ");
    chat.sees("scripted is not known to see images");
    chat.sees("I saw.");
    let texts = server.calls()[1].user_texts().join("\n");
    assert!(texts.contains("[image, not shown: shot.png (PNG image, 2x1 pixels, "), "{texts}");
}

#[test]
fn model_and_role_change_and_the_session_is_resumed_where_it_stopped() {
    let project = project();
    let server = ModelServer::start([Reply::text("Hello there.")]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("good morning");
    chat.sees("Hello there.");
    chat.is_idle();
    chat.say("/role planner");
    chat.sees("· planner · /help");
    chat.say("/model offline");
    chat.sees("toolkiln · offline");
    chat.say("/rename the first one");
    chat.sees("is now called the first one");
    chat.is_idle();
    chat.leave();

    let listed = run_with_state(&project, &["sessions", "list"]).stdout;
    assert!(listed.contains("the first one"), "{listed}");
    let arguments = ["--provider", "offline", "--resume", "the first one"];
    let mut chat = LiveChat::start(&chat_command(&project, &arguments));
    chat.sees("good morning");
    chat.sees("Hello there.");
    chat.is_idle();
    chat.leave();
}

#[test]
fn a_model_is_picked_from_the_list_of_the_server() {
    let project = project();
    let server = ModelServer::start([Reply::text("Hello."), Reply::text("Hello again.")])
        .with_models(&["scripted", "other-one", "third"]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("/model");
    chat.sees("other-one");
    // What is typed narrows the list.
    chat.press("othe");
    chat.no_longer_sees("third");
    chat.press("\r");
    chat.sees("toolkiln · other-one");
    chat.is_idle();
    chat.say("good morning");
    chat.sees("Hello.");
    assert_eq!(server.calls()[0].body["model"], "other-one");
}

#[test]
fn a_model_without_a_price_is_not_changed_to_under_a_budget_in_dollars() {
    let project = project();
    let arguments = ["--provider", "offline", "--budget-usd", "1"];
    let mut chat = LiveChat::start(&chat_command(&project, &arguments));
    chat.say("/model ollama:mystery");
    chat.sees("the price of mystery is not known");
    chat.is_idle();
    chat.say("Read package.json and tell me the project name");
    chat.sees("kiln-shop");
}

#[test]
fn a_pause_is_continued_or_ended_by_the_next_message() {
    let project = project();
    let read = |path: &str| Reply::call("read_file", json!({"path": path}));
    let server = ModelServer::start([
        read("src/main.js"),
        read("src/db.js"),
        Reply::text("Both are read."),
        read("package.json"),
        Reply::text("As you like."),
    ]);
    let mut chat = LiveChat::with_arguments(&project, &server, &["--max-turns", "1"]);
    for (said, calls) in [("read both", 1), ("/continue", 2)] {
        chat.say(said);
        server.watch().wait_for_calls(calls);
        chat.screen
            .wait_until(|screen| screen.contents().matches("/continue goes on").count() == calls);
        chat.is_idle();
    }
    chat.say("/continue");
    chat.sees("Both are read.");
    chat.is_idle();
    chat.say("and the package");
    chat.screen.wait_until(|screen| screen.contents().matches("/continue goes on").count() == 3);
    chat.is_idle();
    chat.say("never mind");
    chat.sees("As you like.");
    assert_eq!(server.calls()[4].user_texts().last().map(String::as_str), Some("never mind"));
}

#[test]
fn a_terminal_that_hangs_up_ends_the_turn_and_the_chat() {
    let project = project();
    let server = ModelServer::start([Reply::fault(Fault::HangBefore)]);
    let mut chat = LiveChat::with_model(&project, &server);
    chat.say("hello?");
    server.watch().wait_for_calls(1);
    chat.screen.signal(Signal::HUP);
    server.watch().wait_for_abandoned(1);
    assert_eq!(chat.screen.wait_exit(), 128 + 1);
    assert_eq!(chat.screen.changed_modes(), [""; 0]);
}
