//! Whatever is done to a project, searches with an index find what searches without one find.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use code_index::CodeBase;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::project::{Project, files, grep, ranked};

const DIRS: [&str; 6] = ["", "a", "a/b", "a/b/c", "d", ".hidden"];
const NAMES: [&[u8]; 7] =
    [b"one.rs", b"two.rs", b"three.log", b"b", b".dot", b"four", b"alpha caf\xE9.rs"];
const TEXTS: [&[u8]; 9] = [
    b"alpha beta\n",
    b"beta\ngamma\n",
    b"",
    b"ALPHA delta db",
    b"\0alpha binary\n",
    b"epsilon alpha gamma\r\nbeta\r\n",
    b"\xFF\xFEa\0l\0p\0h\0a\0\n\0",
    b"alpha \xE9\xFF d\xC3\xA9ta\n",
    "// 検索 of alphaBinary, Éta\n".as_bytes(),
];
const RULES: [&str; 4] = ["*.log\n", "b\n", "/a/\n", "!one.rs\n*.rs\n"];
const QUERIES: [&str; 9] = [
    "alpha",
    "beta delta",
    "Gammas of one",
    "AlphaBinary",
    "of the",
    "two three.log",
    "éta 検索 alpha",
    "db zebra",
    "?!",
];
const PATTERNS: [&str; 5] = ["alpha", "beta|delta", "g.mma", "(?i)alpha", "ta$"];

#[derive(Debug, Clone)]
enum Step {
    Write {
        place: (usize, usize),
        text: usize,
    },
    Append {
        place: (usize, usize),
        text: usize,
    },
    Remove {
        place: (usize, usize),
    },
    RemoveDir {
        dir: usize,
    },
    Move {
        from: (usize, usize),
        to: (usize, usize),
    },
    MoveDir {
        from: usize,
        to: usize,
    },
    Rules {
        dir: usize,
        rules: Option<usize>,
    },
    Link {
        place: (usize, usize),
        to: usize,
    },
    HardLink {
        from: (usize, usize),
        to: (usize, usize),
    },
    /// Questions are asked between steps only here, so that several steps come at once.
    Ask {
        pattern: usize,
        start: usize,
    },
    /// Lets the background finish.
    Wait,
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0..DIRS.len(), 0..NAMES.len());
    prop_oneof![
        6 => (place(), 0..TEXTS.len()).prop_map(|(place, text)| Step::Write { place, text }),
        2 => (place(), 0..TEXTS.len()).prop_map(|(place, text)| Step::Append { place, text }),
        2 => place().prop_map(|place| Step::Remove { place }),
        1 => (1..DIRS.len()).prop_map(|dir| Step::RemoveDir { dir }),
        2 => (place(), place()).prop_map(|(from, to)| Step::Move { from, to }),
        2 => (1..DIRS.len(), 1..DIRS.len()).prop_map(|(from, to)| Step::MoveDir { from, to }),
        1 => (0..DIRS.len(), proptest::option::of(0..RULES.len()))
            .prop_map(|(dir, rules)| Step::Rules { dir, rules }),
        1 => (place(), 0..DIRS.len()).prop_map(|(place, to)| Step::Link { place, to }),
        1 => (place(), place()).prop_map(|(from, to)| Step::HardLink { from, to }),
        6 => (0..PATTERNS.len(), 0..DIRS.len())
            .prop_map(|(pattern, start)| Step::Ask { pattern, start }),
        1 => Just(Step::Wait),
    ]
}

/// Does a step. Many are impossible at the moment, which is fine.
fn perform(project: &Project, step: &Step) -> Option<()> {
    let at = |(dir, name): (usize, usize)| -> PathBuf {
        project.path(DIRS[dir]).join(OsStr::from_bytes(NAMES[name]))
    };
    let parent = |path: &PathBuf| fs::create_dir_all(path.parent().unwrap()).ok();
    match *step {
        Step::Write { place, text } => {
            parent(&at(place))?;
            fs::write(at(place), TEXTS[text]).ok()
        }
        Step::Append { place, text } => {
            use std::io::Write as _;
            let mut file = fs::File::options().append(true).open(at(place)).ok()?;
            file.write_all(TEXTS[text]).ok()
        }
        Step::Remove { place } => fs::remove_file(at(place)).ok(),
        Step::RemoveDir { dir } => fs::remove_dir_all(project.path(DIRS[dir])).ok(),
        Step::Move { from, to } => {
            parent(&at(to))?;
            fs::rename(at(from), at(to)).ok()
        }
        Step::MoveDir { from, to } => {
            fs::rename(project.path(DIRS[from]), project.path(DIRS[to])).ok()
        }
        Step::Rules { dir, rules } => {
            let file = project.path(DIRS[dir]).join(".gitignore");
            match rules {
                Some(rules) => fs::write(file, RULES[rules]).ok(),
                None => fs::remove_file(file).ok(),
            }
        }
        Step::Link { place, to } => {
            parent(&at(place))?;
            symlink(project.path(DIRS[to]), at(place)).ok()
        }
        Step::HardLink { from, to } => {
            parent(&at(to))?;
            fs::hard_link(at(from), at(to)).ok()
        }
        Step::Ask { .. } | Step::Wait => None,
    }
}

/// Whether a directory is there, and not behind a link, which searches refuse.
fn is_real_dir(project: &Project, dir: &str) -> bool {
    let root = project.root().canonicalize().unwrap();
    let path = root.join(dir);
    path.is_dir() && path.canonicalize().is_ok_and(|real| real == path)
}

fn compare(indexed: &CodeBase, plain: &CodeBase, pattern: usize, start: usize, project: &Project) {
    let start = match DIRS[start] {
        "" => ".",
        dir if is_real_dir(project, dir) => dir,
        _ => ".",
    };
    let pattern = PATTERNS[pattern];
    assert_eq!(grep(indexed, pattern, start), grep(plain, pattern, start), "{pattern} in {start}");
    assert_eq!(files(indexed, start), files(plain, start), "files of {start}");
    for query in QUERIES {
        assert_eq!(
            ranked(indexed, query, start),
            ranked(plain, query, start),
            "{query} in {start}"
        );
    }
}

fn check(stays: bool, cases: u32) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let steps = proptest::collection::vec(step(), 1..60);
    TestRunner::new(config)
        .run(&steps, |steps| {
            let project = Project::new(&[("a/b/one.rs", "alpha\n"), ("d/two.rs", "beta\n")]);
            drop(project.indexed());
            let (indexed, plain) = (project.open(stays), project.plain());
            grep(&indexed, "alpha", ".");
            indexed.wait_for_index();
            for step in &steps {
                perform(&project, step);
                match *step {
                    Step::Ask { pattern, start } => {
                        compare(&indexed, &plain, pattern, start, &project);
                    }
                    Step::Wait => indexed.wait_for_index(),
                    _ => {}
                }
            }
            for pattern in 0..PATTERNS.len() {
                compare(&indexed, &plain, pattern, 0, &project);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_watched_project_is_searched_as_it_is() {
    check(true, 60);
}

#[test]
fn a_project_without_a_file_watcher_is_searched_as_it_is() {
    check(false, 25);
}
