//! Whatever is written comes back, from the file and from an export, and can be forked anywhere.

use proptest::prelude::*;
use protocol::{Compaction, ErrorCode, LogEntry, PlanStep, SessionEvent, StepStatus, ToolError};
use serde_json::{Value, json};
use store::Store as _;

use crate::events::{
    answers, approval, asked, asks_to_write, done, ended, new_store, opened, says,
};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn events_survive_the_file_an_export_and_a_fork(
        batches in prop::collection::vec(prop::collection::vec(event(), 1..6), 1..6),
        at in 0_u64..40,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_dir, store) = new_store().await;
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
        })?;
    }

    #[test]
    fn any_text_is_imported_or_refused(text in ".{0,200}", lines in prop::collection::vec(".{0,40}", 0..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (_dir, store) = new_store().await;
            prop_assert!(store.import(&text).await.is_err());
            let id = store.create(&opened()).await.unwrap();
            let good = store.export(&id).await.unwrap();
            let imported = store.import(&format!("{good}{}", lines.join("\n"))).await.unwrap();
            prop_assert!(!store.load(&imported.id).await.unwrap().entries.is_empty());
            Ok(())
        })?;
    }
}
