//! One writer per session, and several processes on one file.

use std::sync::Arc;

use store::{Store, StoreError};

use crate::events::{done, opened, says, session_with};
use crate::stage::on_both;

on_both! {
    async fn a_claimed_session_cannot_be_claimed_again(stage) {
        let store = stage.open().await;
        let other = stage.open().await;
        let id = session_with(&*store, 1).await;
        let lease = store.claim(&id).await.unwrap();
        for refused in [
            store.claim(&id).await.map(drop).err(),
            other.claim(&id).await.map(drop).err(),
            other.append(&id, vec![says("me too")]).await.map(drop).err(),
            other.rename(&id, "mine").await.map(drop).err(),
            other.delete(&id).await.err(),
            store.delete(&id).await.err(),
        ] {
            let error = refused.unwrap();
            let pid = std::process::id().to_string();
            assert!(matches!(&error, StoreError::InUse { .. }), "{error}");
            assert!(error.to_string().contains(&pid), "{error}");
        }
        store.append(&id, vec![says("mine")]).await.unwrap();
        assert_eq!(other.load(&id).await.unwrap().entries.len(), 10);
        drop(lease);
        // Giving back is done in the background. Each question takes its turn, so that it comes soon.
        let mut claimed = other.claim(&id).await;
        for _ in 0..1000 {
            if claimed.is_ok() {
                break;
            }
            claimed = other.claim(&id).await;
        }
        let lease = claimed.unwrap();
        assert_eq!(other.append(&id, vec![done()]).await.unwrap()[0].sequence, 11);
        drop(lease);
    }
}

on_both! {
    async fn a_session_can_be_claimed_again_at_once(stage) {
        let store = stage.open().await;
        let id = session_with(&*store, 0).await;
        for _ in 0..20 {
            let lease = store.claim(&id).await.unwrap();
            assert_eq!(lease.session(), &id);
            assert!(store.claim(&id).await.is_err());
        }
    }
}

on_both! {
    async fn a_session_that_is_not_there_cannot_be_claimed(stage) {
        let store = stage.open().await;
        let id = "1hf7yat00zzzzzzzzzzz".parse().unwrap();
        assert!(matches!(store.claim(&id).await, Err(StoreError::NotFound { .. })));
    }
}

on_both! {
    async fn stores_on_one_file_do_not_lose_what_the_other_writes(stage) {
        let one = stage.open().await;
        let two = stage.open().await;
        let write = |store: Arc<dyn Store>| async move {
            let id = store.create(&opened()).await.unwrap();
            for number in 0..50 {
                store.append(&id, vec![says(&number.to_string())]).await.unwrap();
            }
            id
        };
        let (a, b) = tokio::join!(tokio::spawn(write(one.clone())), tokio::spawn(write(two.clone())));
        for id in [a.unwrap(), b.unwrap()] {
            let loaded = one.load(&id).await.unwrap();
            assert_eq!((loaded.entries.len(), loaded.damage.len()), (51, 0));
            // Without a lease, whoever writes next goes on where the other ended.
            let next = [
                one.append(&id, vec![done()]).await.unwrap()[0].sequence,
                two.append(&id, vec![done()]).await.unwrap()[0].sequence,
                one.append(&id, vec![done()]).await.unwrap()[0].sequence,
            ];
            assert_eq!(next, [52, 53, 54]);
        }
    }
}

on_both! {
    async fn a_write_whose_future_is_dropped_is_complete_or_absent(stage) {
        let store = stage.open().await;
        let id = session_with(&*store, 0).await;
        for _ in 0..50 {
            let write = store.append(&id, vec![says("a"), says("b"), says("c")]);
            tokio::select! {
                biased;
                _ = write => {}
                () = tokio::task::yield_now() => {}
            }
        }
        store.append(&id, vec![done()]).await.unwrap();
        let loaded = store.load(&id).await.unwrap();
        assert_eq!(loaded.damage, Vec::<String>::new());
        assert_eq!((loaded.entries.len() - 2) % 3, 0);
    }
}
