//! Large files of Toolkiln's own: drafts, mappings, scratch space.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::time::{Duration, SystemTime};

use workspace::{StateDir, Workspace};

struct Cache {
    home: tempfile::TempDir,
    dir: StateDir,
}

fn cache() -> Cache {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("project")).unwrap();
    let workspace = Workspace::open(&home.path().join("project")).unwrap();
    let dir = StateDir::open(&workspace, &home.path().join("cache")).unwrap();
    Cache { home, dir }
}

impl Cache {
    fn publish(&self, bytes: &[u8]) {
        let mut draft = self.dir.draft("index").unwrap();
        draft.write_all(bytes).unwrap();
        draft.publish().unwrap();
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home.path().join("cache")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

#[test]
fn a_draft_takes_its_name_only_when_it_is_published() {
    let cache = cache();
    let mut draft = cache.dir.draft("index").unwrap();
    draft.write_all(b"half").unwrap();
    assert!(cache.dir.map("index").unwrap().is_none());
    drop(draft);
    assert_eq!(cache.names(), [""; 0]);
    cache.publish(b"whole");
    assert_eq!(cache.names(), ["index"]);
    assert_eq!(&*cache.dir.map("index").unwrap().unwrap(), b"whole");
}

#[test]
fn a_mapping_keeps_its_content_when_the_file_is_replaced() {
    let cache = cache();
    cache.publish(&[1; 10_000]);
    let old = cache.dir.map("index").unwrap().unwrap();
    cache.publish(b"");
    assert_eq!(&*old, &[1; 10_000]);
    assert_eq!(&*cache.dir.map("index").unwrap().unwrap(), b"");
}

#[test]
fn scratch_space_has_no_name() {
    let cache = cache();
    let mut scratch = cache.dir.scratch().unwrap();
    assert_eq!(cache.names(), [""; 0]);
    scratch.write_all(b"notes").unwrap();
    scratch.seek(SeekFrom::Start(2)).unwrap();
    let mut rest = String::new();
    scratch.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "tes");
}

#[test]
fn what_a_crash_left_is_removed_when_it_is_old() {
    let cache = cache();
    let left = cache.home.path().join("cache/.toolkiln-0123456789abcdef-0.tmp");
    let other = cache.home.path().join("cache/notes.tmp");
    fs::write(&left, "half").unwrap();
    fs::write(&other, "mine").unwrap();
    drop(cache.dir.draft("index").unwrap());
    assert!(left.exists(), "another process may be writing it");
    for path in [&left, &other] {
        let old = SystemTime::now() - Duration::from_secs(3 * 60 * 60);
        File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    drop(cache.dir.draft("index").unwrap());
    assert_eq!(cache.names(), ["notes.tmp"]);
}

#[test]
fn names_are_plain() {
    let cache = cache();
    assert!(cache.dir.draft("../project/x").is_err());
    assert!(cache.dir.map("a/b").is_err());
}

#[test]
fn a_directory_is_locked_once_at_a_time_and_released_with_its_lock() {
    let cache = cache();
    let lock = cache.dir.try_lock().unwrap();
    assert!(lock.is_some());
    assert!(cache.dir.try_lock().unwrap().is_none(), "locked already");
    drop(lock);
    assert!(cache.dir.try_lock().unwrap().is_some());
}
