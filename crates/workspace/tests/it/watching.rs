//! Changes by other programs, as a watcher tells them.

use std::fs;

use workspace::{EntryKind, Events, Flow, RelPath, WalkEntry, WalkOptions, Watcher, Workspace};

use crate::tree::{Tree, rel};

/// Watches every directory that a walk visits.
fn watch_all(workspace: &Workspace) -> Watcher {
    let watcher = Watcher::new(workspace).unwrap();
    watcher.watch(workspace, &RelPath::root()).unwrap();
    let visitor = || {
        |entry: &WalkEntry<'_>| {
            if entry.kind() == EntryKind::Directory {
                watcher.watch_entry(entry).unwrap();
            }
            Flow::Continue
        }
    };
    workspace.walk(&WalkOptions::default(), &|| false, visitor).unwrap();
    watcher
}

/// The touched paths, directories with a slash.
fn told(watcher: &Watcher) -> Vec<String> {
    let events = watcher.drain();
    assert!(!events.lost);
    let name = |(path, is_dir): (RelPath, bool)| format!("{path}{}", if is_dir { "/" } else { "" });
    events.touched.into_iter().map(name).collect()
}

#[test]
fn each_kind_of_change_is_told_once_and_at_once() {
    let tree = Tree::with(&[("src/a.rs", "a"), ("src/b.rs", "b"), ("lib/", "")]);
    let watcher = watch_all(&tree.open());
    let at = |path: &str| tree.path(path);
    assert_eq!(told(&watcher), [""; 0]);
    fs::write(at("src/a.rs"), "changed").unwrap();
    assert_eq!(told(&watcher), ["src/a.rs"]);
    assert_eq!(told(&watcher), [""; 0]);
    fs::write(at("new.rs"), "").unwrap();
    assert_eq!(told(&watcher), ["new.rs"]);
    fs::rename(at("new.rs"), at("lib/old.rs")).unwrap();
    assert_eq!(told(&watcher), ["lib/old.rs", "new.rs"]);
    fs::remove_file(at("src/b.rs")).unwrap();
    assert_eq!(told(&watcher), ["src/b.rs"]);
    fs::create_dir(at("src/inner")).unwrap();
    assert_eq!(told(&watcher), ["src/inner/"]);
    // The new directory is not watched yet.
    fs::write(at("src/inner/c.rs"), "").unwrap();
    assert_eq!(told(&watcher), [""; 0]);
    fs::read(at("src/a.rs")).unwrap();
    assert_eq!(told(&watcher), [""; 0]);
}

#[test]
fn changed_ignore_rules_are_told_apart() {
    let tree = Tree::with(&[("src/a.rs", ""), (".git/info/exclude", "")]);
    let watcher = watch_all(&tree.open());
    fs::write(tree.path("src/.gitignore"), "*.rs").unwrap();
    assert_eq!(watcher.drain().rules.first(), Some(&rel("src")));
    fs::write(tree.path(".git/info/exclude"), "*.rs").unwrap();
    let events = watcher.drain();
    assert_eq!(events.rules.first(), Some(&RelPath::root()));
    assert!(events.touched.is_empty());
}

#[test]
fn a_directory_that_moved_is_watched_only_under_its_new_name() {
    let tree = Tree::with(&[("old/inner/a.rs", ""), ("older.rs", "")]);
    let workspace = tree.open();
    let watcher = watch_all(&workspace);
    fs::rename(tree.path("old"), tree.path("new")).unwrap();
    assert_eq!(told(&watcher), ["new/", "old/"]);
    watcher.forget(&rel("old"));
    assert_eq!(watcher.len(), 1);
    fs::write(tree.path("new/inner/a.rs"), "changed").unwrap();
    assert_eq!(told(&watcher), [""; 0]);
    watcher.watch(&workspace, &rel("new/inner")).unwrap();
    fs::write(tree.path("new/inner/a.rs"), "again").unwrap();
    assert_eq!(told(&watcher), ["new/inner/a.rs"]);
    fs::remove_dir_all(tree.path("new")).unwrap();
    assert_eq!(told(&watcher), ["new/", "new/inner/a.rs"]);
    assert_eq!(watcher.len(), 1);
}

/// A look at every file may meet a moved directory before the watcher is told that it moved.
#[test]
fn forgetting_the_old_name_of_a_directory_leaves_the_watch_of_its_new_one() {
    let tree = Tree::with(&[("old/a.rs", "")]);
    let workspace = tree.open();
    let watcher = watch_all(&workspace);
    fs::rename(tree.path("old"), tree.path("new")).unwrap();
    watcher.watch(&workspace, &rel("new")).unwrap();
    assert!(watcher.drain().lost, "it came up under a second name");
    watcher.forget(&rel("old"));
    fs::write(tree.path("new/a.rs"), "changed").unwrap();
    assert_eq!(told(&watcher), ["new/a.rs"]);
}

#[test]
fn nothing_is_watched_through_a_link() {
    let tree = Tree::with(&[("real/a.rs", "")]);
    tree.link("link", "real");
    let workspace = tree.open();
    let watcher = Watcher::new(&workspace).unwrap();
    assert!(watcher.watch(&workspace, &rel("link")).is_err());
    assert!(watcher.watch(&workspace, &rel("real/a.rs")).is_err());
    assert!(watcher.is_empty());
    fs::write(tree.path("real/a.rs"), "changed").unwrap();
    assert_eq!(watcher.drain(), Events::default());
}

#[test]
fn more_events_than_the_system_keeps_are_told_as_lost() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    let tree = Tree::with(&[("a", ""), ("b", "")]);
    let watcher = watch_all(&tree.open());
    for _ in 0..=limit / 4 {
        // Each rename makes two events, and no two neighbours are alike.
        fs::rename(tree.path("a"), tree.path("c")).unwrap();
        fs::rename(tree.path("c"), tree.path("a")).unwrap();
    }
    assert!(watcher.drain().lost);
    assert!(!watcher.drain().lost);
}
