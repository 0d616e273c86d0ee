//! Taking changes back, and taking that back.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, UNIX_EPOCH};

use protocol::{ErrorCode, ToolError};
use workspace::{EntryRole, Error, Label, UndoTarget};

use super::project::{Project, label, make_dir, set, undo};
use super::scenarios::ALL;

#[test]
fn undo_restores_every_scenario_and_redo_repeats_it() {
    for scenario in ALL {
        let project = scenario.project();
        let before = project.snapshot();
        let journal = project.quick();
        scenario.act(&project, &journal).unwrap();
        let after = project.snapshot();
        let newest = journal.entries(1).unwrap().remove(0);
        undo(&journal, &UndoTarget::Entry(newest.id)).unwrap();
        assert_eq!(project.snapshot(), before, "{}", scenario.name);
        let newest = journal.entries(1).unwrap().remove(0);
        undo(&journal, &UndoTarget::Entry(newest.id)).unwrap();
        assert_eq!(project.snapshot(), after, "{}", scenario.name);
    }
}

#[test]
fn undo_and_redo_walk_back_and_forth_through_the_changes() {
    let project = Project::with(&[("a", "0")]);
    let journal = project.journal();
    let content = || fs::read_to_string(project.tree.path("a")).unwrap();
    for n in ["1", "2", "3"] {
        journal.apply(&set([project.write("a", n)]), &label(n)).unwrap();
    }
    for expected in ["2", "1", "0"] {
        undo(&journal, &UndoTarget::Last).unwrap();
        assert_eq!(content(), expected);
    }
    assert!(matches!(undo(&journal, &UndoTarget::Last), Err(Error::NothingToUndo { .. })));
    for expected in ["1", "2", "3"] {
        undo(&journal, &UndoTarget::LastUndo).unwrap();
        assert_eq!(content(), expected);
    }
    let error = ToolError::from(undo(&journal, &UndoTarget::LastUndo).unwrap_err());
    assert_eq!(error.message, "there is nothing to redo");
    undo(&journal, &UndoTarget::Last).unwrap();
    assert_eq!(content(), "2");
}

#[test]
fn a_change_is_redone_by_its_own_name_or_that_of_its_undo() {
    let project = Project::with(&[("a", "0"), ("b", "0")]);
    let journal = project.journal();
    let content = |path: &str| fs::read_to_string(project.tree.path(path)).unwrap();
    let a = journal.apply(&set([project.write("a", "1")]), &label("a")).unwrap().entry;
    let b = journal.apply(&set([project.write("b", "1")]), &label("b")).unwrap().entry;
    undo(&journal, &UndoTarget::Entry(a)).unwrap();
    let undo_of_b = undo(&journal, &UndoTarget::Entry(b)).unwrap().entry;
    // Not the last one that was undone.
    undo(&journal, &UndoTarget::UndoOf(a)).unwrap();
    assert_eq!((content("a"), content("b")), ("1".to_owned(), "0".to_owned()));
    undo(&journal, &UndoTarget::UndoOf(undo_of_b)).unwrap();
    assert_eq!(content("b"), "1");
    for (id, told) in [(a, "is not undone"), (undo_of_b, "is not undone")] {
        let error = ToolError::from(undo(&journal, &UndoTarget::UndoOf(id)).unwrap_err());
        assert!(error.message.contains(told), "{error}");
    }
}

#[test]
fn the_history_tells_who_undid_what() {
    let project = Project::with(&[("a", "0")]);
    let journal = project.journal();
    let first = journal.apply(&set([project.write("a", "1")]), &label("c1")).unwrap().entry;
    let second = undo(&journal, &UndoTarget::Last).unwrap().entry;
    let third = undo(&journal, &UndoTarget::LastUndo).unwrap().entry;
    let entries = journal.entries(10).unwrap();
    let shown: Vec<_> =
        entries.iter().map(|e| (e.id, e.role, e.undone_by, e.undoes.clone())).collect();
    assert_eq!(
        shown,
        [
            (third, EntryRole::Redo, None, vec![second]),
            (second, EntryRole::Undo, Some(third), vec![first]),
            (first, EntryRole::Change, None, vec![]),
        ]
    );
    assert_eq!(entries[2].summary, "summary of c1");
    assert_eq!(entries[2].paths[0].to_text(), "a");
    assert_eq!(journal.entries(1).unwrap().len(), 1);
}

#[test]
fn a_file_that_changed_since_is_a_conflict_that_names_it() {
    let project = Project::with(&[("a", "0"), ("b", "0")]);
    let journal = project.journal();
    let changes = set([project.write("a", "1"), project.write("b", "1")]);
    journal.apply(&changes, &label("x")).unwrap();
    project.tree.write("b", "theirs");
    let before = project.snapshot();
    let error = ToolError::from(undo(&journal, &UndoTarget::Last).unwrap_err());
    assert_eq!(
        (error.code, &*error.message),
        (ErrorCode::Conflict, "b was changed in the meantime")
    );
    assert_eq!(project.snapshot(), before);
}

#[test]
fn a_call_and_a_session_are_undone_as_one() {
    let project = Project::with(&[("a", "0"), ("b", "0"), ("c/d", "0"), ("other", "0")]);
    let before = project.snapshot();
    let journal = project.journal();
    let in_session = |session: &str, call: &str| Label { session: session.into(), ..label(call) };
    let apply = |session: &str, call: &str, changes: Vec<protocol::Change>| {
        journal.apply(&set(changes), &in_session(session, call)).unwrap()
    };
    apply("s", "1", vec![project.write("a", "1"), make_dir("new"), project.write("new/n", "1")]);
    apply("s", "2", vec![project.write("a", "2"), project.rename("new/n", "b")]);
    apply("t", "3", vec![project.write("other", "1")]);
    apply("s", "4", vec![project.delete("c/d"), project.remove_dir("c")]);
    apply("s", "4", vec![project.write("a", "3"), project.remove_dir("new")]);
    let inverse = journal.inverse(&UndoTarget::Call("4".into())).unwrap();
    assert_eq!(inverse.undoes.len(), 2);
    journal.apply_undo(&inverse, &in_session("s", "undo")).unwrap();
    assert_eq!(fs::read(project.tree.path("c/d")).unwrap(), b"0");
    assert_eq!(fs::read(project.tree.path("a")).unwrap(), b"2");
    let inverse = journal.inverse(&UndoTarget::Session("s".into())).unwrap();
    assert_eq!(inverse.undoes.len(), 2);
    journal.apply_undo(&inverse, &in_session("s", "undo")).unwrap();
    let mut expected = before;
    let other = std::path::PathBuf::from("other");
    expected.insert(other.clone(), project.snapshot()[&other].clone());
    assert_eq!(project.snapshot(), expected);
    assert_eq!(fs::read(project.tree.path("other")).unwrap(), b"1");
    // A redo brings the whole session back at once.
    undo(&journal, &UndoTarget::LastUndo).unwrap();
    assert_eq!(fs::read(project.tree.path("a")).unwrap(), b"2");
}

#[test]
fn small_edits_in_large_files_are_undone_over_several_entries() {
    let project = Project::with(&[("a", "")]);
    let mut content = "0123456789abcdef\n".repeat(40_000);
    project.tree.write("a", &content);
    let before = project.snapshot();
    let journal = project.journal();
    for (n, at) in [5_000, 600_000, 1].into_iter().enumerate() {
        content.insert_str(at, "inserted");
        journal.apply(&set([project.write("a", &content)]), &label(&n.to_string())).unwrap();
    }
    let stored: u64 = fs::read_dir(project.state().join("journal"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(stored < 10_000, "{stored}");
    undo(&journal, &UndoTarget::Session("session".into())).unwrap();
    assert_eq!(project.snapshot(), before);
}

#[test]
fn making_a_file_read_only_can_be_undone() {
    let project = Project::with(&[("a", "0")]);
    let before = project.snapshot();
    let journal = project.journal();
    let mut change = project.write("a", "0");
    if let protocol::Change::Write { mode, .. } = &mut change {
        *mode = Some(0o444);
    }
    journal.apply(&set([change]), &label("x")).unwrap();
    assert_ne!(project.snapshot(), before);
    undo(&journal, &UndoTarget::Last).unwrap();
    assert_eq!(project.snapshot(), before);
}

/// Owner, time of the last modification and an extended attribute, as far as the system has them.
fn surroundings(path: &std::path::Path) -> (u32, u32, i64, i64, Vec<u8>) {
    let meta = fs::symlink_metadata(path).unwrap();
    let mut value = vec![0; 16];
    let len = rustix::fs::getxattr(path, "user.kiln", value.as_mut_slice()).unwrap_or(0);
    value.truncate(len);
    (meta.uid(), meta.gid(), meta.mtime(), meta.mtime_nsec(), value)
}

#[test]
fn a_deleted_file_comes_back_with_owner_time_and_attributes() {
    let project = Project::with(&[("dir/a", "A"), ("b", "B")]);
    let path = project.tree.path("dir/a");
    let times = fs::FileTimes::new().set_modified(UNIX_EPOCH + Duration::new(1_000_000_000, 5));
    fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    let mut expected = surroundings(&path);
    (expected.2, expected.3) = (1_000_000_000, 5);
    // Both may be refused, and then there is nothing to keep.
    match std::os::unix::fs::chown(&path, Some(1234), Some(2345)) {
        Ok(()) => (expected.0, expected.1) = (1234, 2345),
        Err(error) => testkit::left_out(&format!("the owner of a deleted file: {error}")),
    }
    match rustix::fs::setxattr(&path, "user.kiln", b"warm", rustix::fs::XattrFlags::empty()) {
        Ok(()) => expected.4 = b"warm".to_vec(),
        Err(error) => testkit::left_out(&format!("the attributes of a deleted file: {error}")),
    }
    let before = surroundings(&path);
    assert_eq!(before, expected);
    let journal = project.journal();
    let delete = [project.delete("dir/a"), project.remove_dir("dir")];
    journal.apply(&set(delete), &label("delete")).unwrap();
    undo(&journal, &UndoTarget::Last).unwrap();
    assert_eq!(surroundings(&path), before);
    undo(&journal, &UndoTarget::LastUndo).unwrap();
    assert!(!path.exists());
    journal.apply(&set([project.write("b", "BB")]), &label("other")).unwrap();
    undo(&journal, &UndoTarget::Session("session".into())).unwrap();
    assert_eq!(surroundings(&path), before);
    assert_eq!(fs::read(&path).unwrap(), b"A");
}

#[test]
fn an_edited_file_is_younger_after_its_undo() {
    let project = Project::with(&[("a", "A")]);
    let path = project.tree.path("a");
    let times = fs::FileTimes::new().set_modified(UNIX_EPOCH);
    fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
    let journal = project.journal();
    journal.apply(&set([project.write("a", "AA")]), &label("edit")).unwrap();
    undo(&journal, &UndoTarget::Last).unwrap();
    // Whoever built something from the edited file must notice that it has changed again.
    assert!(fs::metadata(&path).unwrap().mtime() > 0);
}
