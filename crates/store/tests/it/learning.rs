//! Statistics and favourites, read from logs.

use protocol::{ApprovalResponse, ErrorCode, LogEntry, SessionEvent, ToolError};
use serde_json::json;
use store::{DaysFilter, SessionId, StatsFilter, Store};

use crate::events::{
    answers, approval, asked, asks_to_write, done, ended, opened, says, session_with, yes,
};
use crate::stage::on_both;

/// An edit that needs approval.
fn edit(id: &str, path: &str, response: ApprovalResponse) -> Vec<SessionEvent> {
    vec![
        says("edit"),
        answers(&[(id, "edit_lines", json!({ "path": path }))]),
        asks_to_write(id, path),
        approval(id, response),
        ended(id, Ok(json!({}))),
        answers(&[]),
        done(),
    ]
}

async fn busy_session(store: &dyn Store) -> SessionId {
    let id = session_with(store, 2).await;
    let slow = ToolError::new(ErrorCode::Timeout, "slow");
    let call = |id| (id, "bash", json!({"command": "sleep"}));
    let inner = LogEntry { sequence: 1, at: 0, event: answers(&[("n", "glob", json!({}))]) };
    let nested = |entry| SessionEvent::Nested { call_id: "d".into(), entry: Box::new(entry) };
    let inner_end = LogEntry { sequence: 2, at: 0, event: ended("n", Ok(json!(1))) };
    let events = vec![
        says("run"),
        asked(),
        answers(&[call("1")]),
        ended("1", Err(slow)),
        answers(&[call("2"), ("d", "delegate", json!({}))]),
        nested(inner),
        nested(inner_end),
        ended("2", Ok(json!("done"))),
        done(),
    ];
    store.append(&id, events).await.unwrap();
    store.append(&id, edit("e", "src/a.rs", yes())).await.unwrap();
    let mut edited = yes();
    edited.modified_args = Some(Default::default());
    store.append(&id, edit("f", "src/b.rs", edited)).await.unwrap();
    store.append(&id, edit("g", "src/c.rs", ApprovalResponse::no(None))).await.unwrap();
    id
}

on_both! {
    async fn statistics_are_about_the_sessions_that_are_asked_for_and_go_on_with_them(stage) {
        let store = stage.open().await;
        let (busy, other) = (busy_session(&*store).await, session_with(&*store, 3).await);
        let of = async |ids: &[&SessionId]| {
            let sessions = Some(ids.iter().copied().cloned().collect());
            store.stats(&StatsFilter { sessions, since: None }).await.unwrap()
        };
        assert_eq!(of(&[]).await, store::Stats::default());
        assert_eq!(of(&[&busy, &other]).await, store.stats(&StatsFilter::default()).await.unwrap());
        let grep = async || of(&[&other]).await.tools[0].calls;
        assert_eq!(grep().await, 3);
        // Another process reads on where this one has stopped.
        store.append(&other, crate::events::turn("more")).await.unwrap();
        let second = stage.open().await;
        let filter = DaysFilter { sessions: Some(vec![other.clone()]), ..DaysFilter::default() };
        let days = second.days(&filter).await.unwrap();
        assert_eq!(days.iter().map(|day| day.tools["grep"].calls).sum::<u64>(), 4);
        assert_eq!(grep().await, 4);
    }
}

on_both! {
    async fn what_a_fork_inherits_counts_once_whichever_session_is_left(stage) {
        let store = stage.open().await;
        let origin = busy_session(&*store).await;
        let all = async || store.stats(&StatsFilter::default()).await.unwrap();
        let calls = |stats: &store::Stats| stats.tools.iter().map(|tool| tool.calls).sum::<u64>();
        let (alone, before) = (all().await, calls(&all().await));
        let fork = store.fork(&origin, None).await.unwrap();
        let second = store.fork(&fork, None).await.unwrap();
        let both = all().await;
        assert_eq!((&both.tools, &both.models), (&alone.tools, &alone.models));
        store.append(&fork, edit("h", "src/d.rs", yes())).await.unwrap();
        assert_eq!(calls(&all().await), before + 1);
        let filter = StatsFilter { sessions: Some(vec![fork.clone()]), since: None };
        assert_eq!(calls(&store.stats(&filter).await.unwrap()), 1, "its own calls");
        // The log of the origin lives on in its forks.
        let third = store.fork(&origin, None).await.unwrap();
        store.delete(&origin).await.unwrap();
        assert_eq!(calls(&all().await), before + 1, "{second} and {third} count nothing twice");
    }
}

on_both! {
    async fn statistics_count_tools_models_and_sessions(stage) {
        let store = stage.open().await;
        let id = busy_session(&*store).await;
        let other = session_with(&*store, 1).await;
        let stats = store.stats(&StatsFilter::default()).await.unwrap();
        let tools: Vec<String> = stats
            .tools
            .iter()
            .map(|it| {
                let approvals = format!("{}/{}/{}/{}", it.asked, it.approved, it.edited, it.denied);
                format!("{} {} ok {} {:?} asked {approvals}", it.tool, it.calls, it.ok, it.errors)
            })
            .collect();
        insta::allow_duplicates! {
            insta::assert_snapshot!(tools.join("\n"), @r#"
        edit_lines 3 ok 3 {} asked 3/1/1/1
        grep 3 ok 3 {} asked 0/0/0/0
        bash 2 ok 1 {"TIMEOUT": 1} asked 0/0/0/0
        glob 1 ok 1 {} asked 0/0/0/0
        "#);
        }
        assert!(stats.tools.iter().all(|tool| tool.result_tokens > 0 && tool.latency.p95_ms == 4));
        let model = &stats.models[0];
        assert_eq!((model.model.as_str(), model.answers, model.cost_usd), ("small", 15, Some(3.75)));
        assert_eq!(stats.sessions.len(), 2);
        let one = stats.sessions.iter().find(|it| it.session == id).unwrap();
        assert_eq!((one.turns, one.calls, one.usage.output), (6, 8, 260));

        let filter = StatsFilter { sessions: Some(vec![other]), since: None };
        assert_eq!(store.stats(&filter).await.unwrap().tools[0].calls, 1);
        let filter = StatsFilter { sessions: None, since: Some(i64::MAX) };
        assert_eq!(store.stats(&filter).await.unwrap(), store::Stats::default());
    }
}

on_both! {
    async fn favourites_grow_with_sessions_and_can_be_cleared(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        for path in ["src/a.rs", "src/b.rs"] {
            store.append(&id, edit("e", path, yes())).await.unwrap();
        }
        let first = store.favourites().await.unwrap();
        assert_eq!((first.tools[0].calls, first.tools[0].helped, first.rules.len()), (2, 2, 0));

        let other = session_with(&*store, 3).await;
        store.append(&other, edit("e", "src/c.rs", yes())).await.unwrap();
        let all = store.favourites().await.unwrap();
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(all, @r#"
        {
          "tools": [
            {
              "name": "edit_lines",
              "calls": 3,
              "helped": 3
            },
            {
              "name": "grep",
              "calls": 3,
              "helped": 3
            }
          ],
          "rules": [
            {
              "tool": "edit_lines",
              "paths": "src/**",
              "times": 3
            }
          ]
        }
        "#);
        }
        assert_eq!(store.favourites().await.unwrap(), all);

        store.clear_favourites().await.unwrap();
        assert_eq!(store.favourites().await.unwrap(), store::Favourites::default());
        assert_eq!(store.load(&id).await.unwrap().entries.len(), 15);
    }
}
