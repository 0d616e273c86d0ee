//! Changes and symbolic links: a set names what it changes, and nothing leads it elsewhere.

use std::fs;

use protocol::{Base, Change, ErrorCode, ToolError};
use workspace::{Journal, UndoTarget};

use super::project::{Project, label, set, undo};
use crate::tree::SECRET;

fn refused(journal: &Journal, change: Change) -> ToolError {
    journal.apply(&set([change]), &label("refused")).unwrap_err().into()
}

/// Links of every kind, with the paths of those that can be deleted and moved.
fn linked() -> (Project, Vec<&'static str>) {
    let project = Project::with(&[("dir/real", "old"), ("dir/links/file", "kept")]);
    project.tree.link("dir/links/inside", "../real");
    project.tree.link("dir/links/chain", "inside");
    project.tree.link("dir/links/to-dir", "..");
    project.tree.link("dir/links/dangling", "nowhere");
    project.tree.link("dir/links/outside", "../../../outside/secret");
    project.tree.link("dir/links/absolute", project.tree.outside());
    project.tree.link("dir/links/back", project.tree.path("dir/real"));
    project.tree.link("dir/links/loop", "loop");
    let names = ["inside", "chain", "to-dir", "dangling", "outside", "absolute", "back", "loop"];
    (project, names.to_vec())
}

#[test]
fn a_link_is_deleted_and_moved_itself_wherever_it_leads_and_comes_back() {
    let (project, names) = linked();
    let (journal, before) = (project.journal(), project.snapshot());
    for name in names {
        let path = format!("dir/links/{name}");
        for change in [project.delete(&path), project.rename(&path, "moved")] {
            assert!(matches!(
                change,
                Change::Delete { base: Base::Link { .. }, .. }
                    | Change::Move { base: Base::Link { .. }, .. }
            ));
            let moves = matches!(change, Change::Move { .. });
            journal.apply(&set([change]), &label("x")).unwrap();
            let now = project.snapshot();
            assert_eq!(now.len(), before.len() - usize::from(!moves), "{name}");
            assert!(fs::symlink_metadata(project.tree.path(&path)).is_err(), "{name}");
            assert_eq!(fs::symlink_metadata(project.tree.path("moved")).is_ok(), moves, "{name}");
            undo(&journal, &UndoTarget::Last).unwrap();
            assert_eq!(project.snapshot(), before, "{name}");
        }
    }
    assert_eq!(fs::read_to_string(project.tree.outside().join("secret")).unwrap(), SECRET);
}

#[test]
fn a_directory_takes_its_links_along_when_it_is_moved_or_deleted() {
    let (project, names) = linked();
    let (journal, before) = (project.journal(), project.snapshot());
    journal.apply(&set([project.rename("dir/links", "dir/moved")]), &label("x")).unwrap();
    for name in &names {
        let moved = project.tree.path("dir/moved").join(name);
        let target = before[&std::path::PathBuf::from("dir/links").join(name)].clone();
        assert_eq!(super::project::Node::Link(fs::read_link(moved).unwrap()), target);
    }
    undo(&journal, &UndoTarget::Last).unwrap();
    assert_eq!(project.snapshot(), before);
    let mut changes: Vec<Change> =
        names.iter().map(|name| project.delete(&format!("dir/links/{name}"))).collect();
    changes.extend([project.delete("dir/links/file"), project.remove_dir("dir/links")]);
    journal.apply(&set(changes), &label("x")).unwrap();
    assert_eq!(project.snapshot().len(), 2);
    undo(&journal, &UndoTarget::Last).unwrap();
    assert_eq!(project.snapshot(), before);
}

#[test]
fn a_set_that_names_a_path_behind_a_link_is_void() {
    let project = Project::with(&[("dir/x", "X"), ("other/x", "X")]);
    project.tree.link("alias", "dir");
    project.tree.link("file", "dir/x");
    let journal = project.journal();
    let before = project.snapshot();
    let base = project.base("dir/x");
    for path in ["alias/x", "file"] {
        let content = protocol::FileBytes(b"new".to_vec());
        let write = Change::Write { path: path.into(), base: base.clone(), content, mode: None };
        let delete = Change::Delete { path: path.into(), base: base.clone() };
        for change in [write, delete] {
            let error = refused(&journal, change);
            assert_eq!(error.code, ErrorCode::Conflict, "{path}: {error}");
        }
    }
    assert_eq!(project.snapshot(), before);
}

/// Both places hold the same bytes, so that only the link can tell them apart.
#[test]
fn a_link_that_is_swapped_in_after_the_approval_does_not_lead_the_change_elsewhere() {
    for swapped in ["dir/x", "dir"] {
        let project = Project::with(&[("dir/x", "X"), ("other/x", "X")]);
        let journal = project.journal();
        let approved =
            [project.write("dir/x", "new"), project.delete("dir/x"), project.rename("dir/x", "y")];
        let away = project.tree.path("away");
        fs::rename(project.tree.path(swapped), away).unwrap();
        let target = if swapped == "dir" { "other" } else { "../other/x" };
        project.tree.link(swapped, target);
        let before = project.snapshot();
        for change in approved {
            let error = refused(&journal, change);
            assert_eq!(error.code, ErrorCode::Conflict, "{swapped}: {error}");
        }
        assert_eq!(project.snapshot(), before);
    }
}
