//! Events that are stored packed because their JSON is long.

use protocol::SessionEvent;
use sqlx::Connection as _;
use store::{SqliteStore, Store as _};

use crate::events::{done, opened, says};
use crate::stage::{FILE, Stage, new_file, on_both};

/// Just above what is stored as text, and far above it. Neither is all alike.
fn long_texts() -> [String; 2] {
    [260 * 1024, 3_000_000].map(|length| {
        let words =
            (0..).map(|number: u64| format!("w{} \"ü\"\n", number.wrapping_mul(2_654_435_761)));
        let mut text = String::new();
        words
            .take_while(|word| {
                text.push_str(word);
                text.len() < length
            })
            .for_each(drop);
        text
    })
}

/// The forms in which the data of the events is stored.
async fn forms(stage: &Stage) -> Vec<(String, i64)> {
    const FILE_QUERY: &str =
        "SELECT typeof(data), length(data) FROM events ORDER BY session, sequence";
    const SERVER_QUERY: &str = "SELECT CASE WHEN packed IS NULL THEN 'text' ELSE 'blob' END, \
        coalesce(octet_length(packed), length(data)) FROM events ORDER BY session, sequence";
    match stage {
        Stage::Sqlite(dir) => {
            let file = format!("sqlite://{}", dir.path().join(FILE).display());
            let mut conn = sqlx::SqliteConnection::connect(&file).await.unwrap();
            sqlx::query_as(FILE_QUERY).fetch_all(&mut conn).await.unwrap()
        }
        Stage::Postgres(database) => {
            let rows = database.sql(SERVER_QUERY);
            let row = |line: &str| {
                let (kind, length) = line.split_once('|').unwrap();
                (kind.to_owned(), length.parse().unwrap())
            };
            rows.lines().map(row).collect()
        }
    }
}

on_both! {
    async fn long_events_are_packed_and_read_like_all_others(stage) {
        let store = stage.open().await;
        let [longer, longest] = long_texts();
        let id = store.create(&opened()).await.unwrap();
        let events = vec![says("short"), done(), says(&longer), done(), says(&longest), done()];
        let written = store.append(&id, events).await.unwrap();
        let kinds: Vec<String> = forms(&stage).await.into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["text", "text", "text", "blob", "text", "blob", "text"]);
        let longest_bytes = forms(&stage).await[5].1;
        assert!(longest_bytes < 2_000_000, "{longest_bytes}");

        let loaded = store.load(&id).await.unwrap();
        assert!(loaded.damage.is_empty(), "{:?}", loaded.damage);
        assert_eq!(loaded.entries[1..], written[..]);
        assert_eq!(store.entry(&id, 4).await.unwrap().as_ref(), Some(&written[2]));
        let found = store.search("w2654435761 w0", 10).await.unwrap();
        assert_eq!(found.messages[0].sequence, 6);

        let fork = store.fork(&id, None).await.unwrap();
        let imported = store.import(&store.export(&id).await.unwrap()).await.unwrap();
        for copy in [fork, imported.id] {
            let copied = store.load(&copy).await.unwrap();
            assert!(copied.damage.is_empty(), "{:?}", copied.damage);
            assert_eq!(copied.entries[1..], written[..]);
        }
        assert_eq!(forms(&stage).await.iter().filter(|(kind, _)| kind == "blob").count(), 6);
    }
}

#[tokio::test]
async fn damage_in_a_packed_event_is_noticed() {
    let [text, _] = long_texts();
    for broken in ["substr(data, 1, 1000)", "x'ff' || substr(data, 2)", "zeroblob(100)", "'{}'"] {
        let (dir, store) = new_file().await;
        let id = store.create(&opened()).await.unwrap();
        store.append(&id, vec![says(&text), done()]).await.unwrap();
        store.close().await.unwrap();
        let file = dir.path().join(FILE);
        let mut conn =
            sqlx::SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
        let change = format!("UPDATE events SET data = CAST({broken} AS BLOB) WHERE sequence = 2");
        sqlx::query(sqlx::AssertSqlSafe(change)).execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        let store = SqliteStore::open(&file).await.unwrap();
        let loaded = store.load(&id).await.unwrap();
        assert!(
            loaded.damage[0].starts_with("entry 2 is damaged"),
            "{broken}: {:?}",
            loaded.damage
        );
        let kept: Vec<u64> = loaded.entries.iter().map(|entry| entry.sequence).collect();
        assert_eq!(kept, [1, 3], "{broken}");
        assert!(
            !loaded.entries.iter().any(|it| matches!(it.event, SessionEvent::UserMessage { .. }))
        );
    }
}
