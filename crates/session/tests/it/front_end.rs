//! The example of a front end, which CONTRIBUTING.md points at, does what it says.

#[allow(dead_code, reason = "the parts for a terminal are not used here")]
#[path = "../../examples/front_end.rs"]
mod example;

use std::sync::{Arc, Mutex};

use protocol::{SessionEvent, TurnEnd};
use session::TurnOutcome;
use testkit::Fixture;
use workspace::{RelPath, Workspace};

use crate::stage::FixedApprover;

#[tokio::test]
async fn the_example_makes_a_change_if_and_only_if_it_is_approved() {
    for (refusal, expected) in [(None, Some("hi\n")), (Some("no"), None)] {
        let project = Fixture::new("//- /notes.txt\nfirst\n");
        let state = project.root().with_file_name("state");
        let tools = example::tools(project.root(), &state).unwrap();
        let shown = Arc::new(Mutex::new(String::new()));
        let show = Arc::clone(&shown);
        let ended = example::converse(
            tools,
            &state,
            r#"/create_file {"path": "hello.txt", "content": "hi\n"}"#,
            Arc::new(FixedApprover(refusal)),
            move |event| {
                if let SessionEvent::TextDelta { text } = event {
                    show.lock().unwrap().push_str(&text.to_string());
                }
            },
        );
        assert_eq!(ended.await.unwrap(), TurnOutcome::Ended(TurnEnd::Done));
        let made = RelPath::parse("hello.txt").unwrap();
        let is_made = Workspace::open(project.root()).unwrap().open_file(&made).is_ok();
        assert_eq!(is_made.then(|| project.read("hello.txt")).as_deref(), expected);
        let says_done = shown.lock().unwrap().contains("Created (change 1)");
        assert_eq!(says_done, expected.is_some(), "{shown:?}");
    }
}
