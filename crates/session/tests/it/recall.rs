//! What was said can be read again by its handle, also by a model that was shown only a part of it.

use protocol::{ErrorCode, SessionEvent};
use serde_json::json;
use session::Session;

use crate::stage::{Reply, Scripted, Stage, calls, result_of, says, send};

fn reads(id: &str, path: &str, offset: u64) -> Reply {
    calls(id, "read_file", json!({"path": path, "offset": offset, "line_numbers": false}))
}

/// The position in the log of the first entry of this kind.
fn position(log: &[protocol::LogEntry], is_meant: fn(&SessionEvent) -> bool) -> u64 {
    log.iter().find(|entry| is_meant(&entry.event)).unwrap().sequence
}

#[tokio::test]
async fn a_message_is_read_in_pages_after_a_resume_too() {
    let whole: String = (1..=9_000).map(|line| format!("item {line}\n")).collect();
    let model =
        Scripted::new("scripted", [says("Long."), reads("r1", "message:2", 8_995), says("Done.")]);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, &whole).await;
    let log = stage.log(&session).await;
    let said = position(&log, |event| matches!(event, SessionEvent::UserMessage { .. }));
    assert_eq!(said, 2);
    let id = session.id().clone();
    session.close().await;

    let (mut session, _) = Session::resume(stage.parts.clone(), id).await.unwrap();
    send(&mut session, "What was at the end?").await;
    let page = result_of(model.requests().last().unwrap(), "r1").unwrap();
    let page = page.as_str().unwrap();
    assert!(page.ends_with("item 8999\nitem 9000\n[of 9000]"), "{page}");
}

#[tokio::test]
async fn results_are_read_as_they_were_and_what_says_nothing_is_not() {
    let list = calls("l1", "list_directory", json!({"path": "."}));
    let model = Scripted::new(
        "scripted",
        [
            list,
            reads("r1", "message:6", 1),
            reads("r2", "message:1", 1),
            reads("r3", "message:999", 1),
            says("Done."),
        ],
    );
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "Look").await;
    let log = stage.log(&session).await;
    assert_eq!(position(&log, |event| matches!(event, SessionEvent::CallEnded { .. })), 6);
    let requests = model.requests();
    let last = requests.last().unwrap();
    let again = result_of(last, "r1").unwrap();
    assert!(again.as_str().unwrap().contains("notes.txt"), "{again}");
    for id in ["r2", "r3"] {
        let error = result_of(last, id).unwrap_err();
        assert_eq!(error.code, ErrorCode::FileNotFound);
        assert!(error.message.starts_with("there is no message at message:"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_sub_agent_reads_its_own_messages() {
    let task = json!({"task": format!("Look into the notes{}", "\nand on".repeat(50))});
    let replies = [
        calls("d1", "delegate", task),
        reads("r1", "message:1", 1),
        reads("r2", "message:5", 1),
        says("Read."),
        says("Done."),
    ];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "Have it looked into").await;
    let requests = model.requests();
    let own = result_of(&requests[3], "r1").unwrap();
    assert!(own.as_str().unwrap().starts_with("Look into the notes\nand on"), "{own}");
    // The result of its first call: what it has just read.
    let result = result_of(&requests[3], "r2").unwrap();
    assert!(result.as_str().unwrap().contains("Look into the notes"), "{result}");
}

#[tokio::test]
async fn a_task_larger_than_the_window_reaches_a_sub_agent_in_part_and_by_its_handle() {
    let task: String = (1..=30_000).map(|line| format!("check item {line}\n")).collect();
    let replies = [
        calls("d1", "delegate", json!({"task": task})),
        reads("r1", "message:1", 20_000),
        says("Checked."),
        // The parent makes room for the result beside its own long call; this is its summary.
        says("A sub-agent has checked."),
        says("Done."),
    ];
    let model = Scripted::new("scripted", replies);
    let mut stage = Stage::new(&model).await;
    stage.parts.model.context_tokens = 24_000;
    let mut session = stage.begin().await;
    send(&mut session, "Have them checked").await;
    let requests = model.requests();
    let shown = serde_json::to_string(&requests[1].messages).unwrap();
    assert!(shown.contains("check item 1\\n") && shown.contains("check item 30000"), "{shown}");
    assert!(shown.contains("read message:1 like a file, from line "), "{shown}");
    let page = result_of(&requests[2], "r1").unwrap();
    assert!(page.as_str().unwrap().starts_with("check item 20000\n"), "{page}");
    // The user's own message is in the parent's last request as it was.
    let last = requests.last().unwrap();
    assert!(
        last.messages
            .iter()
            .any(|message| message.content == crate::stage::message("Have them checked"))
    );
}
