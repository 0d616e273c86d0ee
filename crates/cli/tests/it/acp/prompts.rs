//! What editors send along with words: images, embedded files and links.

use serde_json::json;
use testkit::Reply;

use super::editor::Desk;
use crate::agent::images::PIXEL;

#[test]
fn files_and_images_reach_the_model() {
    let project = "//- /src/a b.rs\nfn linked() {}\n";
    let desk = Desk::new(project, [Reply::text("I see.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let root = editor.root().display().to_string();
    let prompt = json!([
        {"type": "text", "text": "Look at "},
        {"type": "resource_link", "name": "a b.rs", "uri": format!("file://{root}/src/a%20b.rs")},
        {"type": "text", "text": " and "},
        {"type": "resource", "resource": {"uri": format!("file://{root}/unsaved.rs#L1:2"), "text": "fn embedded() {}"}},
        {"type": "image", "mimeType": "image/png", "data": PIXEL},
        {"type": "resource_link", "name": "passwords", "uri": "file:///etc/passwd"},
    ]);
    let answer = editor.request("session/prompt", json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    let sent = desk.model.calls()[0].clone();
    let text = sent.body["messages"].to_string();
    for expected in [
        "Look at @src/a b.rs and @unsaved.rs#L1:2",
        "fn linked()",
        "fn embedded()",
        "[passwords](file:///etc/passwd)",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(!text.contains("root:x:0"));
    assert_eq!(sent.images().len(), 1);
    // Shown again, what was attached is named.
    editor.request("session/close", json!({"sessionId": session}));
    editor.load(&session);
    let shown: Vec<_> = editor.kind("user_message_chunk").map(|it| &it["content"]).collect();
    assert_eq!(shown[1]["type"], "image");
    assert!(shown[0]["text"].as_str().unwrap().contains("[src/a b.rs"), "{shown:#?}");
}

#[test]
fn what_cannot_be_sent_is_refused_or_told() {
    let desk = Desk::new("//- /a\nx\n", [Reply::text("Hm.")]);
    let mut editor = desk.plain_editor();
    let session = editor.begin();
    let audio = json!([{"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}]);
    let refused = editor.request("session/prompt", json!({"sessionId": session, "prompt": audio}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("audio"), "{refused}");
    let broken = json!([{"type": "image", "mimeType": "image/png", "data": "!!"}]);
    let refused = editor.request("session/prompt", json!({"sessionId": session, "prompt": broken}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("base64"), "{refused}");
    let blob = json!([
        {"type": "text", "text": "See"},
        {"type": "resource", "resource": {"uri": "file:///x.bin", "blob": "AAAA", "mimeType": "application/zip"}},
    ]);
    let answer = editor.request("session/prompt", json!({"sessionId": session, "prompt": blob}));
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert!(editor.words().contains("neither text nor an image"), "{}", editor.words());
    assert_eq!(desk.model.calls().len(), 1);
}
