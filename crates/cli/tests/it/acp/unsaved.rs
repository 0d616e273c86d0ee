//! What is typed in the editor and not saved is what tools read and edit.

use serde_json::json;
use testkit::{Fixture, Reply};

use super::editor::{Desk, UserAnswer};

const PROJECT: &str = "//- /a.txt\nsaved\nend\n//- /b.txt\nother\n";

fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({"path": path}))
}

fn edit(path: &str, find: &str, replace: &str) -> Reply {
    Reply::call("replace_in_file", json!({"path": path, "find": find, "replace": replace}))
}

#[test]
fn unsaved_text_is_read_and_edited_and_the_editor_writes_it() {
    let desk =
        Desk::new(PROJECT, [read("a.txt"), edit("a.txt", "typed", "better"), Reply::text("Done.")]);
    let mut editor = desk.able_editor();
    editor.type_into("a.txt", "typed\nend\n");
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Improve it"), "end_turn");
    let told = desk.model.calls()[1].tool_answers();
    assert!(told[0].text.contains("typed") && told[0].text.contains("unsaved"), "{told:#?}");
    assert_eq!(desk.project.read("a.txt"), "better\nend\n");
    let written: Vec<&str> = editor.files.iter().map(|(method, _)| method.as_str()).collect();
    assert_eq!(written.iter().filter(|method| **method == "fs/write_text_file").count(), 1);
    let diff = editor.asked[0]["toolCall"]["content"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&diff["oldText"], &diff["newText"]),
        (&json!("typed\nend\n"), &json!("better\nend\n"))
    );
    // It is taken back to what was typed, which was never saved.
    assert_eq!(editor.say(&session, "/undo"), "end_turn");
    assert_eq!(desk.project.read("a.txt"), "typed\nend\n");
}

#[test]
fn a_file_without_unsaved_text_is_written_on_the_disk() {
    let desk = Desk::new(PROJECT, [edit("a.txt", "saved", "better"), Reply::text("Done.")]);
    let mut editor = desk.able_editor();
    let session = editor.begin();
    editor.say(&session, "Improve it");
    assert_eq!(desk.project.read("a.txt"), "better\nend\n");
    assert!(editor.files.iter().all(|(method, _)| method == "fs/read_text_file"));
}

#[test]
fn what_the_editor_formats_is_told_and_read_before_the_next_edit() {
    let replies = [
        edit("a.txt", "typed", "better"),
        edit("a.txt", "better", "best"),
        read("a.txt"),
        edit("a.txt", "better", "best"),
        Reply::text("Done."),
    ];
    let desk = Desk::new(PROJECT, replies);
    let mut editor = desk.able_editor();
    editor.type_into("a.txt", "typed\nend\n");
    editor.formatting = "formatted\n";
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Improve it"), "end_turn");
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told[0].text.contains("the editor saved a.txt otherwise"), "{told:#?}");
    assert_eq!(desk.project.read("a.txt"), "best\nend\nformatted\n");
    // Each change can be taken back.
    editor.say(&session, "/undo");
    editor.say(&session, "/undo");
    assert_eq!(desk.project.read("a.txt"), "typed\nend\n");
}

#[test]
fn what_is_typed_while_the_user_is_asked_makes_the_question_void() {
    let desk = Desk::new(PROJECT, [edit("a.txt", "typed", "better"), Reply::text("So be it.")]);
    let mut editor = desk.able_editor();
    editor.type_into("a.txt", "typed\nend\n");
    editor.answers.push_back(UserAnswer::Silence);
    let session = editor.begin();
    let prompt = editor.begin_saying(&session, "Improve it");
    editor.wait_until(|editor| editor.asked.len() == 1);
    editor.type_into("a.txt", "typed more\nend\n");
    let id = editor.last_question.clone();
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
    editor.write(&json!({"jsonrpc": "2.0", "id": id, "result": yes}));
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(desk.project.read("a.txt"), "saved\nend\n");
    assert_eq!(editor.buffers.values().next().unwrap(), "typed more\nend\n");
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told[0].text.contains("changed in the editor"), "{told:#?}");
}

#[test]
fn what_another_program_saves_while_the_user_is_asked_is_not_written_over() {
    let replies =
        [edit("a.txt", "typed", "better"), edit("a.txt", "typed", "better"), Reply::text("Done.")];
    let desk = Desk::new(PROJECT, replies);
    let mut editor = desk.able_editor();
    editor.type_into("a.txt", "typed\nend\n");
    editor.answers.push_back(UserAnswer::Silence);
    let session = editor.begin();
    let prompt = editor.begin_saying(&session, "Improve it");
    editor.wait_until(|editor| editor.asked.len() == 1);
    desk.project.write("a.txt", "pulled\nend\n");
    let id = editor.last_question.clone();
    let yes = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
    editor.write(&json!({"jsonrpc": "2.0", "id": id, "result": yes}));
    editor.wait_until(|editor| editor.asked.len() == 2);
    let told = desk.model.calls()[1].tool_answers();
    assert!(told[0].text.contains("changed on the disk, beneath the unsaved text"), "{told:#?}");
    // The call that is made in the knowledge of it is the user's to decide.
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(desk.project.read("a.txt"), "better\nend\n");
    let written = editor.files.iter().filter(|(method, _)| method == "fs/write_text_file");
    assert_eq!(written.count(), 1);
}

#[test]
fn several_files_are_changed_together_by_disk_and_editor() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-typed\n+better\n*** Update File: b.txt\n-other\n+another\n*** End Patch";
    let desk = Desk::new(
        PROJECT,
        [Reply::call("apply_changes", json!({"patch": patch})), Reply::text("Done.")],
    );
    let mut editor = desk.able_editor();
    editor.type_into("a.txt", "typed\nend\n");
    let session = editor.begin();
    assert_eq!(editor.say(&session, "Improve both"), "end_turn");
    assert_eq!(desk.project.read("a.txt"), "better\nend\n");
    assert_eq!(desk.project.read("b.txt"), "another\n");
}

#[test]
fn an_editor_that_only_reads_has_its_user_save_first() {
    let desk = Desk::new(PROJECT, [edit("a.txt", "typed", "better"), Reply::text("So be it.")]);
    let mut editor = desk.editor(json!({"fs": {"readTextFile": true}}));
    editor.type_into("a.txt", "typed\nend\n");
    let session = editor.begin();
    editor.say(&session, "Improve it");
    assert_eq!(desk.project.read("a.txt"), "saved\nend\n");
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told[0].text.contains("unsaved changes in the editor"), "{told:#?}");
}

#[test]
fn a_setting_has_the_editor_write_everything() {
    let mut desk = Desk::new(
        PROJECT,
        [
            edit("a.txt", "saved", "better"),
            Reply::call("create_file", json!({"path": "c.txt", "content": "new\n"})),
            Reply::text("Done."),
        ],
    );
    desk.config = Some(Fixture::new("//- /toolkiln/config.toml\n[editor]\nwrites = \"all\"\n"));
    let mut editor = desk.able_editor();
    let session = editor.begin();
    editor.say(&session, "Write");
    let written = editor.files.iter().filter(|(method, _)| method == "fs/write_text_file").count();
    assert_eq!(written, 2);
    assert_eq!(
        (desk.project.read("a.txt"), desk.project.read("c.txt")),
        ("better\nend\n".into(), "new\n".into())
    );
    editor.say(&session, "/undo");
    assert!(!desk.project.path("c.txt").exists());
    editor.say(&session, "/undo");
    assert_eq!(desk.project.read("a.txt"), "saved\nend\n");
}

#[test]
fn line_endings_of_the_file_are_kept() {
    let desk = Desk::new("//- /a.txt\nx\n", [edit("a.txt", "two", "three"), Reply::text("Done.")]);
    desk.project.write("a.txt", "one\r\nend\r\n");
    let mut editor = desk.able_editor();
    // Editors tell texts with line feeds.
    editor.type_into("a.txt", "two\nend\n");
    let session = editor.begin();
    editor.say(&session, "Count");
    assert_eq!(desk.project.read("a.txt"), "three\r\nend\r\n");
}

#[test]
fn the_editor_is_never_asked_for_what_lies_outside() {
    let project = "//- /a.txt\nx\n//- /out symlink=../secret.txt\n";
    let desk = Desk::new(
        project,
        [read("out"), read("../secret.txt"), read("/etc/passwd"), Reply::text("Done.")],
    );
    std::fs::write(desk.project.root().with_file_name("secret.txt"), "secret").unwrap();
    let mut editor = desk.able_editor();
    let session = editor.begin();
    editor.say(&session, "Read");
    assert_eq!(editor.files, []);
    let told = desk.model.calls().last().unwrap().tool_answers();
    assert!(told.iter().all(|answer| !answer.text.contains("secret\n")), "{told:#?}");
}
