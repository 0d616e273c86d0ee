//! Undoing whole sessions in which directories got other names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use protocol::{Change, ErrorCode, ToolError};
use workspace::{Journal, UndoTarget};

use super::project::{Node, Project, Snapshot, label, make_dir, set, undo};

const FILES: &[(&str, &str)] =
    &[("old/a", "a"), ("old/b", "b"), ("old/sub/c", "c"), ("top", "t"), ("old/none/", "")];

fn session() -> UndoTarget {
    UndoTarget::Session("session".into())
}

fn step(journal: &Journal, changes: impl Into<Vec<Change>>) {
    journal.apply(&set(changes), &label("step")).unwrap();
}

/// Edits before and after directories get other names, one inside another.
fn work(p: &Project, journal: &Journal) {
    step(journal, [p.write("old/a", "edited before"), p.write("top", "T")]);
    step(journal, [p.rename("old", "new")]);
    step(journal, [p.write("new/b", "edited after"), p.write("new/made", "made")]);
    step(journal, [p.rename("new/sub", "apart")]);
    step(journal, [p.write("apart/c", "edited twice removed")]);
    step(journal, [p.rename("apart/c", "apart/d")]);
    step(journal, [p.delete("new/made"), make_dir("old"), p.write("old/a", "another a")]);
    step(journal, [p.rename("apart", "old/again")]);
}

#[test]
fn a_session_with_moved_directories_is_undone_in_one_go_and_redone() {
    let project = Project::in_memory(FILES);
    let before = project.snapshot();
    let journal = project.quick();
    work(&project, &journal);
    let after = project.snapshot();
    for _ in 0..2 {
        let inverse = journal.inverse(&session()).unwrap();
        assert_eq!(inverse.undoes.len(), 8);
        journal.apply_undo(&inverse, &label("undo")).unwrap();
        assert_eq!(project.snapshot(), before);
        undo(&journal, &UndoTarget::LastUndo).unwrap();
        assert_eq!(project.snapshot(), after);
    }
    // One by one comes to the same.
    for _ in 0..8 {
        undo(&journal, &UndoTarget::Last).unwrap();
    }
    assert_eq!(project.snapshot(), before);
}

#[test]
fn files_that_were_only_moved_keep_their_identity() {
    use std::os::unix::fs::MetadataExt;
    let project = Project::in_memory(FILES);
    let inode = |path: &str| fs::metadata(project.tree.path(path)).unwrap().ino();
    let before = inode("old/sub/c");
    let journal = project.quick();
    step(&journal, [project.rename("old", "new")]);
    step(&journal, [project.write("new/b", "edited")]);
    undo(&journal, &session()).unwrap();
    assert_eq!(inode("old/sub/c"), before);
}

#[test]
fn what_others_put_into_a_moved_directory_goes_back_with_it() {
    let project = Project::in_memory(FILES);
    let mut expected = project.snapshot();
    let journal = project.quick();
    work(&project, &journal);
    project.tree.write("new/theirs/file", "theirs");
    undo(&journal, &session()).unwrap();
    let theirs = project.snapshot().remove(Path::new("old/theirs/file")).unwrap();
    assert!(matches!(&theirs, Node::File(_, bytes) if bytes == b"theirs"));
    expected.insert("old/theirs/file".into(), theirs);
    let dir = project.snapshot().remove(Path::new("old/theirs")).unwrap();
    expected.insert("old/theirs".into(), dir);
    assert_eq!(project.snapshot(), expected);
}

#[test]
fn a_conflict_anywhere_leaves_everything() {
    type Disturb = fn(&Project);
    let table: &[(&str, Disturb, &str)] = &[
        ("an edited file", |p| p.tree.write("new/b", "theirs"), "new/b"),
        ("a file edited before the move", |p| p.tree.write("new/a", "theirs"), "old/a"),
        ("a file at an old name", |p| p.tree.write("old/sub", "theirs"), "old/sub"),
        ("a deleted file", |p| fs::remove_file(p.tree.path("old/again/d")).unwrap(), "apart/d"),
    ];
    for (name, disturb, path) in table {
        let project = Project::in_memory(FILES);
        let journal = project.quick();
        work(&project, &journal);
        disturb(&project);
        let before = project.snapshot();
        let error = ToolError::from(undo(&journal, &session()).unwrap_err());
        assert_eq!(error.code, ErrorCode::Conflict, "{name}: {error}");
        assert!(error.message.contains(path), "{name}: {error}");
        assert_eq!(project.snapshot(), before, "{name}");
    }
}

#[derive(Clone, Debug)]
enum Deed {
    Write(prop::sample::Index, u8),
    Create(prop::sample::Index, u8),
    Delete(prop::sample::Index),
    Move(prop::sample::Index, prop::sample::Index, u8),
    MakeDir(prop::sample::Index, u8),
    RemoveDir(prop::sample::Index),
}

fn deed() -> impl Strategy<Value = Deed> {
    let any_path = any::<prop::sample::Index>;
    prop_oneof![
        2 => (any_path(), any::<u8>()).prop_map(|(p, c)| Deed::Write(p, c)),
        1 => (any_path(), 0u8..3).prop_map(|(p, n)| Deed::Create(p, n)),
        1 => any_path().prop_map(Deed::Delete),
        4 => (any_path(), any_path(), 0u8..3).prop_map(|(a, b, n)| Deed::Move(a, b, n)),
        1 => (any_path(), 0u8..3).prop_map(|(p, n)| Deed::MakeDir(p, n)),
        1 => any_path().prop_map(Deed::RemoveDir),
    ]
}

/// The change that the deed comes to in the project as it is, if it is possible.
fn change(project: &Project, deed: &Deed) -> Option<Change> {
    let now = project.snapshot();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let is_dir = |path: &PathBuf| matches!(now[path], Node::Dir(_));
    let pick = |index: &prop::sample::Index, dirs: bool| {
        let paths: Vec<_> = now.keys().filter(|path| is_dir(path) == dirs).collect();
        (!paths.is_empty()).then(|| text(paths[index.index(paths.len())]))
    };
    let fresh = |index: &prop::sample::Index, n: u8| {
        let dir = pick(index, true).map_or(String::new(), |dir| dir + "/");
        let path = format!("{dir}n{n}");
        (!now.contains_key(Path::new(&path))).then_some(path)
    };
    match deed {
        Deed::Write(path, byte) => Some(project.write(&pick(path, false)?, [*byte, b'!'])),
        Deed::Create(dir, n) => Some(project.write(&fresh(dir, *n)?, [*n])),
        Deed::Delete(path) => Some(project.delete(&pick(path, false)?)),
        Deed::Move(from, to, n) => {
            let paths: Vec<_> = now.keys().collect();
            let from = (!paths.is_empty()).then(|| text(paths[from.index(paths.len())]))?;
            let to = fresh(to, *n)?;
            (!Path::new(&to).starts_with(&from)).then(|| project.rename(&from, &to))
        }
        Deed::MakeDir(dir, n) => Some(make_dir(&fresh(dir, *n)?)),
        Deed::RemoveDir(path) => {
            let path = pick(path, true)?;
            let inside = now.keys().any(|p| p.starts_with(&path) && *p != Path::new(&path));
            (!inside).then(|| project.remove_dir(&path))
        }
    }
}

/// What has been a file and a directory in turn cannot be undone at once, and says so.
fn had_two_kinds(history: &[Snapshot]) -> bool {
    let kinds = |path: &PathBuf| {
        let nodes = history.iter().filter_map(|snapshot| snapshot.get(path));
        nodes.map(|node| matches!(node, Node::Dir(_))).collect::<BTreeSet<bool>>().len()
    };
    history.iter().flat_map(|snapshot| snapshot.keys()).any(|path| kinds(path) > 1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_session_is_undone_and_redone_as_one(deeds in prop::collection::vec(deed(), 1..12)) {
        let project = Project::in_memory(FILES);
        let journal = project.quick();
        let mut history = vec![project.snapshot()];
        for deed in &deeds {
            if let Some(change) = change(&project, deed) {
                journal.apply(&set([change]), &label("deed")).unwrap();
                history.push(project.snapshot());
            }
        }
        let (before, after) = (history[0].clone(), history[history.len() - 1].clone());
        match undo(&journal, &session()) {
            Ok(_) => {
                prop_assert_eq!(project.snapshot(), before);
                undo(&journal, &UndoTarget::LastUndo).unwrap();
                prop_assert_eq!(project.snapshot(), after);
            }
            Err(workspace::Error::NothingToUndo { .. }) => prop_assert_eq!(before, after),
            Err(error) => {
                prop_assert!(had_two_kinds(&history), "{}", error);
                prop_assert_eq!(project.snapshot(), after);
            }
        }
    }
}
