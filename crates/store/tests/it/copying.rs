//! Sessions go from a file to a server and back, and are the same.

use protocol::SessionEvent;
use store::{CopyReport, ListFilter, SessionId, Store, StoreError, copy_sessions};

use crate::events::{done, says, session_with};
use crate::stage::Stage;

fn entries(export: &str) -> &str {
    export.split_once('\n').unwrap().1
}

/// Sessions with all that is hard to carry: forks, zeros, long events, gaps, events of a newer version.
async fn fill(store: &dyn Store) -> Vec<SessionId> {
    let plain = session_with(store, 2).await;
    let fork = store.fork(&plain, None).await.unwrap();
    let odd = session_with(store, 1).await;
    let long: String = (0..40_000).map(|number| format!("{number}\u{0} ü\n")).collect();
    store
        .append(&odd, vec![says(&long), SessionEvent::Renamed { title: "a\0b".into() }])
        .await
        .unwrap();
    let text = store.export(&odd).await.unwrap();
    let newer = r#"{"sequence":99,"at":5,"type":"sung","data":{"b":1.50,"a":"\u0041"}}"#;
    let newer = store.import(&format!("{text}{newer}\n")).await.unwrap().id;
    vec![plain, fork, odd, newer]
}

async fn copy_and_compare(from: &dyn Store, to: &dyn Store) {
    let mut ids = fill(from).await;
    ids.sort();
    let report = copy_sessions(from, to, None).await.unwrap();
    assert_eq!(report, CopyReport { copied: ids.clone(), ..CopyReport::default() });
    for id in &ids {
        let (one, other) = (from.export(id).await.unwrap(), to.export(id).await.unwrap());
        assert_eq!(entries(&one), entries(&other));
        assert_eq!(from.load(id).await.unwrap(), to.load(id).await.unwrap());
    }
    assert_eq!(from.favourites().await.unwrap(), to.favourites().await.unwrap());
    let stats = |store| async move { Store::stats(store, &Default::default()).await.unwrap() };
    assert_eq!(stats(from).await.tools, stats(to).await.tools);
    let titles = async |store: &dyn Store| {
        let listed = store.list(&ListFilter::default()).await.unwrap();
        let mut titles: Vec<_> =
            listed.into_iter().map(|it| (it.id, it.turns, it.events)).collect();
        titles.sort();
        titles
    };
    assert_eq!(titles(from).await, titles(to).await);
    // Again: nothing is there twice, and what went on in the meantime is left alone.
    from.append(&ids[0], vec![done()]).await.unwrap();
    let report = copy_sessions(from, to, None).await.unwrap();
    let (different, same) = (vec![ids[0].clone()], ids[1..].to_vec());
    assert_eq!(report, CopyReport { same, different, ..CopyReport::default() });
    let only = copy_sessions(from, to, Some(&ids[1])).await.unwrap();
    assert_eq!(only.same, [ids[1].clone()]);
    let text = from.export(&ids[1]).await.unwrap();
    let refused = to.import_as(&ids[1], &text).await;
    assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_file_is_copied_to_a_server_and_on_to_another_file() {
    let Some(server) = Stage::postgres() else { return };
    let (file, back) = (Stage::sqlite(), Stage::sqlite());
    let (file, server, back) = (file.open().await, server.open().await, back.open().await);
    copy_and_compare(&*file, &*server).await;
    let report = copy_sessions(&*server, &*back, None).await.unwrap();
    assert_eq!((report.copied.len(), report.damage.len()), (4, 0));
    for id in report.copied {
        let (one, other) = (server.export(&id).await.unwrap(), back.export(&id).await.unwrap());
        assert_eq!(entries(&one), entries(&other));
        assert_eq!(server.load(&id).await.unwrap(), back.load(&id).await.unwrap());
    }
}

#[tokio::test]
async fn a_server_is_copied_to_a_file() {
    let Some(server) = Stage::postgres() else { return };
    let file = Stage::sqlite();
    copy_and_compare(&*server.open().await, &*file.open().await).await;
}
