//! An attacker who swaps a directory for a link while others read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use workspace::{Flow, RelPath, WalkEntry, WalkOptions, Workspace};

use crate::tree::{SECRET, Tree, rel};

/// Each reader goes on until it has looked this often and the attacker has swapped this often.
const ROUNDS: usize = 400;

const HARMLESS: &[u8] = b"harmless";
const LIMIT: u64 = 1000;

fn contested_tree(link_target: impl FnOnce(&Tree) -> String) -> Tree {
    let tree = Tree::with(&[("dir/sub/file", "harmless"), ("dir/other", "harmless")]);
    let outside = tree.outside();
    std::fs::create_dir(outside.join("sub")).unwrap();
    // The same names as inside, with the secret in them, and one name that is a secret itself.
    for name in ["sub/file", "other", SECRET] {
        std::fs::write(outside.join(name), SECRET).unwrap();
    }
    tree.link("trap", link_target(&tree));
    tree
}

/// Swaps `dir` and `trap` without pause while the readers run.
fn under_attack(tree: &Tree, readers: &[&(dyn Fn() + Sync)]) {
    let done = AtomicBool::new(false);
    let swaps = AtomicUsize::new(0);
    let exchange = |a: &Path, b: &Path| {
        renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let (dir, trap) = (tree.path("dir"), tree.path("trap"));
            while !done.load(Ordering::Relaxed) {
                exchange(&dir, &trap);
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let readers: Vec<_> = readers
            .iter()
            .map(|reader| {
                let swaps = &swaps;
                scope.spawn(move || {
                    let mut rounds = 0;
                    while rounds < ROUNDS || swaps.load(Ordering::Relaxed) < ROUNDS {
                        reader();
                        rounds += 1;
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(outcomes.iter().all(Result::is_ok), "a reader saw what it must not");
    });
}

fn read_by_path(workspace: &Workspace) {
    for path in ["dir/sub/file", "dir/other"] {
        if let Ok(mut file) = workspace.open_file(&rel(path)) {
            assert_eq!(file.read_all(LIMIT).unwrap(), HARMLESS);
        }
    }
    assert!(workspace.metadata(&rel("dir").join(SECRET.as_bytes()).unwrap()).is_err());
    for dir in ["dir", "trap"] {
        if let Ok(listing) = workspace.list_dir(&rel(dir), true) {
            assert!(listing.entries.iter().all(|entry| *entry.name != *SECRET.as_bytes()));
        }
    }
}

fn read_by_walk(workspace: &Workspace, start: &RelPath) {
    let options = WalkOptions { start: start.clone(), threads: 2, ..WalkOptions::default() };
    let visitor = || {
        |entry: &WalkEntry<'_>| {
            assert_ne!(entry.name(), SECRET.as_bytes());
            if let Ok(mut file) = entry.open() {
                assert_eq!(file.read_all(LIMIT).unwrap(), HARMLESS);
            }
            Flow::Continue
        }
    };
    // Beginning in the contested directory may be refused, which is as good as reading nothing.
    let _ = workspace.walk(&options, &|| false, visitor);
}

fn nothing_leaks(tree: &Tree) {
    for workspace in tree.open_both_ways() {
        under_attack(
            tree,
            &[
                &|| read_by_path(&workspace),
                &|| read_by_walk(&workspace, &RelPath::root()),
                &|| read_by_walk(&workspace, &rel("dir")),
            ],
        );
    }
}

#[test]
fn swapping_in_a_relative_link_shows_nothing_of_the_outside() {
    nothing_leaks(&contested_tree(|_| "../outside".to_owned()));
}

#[test]
fn swapping_in_an_absolute_link_shows_nothing_of_the_outside() {
    nothing_leaks(&contested_tree(|tree| tree.outside().to_str().unwrap().to_owned()));
}
