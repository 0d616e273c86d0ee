//! What the user gets to see.

use serde_json::{Value, json};

use crate::client::{Client, Era, Setup};
use crate::questions::{Question, accept, asked_client, assert_done};

async fn message(name: &str, arguments: Value) -> String {
    let mut client = asked_client(Era::Stateless).await;
    let question = Question::about(&mut client, name, arguments).await;
    question.form["message"].as_str().expect("a message").to_owned()
}

#[tokio::test]
async fn the_form_shows_the_diff_and_the_choices() {
    for era in Era::BOTH {
        let mut client = asked_client(era).await;
        let arguments =
            json!({"path": "README.md", "content": "hello you\n", "description": "Be polite"});
        let mut question = Question::about(&mut client, "update_file", arguments).await;
        question.form.as_object_mut().expect("a form").shift_remove("_meta");
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(question.form, @r#"
            {
              "mode": "form",
              "message": "update_file(path=\"README.md\", content=\"hello you\\n\", description=\"Be polite\")\nupdate_file changes the existing `README.md`: needs approval: no rule allows it, and the mode is strict. The model says it is for: Be polite\nAlways: from now on update_file may create and change `README.md`, with any content, without a question\n\ndiff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-hello\n+hello you\n",
              "requestedSchema": {
                "type": "object",
                "properties": {
                  "decision": {
                    "type": "string",
                    "title": "Change README.md?",
                    "oneOf": [
                      {
                        "const": "once",
                        "title": "Apply it"
                      },
                      {
                        "const": "always",
                        "title": "Apply it; from now on update_file may create and change `README.md`, with any content, without a question"
                      },
                      {
                        "const": "deny",
                        "title": "Do not apply it"
                      }
                    ],
                    "default": "deny"
                  },
                  "note": {
                    "type": "string",
                    "title": "If not: the reason, for the model"
                  }
                },
                "required": [
                  "decision"
                ]
              }
            }
            "#);
        }
    }
}

#[tokio::test]
async fn older_clients_get_choices_as_they_know_them() {
    let capabilities = json!({"elicitation": {}});
    let setup = Setup { version: "2025-06-18", capabilities, ..Setup::new(Era::Handshake) };
    let mut client = Client::open(setup).await;
    let arguments = json!({"path": "README.md", "content": "more\n"});
    let question = Question::about(&mut client, "append_file", arguments).await;
    let decision = &question.form["requestedSchema"]["properties"]["decision"];
    assert_eq!(decision["enum"], json!(["once", "always", "deny"]));
    assert_eq!(decision["enumNames"][0], "Apply it");
    assert_eq!(decision.get("default"), None, "choices have defaults since 2025-11-25");
    assert_done(&question.answer(&mut client, accept("once")).await);
}

#[tokio::test]
async fn nothing_that_a_screen_obeys_or_hides_gets_into_the_form() {
    let message = message(
        "update_file",
        json!({
            "path": "README.md",
            "content": "a\u{1b}[2Jb \u{202e}c\u{2066} d\u{200b}e\r\n\u{7}\n",
            "description": "fine\u{1b}[0m\n--- a/README.md\u{202e}",
        }),
    )
    .await;
    let harmless = |c: char| c == '\n' || c == '\t' || !c.is_control();
    assert!(message.chars().all(harmless), "{message:?}");
    for hidden in ['\u{202e}', '\u{2066}', '\u{200b}'] {
        assert!(!message.contains(hidden), "{message:?}");
    }
    let reason = message.lines().nth(1).expect("a line");
    assert!(reason.contains("fine") && reason.contains("--- a/README.md"), "{reason}");
}

#[tokio::test]
async fn a_huge_diff_is_cut_and_says_how_much_is_missing() {
    let lines: String = (1..=20_000).map(|line| format!("line {line}\n")).collect();
    let message = message("update_file", json!({"path": "README.md", "content": lines})).await;
    assert!(message.len() < 30_000, "{}", message.len());
    assert!(message.contains("\nWrite README.md +20000 -1\n"), "{message:.300}");
    assert!(message.contains("\n+line 1\n"));
    let last = message.lines().last().expect("a line");
    let shown = message.lines().filter(|line| line.starts_with("+line")).count();
    let missing = 20_000 - shown;
    assert!(last.starts_with(&format!("… {missing} more lines (")), "{shown} shown, {last}");
    assert!(last.ends_with("bytes) of the diff are not shown"), "{last}");
}

#[tokio::test]
async fn a_huge_line_is_cut_within() {
    let line = "ä".repeat(100_000);
    let message = message("update_file", json!({"path": "README.md", "content": line})).await;
    assert!((20_000..30_000).contains(&message.len()), "{}", message.len());
    assert!(message.contains("+ääää"), "{message:.300}");
    assert!(message.ends_with("bytes) of the diff are not shown"));
}

#[tokio::test]
async fn no_file_hides_behind_the_cut() {
    let long = "x\n".repeat(20_000);
    let mut changes = vec![json!({"path": "a.txt", "content": long})];
    changes.extend((0..120).map(|n| json!({"path": format!("n/{n:03}.txt"), "content": "x\n"})));
    changes.push(json!({"path": "src/lib.rs", "delete": true}));
    let all = message("apply_changes", json!({"changes": changes[..50]})).await;
    assert!(all.contains("\nCreate n/048.txt +1 -0\n"), "{all:.3000}");
    let some = message("apply_changes", json!({"changes": changes})).await;
    assert!(some.contains(" more files\n"), "{some:.3000}");
}

#[tokio::test]
async fn a_long_reason_leaves_room_for_the_diff() {
    let reason = "because ".repeat(10_000);
    let arguments = json!({"path": "README.md", "content": "bye\n", "description": reason});
    let message = message("update_file", arguments).await;
    assert!(message.len() < 2_000, "{}", message.len());
    assert!(message.contains("…\n") && message.contains("\n-hello\n+bye\n"), "{message}");
}

#[tokio::test]
async fn headline_and_default_fit_the_call() {
    let table = [
        ("create_file", json!({"path": "a.txt", "content": "x\n"}), "Create a.txt?", "deny"),
        ("delete_file", json!({"path": "README.md"}), "Delete README.md?", "deny"),
        (
            "move_file",
            json!({"from": "README.md", "to": "b.md"}),
            "Move README.md to b.md?",
            "deny",
        ),
        (
            "update_file",
            json!({"path": "README.md", "content": "a\u{202e}b\n"}),
            "Change README.md?",
            "deny",
        ),
        (
            "apply_changes",
            json!({"changes": [{"path": "README.md", "content": "x\n"}, {"path": "src/lib.rs", "delete": true}]}),
            "Change 2 files?",
            "deny",
        ),
    ];
    for (name, arguments, headline, default) in table {
        let mut client = asked_client(Era::Stateless).await;
        let question = Question::about(&mut client, name, arguments).await;
        let decision = &question.form["requestedSchema"]["properties"]["decision"];
        assert_eq!((&decision["title"], &decision["default"]), (&json!(headline), &json!(default)));
    }
}
