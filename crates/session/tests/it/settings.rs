//! Another model or role in the middle, and one process at a time.

use std::sync::Arc;

use insta::assert_snapshot;
use protocol::{AgentRole, Content, SessionEvent};
use serde_json::json;
use session::Session;
use store::{SqliteStore, Store};

use crate::stage::{Scripted, Stage, calls, offered, result_of, says, send};

#[tokio::test]
async fn another_model_goes_on_with_the_same_conversation() {
    let first = Scripted::new(
        "first",
        [calls("c1", "read_file", json!({"path": "notes.txt"})), says("They say first.")],
    );
    let second = Scripted::new("second", [says("As was said: first.")]);
    let stage = Stage::new(&first).await;
    let mut session = stage.begin().await;
    send(&mut session, "What do the notes say?").await;
    session.set_model(second.model()).await.unwrap();
    send(&mut session, "Are you sure?").await;
    let [request] = &second.requests()[..] else { panic!("one request") };
    assert_eq!(request.model, "second-1");
    assert!(result_of(request, "c1").is_ok());
    assert_eq!(request.messages.len(), 5);
    assert_eq!(first.requests().len(), 2);
    let settings = session.context().settings().unwrap();
    assert_eq!((settings.provider.as_str(), settings.model.as_str()), ("second", "second-1"));
    let log = stage.log(&session).await;
    let changed = log.iter().find_map(|entry| match &entry.event {
        SessionEvent::SettingsChanged(settings) => Some(settings),
        _ => None,
    });
    assert_eq!(changed, Some(settings));
}

#[tokio::test]
async fn another_role_has_other_tools_and_other_instructions() {
    let model = Scripted::new("scripted", [says("One."), says("Two.")]);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "First").await;
    session.set_role(AgentRole::Planner).await.unwrap();
    send(&mut session, "Second").await;
    let [before, after] = &model.requests()[..] else { panic!("two requests") };
    assert!(offered(before).contains(&"create_file") && !offered(after).contains(&"create_file"));
    assert!(after.system.contains("You cannot change anything in this role"), "{}", after.system);
}

#[tokio::test]
async fn a_session_that_is_taken_up_with_other_settings_says_so_in_its_log() {
    let first = Scripted::new("first", [says("One.")]);
    let mut stage = Stage::new(&first).await;
    let mut session = stage.begin().await;
    send(&mut session, "Hello").await;
    let id = session.id().clone();
    drop(session);
    let second = Scripted::new("second", [says("Two.")]);
    stage.parts.model = second.model();
    let (mut session, _) = Session::resume(stage.parts.clone(), id).await.unwrap();
    send(&mut session, "And again").await;
    assert_eq!(session.context().settings().unwrap().provider, "second");
    let said: Vec<_> = second.requests()[0]
        .messages
        .iter()
        .flat_map(|message| message.content.clone())
        .filter_map(|content| match content {
            Content::Text { text } => Some(text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["Hello", "One.", "And again"]);
}

#[tokio::test]
async fn two_cannot_have_one_session_open() {
    let model = Scripted::new("scripted", [says("One.")]);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "Hi").await;
    let file = stage.project.root().with_file_name("sessions.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(file).await.unwrap());
    let mut parts = stage.parts.clone();
    parts.store = store;
    let refused = Session::resume(parts, session.id().clone()).await.err().unwrap().to_string();
    let shown = refused.replace(&session.id().to_string(), "ID");
    let shown = shown.replace(&std::process::id().to_string(), "PID");
    assert_snapshot!(shown, @"session ID is open in this process (PID); go on there, or end that process first");
}
