//! Whole panels as they look, with the diff open.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use terminal::{DEAD_TIME, LiveStyle, QuestionPanel, columns};

use super::*;

const WIDTHS: [usize; 3] = [60, 100, 200];
/// Rows that a panel may take.
const ROWS: usize = 16;

/// The panel after some keys, pressed slowly.
fn panel(request: &ApprovalRequest, width: usize, keys: &str) -> String {
    let style = OutputStyle::terminal(width).without_colours();
    let mut now = Instant::now();
    let mut panel = QuestionPanel::open(panel_question(request, style, (1, 1)), now, None);
    for key in keys.chars() {
        now += DEAD_TIME;
        panel.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE), now, true);
    }
    let drawn = panel.draw(LiveStyle { width, colour: false }, ROWS, true);
    assert!(drawn.lines.iter().all(|line| columns(line) <= width), "{drawn:#?}");
    drawn.lines.join("\n")
}

/// The panel with the diff at all widths.
fn panels(request: &ApprovalRequest) -> String {
    WIDTHS.map(|width| panel(request, width, "d")).join("\n")
}

fn two_files() -> ApprovalRequest {
    let cart =
        "class Cart {\n  total(): string {\n    let sum = 0;\n    return sum.toString();\n  }\n}\n";
    let new_cart = "class Cart {\n  total(): string {\n    const sum = this.sum();\n    return sum.toFixed(2);\n  }\n}\n";
    let mut request = changes(vec![
        edit_of("src/cart.ts", cart, new_cart),
        edit_of("test/cart.test.ts", "test()\n", "test()\nexpect(cart.total())\n"),
    ]);
    request.remembers = Some("from now on apply_changes may change `src/cart.ts`".into());
    request
}

#[test]
fn an_edit_of_two_files() {
    insta::assert_snapshot!(panels(&two_files()), @"");
}

#[test]
fn an_edit_before_a_key_is_pressed_and_while_parts_are_picked() {
    let request = ApprovalRequest {
        is_routine: false,
        reason: "apply_changes changes the existing `src/cart.ts`: needs approval because of rule 1 (ask * on src/) from your configuration.".into(),
        ..two_files()
    };
    let modes = ["", "f", "h", "a", "c"].map(|keys| panel(&request, 60, keys));
    insta::assert_snapshot!(modes.join("\n"), @"");
}

#[test]
fn a_new_file() {
    let request =
        changes(vec![make_dir("src"), create("src/run.sh", b"#!/bin/sh\nexec \x1b[2J\n")]);
    insta::assert_snapshot!(panels(&request), @"");
}

#[test]
fn a_deletion() {
    insta::assert_snapshot!(panels(&changes(vec![delete("old.txt", "one\ntwo\n")])), @"");
}

#[test]
fn a_rename() {
    insta::assert_snapshot!(panels(&changes(vec![rename("src/a.rs", "src/b.rs")])), @"");
}

#[test]
fn a_command_with_changes() {
    let mut request = changes(vec![edit_of("a.rs", "fn a(){}\n", "fn a() {}\n")]);
    request.tool = "bash".into();
    request.args.insert("command".into(), json!("cargo fmt\necho done"));
    insta::assert_snapshot!(panels(&request), @"");
}

#[test]
fn a_commit_shows_no_shell_of_ours() {
    let shown =
        "Commit 1 file to main\n\n    Round totals\n\nsrc/cart.ts +1 -1\n\n@@ -1 +1 @@\n-a\n+b\n";
    let spec = CommandSpec {
        shown: Some(shown.into()),
        writable: vec![".git".into()],
        ..shell("git read-tree HEAD; git commit-tree secret-internals")
    };
    let drawn = panels(&command(spec));
    assert!(!drawn.contains("commit-tree"));
    insta::assert_snapshot!(drawn, @"");
}

#[test]
fn a_binary_file() {
    insta::assert_snapshot!(panels(&changes(vec![create("logo.png", b"\x89PNG\0\0\x1b[2J")])), @"");
}

#[test]
fn a_huge_diff() {
    const LINES: usize = 20_000;
    let old: String = (0..LINES).map(|n| format!("let a{n} = {n};\n")).collect();
    let new: String = (0..LINES).map(|n| format!("let b{n} = {n};\n")).collect();
    insta::assert_snapshot!(panels(&changes(vec![edit_of("src/table.rs", &old, &new)])), @"");
}
