//! A session is in the store once something happens in it.

use protocol::AgentRole;
use session::Session;
use store::{ListFilter, SessionInfo, StoreError};

use crate::stage::{Scripted, Stage, says, send, story};

async fn listed(stage: &Stage) -> Vec<SessionInfo> {
    stage.store.list(&ListFilter::default()).await.unwrap()
}

#[tokio::test]
async fn a_session_that_is_left_before_anything_is_said_was_never_there() {
    let model = Scripted::new("scripted", []);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    session.set_role(AgentRole::Planner).await.unwrap();
    assert!(!session.is_stored().await);
    session.close().await;
    assert_eq!(listed(&stage).await, []);
}

#[tokio::test]
async fn the_first_message_puts_it_there_with_the_settings_it_was_said_with() {
    let model = Scripted::new("scripted", [says("Hello.")]);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    session.set_role(AgentRole::Planner).await.unwrap();
    send(&mut session, "Hi").await;
    let [info] = listed(&stage).await.try_into().unwrap();
    assert_eq!((&info.id, info.role), (session.id(), Some(AgentRole::Planner)));
    let log = stage.log(&session).await;
    let names = story(&log);
    let names: Vec<&str> = names.lines().take(3).collect();
    assert_eq!(names, ["opened", "user_message", "model_asked"]);
    assert!((1..).zip(&log).all(|(at, entry)| entry.sequence == at));
    // As ever, it is open once at a time, and can be taken up when it is left.
    let id = session.id().clone();
    let second = Session::resume(stage.parts.clone(), id.clone()).await.err().unwrap();
    assert!(
        second.to_string().contains("in use") || second.to_string().contains("open"),
        "{second}"
    );
    session.close().await;
    let (again, damage) = Session::resume(stage.parts.clone(), id).await.unwrap();
    assert_eq!((damage.len(), again.context().messages().len()), (0, 2));
}

#[tokio::test]
async fn a_name_puts_it_there_too() {
    let model = Scripted::new("scripted", []);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    let missing = stage.store.load(session.id()).await;
    assert!(matches!(missing, Err(StoreError::NotFound { .. })));
    session.rename("Prices").await.unwrap();
    let [info] = listed(&stage).await.try_into().unwrap();
    assert_eq!((info.title.as_deref(), info.held_by.is_some()), (Some("Prices"), true));
    drop(session);
    assert!(listed(&stage).await[0].held_by.is_none(), "the lease ends with the session");
}
