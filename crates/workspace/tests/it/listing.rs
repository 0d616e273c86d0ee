//! Listing one directory.

use workspace::{EntryKind, RelPath};

use crate::tree::{Tree, rel};

#[test]
fn a_directory_is_listed_by_name() {
    let tree = Tree::with(&[("b.txt", "12"), ("a/x", ""), (".env", ""), ("C", "")]);
    tree.link("link", "../outside");
    let workspace = tree.open();
    let listed = |hidden| -> Vec<(String, EntryKind)> {
        let listing = workspace.list_dir(&RelPath::root(), hidden).unwrap();
        assert!(!listing.truncated);
        listing.entries.iter().map(|e| (listing.path_of(e).to_text(), e.kind)).collect()
    };
    let visible = [
        ("C".to_owned(), EntryKind::File),
        ("a".to_owned(), EntryKind::Directory),
        ("b.txt".to_owned(), EntryKind::File),
        ("link".to_owned(), EntryKind::Symlink),
    ];
    assert_eq!(listed(false), visible);
    assert_eq!(listed(true)[0], (".env".to_owned(), EntryKind::File));
    assert_eq!(listed(true)[1..], visible);
}

#[test]
fn an_entry_has_a_path_from_the_root() {
    let tree = Tree::with(&[("dir/b.txt", "12")]);
    let listing = tree.open().list_dir(&rel("dir"), false).unwrap();
    assert_eq!(listing.path_of(&listing.entries[0]), rel("dir/b.txt"));
}

#[test]
fn only_directories_inside_are_listed() {
    let tree = Tree::with(&[("file", "")]);
    tree.link("out", "../outside");
    for workspace in tree.open_both_ways() {
        for path in ["file", "none", "out"] {
            assert!(workspace.list_dir(&rel(path), true).is_err(), "{path}");
        }
    }
}
