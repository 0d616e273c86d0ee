//! What a set of changes does when nothing goes wrong, and what it refuses.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use protocol::{Base, Change, ErrorCode, ToolError};
use workspace::{Error, Journal, JournalOptions};

use super::project::{Node, Project, label, make_dir, set};

fn refused(journal: &Journal, changes: impl Into<Vec<Change>>) -> ToolError {
    journal.apply(&set(changes), &label("refused")).unwrap_err().into()
}

#[test]
fn a_set_is_applied_in_the_order_given() {
    let project = Project::with(&[("a", "A"), ("b", "B"), ("gone/x", "X")]);
    let journal = project.journal();
    let applied = journal
        .apply(
            &set([
                project.write("a", "AA"),
                make_dir("new"),
                project.write("new/file", [0xFF, 0, b'\r', b'\n']),
                project.rename("b", "new/b"),
                project.delete("gone/x"),
                project.remove_dir("gone"),
                project.link("link", "new/file"),
            ]),
            &label("call"),
        )
        .unwrap();
    let paths: Vec<_> = applied.paths.iter().map(|path| path.to_text()).collect();
    assert_eq!(paths, ["a", "new", "new/file", "b", "new/b", "gone/x", "gone", "link"]);
    let now = project.snapshot();
    let names: Vec<_> = now.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["a", "link", "new", "new/b", "new/file"]);
    let bytes = |path: &str| fs::read(project.tree.path(path)).unwrap();
    assert_eq!(bytes("a"), b"AA");
    assert_eq!(bytes("link"), [0xFF, 0, b'\r', b'\n']);
    assert_eq!(bytes("new/b"), b"B");
}

#[test]
fn what_root_makes_belongs_to_the_owner_of_the_directory() {
    let project = Project::with(&[("old", "x")]);
    let root = project.tree.root();
    if let Err(error) = std::os::unix::fs::chown(root, Some(1500), Some(1501)) {
        return testkit::left_out(&format!("what root makes for others: {error}"));
    }
    let changes = [
        make_dir("new"),
        project.write("new/file", "y"),
        project.link("link", "old"),
        project.write("old", "z"),
    ];
    project.journal().apply(&set(changes), &label("call")).unwrap();
    let owner = |name: &str| {
        let meta = fs::symlink_metadata(project.tree.path(name)).unwrap();
        (meta.uid(), meta.gid())
    };
    for name in ["new", "new/file", "link"] {
        assert_eq!(owner(name), (1500, 1501), "{name}");
    }
    assert_eq!(owner("old"), (0, 0));
}

#[test]
fn a_base_that_no_longer_holds_is_a_conflict_and_changes_nothing() {
    let project = Project::with(&[("a", "A"), ("b", "B"), ("dir/x", "X")]);
    let journal = project.journal();
    let good = || project.write("b", "changed");
    let (write, create) = (project.write("a", "mine"), project.write("new", "mine"));
    let (delete, rename) = (project.delete("a"), project.rename("a", "c"));
    let remove = [project.delete("dir/x"), project.remove_dir("dir")];
    project.tree.write("a", "theirs");
    project.tree.write("new", "theirs");
    project.tree.write("c", "theirs");
    project.tree.write("dir/y", "theirs");
    let before = project.snapshot();
    let table = [
        (vec![good(), write], "a was changed in the meantime"),
        (vec![good(), create], "new exists already"),
        (vec![good(), delete], "a was changed in the meantime"),
        (vec![good(), rename], "a was changed in the meantime"),
        (remove.to_vec(), "dir is not empty: it still holds y"),
        (vec![make_dir("dir")], "dir is a directory now"),
    ];
    for (changes, message) in table {
        let error = refused(&journal, changes);
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::Conflict, message));
        assert!(error.suggestion.is_some_and(|text| text.contains("Read the file again")));
    }
    fs::set_permissions(project.tree.path("b"), fs::Permissions::from_mode(0o600)).unwrap();
    let stale = Change::Delete {
        path: "b".into(),
        base: Base::File { hash: workspace::ContentHash::of(b"B"), size: 1, mode: 0o644 },
    };
    assert_eq!(refused(&journal, [stale]).message, "b has the permissions 600 now, not 644");
    fs::set_permissions(project.tree.path("b"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(project.snapshot(), before);
    assert_eq!(journal.entries(10).unwrap(), []);
}

#[test]
fn contradictory_sets_are_refused() {
    let project = Project::with(&[("a", "A"), ("dir/x", "X"), ("dir/sub/y", "Y")]);
    let journal = project.journal();
    let p = &project;
    let before = project.snapshot();
    let table: Vec<Vec<Change>> = vec![
        vec![p.write("a", "1"), p.delete("a")],
        vec![p.write("./a", "1"), p.rename("a", "b")],
        vec![p.rename("dir", "dir/inside")],
        vec![p.rename("dir", "other"), p.write("dir/x", "1")],
        vec![p.write("new/file", "1"), make_dir("new")],
        vec![p.remove_dir("dir/sub"), p.delete("dir/sub/y")],
        vec![make_dir("dir/sub/more"), p.remove_dir("dir/sub")],
        vec![Change::Delete { path: "dir".into(), base: p.base("dir") }],
        vec![Change::Delete { path: "none".into(), base: Base::Absent }],
        vec![Change::RemoveDir { path: ".".into(), mode: 0o755 }],
    ];
    for changes in table {
        let shown = format!("{changes:?}");
        let error = journal.apply(&set(changes), &label("x")).unwrap_err();
        assert!(matches!(error, Error::Contradiction { .. }), "{shown}: {error}");
        assert_eq!(ToolError::from(error).code, ErrorCode::InvalidArguments);
    }
    let missing = refused(&journal, [p.write("none/file", "1")]);
    assert_eq!((missing.code, &*missing.message), (ErrorCode::FileNotFound, "none does not exist"));
    let beneath = refused(&journal, [p.write("a/file", "1")]);
    assert_eq!(beneath.code, ErrorCode::NotADirectory);
    assert_eq!(project.snapshot(), before);
}

#[test]
fn mode_and_attributes_are_kept_and_a_given_mode_is_set() {
    let project = Project::with(&[("a", "A"), ("b", "B")]);
    let path = project.tree.path("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o2751)).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    let has_attributes = rustix::fs::setxattr(&path, "user.kiln", b"warm", flags).is_ok();
    let mut to_mode = project.write("b", "B");
    if let Change::Write { mode, .. } = &mut to_mode {
        *mode = Some(0o700);
    }
    let mut created = project.write("c", "C");
    if let Change::Write { mode, .. } = &mut created {
        *mode = Some(0o666);
    }
    let changes = set([project.write("a", "AA"), to_mode, created]);
    project.journal().apply(&changes, &label("x")).unwrap();
    let mode = |path: &str| fs::metadata(project.tree.path(path)).unwrap().mode() & 0o7777;
    assert_eq!([mode("a"), mode("b"), mode("c")], [0o2751, 0o700, 0o666]);
    if has_attributes {
        let mut value = [0; 16];
        let len = rustix::fs::getxattr(&path, "user.kiln", value.as_mut_slice()).unwrap();
        assert_eq!(&value[..len], b"warm");
    }
}

#[test]
fn a_broken_hard_link_is_told() {
    let project = Project::with(&[("a", "A")]);
    fs::hard_link(project.tree.path("a"), project.tree.path("b")).unwrap();
    let applied = project.journal().apply(&set([project.write("a", "AA")]), &label("x")).unwrap();
    assert_eq!(
        applied.notes,
        ["a had 2 names (hard links); the others still hold the old content"]
    );
    assert_eq!(fs::read(project.tree.path("b")).unwrap(), b"A");
}

#[test]
fn a_change_that_changes_nothing_is_fine() {
    let project = Project::with(&[("a", "A")]);
    let before = fs::metadata(project.tree.path("a")).unwrap().ino();
    let journal = project.journal();
    let applied = journal.apply(&set([project.write("a", "A")]), &label("x")).unwrap();
    assert!(applied.paths.is_empty());
    assert_eq!(fs::metadata(project.tree.path("a")).unwrap().ino(), before);
    assert!(journal.inverse(&workspace::UndoTarget::Last).is_err());
}

#[test]
fn names_that_are_not_text_are_paths_too() {
    let project = Project::with(&[]);
    let journal = project.journal();
    journal.apply(&set([project.write("caf\\xE9", "x")]), &label("x")).unwrap();
    let name = project.snapshot().into_keys().next().unwrap();
    assert_eq!(std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str()), b"caf\xE9");
    journal.apply(&set([project.delete("caf\\xE9")]), &label("x")).unwrap();
    assert!(project.snapshot().is_empty());
}

#[test]
fn the_journal_stays_within_its_bounds_and_keeps_the_newest() {
    let project = Project::with(&[("a", "start")]);
    let options = JournalOptions { max_bytes: 8000, ..JournalOptions::default() };
    let journal = project.journal_with_options(options);
    // Numbers do not compress to nothing.
    let content = |n: u32| (0..200).map(|k| format!("{} ", n * 7919 + k * 104_729)).collect();
    for n in 0..20 {
        let content: String = content(n);
        journal.apply(&set([project.write("a", content)]), &label(&n.to_string())).unwrap();
    }
    let entries = journal.entries(100).unwrap();
    assert!((2..10).contains(&entries.len()), "{}", entries.len());
    assert_eq!(entries[0].call, "19");
    let stored: u64 = fs::read_dir(project.state().join("journal"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(stored <= 8000 + 24, "{stored}");
    let old = JournalOptions { max_age: std::time::Duration::ZERO, ..options };
    let journal = project.journal_with_options(old);
    journal.apply(&set([project.write("a", "end")]), &label("end")).unwrap();
    let entries = journal.entries(100).unwrap();
    assert_eq!(entries.iter().map(|e| &*e.call).collect::<Vec<_>>(), ["end"]);
    assert!(matches!(project.snapshot().values().next(), Some(Node::File(_, b)) if b == b"end"));
}

#[test]
fn more_large_files_than_may_be_open_at_once_are_applied_or_refused_together() {
    const LARGE: usize = 300_000;
    const FILES: usize = 70;
    let project = Project::in_memory(&[]);
    let text = |n: usize| format!("{n} ").repeat(LARGE / 3);
    for n in 0..FILES {
        project.tree.write(&format!("f{n}"), &text(n));
    }
    let before = project.snapshot();
    let journal = project.quick();
    let edit = |n: usize| project.write(&format!("f{n}"), text(n).replacen(' ', "edited", 1));
    let edits = set((0..FILES).map(edit).collect::<Vec<_>>());
    for changed in [3, FILES - 1] {
        let old = text(changed);
        project.tree.write(&format!("f{changed}"), &old.replace(' ', "_"));
        let error = ToolError::from(journal.apply(&edits, &label("x")).unwrap_err());
        let expected = format!("f{changed} was changed in the meantime");
        assert_eq!((error.code, error.message), (ErrorCode::Conflict, expected));
        project.tree.write(&format!("f{changed}"), &old);
        assert_eq!(project.snapshot(), before);
    }
    journal.apply(&edits, &label("x")).unwrap();
    let now = fs::read_to_string(project.tree.path("f69")).unwrap();
    assert!(now.starts_with("69edited69 "), "{}", &now[..20]);
    super::project::undo(&journal, &workspace::UndoTarget::Last).unwrap();
    assert_eq!(project.snapshot(), before);
}
