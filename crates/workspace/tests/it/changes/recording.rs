//! Changes that another program has made, written down to be taken back.

use std::fs;

use workspace::{Error, RelPath, UndoTarget, WrittenElsewhere};

use super::project::{Project, label, undo};

fn elsewhere(path: &str, before: Option<&str>) -> WrittenElsewhere {
    let before = before.map(|text| text.as_bytes().to_vec());
    WrittenElsewhere { path: RelPath::parse(path).unwrap(), before }
}

#[test]
fn what_another_program_wrote_is_undone_and_redone() {
    let project = Project::with(&[("a", "saved"), ("dir/b", "written")]);
    let journal = project.journal();
    let content = |path: &str| fs::read_to_string(project.tree.path(path)).unwrap();
    // The editor held text that was never saved, and made a file.
    let files = [elsewhere("a", Some("typed")), elsewhere("dir/b", None)];
    let recorded = journal.record(&files, &label("record")).unwrap();
    assert_eq!((content("a").as_str(), content("dir/b").as_str()), ("saved", "written"));
    undo(&journal, &UndoTarget::Entry(recorded.entry)).unwrap();
    assert_eq!(content("a"), "typed");
    assert!(!project.tree.path("dir/b").exists());
    undo(&journal, &UndoTarget::LastUndo).unwrap();
    assert_eq!((content("a").as_str(), content("dir/b").as_str()), ("saved", "written"));
    // Nothing is left beside the files, and the journal opens as after any change.
    drop(journal);
    assert_eq!(fs::read_dir(project.tree.path("dir")).unwrap().count(), 1);
    assert_eq!(project.journal().entries(9).unwrap().len(), 3);
}

#[test]
fn a_file_that_was_changed_since_is_not_taken_back() {
    let project = Project::with(&[("a", "saved")]);
    let journal = project.journal();
    journal.record(&[elsewhere("a", Some("typed"))], &label("record")).unwrap();
    fs::write(project.tree.path("a"), "later").unwrap();
    assert!(matches!(undo(&journal, &UndoTarget::Last), Err(Error::Conflict { .. })));
    assert_eq!(fs::read_to_string(project.tree.path("a")).unwrap(), "later");
}

#[test]
fn what_is_no_file_cannot_be_recorded() {
    let project = Project::with(&[("dir/b", "x")]);
    let journal = project.journal();
    for path in ["missing", "dir"] {
        let refused = journal.record(&[elsewhere(path, Some("x"))], &label("record"));
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{path}");
    }
    assert_eq!(journal.entries(9).unwrap().len(), 0);
}
