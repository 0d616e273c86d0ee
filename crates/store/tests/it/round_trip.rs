//! Whatever is written comes back, from the file and from an export, and can be forked anywhere.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use protocol::{Compaction, ErrorCode, LogEntry, PlanStep, SessionEvent, StepStatus, ToolError};
use serde_json::{Value, json};
use store::Store;

use crate::events::{answers, approval, asked, asks_to_write, done, ended, opened, says};
use crate::stage::Stage;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| json!(f64::from(number) / 8.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn event() -> impl Strategy<Value = SessionEvent> {
    let id = "[abc]";
    prop_oneof![
        any::<String>().prop_map(|text| says(&text)),
        any::<String>().prop_map(|text| SessionEvent::TextDelta { text: text.into() }),
        any::<String>().prop_map(|title| SessionEvent::Renamed { title }),
        Just(asked()),
        Just(done()),
        Just(SessionEvent::Continued),
        (id, value()).prop_map(|(id, value)| answers(&[(&id, "grep", json!({ "x": value }))])),
        id.prop_map(|call_id| SessionEvent::CallStarted { call_id, title: None }),
        (id, value()).prop_map(|(id, value)| ended(&id, Ok(value))),
        (id, any::<String>())
            .prop_map(|(id, text)| ended(&id, Err(ToolError::new(ErrorCode::Timeout, text)))),
        (id, any::<String>()).prop_map(|(id, path)| asks_to_write(&id, &path)),
        id.prop_map(|id| approval(&id, crate::events::yes())),
        any::<String>().prop_map(|text| SessionEvent::PlanChanged {
            steps: vec![PlanStep { text, status: StepStatus::Done }]
        }),
        (any::<u32>(), any::<String>()).prop_map(|(through, summary)| {
            let through = u64::from(through);
            SessionEvent::Compacted(Compaction { through, summary, ..Compaction::default() })
        }),
        (id, any::<String>()).prop_map(|(call_id, text)| {
            let entry = Box::new(LogEntry { sequence: 1, at: 2, event: says(&text) });
            SessionEvent::Nested { call_id, entry }
        }),
    ]
}

/// Takes whatever there is to it, on one store of each kind for all cases.
fn hold<T: std::fmt::Debug>(
    cases: impl Strategy<Value = T>,
    stage: Option<Stage>,
    is_true: impl AsyncFn(&dyn Store, T) -> Result<(), TestCaseError>,
) {
    let Some(stage) = stage else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let store = runtime.block_on(stage.open());
    let mut runner = TestRunner::new(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let done = runner.run(&cases, |case| runtime.block_on(is_true(&*store, case)));
    done.unwrap_or_else(|error| panic!("{error}"));
}

const CASES: u32 = 48;

fn batches() -> impl Strategy<Value = (Vec<Vec<SessionEvent>>, u64)> {
    (prop::collection::vec(prop::collection::vec(event(), 1..6), 1..6), 0_u64..40)
}

async fn survive(
    store: &dyn Store,
    (batches, at): (Vec<Vec<SessionEvent>>, u64),
) -> Result<(), TestCaseError> {
    let id = store.create(&opened()).await.unwrap();
    let mut written = Vec::new();
    for batch in batches {
        written.extend(store.append(&id, batch).await.unwrap());
    }
    let loaded = store.load(&id).await.unwrap();
    prop_assert!(loaded.damage.is_empty(), "{:?}", loaded.damage);
    prop_assert_eq!(&loaded.entries[1..], &written[..]);

    let text = store.export(&id).await.unwrap();
    let imported = store.import(&text).await.unwrap();
    prop_assert!(imported.damage.is_empty(), "{:?}", imported.damage);
    let copy = store.load(&imported.id).await.unwrap();
    prop_assert_eq!(&copy, &loaded);

    let fork = store.fork(&id, Some(at)).await.unwrap();
    // Positions are handles: they lead to the same entries in a copy.
    for entry in &store.load(&fork).await.unwrap().entries {
        let alone = store.entry(&fork, entry.sequence).await.unwrap();
        prop_assert_eq!(alone.as_ref(), Some(entry));
    }
    prop_assert_eq!(store.entry(&fork, u64::MAX).await.unwrap(), None);
    let fork = store.load(&fork).await.unwrap();
    prop_assert!(fork.damage.is_empty(), "{:?}", fork.damage);
    prop_assert!(fork.entries.len() as u64 <= at.max(1));
    prop_assert_eq!(&fork.entries[1..], &loaded.entries[1..fork.entries.len()]);
    store.stats(&Default::default()).await.unwrap();
    store.favourites().await.unwrap();
    Ok(())
}

#[test]
fn events_survive_the_file_an_export_and_a_fork() {
    hold(batches(), Some(Stage::sqlite()), survive);
}

#[test]
fn events_survive_the_server_an_export_and_a_fork() {
    hold(batches(), Stage::postgres(), survive);
}

fn texts() -> impl Strategy<Value = (String, Vec<String>)> {
    (".{0,200}", prop::collection::vec(".{0,40}", 0..6))
}

async fn import(
    store: &dyn Store,
    (text, lines): (String, Vec<String>),
) -> Result<(), TestCaseError> {
    prop_assert!(store.import(&text).await.is_err());
    let id = store.create(&opened()).await.unwrap();
    let good = store.export(&id).await.unwrap();
    let imported = store.import(&format!("{good}{}", lines.join("\n"))).await.unwrap();
    prop_assert!(!store.load(&imported.id).await.unwrap().entries.is_empty());
    Ok(())
}

#[test]
fn any_text_is_imported_into_a_file_or_refused() {
    hold(texts(), Some(Stage::sqlite()), import);
}

#[test]
fn any_text_is_imported_into_a_server_or_refused() {
    hold(texts(), Stage::postgres(), import);
}
