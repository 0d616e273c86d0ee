//! The answers to a question: one key, a reason, an edited text, parts, a comment.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Reply};

use super::LiveChat;
use super::live_chat::{DB, DOWN, ESC, NEW_DB, edit, project};

/// A model that wants one change and then ends its turn.
fn wants(tool: &str, arguments: Value) -> ModelServer {
    ModelServer::start([Reply::call(tool, arguments), Reply::text("I am done.")])
}

fn wants_edit() -> ModelServer {
    let (tool, arguments) = edit();
    wants(tool, arguments)
}

/// What the model was told about its call.
fn told(server: &ModelServer) -> String {
    server.calls()[1].tool_answers()[0].text.clone()
}

/// A chat whose model has been asked.
fn asked(project: &Fixture, server: &ModelServer) -> LiveChat {
    let mut chat = LiveChat::with_model(project, server);
    chat.say("go");
    chat
}

/// Thirty lines, of which two far apart are to change.
fn two_hunks() -> (Fixture, Value) {
    let lines: String = (1..=30).map(|line| format!("line {line}\n")).collect();
    let changed = lines.replace("line 2\n", "zwei\n").replace("line 25\n", "funf\n");
    let project = Fixture::new(&format!("//- /a.txt\n{lines}"));
    (project, json!({"path": "a.txt", "content": changed}))
}

#[test]
fn one_key_answers_without_enter() {
    let (project, server) = (project(), wants_edit());
    let mut chat = asked(&project, &server);
    chat.answers("Edit src/db.js, +1 −1?", "y");
    chat.sees("I am done.");
    assert_eq!(project.read("src/db.js"), NEW_DB);
    assert_eq!(chat.screen.bells(), 1);
}

#[test]
fn a_no_has_a_reason_that_the_model_hears() {
    let (project, server) = (project(), wants_edit());
    let mut chat = asked(&project, &server);
    // The reason may follow as fast as it can be typed.
    chat.answers("Edit src/db.js", "nyes, it is right\r");
    chat.sees("I am done.");
    assert!(told(&server).contains("yes, it is right"), "{}", told(&server));
    assert_eq!(project.read("src/db.js"), DB);
}

#[test]
fn letters_typed_in_a_row_are_text_even_if_they_are_keys() {
    let (project, server) = (project(), wants_edit());
    let mut chat = asked(&project, &server);
    chat.asks("Edit src/db.js");
    // One after the other, each seen by itself: the first opens the rule, the second shows that it was a word.
    chat.press("a");
    chat.sees("for this session");
    chat.press("s you like");
    chat.has_typed("as you like");
    assert_eq!(project.read("src/db.js"), DB);
    // The keys answer again when the box is empty.
    chat.press("\x15");
    chat.answers("y yes", "y");
    chat.sees("I am done.");
    assert_eq!(project.read("src/db.js"), NEW_DB);
}

#[test]
fn the_answer_after_going_back_needs_no_second_try() {
    let (project, server) = (project(), wants_edit());
    let mut chat = asked(&project, &server);
    chat.answers("Edit src/db.js", "n");
    chat.sees("why not:");
    chat.press(ESC);
    chat.answers("y yes", "y");
    chat.sees("I am done.");
    assert_eq!(project.read("src/db.js"), NEW_DB);
}

/// Puts a program beside the project that appends its name to the file it is given.
fn editor(project: &Fixture, name: &str) -> String {
    let path = project.path(format!("../bin/{name}"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\necho '// by {name}' >> \"$1\"\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.canonicalize().unwrap().display().to_string()
}

/// Edits a proposal where these variables name editors, and `vi` and `nano` are installed.
fn edits(named: &[&str], used: &str) {
    let (project, server) = (project(), wants_edit());
    let programs = ["visual", "editor", "nano", "vi"].map(|name| editor(&project, name));
    let path = format!("{}:/usr/bin:/bin", programs[3].strip_suffix("/vi").unwrap());
    let all = [("VISUAL", programs[0].as_str()), ("EDITOR", programs[1].as_str())];
    let mut variables: Vec<(&str, &str)> =
        all.into_iter().filter(|(name, _)| named.contains(name)).collect();
    variables.push(("PATH", &path));
    let mut chat = LiveChat::with_variables(&project, &server, &variables);
    chat.say("go");
    chat.answers("Edit src/db.js, +1 −1?", "e");
    // What was edited is shown before it is written.
    chat.answers("Edit src/db.js, +2 −1?", "y");
    chat.sees("I am done.");
    assert_eq!(project.read("src/db.js"), format!("{NEW_DB}// by {used}\n"));
    assert!(told(&server).contains(&format!("// by {used}")), "{}", told(&server));
}

#[test]
fn e_edits_with_visual() {
    edits(&["VISUAL", "EDITOR"], "visual");
}

#[test]
fn e_edits_with_editor_where_there_is_no_visual() {
    edits(&["EDITOR"], "editor");
}

#[test]
fn e_edits_with_vi_where_no_editor_is_named() {
    edits(&[], "vi");
}

#[test]
fn e_without_any_editor_says_so_and_the_question_stays() {
    let (project, server) = (project(), wants_edit());
    let path = editor(&project, "nano");
    let path = path.strip_suffix("/nano").unwrap();
    let empty = project.path("src").display().to_string();
    let mut chat = LiveChat::with_variables(&project, &server, &[("PATH", &empty)]);
    chat.say("go");
    chat.answers("Edit src/db.js", "e");
    chat.sees("no editor was found: set VISUAL or EDITOR");
    assert_eq!(project.read("src/db.js"), DB);
    drop(chat);
    // Without vi it is nano.
    let server = wants_edit();
    let mut chat = LiveChat::with_variables(&project, &server, &[("PATH", path)]);
    chat.say("go");
    chat.answers("Edit src/db.js, +1 −1?", "e");
    chat.answers("Edit src/db.js, +2 −1?", "y");
    chat.sees("I am done.");
    assert_eq!(project.read("src/db.js"), format!("{NEW_DB}// by nano\n"));
}

#[test]
fn picked_hunks_of_a_file_are_written_and_reported() {
    let (project, arguments) = two_hunks();
    let server = wants("update_file", arguments);
    let mut chat = asked(&project, &server);
    chat.answers("Edit a.txt", "h");
    chat.asks("a.txt  line 25");
    chat.press(" ");
    chat.sees("[ ] a.txt  line 2 ");
    chat.press("\r");
    // What is left is shown before it is written.
    chat.answers("Edit a.txt, +1 −1?", "y");
    chat.sees("I am done.");
    let text = project.read("a.txt");
    assert!(text.contains("line 2\n") && text.contains("funf\n"), "{text}");
    assert!(told(&server).contains("left out 1 of 2 hunks"), "{}", told(&server));
}

/// Leaves the second of two files out, in the list that `key` opens.
fn picks_one_of_two_files(key: &str) {
    let project = Fixture::new("//- /a.txt\none\n//- /b.txt\none\n");
    let change = |path| json!({"path": path, "search": "one", "replace": "two"});
    let changes = json!({"changes": [change("a.txt"), change("b.txt")]});
    let server = wants("apply_changes", changes);
    let mut chat = asked(&project, &server);
    chat.answers("Edit 2 files", key);
    chat.asks("space toggles");
    chat.press(&format!("{DOWN} "));
    chat.sees("[ ] b.txt");
    chat.press("\r");
    chat.answers("Edit a.txt, +1 −1?", "y");
    chat.sees("I am done.");
    let files = (project.read("a.txt"), project.read("b.txt"));
    assert_eq!(files, ("two\n".to_owned(), "one\n".to_owned()));
    assert!(told(&server).contains("left out 1 of 2 hunks"), "{}", told(&server));
}

#[test]
fn the_only_hunk_of_a_file_is_left_out() {
    picks_one_of_two_files("h");
}

#[test]
fn a_whole_file_is_left_out() {
    picks_one_of_two_files("f");
}

#[test]
fn a_comment_on_a_line_reaches_the_model_and_nothing_is_written() {
    let (project, arguments) = two_hunks();
    let server = wants("update_file", arguments);
    let before = project.read("a.txt");
    let mut chat = asked(&project, &server);
    chat.answers("Edit a.txt", "c");
    chat.asks("enter comments it");
    chat.press(DOWN);
    chat.press(DOWN);
    chat.press("\r");
    chat.sees("comment:");
    chat.press("write it in English\r");
    chat.sees("I am done.");
    let told = told(&server);
    assert!(told.contains("a.txt:2: write it in English"), "{told}");
    assert_eq!(project.read("a.txt"), before);
}

#[test]
fn the_whole_diff_is_paged_and_searched() {
    let project = project();
    let lines: String = (1..=200).map(|line| format!("entry {line}\n")).collect();
    let server = wants("create_file", json!({"path": "long.txt", "content": lines}));
    let mut chat = asked(&project, &server);
    chat.asks("long.txt");
    chat.sees("more lines: d");
    chat.press("d");
    chat.asks("q back");
    chat.press(" ");
    chat.no_longer_sees("+ entry 1 ");
    chat.press("/ENTRY 150\r");
    chat.sees("+ entry 150");
    chat.press("G");
    chat.sees("+ entry 200");
    chat.press("/nowhere\r");
    chat.sees("not found: nowhere");
    chat.press("q");
    chat.asks("y yes");
    chat.press("y");
    chat.sees("I am done.");
    assert_eq!(project.read("long.txt"), lines);
}

#[test]
fn esc_withdraws_the_question_and_ends_the_turn() {
    let (project, server) = (project(), wants_edit());
    let mut chat = asked(&project, &server);
    chat.asks("Edit src/db.js");
    chat.press(ESC);
    chat.no_longer_sees("Edit src/db.js");
    chat.is_idle();
    assert_eq!(project.read("src/db.js"), DB);
    assert_eq!(server.calls().len(), 1);
    chat.say("never mind");
    chat.sees("I am done.");
    let calls = server.calls();
    assert_eq!(calls[1].user_texts().last().map(String::as_str), Some("never mind"));
    assert_eq!(project.read("src/db.js"), DB);
}

#[test]
fn ctrl_c_withdraws_a_question_too_and_the_next_line_is_a_message() {
    let (project, server) = (project(), wants_edit());
    let mut chat = asked(&project, &server);
    chat.asks("Edit src/db.js");
    chat.press("\x03");
    chat.is_idle();
    chat.say("never mind");
    chat.sees("I am done.");
    assert_eq!(server.calls()[1].user_texts().last().map(String::as_str), Some("never mind"));
    assert_eq!(project.read("src/db.js"), DB);
}
