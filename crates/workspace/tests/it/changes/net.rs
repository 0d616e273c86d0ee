//! What a session has left changed.

use protocol::Change;
use workspace::{EntryId, Journal, Label, UndoTarget};

use super::project::{Project, label, make_dir, set, undo};

fn step(journal: &Journal, changes: impl Into<Vec<Change>>) {
    journal.apply(&set(changes), &label("step")).unwrap();
}

fn left(journal: &Journal, since: Option<EntryId>) -> Vec<String> {
    let changed = journal.left_changed("session", since).unwrap();
    changed.iter().map(ToString::to_string).collect()
}

#[test]
fn what_was_changed_back_is_not_left_changed() {
    let p = Project::in_memory(&[("a", "a"), ("b", "b"), ("c", "c"), ("d/e", "e")]);
    let journal = p.quick();
    assert_eq!(left(&journal, None), Vec::<String>::new());
    step(&journal, [p.write("a", "A"), make_dir("new"), p.write("new/made", "1")]);
    step(&journal, [p.write("scratch", "x")]);
    step(&journal, [p.delete("scratch")]);
    step(&journal, [p.write("b", "B")]);
    step(&journal, [p.write("b", "b")]);
    assert_eq!(left(&journal, None), ["a", "new/made"]);
    step(&journal, [p.rename("c", "moved")]);
    assert_eq!(left(&journal, None), ["a", "c", "moved", "new/made"]);
    undo(&journal, &UndoTarget::Last).unwrap();
    assert_eq!(left(&journal, None), ["a", "new/made"]);
    undo(&journal, &UndoTarget::LastUndo).unwrap();
    assert_eq!(left(&journal, None), ["a", "c", "moved", "new/made"]);
    step(&journal, [p.rename("d", "dir")]);
    assert_eq!(left(&journal, None), ["a", "c", "d", "dir", "moved", "new/made"]);
}

#[test]
fn only_the_session_counts_and_only_what_came_later() {
    let p = Project::in_memory(&[("a", "a"), ("b", "b")]);
    let journal = p.quick();
    assert_eq!(journal.newest().unwrap(), None);
    step(&journal, [p.write("a", "A")]);
    let before = journal.newest().unwrap();
    assert_eq!(left(&journal, before), Vec::<String>::new());
    let other = Label { session: "other".into(), ..label("x") };
    journal.apply(&set([p.write("b", "other")]), &other).unwrap();
    assert_eq!(left(&journal, before), Vec::<String>::new());
    // Taking back earlier work is a change of its own.
    let first = before.unwrap();
    undo(&journal, &UndoTarget::Entry(first)).unwrap();
    assert_eq!((left(&journal, before), left(&journal, None)), (vec!["a".into()], vec![]));
    undo(&journal, &UndoTarget::LastUndo).unwrap();
    assert_eq!(left(&journal, before), Vec::<String>::new());
}
