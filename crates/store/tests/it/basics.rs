//! Begin, write, list, find, fork, rename, delete, carry out and in.

use protocol::{ForkPoint, SessionEvent, Settings};
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use store::{ListFilter, SessionInfo, SessionState, SqliteStore, Store, StoreError};

use crate::events::{asked, done, opened, says, session_with, turn};
use crate::stage::{FILE, new_file, on_both, open_file};

async fn info(store: &dyn Store) -> SessionInfo {
    store.list(&ListFilter::default()).await.unwrap().remove(0)
}

on_both! {
    async fn what_is_appended_is_loaded_by_the_next_process(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        let entries = store.append(&id, turn("hello")).await.unwrap();
        assert_eq!(
            entries.iter().map(|it| it.sequence).collect::<Vec<_>>(),
            (2..=9).collect::<Vec<_>>()
        );
        assert!(store.append(&id, Vec::new()).await.unwrap().is_empty());
        drop(store);
        let loaded = stage.open().await.load(&id).await.unwrap();
        assert_eq!(loaded.damage, Vec::<String>::new());
        assert_eq!(loaded.entries[0].event, SessionEvent::Opened(opened()));
        assert_eq!(loaded.entries[1..], entries);
    }
}

on_both! {
    async fn more_events_than_one_statement_takes_are_written_together(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        let many: Vec<SessionEvent> =
            (0..120).map(|n| SessionEvent::TextDelta { text: n.to_string().into() }).collect();
        let entries = store.append(&id, many).await.unwrap();
        assert_eq!(entries.last().unwrap().sequence, 121);
        assert_eq!(store.load(&id).await.unwrap().entries[1..], entries);
    }
}

on_both! {
    async fn the_list_tells_what_the_log_tells(stage) {
        let store = stage.open().await;
        let id = session_with(&*store, 2).await;
        let one = info(&*store).await;
        assert_eq!((one.id.clone(), one.title.as_deref()), (id.clone(), Some("question 0")));
        assert_eq!((one.events, one.turns, one.state), (17, 2, SessionState::Idle));
        assert_eq!((one.usage.input, one.usage.output, one.cost_usd), (400, 80, Some(1.0)));
        assert_eq!((one.provider.as_str(), one.model.as_str()), ("offline", "small"));

        let settings = Settings { model: "big".into(), ..opened().settings };
        store.append(&id, vec![SessionEvent::SettingsChanged(settings), says("x")]).await.unwrap();
        store.rename(&id, " The build ").await.unwrap();
        let one = info(&*store).await;
        assert_eq!((one.title.as_deref(), one.model.as_str()), (Some("The build"), "big"));
        assert_eq!(one.state, SessionState::Interrupted);
        let lease = store.claim(&id).await.unwrap();
        assert_eq!(info(&*store).await.state, SessionState::Working);
        assert_eq!(info(&*store).await.held_by.unwrap().pid, std::process::id());
        drop(lease);
    }
}

on_both! {
    async fn the_list_can_be_narrowed(stage) {
        let store = stage.open().await;
        for title in ["Fix the Build", "write docs", "build docs"] {
            let id = store.create(&opened()).await.unwrap();
            store.rename(&id, title).await.unwrap();
        }
        let titles = async |filter: ListFilter| {
            let found = store.list(&filter).await.unwrap();
            let mut titles: Vec<String> = found.into_iter().filter_map(|it| it.title).collect();
            titles.sort();
            titles
        };
        let filter = ListFilter { title: Some("BUILD".into()), ..ListFilter::default() };
        assert_eq!(titles(filter).await, ["Fix the Build", "build docs"]);
        assert_eq!(titles(ListFilter { limit: Some(1), ..ListFilter::default() }).await.len(), 1);
        let later = ListFilter { updated_since: Some(i64::MAX), ..ListFilter::default() };
        assert!(titles(later).await.is_empty());
    }
}

on_both! {
    async fn titles_are_found_in_whatever_case_also_beyond_ascii(stage) {
        let store = stage.open().await;
        for title in ["Übung 1", "Other", "die übung 2", "ÜBUNG 3"] {
            let id = store.create(&opened()).await.unwrap();
            store.rename(&id, title).await.unwrap();
        }
        let count = async |title: &str, limit: Option<u32>| {
            let filter = ListFilter { title: Some(title.into()), limit, updated_since: None };
            store.list(&filter).await.unwrap().len()
        };
        for (title, limit, found) in
            [("üBUNG", None, 3), ("übung 2", None, 1), ("Übung", Some(2), 2), ("é", None, 0)]
        {
            assert_eq!(count(title, limit).await, found, "{title}");
        }
        // The list that was left before its end holds up nothing.
        assert_eq!(count("BUNG", Some(1)).await, 1);
    }
}

on_both! {
    async fn one_session_in_short_is_what_the_list_says_of_it(stage) {
        let store = stage.open().await;
        let id = session_with(&*store, 1).await;
        session_with(&*store, 0).await;
        let lease = store.claim(&id).await.unwrap();
        let listed = store.list(&ListFilter::default()).await.unwrap();
        let listed = listed.into_iter().find(|info| info.id == id);
        assert_eq!(store.info(&id).await.unwrap(), listed);
        assert!(listed.unwrap().held_by.is_some());
        drop(lease);
        store.delete(&id).await.unwrap();
        assert_eq!(store.info(&id).await.unwrap(), None);
    }
}

on_both! {
    async fn a_session_is_found_by_pieces_of_its_id_and_by_its_title(stage) {
        let store = stage.open().await;
        let first = session_with(&*store, 1).await;
        let second = session_with(&*store, 0).await;
        store.rename(&second, "Other work").await.unwrap();
        let text = first.as_str();
        for piece in [text, &text[..19], &text[12..], "question 0", "QUESTION", " question "] {
            assert_eq!(store.find(piece).await.unwrap(), first, "{piece}");
        }
        assert_eq!(store.find("other").await.unwrap(), second);
        let shared = store.find(&text[..4]).await.unwrap_err();
        assert!(matches!(&shared, StoreError::Ambiguous { candidates, .. } if candidates.len() == 2));
        for nothing in ["", "q", "zzzz", "%"] {
            assert!(matches!(store.find(nothing).await, Err(StoreError::NotFound { .. })), "{nothing}");
        }
    }
}

on_both! {
    async fn a_fork_goes_its_own_way_from_a_safe_place(stage) {
        let store = stage.open().await;
        let id = session_with(&*store, 2).await;
        // Entry 4 calls a tool; entry 6 is its result.
        let fork = store.fork(&id, Some(5)).await.unwrap();
        let entries = store.load(&fork).await.unwrap().entries;
        let SessionEvent::Opened(begin) = &entries[0].event else { panic!("{:?}", entries[0]) };
        assert_eq!(begin.forked_from, Some(ForkPoint { session: id.to_string(), sequence: 2 }));
        assert_eq!(entries[1..], store.load(&id).await.unwrap().entries[1..2]);
        store.append(&fork, vec![done()]).await.unwrap();
        assert_eq!(store.load(&id).await.unwrap().entries.len(), 17);
        let whole = store.fork(&id, None).await.unwrap();
        let (copy, original) = (store.load(&whole).await.unwrap(), store.load(&id).await.unwrap());
        assert_eq!(copy.entries[1..], original.entries[1..]);
        let list = store.list(&ListFilter::default()).await.unwrap();
        let listed = list.iter().find(|it| it.id == whole).unwrap();
        let point = ForkPoint { session: id.to_string(), sequence: 17 };
        assert_eq!((&listed.forked_from, listed.turns), (&Some(point), 2));
        assert!(listed.updated >= listed.created);
    }
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing_behind_in_the_file() {
    let (dir, store) = new_file().await;
    let id = store.create(&opened()).await.unwrap();
    store.append(&id, turn("unmistakable-secret")).await.unwrap();
    store.favourites().await.unwrap();
    store.delete(&id).await.unwrap();
    assert!(matches!(store.load(&id).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(store.delete(&id).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(store.append(&id, turn("x")).await, Err(StoreError::NotFound { .. })));
    store.close().await.unwrap();
    let bytes = std::fs::read(dir.path().join(FILE)).unwrap();
    let secret = b"unmistakable-secret";
    assert!(!bytes.windows(secret.len()).any(|window| window == secret));
}

on_both! {
    async fn an_export_has_a_header_and_one_entry_a_line(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        store.append(&id, vec![says("hi"), asked()]).await.unwrap();
        let text = store.export(&id).await.unwrap();
        let kinds: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| format!("{} {} {}", line["toolkiln"], line["sequence"], line["type"]))
            .collect();
        insta::allow_duplicates! {
            insta::assert_snapshot!(kinds.join("\n"), @r#"
        "session" null null
        null 1 "opened"
        null 2 "user_message"
        null 3 "model_asked"
        "#);
        }
    }
}

on_both! {
    async fn an_import_with_torn_lines_loads_and_says_so_once(stage) {
        let store = stage.open().await;
        let id = session_with(&*store, 1).await;
        let text = store.export(&id).await.unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[4] = &lines[4][..30];
        let imported = store.import(&lines.join("\n")).await.unwrap();
        assert_eq!(imported.damage.len(), 1, "{:?}", imported.damage);
        let loaded = store.load(&imported.id).await.unwrap();
        assert_eq!(loaded.damage, Vec::<String>::new());
        let numbers: Vec<u64> = loaded.entries.iter().map(|it| it.sequence).collect();
        assert_eq!(numbers, [1, 2, 3, 5, 6, 7, 8, 9, 10]);
        let repaired = SessionEvent::Repaired { notes: imported.damage };
        assert_eq!(loaded.entries.last().unwrap().event, repaired);
    }
}

#[tokio::test]
async fn a_file_of_a_newer_version_can_be_read_and_refuses_to_be_written() {
    let (dir, store) = new_file().await;
    let id = session_with(&store, 1).await;
    store.close().await.unwrap();
    let path = dir.path().join(FILE);
    let mut conn = SqliteConnection::connect(path.to_str().unwrap()).await.unwrap();
    sqlx::raw_sql("PRAGMA user_version = 99").execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    let store = open_file(&dir).await;
    assert!(store.notes()[0].contains("newer Toolkiln"), "{:?}", store.notes());
    assert_eq!(store.load(&id).await.unwrap().entries.len(), 9);
    for refused in [
        store.append(&id, vec![done()]).await.err(),
        store.create(&opened()).await.err(),
        store.claim(&id).await.err(),
    ] {
        assert!(matches!(refused, Some(StoreError::Newer { found: 99, .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn a_place_that_cannot_hold_a_file_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let error = SqliteStore::open(dir.path().join("missing/sessions.db")).await.unwrap_err();
    assert!(error.to_string().contains("missing/sessions.db"), "{error}");
}

#[tokio::test]
async fn a_store_can_stand_behind_the_trait() {
    let (_dir, store) = new_file().await;
    let store: Box<dyn Store> = Box::new(store);
    assert!(store.list(&ListFilter::default()).await.unwrap().is_empty());
}

/// Whatever the mask of the process is, and whoever made the files.
#[tokio::test]
async fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, store) = new_file().await;
    let id = store.create(&opened()).await.unwrap();
    store.append(&id, turn("hello")).await.unwrap();
    let modes = || {
        let entries = std::fs::read_dir(dir.path()).unwrap().map(Result::unwrap);
        let mode =
            |entry: std::fs::DirEntry| entry.metadata().unwrap().permissions().mode() & 0o777;
        let mut modes: Vec<u32> = entries.map(mode).collect();
        modes.sort();
        modes
    };
    assert_eq!(modes(), [0o600; 3]);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let mode = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(entry.unwrap().path(), mode).unwrap();
    }
    let again = open_file(&dir).await;
    assert_eq!(modes(), [0o600; 3]);
    drop((store, again));
}
