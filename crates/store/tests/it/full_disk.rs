//! A disk without space: what was written stays, what was not is refused, and with space it goes on.

use std::path::{Path, PathBuf};
use std::process::Command;

use protocol::SessionEvent;
use store::{Exchange as _, Store as _, StoreError};
use testkit::{Postgres, left_out};

use crate::events::{opened, says};
use crate::stage::{PROJECT, replica};

/// Enough for an empty database, and more than enough.
const SMALL: &str = "size=24m";
const LARGE: &str = "remount,size=96m";
/// What does not fit in so many appends never fills the disk.
const MOST_APPENDS: u64 = 400;

/// A small file system in memory, gone with the test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where the test may not mount one.
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let options = format!("{SMALL},uid=65534,gid=65534,mode=0700");
        let mut mount = Command::new("mount");
        let done = mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).output();
        done.is_ok_and(|done| done.status.success()).then(|| Self(at.to_owned()))
    }

    fn enlarge(&self) {
        let done = Command::new("mount").args(["-o", LARGE]).arg(&self.0).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Does not get smaller by packing.
fn noise(number: u64) -> SessionEvent {
    let mut state = number + 1;
    let text: String = (0..60_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
        })
        .collect();
    SessionEvent::TextDelta { text: text.into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_and_with_space_the_session_goes_on() {
    let Some(server) = Postgres::start(&["fsync=off"]) else { return };
    let place = server.directory().unwrap().join("small");
    let Some(disk) = SmallDisk::mount(&place) else {
        return left_out("a full disk, since this user may not mount a small one");
    };
    let (other, database) = (server.database(), server.database());
    other.sql(&format!("CREATE TABLESPACE small LOCATION '{}'", place.display()));
    other.sql(&format!("ALTER DATABASE {} SET TABLESPACE small", database.name()));
    let replica = replica(&database, "a").await;
    let store = replica.store(PROJECT);
    let id = store.create(&opened()).await.unwrap();
    let lease = store.claim(&id).await.unwrap();
    let waiting = replica.put(&id, "k", serde_json::json!(1)).await.unwrap().number;
    let mut written = Vec::new();
    let refused = loop {
        match store.append(&id, vec![noise(written.len() as u64)]).await {
            Ok(entries) => written.extend(entries),
            Err(error) => break error,
        }
        assert!((written.len() as u64) < MOST_APPENDS, "the disk is not full");
    };
    assert!(matches!(refused, StoreError::DiskFull { .. }), "{refused:?}");
    let taking = replica.append_taking(&id, vec![noise(1), noise(2)], &[waiting]).await;
    assert!(matches!(taking, Err(StoreError::DiskFull { .. })), "{taking:?}");
    assert_eq!(store.load(&id).await.unwrap().entries[1..], written);
    assert_eq!(replica.inbox(&id).await.unwrap().len(), 1, "the item was not taken either");
    disk.enlarge();
    drop(lease);
    let _lease = store.claim(&id).await.unwrap();
    written.extend(replica.append_taking(&id, vec![says("on")], &[waiting]).await.unwrap());
    let loaded = store.load(&id).await.unwrap();
    assert_eq!((loaded.damage.len(), &loaded.entries[1..]), (0, &written[..]));
    assert!((1..).zip(&loaded.entries).all(|(at, entry)| entry.sequence == at));
}
