//! Going back to an earlier message.

use protocol::{Content, SessionEvent};
use serde_json::json;
use session::{RewindFiles, RewindPoint, Session};

use crate::stage::{Scripted, Stage, calls, message, says, send};

fn words(points: &[RewindPoint]) -> Vec<String> {
    let texts = points.iter().flat_map(|point| &point.content);
    texts
        .filter_map(
            |it| if let Content::Text { text } = it { Some(text.to_string()) } else { None },
        )
        .collect()
}

fn add(id: &str, line: &str) -> crate::stage::Reply {
    calls(id, "append_file", json!({"path": "notes.txt", "content": line}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_from_before_the_message() {
    let replies = [says("One."), says("Two."), says("Other."), says("On.")];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    assert_eq!(session.rewind_points().await.unwrap(), []);
    send(&mut session, "first").await;
    send(&mut session, "second").await;
    let used = session.context().usage();
    let points = session.rewind_points().await.unwrap();
    assert_eq!(words(&points), ["first", "second"]);
    let (point, _) = session.rewind(points[1].sequence, RewindFiles::Keep).await.unwrap();
    assert_eq!(point.content, message("second"));
    assert_eq!(session.context().usage(), used, "what was spent stays counted");
    assert_eq!(words(&session.rewind_points().await.unwrap()), ["first"]);
    send(&mut session, "otherwise").await;
    let said: Vec<_> = model.requests()[2].messages.iter().map(|it| it.content.clone()).collect();
    assert_eq!(said, [message("first"), message("One."), message("otherwise")]);
    // The log still has all of it, and reading it again leads to the same.
    let (id, now) = (session.id().clone(), session.context().messages());
    session.close().await;
    let (mut again, _) = Session::resume(stage.parts.clone(), id.clone()).await.unwrap();
    assert_eq!(again.context().messages(), now);
    let gone = again.rewind(points[1].sequence, RewindFiles::Keep).await.err().unwrap();
    assert_eq!(
        gone.to_string(),
        format!(
            "entry {} is not a message that the conversation can go back to",
            points[1].sequence
        )
    );
    let fork = stage.store.fork(&id, None).await.unwrap();
    let (fork, _) = Session::resume(stage.parts.clone(), fork).await.unwrap();
    assert_eq!(fork.context().messages(), now);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_back_as_one_change_but_for_those_that_others_have_changed() {
    let second = calls("c2", "create_file", json!({"path": "new.txt", "content": "new\n"}));
    let replies = [add("c1", "kept\n"), says("1"), add("c3", "gone\n"), second, says("2")];
    let model = Scripted::new("scripted", replies);
    let stage = Stage::new(&model).await;
    let mut session = stage.begin().await;
    send(&mut session, "first").await;
    send(&mut session, "second").await;
    assert_eq!(stage.project.read("notes.txt"), "first\nkept\ngone\n");
    stage.project.write("new.txt", "mine\n");
    let points = session.rewind_points().await.unwrap();
    let (_, rewind) = session.rewind(points[1].sequence, RewindFiles::Restore).await.unwrap();
    assert_eq!(rewind.restored, ["notes.txt"]);
    assert_eq!(rewind.kept, ["new.txt"]);
    assert_eq!(stage.project.read("notes.txt"), "first\nkept\n");
    assert_eq!(stage.project.read("new.txt"), "mine\n");
    let log = stage.log(&session).await;
    assert!(matches!(&log.last().unwrap().event, SessionEvent::Rewound(it) if *it == rewind));
}
