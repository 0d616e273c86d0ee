//! Readers of everything that a process writes.

use std::sync::{Arc, Mutex};

use protocol::LogEntry;
use session::{LogObserver, Session};
use store::SessionId;

use crate::stage::{Scripted, Stage, says, send};

/// What was told: moments in a few words each, and all entries.
#[derive(Default)]
struct Notes {
    moments: Mutex<Vec<String>>,
    entries: Mutex<Vec<LogEntry>>,
}

impl LogObserver for Notes {
    fn taken_up(&self, _: &SessionId, entries: &[LogEntry]) {
        self.moments.lock().unwrap().push(format!("taken up with {} entries", entries.len()));
    }

    fn written(&self, _: &SessionId, entries: &[LogEntry]) {
        self.entries.lock().unwrap().extend_from_slice(entries);
    }

    fn left(&self, _: &SessionId) {
        self.moments.lock().unwrap().push("left".to_owned());
    }
}

#[tokio::test]
async fn an_observer_is_told_the_whole_log_once_and_of_who_has_it() {
    let model = Scripted::new("scripted", [says("Hello."), says("Still here.")]);
    let mut stage = Stage::new(&model).await;
    let notes = Arc::<Notes>::default();
    stage.parts.observers.push(notes.clone());
    let mut session = stage.begin().await;
    send(&mut session, "Hi").await;
    let id = session.id().clone();
    let first = stage.log(&session).await;
    assert_eq!(*notes.entries.lock().unwrap(), first);
    session.close().await;
    let (mut session, _) = Session::resume(stage.parts.clone(), id).await.unwrap();
    send(&mut session, "And now?").await;
    let second = stage.log(&session).await;
    assert_eq!(*notes.entries.lock().unwrap(), second);
    drop(session);
    let taken_up = format!("taken up with {} entries", first.len());
    assert_eq!(*notes.moments.lock().unwrap(), ["left", taken_up.as_str(), "left"]);
}
