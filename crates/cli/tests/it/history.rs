//! Changing files from the command line, and taking it back.

use testkit::Fixture;

use crate::run::{run, run_with_state};

fn project() -> Fixture {
    Fixture::new("//- /a.txt\none\n")
}

#[test]
fn a_change_is_listed_undone_and_redone() {
    let project = project();
    let done = run_with_state(
        &project,
        &["call", "append_file", r#"{"path":"a.txt","content":"two\n"}"#, "--yes"],
    );
    assert_eq!((done.code, project.read("a.txt").as_str()), (0, "one\ntwo\n"));
    let history = run_with_state(&project, &["history"]);
    assert!(
        history.stdout.contains("1  ") && history.stdout.ends_with("  edit a.txt\n"),
        "{}",
        history.stdout
    );
    assert_eq!(run_with_state(&project, &["undo", "--yes"]).json()["paths"][0], "a.txt");
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(run_with_state(&project, &["redo", "--yes"]).code, 0);
    assert_eq!(project.read("a.txt"), "one\ntwo\n");
    let entries = run_with_state(&project, &["history", "--json"]).json();
    let summaries: Vec<_> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["summary"].as_str().unwrap())
        .collect();
    assert_eq!(summaries, ["redo: edit a.txt", "undo: edit a.txt", "edit a.txt"]);
}

#[test]
fn without_a_yes_nothing_is_changed_and_it_says_how() {
    let project = project();
    let asked =
        run_with_state(&project, &["call", "append_file", r#"{"path":"a.txt","content":"two\n"}"#]);
    assert_eq!((asked.code, asked.json()["code"].as_str()), (1, Some("APPROVAL_REQUIRED")));
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn reading_leaves_no_trace_where_nothing_was_ever_changed() {
    let project = project();
    run_with_state(&project, &["call", "read_file", r#"{"path":"a.txt"}"#]);
    run_with_state(&project, &["policy", "list"]);
    assert!(!project.root().with_file_name("state").exists());
}

#[test]
fn where_the_state_cannot_be_kept_nothing_is_changed_but_reading_works() {
    let project = project();
    assert_eq!(run(&project, &["call", "read_file", r#"{"path":"a.txt"}"#]).code, 0);
    let refused =
        run(&project, &["call", "append_file", r#"{"path":"a.txt","content":"x"}"#, "--yes"]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn a_project_that_was_changed_has_its_state_outside_with_private_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = project();
    run_with_state(
        &project,
        &["call", "append_file", r#"{"path":"a.txt","content":"x\n"}"#, "--yes"],
    );
    let states = project.root().with_file_name("state").join("toolkiln");
    let state = std::fs::read_dir(states).unwrap().next().unwrap().unwrap();
    assert!(state.file_name().to_str().unwrap().starts_with("project-"));
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(std::fs::read_dir(project.root()).unwrap().count(), 1, "no temporary file is left");
}
