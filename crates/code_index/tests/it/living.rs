//! An index that is kept up to date while the project changes.

use std::fs;
use std::os::unix::fs::symlink;

use crate::project::{Project, exists, files, grep};

const SAMPLE: &[(&str, &str)] = &[
    ("src/main.rs", "fn main() {\n    needle();\n}\n"),
    ("src/needle.rs", "pub fn needle() {}\n"),
    ("src/deep/er/other.rs", "fn other() {}\n"),
    ("README.md", "nothing here\n"),
];

#[test]
fn changes_are_known_to_the_next_question() {
    let project = Project::new(SAMPLE);
    let code = project.indexed();
    assert!(code.index_status().unwrap().in_use);
    assert_eq!(grep(&code, "needle", "."), ["src/main.rs:2", "src/needle.rs:1"]);

    project.write("README.md", "a needle\n");
    assert_eq!(grep(&code, "needle", "."), ["README.md:1", "src/main.rs:2", "src/needle.rs:1"]);
    project.write("src/main.rs", "fn main() {}\n");
    assert_eq!(grep(&code, "needle", "."), ["README.md:1", "src/needle.rs:1"]);
    project.write("src/new.rs", "needle\n");
    assert_eq!(grep(&code, "needle", "src"), ["src/needle.rs:1", "src/new.rs:1"]);
    fs::remove_file(project.path("src/needle.rs")).unwrap();
    assert_eq!(grep(&code, "needle", "src"), ["src/new.rs:1"]);
    project.rename("src/new.rs", "src/deep/moved.rs");
    assert_eq!(grep(&code, "needle", "src"), ["src/deep/moved.rs:1"]);
    project.rename("src/deep", "lib");
    assert_eq!(grep(&code, "needle", "."), ["README.md:1", "lib/moved.rs:1"]);
    assert_eq!(files(&code, "."), ["README.md", "lib/er/other.rs", "lib/moved.rs", "src/main.rs"]);
    project.write("lib/er/other.rs", "needle\n");
    assert_eq!(grep(&code, "needle", "lib"), ["lib/er/other.rs:1", "lib/moved.rs:1"]);
    fs::remove_dir_all(project.path("lib")).unwrap();
    project.write("lib", "a needle in a file that was a directory\n");
    assert_eq!(grep(&code, "needle", "."), ["README.md:1", "lib:1"]);
    fs::remove_file(project.path("lib")).unwrap();
    project.write("lib/a/b/c.rs", "needle\n");
    assert_eq!(grep(&code, "needle", "."), ["README.md:1", "lib/a/b/c.rs:1"]);
    assert!(code.index_status().unwrap().in_use, "none of this needed a walk");
    assert_eq!(code.index_status().unwrap().trouble, None);
}

#[test]
fn ignored_hidden_and_linked_files_stay_out() {
    let project = Project::new(SAMPLE);
    project.write(".gitignore", "*.log\nbuild/\n");
    let code = project.indexed();
    project.write("a.log", "needle\n");
    project.write(".secret", "needle\n");
    project.write("build/out.rs", "needle\n");
    symlink("src/needle.rs", project.path("link.rs")).unwrap();
    assert_eq!(grep(&code, "needle", "."), ["src/main.rs:2", "src/needle.rs:1"]);
    // By name, what is ignored can be searched.
    assert_eq!(grep(&code, "needle", "build"), ["build/out.rs:1"]);
    assert_eq!(grep(&code, "needle", "a.log"), ["a.log:1"]);
    // The rules are no constants either.
    project.write(".gitignore", "build/\n");
    let all = ["a.log:1", "src/main.rs:2", "src/needle.rs:1"];
    assert_eq!(grep(&code, "needle", "."), all);
    code.wait_for_index();
    assert!(code.index_status().unwrap().in_use);
    assert_eq!(grep(&code, "needle", "."), all);
}

#[test]
fn a_process_that_answers_one_question_sees_what_changed_since() {
    let project = Project::new(SAMPLE);
    drop(project.indexed());
    project.write("src/main.rs", "fn main() {}\n");
    project.write("src/new.rs", "needle\n");
    fs::remove_file(project.path("src/needle.rs")).unwrap();
    let code = project.open(false);
    assert_eq!(grep(&code, "needle", "."), ["src/new.rs:1"]);
    let status = code.index_status().unwrap();
    assert!(status.in_use);
    assert_eq!(status.watched, None);
    project.write("src/newer.rs", "needle\n");
    assert_eq!(grep(&code, "needle", "."), ["src/new.rs:1", "src/newer.rs:1"]);
}

#[test]
fn a_process_that_stays_opens_and_builds_in_the_background() {
    let project = Project::new(SAMPLE);
    let expected = ["src/main.rs:2", "src/needle.rs:1"];
    let code = project.open(true);
    assert_eq!(grep(&code, "needle", "."), expected);
    code.wait_for_index();
    // The first question found that there is no index, the second that one pays.
    assert_eq!(grep(&code, "needle", "."), expected);
    code.wait_for_index();
    assert!(code.index_status().unwrap().in_use);
    assert_eq!(grep(&code, "needle", "."), expected);
    drop(code);
    let code = project.open(true);
    assert_eq!(grep(&code, "needle", "."), expected);
    code.wait_for_index();
    let status = code.index_status().unwrap();
    assert!(status.in_use);
    assert_eq!((status.files, status.watched), (4, Some(4)));
    assert_eq!(grep(&code, "needle", "."), expected);
}

#[test]
fn a_small_project_gets_neither_index_nor_cache() {
    let project = Project::new(SAMPLE);
    let workspace = std::sync::Arc::new(workspace::Workspace::open(&project.root()).unwrap());
    let options = code_index::IndexOptions { min_files: 5, ..crate::project::options(true) };
    let code = code_index::CodeBase::with_index(workspace, project.cache(), options);
    for _ in 0..2 {
        assert_eq!(grep(&code, "other", "."), ["src/deep/er/other.rs:1"]);
        code.wait_for_index();
    }
    assert!(code.index_status().unwrap().index.is_none());
    assert!(!exists(&project.cache()));
}

#[test]
fn a_damaged_index_is_replaced() {
    let project = Project::new(SAMPLE);
    drop(project.indexed());
    let file = project.cache().join("text.index");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let code = project.open(true);
    for _ in 0..3 {
        assert_eq!(grep(&code, "other", "."), ["src/deep/er/other.rs:1"]);
        code.wait_for_index();
    }
    assert!(code.index_status().unwrap().in_use);
    assert_eq!(fs::read(&file).unwrap().len(), bytes.len());
}

#[test]
fn many_changes_lead_to_a_look_at_everything_and_to_a_new_index() {
    let project = Project::new(SAMPLE);
    let code = project.indexed();
    for number in 0..1200 {
        project.write(&format!("gen/{}/{number}.rs", number % 40), "needle\n");
    }
    assert_eq!(grep(&code, "needle", "gen").len(), 1200);
    for _ in 0..3 {
        code.wait_for_index();
        assert_eq!(files(&code, "src").len(), 3);
    }
    let status = code.index_status().unwrap();
    assert!(status.in_use);
    assert_eq!((status.files, status.changed), (1204, 0), "all of them are in the new index");
}

#[test]
fn a_file_that_is_ignored_and_written_at_once_stays_out() {
    let project = Project::new(SAMPLE);
    // A look at every file takes long enough for something to happen meanwhile.
    for number in 0..2000 {
        project.write(&format!("more/{}/{number}.txt", number % 50), "");
    }
    let code = project.indexed();
    for _ in 0..5 {
        fs::remove_file(project.path(".gitignore")).ok();
        project.write("x.log", "needle\n");
        grep(&code, "needle", ".");
        code.wait_for_index();
        assert_eq!(grep(&code, "needle", ".").len(), 3);
        project.write(".gitignore", "*.log\n");
        // This one has everything looked at in the background.
        grep(&code, "needle", ".");
        project.write("x.log", "needle again\n");
        assert_eq!(grep(&code, "needle", ".").len(), 2);
        code.wait_for_index();
        assert_eq!(grep(&code, "needle", ".").len(), 2);
    }
}
