//! Messages by their words.

use std::fs;

use store::Store;

use crate::events::{done, opened, says};
use crate::stage::{new_file, on_both};

async fn found(store: &dyn Store, words: &str) -> Vec<(String, u64, String)> {
    let found = store.search(words, 10).await.unwrap();
    assert!(!found.more, "{words}");
    let row = |it: store::FoundMessage| (it.session.to_string(), it.sequence, it.excerpt);
    found.messages.into_iter().map(row).collect()
}

on_both! {
    async fn the_newest_message_of_each_session_with_all_words_is_found(stage) {
        let store = stage.open().await;
        let (one, other) =
            (store.create(&opened()).await.unwrap(), store.create(&opened()).await.unwrap());
        assert_eq!(found(&*store, "anything").await, []);
        store
            .append(&one, vec![says("A Größe of red"), done(), says("red and blue"), done()])
            .await
            .unwrap();
        store.append(&other, vec![says("blue only"), done()]).await.unwrap();
        let hit =
            |id: &store::SessionId, sequence, text: &str| (id.to_string(), sequence, text.to_owned());
        assert_eq!(found(&*store, "RED").await, [hit(&one, 4, "red and blue")]);
        assert_eq!(found(&*store, "grosse").await, []);
        assert_eq!(found(&*store, "grö").await, [hit(&one, 2, "A Größe of red")]);
        assert_eq!(found(&*store, "red blue").await, [hit(&one, 4, "red and blue")]);
        let mut both: Vec<String> = found(&*store, "blu").await.into_iter().map(|it| it.2).collect();
        both.sort();
        assert_eq!(both, ["blue only", "red and blue"]);
        assert!(store.search("blue", 1).await.unwrap().more);
        // What is written later is found too, and nothing twice.
        store.append(&other, vec![says("red at last"), done()]).await.unwrap();
        assert_eq!(found(&*store, "red last").await, [hit(&other, 4, "red at last")]);
        assert_eq!(found(&*store, "red at").await.len(), 1);
    }
}

on_both! {
    async fn many_messages_are_taken_in_steps_and_none_is_missed(stage) {
        let store = stage.open().await;
        let id = store.create(&opened()).await.unwrap();
        let said: Vec<_> = (0..1000).map(|number| says(&format!("common w{number}w"))).collect();
        store.append(&id, said).await.unwrap();
        for _ in 0..120 {
            let id = store.create(&opened()).await.unwrap();
            store.append(&id, vec![says("rare")]).await.unwrap();
        }
        for word in ["w0w", "w299w", "w300w", "w301w", "w999w"] {
            assert_eq!(found(&*store, word).await.len(), 1, "{word}");
        }
        assert_eq!(store.search("rare", 200).await.unwrap().messages.len(), 120);
    }
}

#[tokio::test]
async fn nothing_stays_of_the_words_of_a_deleted_session() {
    let (dir, store) = new_file().await;
    let (gone, stays) =
        (store.create(&opened()).await.unwrap(), store.create(&opened()).await.unwrap());
    store.append(&gone, vec![says("xylophonequartz")]).await.unwrap();
    store.append(&stays, vec![says("another")]).await.unwrap();
    assert_eq!(found(&store, "xylophonequartz").await.len(), 1);
    store.delete(&gone).await.unwrap();
    assert_eq!(found(&store, "xylophonequartz").await, []);
    assert_eq!(found(&store, "another").await.len(), 1);
    store.close().await.unwrap();
    for file in fs::read_dir(dir.path()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        let word = b"xylophonequartz";
        assert!(!bytes.windows(word.len()).any(|part| part == word));
    }
}
