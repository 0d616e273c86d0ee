//! Random trees and random sets of changes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use protocol::{Change, FileBytes};
use workspace::UndoTarget;

use super::project::{Node, Project, Snapshot, label, set, undo};

/// Contents in several encodings, with and without final newline, mixed line ends and no text.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-z\n]{0,40}".prop_map(String::into_bytes),
        "[a-zäöü€\r\n]{0,40}".prop_map(String::into_bytes),
        "[a-z\r\n]{0,20}".prop_map(|t| [&[0xEF, 0xBB, 0xBF], t.as_bytes()].concat()),
        "[a-z\n]{0,20}".prop_map(|text| {
            let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        }),
        prop::collection::vec(any::<u8>(), 0..60),
    ]
}

fn mode() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0o644, 0o600, 0o755, 0o640, 0o4755, 0o777])
}

#[derive(Clone, Debug)]
enum Wish {
    Write(usize, Vec<u8>, Option<u32>),
    Create(usize, Vec<u8>, Option<u32>),
    Delete(usize),
    Move(usize, usize),
    MoveOver(usize, usize),
    Link(usize),
    NewDir(usize, Vec<u8>),
}

fn wish() -> impl Strategy<Value = Wish> {
    let file = 0..FILES;
    let given = || prop::option::of(mode());
    prop_oneof![
        (file.clone(), content(), given()).prop_map(|(f, c, m)| Wish::Write(f, c, m)),
        (file.clone(), content(), given()).prop_map(|(f, c, m)| Wish::Create(f, c, m)),
        file.clone().prop_map(Wish::Delete),
        (file.clone(), file.clone()).prop_map(|(a, b)| Wish::Move(a, b)),
        (file.clone(), file.clone()).prop_map(|(a, b)| Wish::MoveOver(a, b)),
        file.clone().prop_map(Wish::Link),
        (file, content()).prop_map(|(f, c)| Wish::NewDir(f, c)),
    ]
}

const FILES: usize = 6;

fn path(file: usize) -> String {
    match file % 3 {
        0 => format!("f{file}"),
        1 => format!("dir/f{file}"),
        _ => format!("dir/sub/f{file}"),
    }
}

/// The changes for the wishes that do not get in each other's way, and what shall come of them.
fn fulfil(project: &Project, wishes: &[Wish]) -> (Vec<Change>, Snapshot) {
    let mut expected = project.snapshot();
    let mut used = BTreeSet::new();
    let mut changes = Vec::new();
    for wish in wishes {
        let paths = match wish {
            Wish::Write(f, ..) | Wish::Delete(f) => vec![path(*f)],
            Wish::Create(f, ..) => vec![format!("{}.new", path(*f))],
            Wish::Move(a, b) => vec![path(*a), format!("{}.moved", path(*b))],
            Wish::MoveOver(a, b) => vec![path(*a), path(*b)],
            Wish::Link(f) => vec![format!("{}.link", path(*f))],
            Wish::NewDir(f, _) => vec![format!("{}.d", path(*f)), format!("{}.d/x", path(*f))],
        };
        let distinct: BTreeSet<_> = paths.iter().cloned().collect();
        if distinct.len() < paths.len() || !used.is_disjoint(&distinct) {
            continue;
        }
        used.extend(distinct);
        changes.extend(fulfil_one(project, wish, &paths, &mut expected));
    }
    (changes, expected)
}

fn fulfil_one(
    project: &Project,
    wish: &Wish,
    paths: &[String],
    expected: &mut Snapshot,
) -> Vec<Change> {
    let (first, last) = (&paths[0], &paths[paths.len() - 1]);
    match wish {
        Wish::Write(_, content, given) | Wish::Create(_, content, given) => {
            let old = match expected.get(first.as_ref() as &std::path::Path) {
                Some(Node::File(mode, _)) => *mode,
                _ => default_mode(0o666),
            };
            let mode = given.unwrap_or(old);
            expected.insert(first.into(), Node::File(mode, content.clone()));
            let content = FileBytes(content.clone());
            let base = project.base(first);
            vec![Change::Write { path: first.clone(), base, content, mode: *given }]
        }
        Wish::Delete(_) => {
            expected.remove(first.as_ref() as &std::path::Path);
            vec![project.delete(first)]
        }
        Wish::Move(..) | Wish::MoveOver(..) => {
            let node = expected.remove(first.as_ref() as &std::path::Path).unwrap();
            expected.insert(last.into(), node);
            vec![project.rename(first, last)]
        }
        Wish::Link(_) => {
            expected.insert(first.into(), Node::Link("f0".into()));
            vec![project.link(first, "f0")]
        }
        Wish::NewDir(_, content) => {
            expected.insert(first.into(), Node::Dir(0o750));
            expected.insert(last.into(), Node::File(0o600, content.clone()));
            let (base, content) = (protocol::Base::Absent, FileBytes(content.clone()));
            vec![
                Change::MakeDir { path: first.clone(), mode: Some(0o750) },
                Change::Write { path: last.clone(), base, content, mode: Some(0o600) },
            ]
        }
    }
}

/// What the system makes of a mode that is asked for.
fn default_mode(asked: u32) -> u32 {
    let dir = crate::tree::memory_dir();
    let path = dir.path().join("probe");
    fs::write(&path, "").unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    asked & mode
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn apply_does_what_was_asked_and_undo_and_redo_are_exact(
        contents in prop::collection::vec((content(), mode()), FILES),
        rounds in prop::collection::vec(prop::collection::vec(wish(), 1..8), 1..3),
    ) {
        let project = Project::in_memory(&[("dir/sub/", "")]);
        for (file, (content, mode)) in contents.iter().enumerate() {
            let path = project.tree.path(&path(file));
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
        }
        let journal = project.quick();
        let start = project.snapshot();
        let mut states = vec![start.clone()];
        for wishes in &rounds {
            let possible: Vec<Wish> = wishes.iter().filter(|wish| is_possible(&project, wish)).cloned().collect();
            let (changes, expected) = fulfil(&project, &possible);
            journal.apply(&set(changes), &label("round")).unwrap();
            prop_assert_eq!(project.snapshot(), expected.clone());
            if expected != states[states.len() - 1] {
                states.push(expected);
            }
        }
        for state in states.iter().rev().skip(1) {
            undo(&journal, &UndoTarget::Last).unwrap();
            prop_assert_eq!(&project.snapshot(), state);
        }
        for state in states.iter().skip(1) {
            undo(&journal, &UndoTarget::LastUndo).unwrap();
            prop_assert_eq!(&project.snapshot(), state);
        }
        if states.len() > 1 {
            undo(&journal, &UndoTarget::Session("session".into())).unwrap();
            prop_assert_eq!(project.snapshot(), start);
        }
    }
}

/// Whether what the wish starts from is there, and what it makes is not.
fn is_possible(project: &Project, wish: &Wish) -> bool {
    let exists = |path: &str| fs::symlink_metadata(project.tree.path(path)).is_ok();
    match wish {
        Wish::Write(f, ..) | Wish::Delete(f) => exists(&path(*f)),
        Wish::Create(f, ..) => !exists(&format!("{}.new", path(*f))),
        Wish::Move(a, b) => exists(&path(*a)) && !exists(&format!("{}.moved", path(*b))),
        Wish::MoveOver(a, b) => exists(&path(*a)) && exists(&path(*b)),
        Wish::Link(f) => !exists(&format!("{}.link", path(*f))),
        Wish::NewDir(f, _) => !exists(&format!("{}.d", path(*f))),
    }
}
