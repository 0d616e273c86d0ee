//! System calls that fail.

use rustix::io::Errno;
use workspace::{Error, Faults, Journal, JournalOptions};

use super::project::{Project, label, set};
use super::scenarios::ALL;

#[test]
fn a_failure_of_any_call_is_told_and_changes_nothing() {
    let mut failures = 0;
    for scenario in ALL {
        let (before, after) = scenario.outcome();
        for n in 0.. {
            let errno = if n % 2 == 0 { Errno::IO } else { Errno::NOSPC };
            let project = scenario.project();
            let (journal, faults) = project.faulty(Faults::fail_at(n, errno.raw_os_error()));
            let context = format!("{} with call {n} failing", scenario.name);
            let journal = journal.unwrap();
            let outcome = scenario.act(&project, &journal);
            if faults.calls() <= n {
                break;
            }
            let expected = if outcome.is_ok() { &after } else { &before };
            assert_eq!(&project.snapshot(), expected, "{context}: {outcome:?}");
            // The fault is over, and the same journal goes on working.
            if outcome.is_err() {
                scenario.act(&project, &journal).unwrap_or_else(|e| panic!("{context}: {e}"));
            }
            assert_eq!(project.snapshot(), after, "{context}");
            assert!(project.quick().recovery().is_empty(), "{context}");
            failures += 1;
        }
    }
    assert!(failures > 400, "{failures}");
}

#[test]
fn a_failing_fsync_is_fatal_for_the_change() {
    for scenario in ALL {
        let (before, _) = scenario.outcome();
        let project = scenario.project();
        let (journal, _) = project.faulty(Faults::fail_every("fsync", Errno::IO.raw_os_error()));
        let error = scenario.act(&project, &journal.unwrap()).unwrap_err();
        assert!(error.to_string().contains("Input/output error"), "{error}");
        assert_eq!(project.snapshot(), before, "{}", scenario.name);
    }
}

#[test]
fn temporary_files_that_cannot_be_removed_are_removed_by_recovery() {
    let project = Project::with(&[("a", "old")]);
    let (journal, _) = project.faulty(Faults::fail_every("unlink", Errno::IO.raw_os_error()));
    journal.unwrap().apply(&set([project.write("a", "new")]), &label("x")).unwrap();
    assert_eq!(project.left_overs().len(), 1);
    let journal = project.quick();
    assert_eq!(journal.recovery().completed.len(), 1);
    assert_eq!(project.left_overs().len(), 0);
    assert_eq!(journal.entries(10).unwrap().len(), 1);
}

#[test]
fn a_read_only_file_is_refused_and_not_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::with(&[("a", "old")]);
    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(project.tree.path("a"), mode).unwrap();
    let before = project.snapshot();
    let journal = project.quick();
    let error = journal.apply(&set([project.write("a", "new")]), &label("x")).unwrap_err();
    assert_eq!(error.to_string(), "a is read-only: its owner has no write permission");
    let error = protocol::ToolError::from(error);
    assert_eq!(error.code, protocol::ErrorCode::PermissionDenied);
    assert_eq!(project.snapshot(), before);
}

#[test]
fn the_state_must_lie_apart_from_the_project() {
    let project = Project::with(&[("sub/a", "old")]);
    let outside = project.tree.outside().join("into");
    std::os::unix::fs::symlink(project.tree.root(), &outside).unwrap();
    let before = project.snapshot();
    for state in [
        project.tree.root(),
        project.tree.path("sub/state"),
        outside.join("sub/state"),
        project.tree.root().parent().unwrap().to_owned(),
        "relative".into(),
    ] {
        let workspace = std::sync::Arc::new(project.tree.open());
        let options = JournalOptions::default();
        // The journal takes a directory inside the given one, so the parent itself is tried too.
        let opened = workspace::StateDir::open(&workspace, &state);
        assert!(matches!(opened, Err(Error::State { .. })), "{state:?}");
        if state.starts_with(project.tree.root()) {
            assert!(Journal::open(workspace, &state, options).is_err(), "{state:?}");
        }
    }
    assert_eq!(project.snapshot(), before);
}
