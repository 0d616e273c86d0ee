//! `toolkiln chat` as a user at a terminal has it.

use serde_json::json;
use testkit::{Fault, Fixture, ModelServer, Reply};

use crate::pty::{Output, Session};
use crate::run::run_with_state;

const PROMPT: &str = "> ";
const LEAVE: &str = "\x04";

fn project() -> Fixture {
    Fixture::new(
        "//- /src/main.js\nconst db = require('./db');\n\n// TODO: start\n\
         //- /src/db.js\nexports.open = () => 1;\n\
         //- /package.json\n{\"name\": \"kiln-shop\", \"version\": \"1.2.3\"}\n",
    )
}

fn offline(project: &Fixture) -> Session {
    Session::start(project, &["chat", "--provider", "offline"], Output::Terminal)
}

/// A chat with a scripted model.
fn with_model(project: &Fixture, server: &ModelServer) -> Session {
    // Ollama's kind of server needs no key.
    let url = server.base_url();
    let arguments = ["chat", "--provider", "ollama", "--model", "scripted", "--base-url", &url];
    Session::start(project, &arguments, Output::Terminal)
}

#[test]
fn a_request_shows_its_calls_and_the_answer_and_ctrl_d_leaves() {
    let project = project();
    let mut chat = offline(&project);
    chat.answer(PROMPT, "Read package.json and tell me the project name");
    chat.wait_for("kiln-shop");
    assert!(chat.seen.contains("  Read      package.json"), "{}", chat.seen);
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_change_is_shown_approved_and_taken_back_by_undo() {
    let project = project();
    let before = project.read("src/main.js");
    let mut chat = offline(&project);
    chat.answer(PROMPT, "Add a comment to the top of main.js explaining what it does");
    chat.answer("Do it?", "y");
    let diff = chat.seen.find("+//").unwrap();
    chat.wait_for(PROMPT);
    // The card of a call is written when it has ended, once.
    let card = chat.seen.find("  Edited    src/main.js");
    assert!(card.is_some_and(|at| at > diff), "{}", chat.seen);
    assert_eq!(chat.seen.matches("+//").count(), 1, "the question has shown it: {}", chat.seen);
    assert_ne!(project.read("src/main.js"), before);
    chat.press("/undo\n");
    chat.answer("Do it?", "y");
    chat.wait_for("undo: done");
    assert_eq!(project.read("src/main.js"), before);
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn what_was_typed_ahead_is_neither_an_answer_nor_a_message() {
    let project = project();
    let edit = json!({"path": "src/db.js", "content": "exports.open = () => 2;\n"});
    let server = ModelServer::start([
        Reply::call("update_file", edit),
        Reply::text("I leave it as it is."),
        Reply::text("Good day."),
    ]);
    let mut chat = with_model(&project, &server);
    chat.answer(PROMPT, "open is wrong\ny\ny");
    chat.answer("Do it?", "n");
    chat.wait_for("I leave it as it is.");
    assert_eq!(project.read("src/db.js"), "exports.open = () => 1;\n");
    chat.answer(PROMPT, "hello");
    chat.wait_for("Good day.");
    assert_eq!(server.calls()[2].user_texts().last().map(String::as_str), Some("hello"));
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_refusal_with_a_reason_is_what_the_model_hears() {
    let project = project();
    let edit = json!({"path": "src/db.js", "content": "exports.open = () => 2;\n"});
    let server =
        ModelServer::start([Reply::call("update_file", edit), Reply::text("I leave it as it is.")]);
    let mut chat = with_model(&project, &server);
    chat.answer(PROMPT, "open is wrong");
    chat.answer("Do it?", "n it is right");
    chat.wait_for("I leave it as it is.");
    let heard = &server.calls()[1].tool_answers()[0];
    assert!(heard.text.contains("it is right"), "{}", heard.text);
    assert_eq!(project.read("src/db.js"), "exports.open = () => 1;\n");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn ctrl_c_cancels_the_turn_and_again_leaves() {
    let project = project();
    let server = ModelServer::start([Reply::fault(Fault::HangBefore)]);
    let mut chat = with_model(&project, &server);
    chat.answer(PROMPT, "hello?");
    server.watch().wait_for_calls(1);
    chat.interrupt();
    chat.wait_for("cancelled");
    chat.wait_for(PROMPT);
    chat.press("\x03");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn ctrl_c_withdraws_a_question_and_the_next_line_is_a_message() {
    let project = project();
    // Without anything that looks like the prompt: the card may be drawn after the question.
    let edit = json!({"path": "src/db.js", "content": "exports.open = 2;\n"});
    let server = ModelServer::start([Reply::call("update_file", edit), Reply::text("Good day.")]);
    let mut chat = with_model(&project, &server);
    chat.answer(PROMPT, "change it");
    chat.wait_for("Do it?");
    chat.interrupt();
    chat.answer(PROMPT, "never mind");
    chat.wait_for("Good day.");
    assert_eq!(server.calls()[1].user_texts().last().map(String::as_str), Some("never mind"));
    assert_eq!(project.read("src/db.js"), "exports.open = () => 1;\n");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_mentioned_file_goes_with_the_message() {
    let project = project();
    let server = ModelServer::start([Reply::text("I see.")]);
    let mut chat = with_model(&project, &server);
    chat.answer(PROMPT, "what is in @src/db.js?");
    chat.wait_for("I see.");
    let texts = server.calls()[0].user_texts();
    assert!(texts.iter().any(|text| text.contains("exports.open = () => 1;")), "{texts:?}");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_mentioned_image_is_named_and_a_missing_file_too() {
    let project = project();
    let png =
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x01\x08\x02\0\0\0crc.\0\0\0\0IENDcrc.";
    project.write("shot.png", png);
    let server = ModelServer::start([Reply::text("I see.")]);
    let mut chat = with_model(&project, &server);
    chat.answer(PROMPT, "what is in @shot.png and @gone.png?");
    chat.wait_for("attached shot.png (PNG image, 2x1 pixels, ");
    chat.wait_for("gone.png is not attached: ");
    chat.wait_for("scripted is not known to see images");
    chat.wait_for("I see.");
    let texts = server.calls()[0].user_texts().join("\n");
    assert!(texts.contains("[image, not shown: shot.png (PNG image, 2x1 pixels, "), "{texts}");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn model_and_role_change_and_the_session_is_resumed_where_it_stopped() {
    let project = project();
    let server = ModelServer::start([Reply::text("Hello there.")]);
    let mut chat = with_model(&project, &server);
    chat.answer(PROMPT, "good morning");
    chat.wait_for("Hello there.");
    chat.answer(PROMPT, "/role planner");
    chat.wait_for("planner");
    chat.answer(PROMPT, "/model offline");
    chat.wait_for("offline");
    chat.answer(PROMPT, "/rename the first one");
    chat.wait_for("is now called the first one");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);

    let listed = run_with_state(&project, &["sessions", "list"]).stdout;
    assert!(listed.contains("the first one"), "{listed}");
    let arguments = ["chat", "--provider", "offline", "--resume", "the first one"];
    let mut chat = Session::start(&project, &arguments, Output::Terminal);
    chat.wait_for("good morning");
    chat.wait_for("Hello there.");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_model_without_a_price_is_not_changed_to_under_a_budget_in_dollars() {
    let project = project();
    let arguments = ["chat", "--provider", "offline", "--budget-usd", "1"];
    let mut chat = Session::start(&project, &arguments, Output::Terminal);
    chat.answer(PROMPT, "/model ollama:mystery");
    chat.wait_for("the price of mystery is not known");
    chat.answer(PROMPT, "Read package.json and tell me the project name");
    chat.wait_for("kiln-shop");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}

#[test]
fn a_pause_is_continued_or_ended_by_the_next_message() {
    let project = project();
    let read = |path: &str| Reply::call("read_file", json!({"path": path}));
    let server =
        ModelServer::start([read("src/main.js"), read("src/db.js"), Reply::text("Both are read.")]);
    let url = server.base_url();
    let arguments = [
        "chat",
        "--provider",
        "ollama",
        "--model",
        "scripted",
        "--base-url",
        &url,
        "--max-turns",
        "1",
    ];
    let mut chat = Session::start(&project, &arguments, Output::Terminal);
    chat.answer(PROMPT, "read both");
    chat.wait_for("/continue");
    chat.answer(PROMPT, "/continue");
    chat.wait_for("/continue");
    chat.answer(PROMPT, "/continue");
    chat.wait_for("Both are read.");
    chat.wait_for(PROMPT);
    chat.press(LEAVE);
    assert_eq!(chat.end().0, 0);
}
