//! What a walk visits and when it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use workspace::{
    EntryKind, Error, Flow, RelPath, Visitor, WalkEntry, WalkOptions, WalkReport, Workspace,
};

use crate::tree::{SECRET, Tree, rel};

/// Gathers what it sees.
#[derive(Default)]
struct Collect {
    paths: Vec<RelPath>,
}

impl Visitor for Collect {
    fn visit(&mut self, entry: &WalkEntry<'_>) -> Flow {
        self.paths.push(entry.path());
        Flow::Continue
    }
}

pub(crate) fn collect(workspace: &Workspace, options: &WalkOptions) -> (WalkReport, Vec<String>) {
    let (report, visitors) = workspace.walk(options, &|| false, Collect::default).unwrap();
    let mut paths: Vec<RelPath> = visitors.into_iter().flat_map(|v| v.paths).collect();
    paths.sort();
    (report, paths.iter().map(RelPath::to_text).collect())
}

fn paths(tree: &Tree, options: &WalkOptions) -> Vec<String> {
    collect(&tree.open(), options).1
}

fn sample() -> Tree {
    let tree = Tree::with(&[
        ("Cargo.toml", ""),
        ("src/main.rs", "main"),
        ("src/deep/er/leaf.rs", ""),
        ("node_modules/lib/index.js", ""),
        (".env", ""),
        (".config/x", ""),
        (".git/config", ""),
        ("sub/.git/config", ""),
    ]);
    tree.link("out", "../outside");
    tree.link("src/main-link", "main.rs");
    tree
}

#[test]
fn links_are_reported_and_not_followed() {
    let (report, paths) = collect(&sample().open(), &WalkOptions::default());
    let expected = [
        "Cargo.toml",
        "node_modules",
        "node_modules/lib",
        "node_modules/lib/index.js",
        "out",
        "src",
        "src/deep",
        "src/deep/er",
        "src/deep/er/leaf.rs",
        "src/main-link",
        "src/main.rs",
        "sub",
    ];
    assert_eq!(paths, expected);
    let counts = WalkReport { files: 4, directories: 6, hidden: 2, ..WalkReport::default() };
    assert_eq!(report, counts);
}

#[test]
fn hidden_names_are_visited_on_request_but_never_git() {
    let options = WalkOptions { hidden: true, ..WalkOptions::default() };
    let paths = paths(&sample(), &options);
    assert!(paths.contains(&".env".to_owned()) && paths.contains(&".config/x".to_owned()));
    assert!(!paths.iter().any(|path| path.contains(".git")));
}

#[test]
fn named_directories_are_left_out_at_any_depth() {
    let exclude_dirs = vec!["node_modules".to_owned(), "er".to_owned()];
    let options = WalkOptions { exclude_dirs, ..WalkOptions::default() };
    let paths = paths(&sample(), &options);
    assert!(!paths.iter().any(|path| path.contains("node_modules") || path.contains("er/")));
    assert!(paths.contains(&"src/deep".to_owned()));
}

#[test]
fn depth_is_bounded_and_the_first_directory_left_out_is_named() {
    let tree = sample();
    let at_depth =
        |max_depth| collect(&tree.open(), &WalkOptions { max_depth, ..WalkOptions::default() });
    let (report, paths) = at_depth(1);
    assert_eq!(paths, ["Cargo.toml", "node_modules", "out", "src", "sub"]);
    assert_eq!(report.depth_limited, Some(rel("node_modules")));
    let (report, paths) = at_depth(3);
    assert!(paths.contains(&"src/deep/er".to_owned()));
    assert_eq!(report.depth_limited, Some(rel("src/deep/er")));
    assert_eq!(at_depth(0).1.len(), 0);
    assert_eq!(at_depth(4).0.depth_limited, None);
}

#[test]
fn entries_are_bounded_exactly() {
    let tree = sample();
    for threads in [1, 2, 8] {
        for max_entries in 0..=12 {
            let options = WalkOptions { max_entries, threads, ..WalkOptions::default() };
            let (report, paths) = collect(&tree.open(), &options);
            assert_eq!(paths.len(), max_entries);
            assert_eq!(report.entries_limited, max_entries < 12, "{max_entries}");
        }
    }
}

#[test]
fn one_thread_keeps_the_same_entries_under_a_bound() {
    let tree = sample();
    let options = WalkOptions { max_entries: 6, threads: 1, ..WalkOptions::default() };
    let kept = ["Cargo.toml", "node_modules", "node_modules/lib", "out", "src", "sub"];
    assert_eq!(paths(&tree, &options), kept);
}

#[test]
fn a_deadline_a_cancellation_and_a_visitor_end_the_walk() {
    let tree = sample();
    let workspace = tree.open();
    let late = WalkOptions { deadline: Some(Instant::now()), ..WalkOptions::default() };
    let (report, paths) = collect(&workspace, &late);
    assert!(report.timed_out && paths.is_empty());

    let options = WalkOptions::default();
    let (report, _) = workspace.walk(&options, &|| true, Collect::default).unwrap();
    assert!(report.cancelled && report.files == 0);

    let seen = AtomicUsize::new(0);
    let one = WalkOptions { threads: 1, ..WalkOptions::default() };
    let visit_two = || {
        |_: &WalkEntry<'_>| match seen.fetch_add(1, Ordering::Relaxed) {
            0 => Flow::Continue,
            _ => Flow::Stop,
        }
    };
    let (report, _) = workspace.walk(&one, &|| false, visit_two).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    assert!(!report.cancelled && !report.timed_out && !report.entries_limited);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let tree = Tree::new();
    for n in 0..1000 {
        tree.write(&format!("large/{n}"), "");
        tree.write(&format!("d{}/e{}/{n}.txt", n % 7, n % 5), "");
    }
    tree.write("large/.gitignore", "*7\n");
    tree.write("d3/.gitignore", "e2/\n");
    let workspace = tree.open();
    let with = |threads| collect(&workspace, &WalkOptions { threads, ..WalkOptions::default() });
    let single = with(1);
    assert_eq!(single.0.ignored, 101);
    for threads in [0, 2, 3, 8] {
        assert_eq!(with(threads), single, "{threads} threads");
    }
}

#[test]
fn a_panicking_visitor_ends_the_walk_instead_of_hanging_it() {
    let tree = sample();
    let workspace = tree.open();
    for threads in [1, 4] {
        let options = WalkOptions { threads, ..WalkOptions::default() };
        let visitor = || |_: &WalkEntry<'_>| -> Flow { panic!("a bug in a visitor") };
        let walk = || workspace.walk(&options, &|| false, visitor).map(|(report, _)| report);
        assert!(catch_unwind(AssertUnwindSafe(walk)).is_err());
    }
}

#[test]
fn entries_open_relative_to_their_directory() {
    let tree = Tree::with(&[("a/file", "content")]);
    tree.link("a/link", "file");
    tree.link("a/out", "../../outside/secret");
    mknodat(CWD, tree.path("a/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let check = |entry: &WalkEntry<'_>| {
        let opened = entry.open();
        match (entry.name(), entry.kind()) {
            (b"file", EntryKind::File) => {
                let mut file = opened.unwrap();
                assert_eq!(file.read_all(100).unwrap(), b"content");
                assert_eq!(file.path(), &rel("a/file"));
                assert_eq!(entry.meta().unwrap().size, 7);
                assert_eq!((entry.depth(), entry.path()), (2, rel("a/file")));
            }
            (b"a", EntryKind::Directory)
            | (b"link" | b"out", EntryKind::Symlink)
            | (b"pipe", EntryKind::Fifo) => match opened {
                Err(Error::NotAFile { kind, .. }) => assert_eq!(kind, entry.kind()),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
        Flow::Continue
    };
    tree.open().walk(&WalkOptions::default(), &|| false, || check).unwrap();
}

#[test]
fn a_walk_begins_where_it_is_told() {
    let tree = sample();
    tree.link("src-link", "src");
    let from = |start: &str| {
        let options = WalkOptions { start: rel(start), ..WalkOptions::default() };
        tree.open().walk(&options, &|| false, Collect::default).map(|(report, _)| report.files)
    };
    assert_eq!(from("src").unwrap(), 2);
    assert_eq!(from("src-link").unwrap(), 2);
    assert!(matches!(from("Cargo.toml"), Err(Error::NotADirectory { .. })));
    assert!(matches!(from("none"), Err(Error::NotFound { .. })));
    assert!(matches!(from("out"), Err(Error::OutsideRoot { .. })));
}

#[test]
fn a_directory_that_may_not_be_read_is_named() {
    let tree = Tree::with(&[("open/a", ""), ("closed/b", "")]);
    let closed = tree.path("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let privileged = fs::read_dir(&closed).is_ok();
    let (report, paths) = collect(&tree.open(), &WalkOptions::default());
    let listed = tree.open().list_dir(&rel("closed"), true);
    // So that an unprivileged user can clean up.
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    if privileged {
        assert_eq!((report.unreadable, paths.len()), (vec![], 4));
    } else {
        assert_eq!((report.unreadable, paths.len()), (vec![rel("closed")], 3));
        assert!(matches!(listed, Err(Error::PermissionDenied { .. })));
    }
}

#[test]
fn very_deep_trees_are_walked_without_holding_every_level_open() {
    const LEVELS: usize = 1500;
    let tree = Tree::new();
    tree.write(&"d/".repeat(LEVELS), "");
    let options = WalkOptions { max_depth: usize::MAX, ..WalkOptions::default() };
    let (report, _) = collect(&tree.open(), &options);
    assert_eq!(report.directories, LEVELS as u64);
}

#[test]
fn nothing_outside_is_ever_visited() {
    let tree = sample();
    tree.link("src/up", "../..");
    tree.link("abs", tree.outside());
    let options = WalkOptions { hidden: true, respect_ignore: false, ..WalkOptions::default() };
    let check = |entry: &WalkEntry<'_>| {
        assert_ne!(entry.name(), b"secret");
        if let Ok(mut file) = entry.open() {
            let content = file.read_all(1000).unwrap();
            assert_ne!(content, SECRET.as_bytes());
        }
        Flow::Continue
    };
    tree.open().walk(&options, &|| false, || check).unwrap();
}

#[test]
fn whether_a_walk_enters_a_directory_can_be_asked_about_that_directory_alone() {
    let tree = Tree::with(&[
        (".gitignore", "/out/\n"),
        ("src/.ignore", "gen\n"),
        ("src/a/b/x", ""),
        ("src/gen/deep/x", ""),
        ("out/a/x", ""),
        (".hidden/x", ""),
        (".git/info/x", ""),
        ("file", ""),
    ]);
    tree.link("link", "src");
    for workspace in tree.open_both_ways() {
        for hidden in [false, true] {
            let options = WalkOptions { hidden, max_depth: 3, ..WalkOptions::default() };
            let (_, entered) = collect(&workspace, &options);
            let parents: Vec<Option<RelPath>> =
                entered.iter().map(|path| rel(path).parent()).collect();
            for dir in [
                ".",
                "src",
                "src/a",
                "src/a/b",
                "src/gen",
                "src/gen/deep",
                "out",
                "out/a",
                ".hidden",
                ".git",
                ".git/info",
                "link",
                "link/a",
                "file",
                "absent",
            ] {
                let expected = parents.contains(&Some(rel(dir)));
                assert_eq!(workspace.walk_enters(&rel(dir), &options), expected, "{dir} {hidden}");
            }
        }
    }
}
