//! The git tools, on real repositories with traps in them.

use std::process::Command;

use protocol::{ErrorCode, Proposal};
use serde_json::json;
use tool_system::ExecutorOptions;

use crate::harness::{Bench, Reply, ScriptedApprover, no};

const FILES: &str = "\
//- /.gitignore
*.log
//- /a.txt
one
//- /src/b.txt
b
";

/// Runs git in the project as the user does, outside of any sandbox.
pub(crate) fn git(bench: &Bench, arguments: &[&str]) -> String {
    let names = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let mut command = Command::new("git");
    command.current_dir(bench.project.root()).args(names).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with one commit; none where commands cannot be confined.
pub(crate) fn repository(answers: Vec<Reply>) -> Option<Bench> {
    let bench =
        Bench::running(FILES, ScriptedApprover::answering(answers), ExecutorOptions::default())?;
    git(&bench, &["init", "--quiet", "--initial-branch=main"]);
    git(&bench, &["config", "user.name", "Ada"]);
    git(&bench, &["config", "user.email", "ada@example.org"]);
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "--quiet", "--message=First\n\nWith a body."]);
    Some(bench)
}

#[tokio::test]
async fn status_diff_and_log_are_read_without_asking() {
    let Some(bench) = repository(vec![]) else { return };
    let clean = bench.ok("git_status", json!({})).await;
    assert_eq!((&clean["branch"], &clean["clean"]), (&json!("main"), &json!(true)));
    bench.project.write("a.txt", "two\n");
    bench.project.write("new file.txt", "n\n");
    bench.project.write("x.log", "ignored\n");
    git(&bench, &["mv", "src/b.txt", "src/c.txt"]);
    let status = bench.ok("git_status", json!({})).await;
    assert_eq!(status["unstaged"], json!([{"path": "a.txt", "change": "modified"}]));
    assert_eq!(
        status["staged"],
        json!([{"path": "src/c.txt", "change": "renamed", "from": "src/b.txt"}])
    );
    assert_eq!(status["untracked"], json!(["new file.txt"]));
    let diff = bench.ok("git_diff", json!({"path": "a.txt"})).await;
    assert_eq!(diff["files"], json!([{"path": "a.txt", "added": 1, "removed": 1}]));
    assert!(diff["diff"].as_str().unwrap().contains("-one\n+two\n"), "{diff:#}");
    let staged = bench.ok("git_diff", json!({"staged": true})).await;
    assert_eq!(staged["files"].as_array().unwrap().len(), 1);
    let log = bench.ok("git_log", json!({"limit": 5})).await;
    assert_eq!(log["commits"].as_array().unwrap().len(), 1);
    let first = &log["commits"][0];
    assert_eq!((&first["subject"], &first["body"]), (&json!("First"), &json!("With a body.")));
    assert_eq!(first["author"], "Ada");
    assert!(bench.approver.asked().is_empty());
}

/// More than is kept of what a command prints, in one file: no path can be named that makes it shorter.
#[tokio::test]
async fn a_huge_diff_of_one_file_can_be_read_to_its_end() {
    let Some(bench) = repository(vec![]) else { return };
    let line = |number: usize| format!("line {number} {}\n", "x".repeat(900));
    let lines = 12_000;
    bench.project.write("a.txt", (1..=lines).map(line).collect::<String>());
    bench.project.write("src/b.txt", "c\n");
    let (mut offset, mut pages, mut whole) = (None, 0, String::new());
    for _ in testkit::at_most(100, "the pages of the diff") {
        let mut arguments = json!({});
        if let Some(offset) = &offset {
            arguments["offset"] = json!(offset);
        }
        let page = bench.ok("git_diff", arguments).await;
        assert_eq!(page["files"].as_array().unwrap().len(), 2);
        let diff = page["diff"].as_str().unwrap();
        assert!(diff.len() <= 256 * 1024, "{}", diff.len());
        whole += diff;
        pages += 1;
        offset = page["next_offset"].as_u64();
        if offset.is_none() {
            break;
        }
    }
    assert!(pages > 40, "{pages}");
    let real = git(&bench, &["diff", "HEAD"]);
    assert!(whole == real, "{} bytes of {}", whole.len(), real.len());
}

#[tokio::test]
async fn a_part_of_a_diff_names_the_next_and_says_where_it_is() {
    let Some(bench) = repository(vec![]) else { return };
    bench.project.write("a.txt", (1..=2_500).map(|n| format!("{n}\n")).collect::<String>());
    let first = bench.text("git_diff", json!({})).await;
    assert!(first.starts_with("a.txt +2500 -1\n--- a/a.txt\n"), "{}", &first[..60]);
    assert!(first.ends_with("\n[lines 1-2000 of 2506; next offset=2001]"), "{first}");
    let next = bench.text("git_diff", json!({"offset": 2001})).await;
    let begins = "in diff --git a/a.txt b/a.txt @@ -1 +1,2500 @@\n+1995\n+1996\n";
    assert!(next.starts_with(begins), "{}", &next[..100]);
    assert!(next.ends_with("+2500\n[lines 2001-2506 of 2506]"), "{next}");
    let error = bench.err("git_diff", json!({"offset": 2507})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert!(error.message.contains("2506 lines"), "{}", error.message);
    git(&bench, &["checkout", "--quiet", "a.txt"]);
    assert_eq!(bench.text("git_diff", json!({})).await, "No changes");
}

#[tokio::test]
async fn nothing_of_the_repository_runs_outside_and_no_option_gets_in() {
    let Some(bench) = repository(vec![]) else { return };
    let trap = bench.project.path("sprung");
    let touch = format!("touch {}; cat", trap.display());
    git(&bench, &["config", "core.fsmonitor", &touch]);
    git(&bench, &["config", "core.pager", &touch]);
    git(&bench, &["config", "diff.external", &touch]);
    git(&bench, &["config", "core.editor", &touch]);
    std::fs::create_dir_all(bench.project.path(".git/hooks")).unwrap();
    for hook in ["pre-commit", "post-commit", "commit-msg", "post-index-change"] {
        let path = bench.project.path(format!(".git/hooks/{hook}"));
        std::fs::write(&path, format!("#!/bin/sh\n{touch} </dev/null\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }
    bench.project.write("a.txt", "two\n");
    bench.ok("git_status", json!({})).await;
    bench.ok("git_diff", json!({})).await;
    bench.ok("git_log", json!({})).await;
    bench.ok("git_commit", json!({"message": "Second", "paths": ["a.txt"]})).await;
    assert!(!trap.exists(), "a program of the repository ran");
    for arguments in [json!({"commit": "--output=sprung"}), json!({"commit": "-O/etc"})] {
        let error = bench.err("git_diff", arguments).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments);
    }
    let error = bench.err("git_diff", json!({"path": "../outside"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPath);
}

#[tokio::test]
async fn a_commit_is_asked_for_and_records_exactly_the_named_files() {
    let Some(bench) = repository(vec![]) else { return };
    bench.project.write("a.txt", "two\n");
    bench.project.write("src/new.txt", "n\n");
    bench.project.write("src/b.txt", "not this\n");
    let paths = ["a.txt", "src/new.txt"];
    let done = bench.ok("git_commit", json!({"message": "-m $(id)\n\nbody", "paths": paths})).await;
    assert_eq!(done["branch"], "main");
    assert!(done["summary"].as_str().unwrap().starts_with("2 files changed"), "{done:#}");
    assert_eq!(git(&bench, &["log", "-1", "--format=%s"]).trim(), "-m $(id)");
    let names = git(&bench, &["show", "--name-only", "--format="]);
    assert_eq!(names, "a.txt\nsrc/new.txt\n");
    let asked = bench.approver.asked();
    assert_eq!(asked.len(), 1);
    let Proposal::Command(command) = &asked[0].proposal else { panic!("{asked:?}") };
    assert_eq!(command.writable, [".git"]);
    // The rest is as it was, and can be committed from the index.
    git(&bench, &["add", "src/b.txt"]);
    bench.ok("git_commit", json!({"message": "Third"})).await;
    assert!(bench.ok("git_status", json!({})).await["clean"].as_bool().unwrap());
    bench.project.write("star*.txt", "s\n");
    bench.ok("git_commit", json!({"message": "All", "paths": ["."]})).await;
    assert_eq!(git(&bench, &["show", "--name-only", "--format="]), "star*.txt\n");
    let error = bench.err("git_commit", json!({"message": "Nothing"})).await;
    assert_eq!(error.code, ErrorCode::ExecutionError);
    assert!(
        error.suggestion.as_deref().is_some_and(|advice| advice.contains("paths")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_user_can_refuse_a_commit() {
    let Some(bench) = repository(vec![no(Some("not yet"))]) else {
        return;
    };
    bench.project.write("a.txt", "two\n");
    let error = bench.err("git_commit", json!({"message": "Second", "paths": ["."]})).await;
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::Rejected, "not yet"));
    assert_eq!(git(&bench, &["rev-list", "--count", "HEAD"]).trim(), "1");
}

#[tokio::test]
async fn a_branch_is_pushed_to_its_remote_and_never_by_force() {
    let Some(bench) = repository(vec![]) else { return };
    git(&bench, &["init", "--quiet", "--bare", ".git/remote.git"]);
    git(&bench, &["remote", "add", "origin", "./.git/remote.git"]);
    let pushed = bench.ok("git_push", json!({"branch": "main"})).await;
    assert!(pushed["result"][0].as_str().unwrap().contains("refs/heads/main"), "{pushed:#}");
    let there = git(&bench, &["--git-dir=.git/remote.git", "rev-parse", "main"]);
    assert_eq!(there, git(&bench, &["rev-parse", "HEAD"]));
    assert_eq!(bench.approver.asked().len(), 1);
    let error = bench.err("git_push", json!({"branch": "+main"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_project_without_a_repository_says_so() {
    let Some(bench) =
        Bench::running(FILES, ScriptedApprover::answering([]), ExecutorOptions::default())
    else {
        return;
    };
    let error = bench.err("git_status", json!({})).await;
    assert!(error.message.contains("not a git repository"), "{}", error.message);
    assert!(error.suggestion.unwrap().contains("project's root"));
}
