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
        listing.entries.iter().map(|e| (e.name_text().into_owned(), e.kind)).collect()
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
fn metadata_is_there_for_the_asking() {
    let tree = Tree::with(&[("dir/b.txt", "12")]);
    let workspace = tree.open();
    let listing = workspace.list_dir(&rel("dir"), false).unwrap();
    let entry = &listing.entries[0];
    assert_eq!(listing.path_of(entry), rel("dir/b.txt"));
    assert_eq!(listing.metadata_of(entry).unwrap().size, 2);
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
