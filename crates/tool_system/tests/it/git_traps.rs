//! Repositories that try to steer the git tools.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use protocol::{ErrorCode, Proposal};
use serde_json::{Value, json};
use tool_system::ExecutorOptions;

use crate::git_tools::{git, repository};
use crate::harness::{Bench, ScriptedApprover};

/// A script that leaves a mark and passes its input on.
fn trap(bench: &Bench) -> String {
    format!("touch {}; cat", bench.project.path("sprung").display())
}

fn script(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Everything that the tools do, with a commit of all files in the end.
async fn use_all_tools(bench: &Bench) {
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_diff", json!({"staged": true})),
        ("git_log", json!({})),
        ("git_commit", json!({"message": "All", "paths": ["a.txt", "src"]})),
    ] {
        bench.ok(tool, arguments).await;
    }
}

/// HEAD and the index, byte for byte.
fn state(bench: &Bench) -> (String, Vec<u8>) {
    let index = std::fs::read(bench.project.path(".git/index")).unwrap();
    (git(bench, &["rev-parse", "HEAD"]), index)
}

#[tokio::test]
async fn programs_in_settings_and_attributes_do_not_run() {
    let Some(bench) = repository(vec![]) else { return };
    let trap = trap(&bench);
    bench.project.write("a.txt", "two\n");
    bench.project.write("src/new.txt", "n\n");
    // Files that have a filter cannot be committed, so the attributes are for another one.
    bench.project.write(".gitattributes", "*.filtered filter=x\n* diff=x\n");
    bench.project.write("y.filtered", "y\n");
    git(&bench, &["add", ".gitattributes", "y.filtered"]);
    git(&bench, &["commit", "--quiet", "--message=Filtered"]);
    let included = bench.project.path("included");
    let named = ["filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv"];
    let others = ["diff.x.command", "core.fsmonitor", "gpg.program", "core.alternateRefsCommand"];
    let file = included.display().to_string();
    for name in named.into_iter().chain(others) {
        git(&bench, &["config", "--file", &file, name, &trap]);
    }
    for (name, value) in [("commit.gpgSign", "true"), ("filter.x.required", "true")] {
        git(&bench, &["config", "--file", &file, name, value]);
    }
    git(&bench, &["config", "include.path", &file]);
    // The index no longer knows that the file is as it was, and would ask the filter.
    bench.project.write("y.filtered", "z\n");
    use_all_tools(&bench).await;
    assert!(!bench.project.path("sprung").exists(), "a program of the repository ran");
    // The control: git itself runs them, whatever becomes of it.
    let control =
        std::process::Command::new("git").current_dir(bench.project.root()).arg("diff").output();
    control.unwrap();
    assert!(bench.project.path("sprung").exists());
}

#[tokio::test]
async fn planted_programs_are_not_found() {
    let answers = ScriptedApprover::answering([]);
    let options = ExecutorOptions::default();
    let files = "//- /a.txt\none\n//- /src/b.txt\nb\n";
    let Some(bench) = Bench::running_on_path(files, answers, options, &["bin"]) else { return };
    git(&bench, &["init", "--quiet", "--initial-branch=main"]);
    git(&bench, &["config", "user.name", "Ada"]);
    git(&bench, &["config", "user.email", "ada@example.org"]);
    git(&bench, &["add", "."]);
    git(&bench, &["commit", "--quiet", "--message=First"]);
    for name in ["git", "sh", "bash", "env", "cp", "printf", "cat", "true", "ssh", "git-add"] {
        script(&bench.project.path(format!("bin/{name}")), "touch sprung; echo planted");
    }
    bench.project.write("a.txt", "two\n");
    use_all_tools(&bench).await;
    assert!(!bench.project.path("sprung").exists());
    assert_eq!(git(&bench, &["log", "-1", "--format=%s"]).trim(), "All");
    // The control: an ordinary command finds the planted one.
    let ran = bench.ok("bash", json!({"command": "true"})).await;
    assert_eq!(ran["output"], "planted\n", "{ran}");
}

#[tokio::test]
async fn repositories_that_only_look_like_the_projects_own_are_refused() {
    let Some(bench) = repository(vec![]) else { return };
    git(&bench, &["clone", "--quiet", "--bare", ".", "other.git"]);
    git(&bench, &["--git-dir=other.git", "config", "core.fsmonitor", &trap(&bench)]);
    let refused = async |why: &str| {
        for (tool, arguments) in [
            ("git_status", json!({})),
            ("git_diff", json!({})),
            ("git_log", json!({})),
            ("git_commit", json!({"message": "x", "paths": ["."]})),
            ("git_push", json!({})),
        ] {
            let error = bench.err(tool, arguments).await;
            assert_eq!(error.code, ErrorCode::PermissionDenied, "{tool}: {error:?}");
            assert!(error.message.contains(why), "{tool}: {error:?}");
        }
    };
    bench.project.write(".git/commondir", "../other.git\n");
    refused("commondir").await;
    std::fs::remove_file(bench.project.path(".git/commondir")).unwrap();
    for name in ["logs/HEAD", "index", "HEAD", "objects"] {
        let (path, aside) = (format!(".git/{name}"), bench.project.path("aside"));
        std::fs::rename(bench.project.path(&path), &aside).unwrap();
        std::os::unix::fs::symlink(&aside, bench.project.path(&path)).unwrap();
        refused(&format!("`{path}` is a link")).await;
        std::fs::remove_file(bench.project.path(&path)).unwrap();
        std::fs::rename(&aside, bench.project.path(&path)).unwrap();
    }
    std::fs::rename(bench.project.path(".git"), bench.project.path("own.git")).unwrap();
    bench.project.write(".git", "gitdir: other.git\n");
    refused("leads to a directory of the project").await;
    let absolute = bench.project.path("other.git");
    bench.project.write(".git", format!("gitdir: {}\n", absolute.display()));
    refused("leads to a directory of the project").await;
    std::fs::remove_file(bench.project.path(".git")).unwrap();
    std::os::unix::fs::symlink("other.git", bench.project.path(".git")).unwrap();
    refused("neither a directory nor a file").await;
    assert!(bench.approver.asked().is_empty());
    assert!(!bench.project.path("sprung").exists());
}

#[tokio::test]
async fn another_working_tree_and_replaced_commits_are_not_believed() {
    let Some(bench) = repository(vec![]) else { return };
    std::fs::create_dir(bench.project.path("elsewhere")).unwrap();
    let elsewhere = bench.project.path("elsewhere").display().to_string();
    let first = git(&bench, &["rev-parse", "HEAD"]);
    bench.project.write("a.txt", "two\n");
    git(&bench, &["commit", "--quiet", "--all", "--message=Second"]);
    let second = git(&bench, &["rev-parse", "HEAD"]);
    git(&bench, &["replace", second.trim(), first.trim()]);
    git(&bench, &["config", "core.worktree", &elsewhere]);
    let log = bench.ok("git_log", json!({"limit": 1})).await;
    assert_eq!(log["commits"][0]["subject"], "Second");
    let status = bench.ok("git_status", json!({})).await;
    assert_eq!(status["unstaged"], Value::Null, "the files are where the project is: {status:#}");
    bench.project.write("a.txt", "three\n");
    bench.ok("git_commit", json!({"message": "Third", "paths": ["a.txt"]})).await;
    assert_eq!(git(&bench, &["show", "HEAD:a.txt"]), "three\n");
}

#[tokio::test]
async fn a_repository_within_the_project_is_not_obeyed() {
    let Some(bench) = repository(vec![]) else { return };
    let inner = bench.project.path("inner").display().to_string();
    git(&bench, &["init", "--quiet", &inner]);
    bench.project.write("inner/x.txt", "x\n");
    bench.project.write("inner/.gitattributes", "* filter=x\n");
    let within = |arguments: &[&str]| git(&bench, &[&["-C", &inner], arguments].concat());
    within(&["add", "."]);
    within(&["commit", "--quiet", "--message=Inner"]);
    git(&bench, &["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    git(&bench, &["commit", "--quiet", "--message=With another"]);
    let trap = trap(&bench);
    within(&["config", "filter.x.clean", &trap]);
    within(&["config", "core.fsmonitor", &trap]);
    bench.project.write("inner/x.txt", "changed\n");
    bench.project.write("a.txt", "two\n");
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_commit", json!({"message": "All", "paths": ["."]})),
    ] {
        bench.ok(tool, arguments).await;
    }
    assert!(!bench.project.path("sprung").exists(), "the inner repository was obeyed");
    git(&bench, &["status"]);
    assert!(bench.project.path("sprung").exists(), "the control");
}

#[tokio::test]
async fn a_push_runs_no_program_of_either_repository() {
    let Some(bench) = repository(vec![]) else { return };
    git(&bench, &["init", "--quiet", "--bare", ".git/remote.git"]);
    git(&bench, &["remote", "add", "origin", "./.git/remote.git"]);
    let mark = format!("touch {}", bench.project.path("sprung").display());
    for hook in ["pre-receive", "update", "post-receive", "post-update", "reference-transaction"] {
        script(&bench.project.path(format!(".git/remote.git/hooks/{hook}")), &mark);
    }
    script(&bench.project.path(".git/hooks/pre-push"), &mark);
    let trap = trap(&bench);
    git(&bench, &["--git-dir=.git/remote.git", "config", "core.alternateRefsCommand", &trap]);
    git(&bench, &["config", "remote.origin.receivepack", &format!("{mark}; git-receive-pack")]);
    git(&bench, &["config", "core.sshCommand", &trap]);
    git(&bench, &["config", "credential.helper", &format!("!{trap}")]);
    bench.ok("git_push", json!({"branch": "main"})).await;
    assert!(!bench.project.path("sprung").exists());
    let asked = bench.approver.asked();
    let Proposal::Command(command) = &asked[0].proposal else { panic!("{asked:?}") };
    assert_eq!(
        protocol::describe_command(command),
        "Push main to origin, which is ./.git/remote.git\nwith the network\nmay change .git\n"
    );
    git(&bench, &["config", "remote.origin.vcs", "ext"]);
    bench.err("git_push", json!({"branch": "main"})).await;
    assert!(!bench.project.path("sprung").exists());
}

#[tokio::test]
async fn a_commit_that_fails_leaves_head_and_index_as_they_were() {
    let Some(bench) = repository(vec![]) else { return };
    bench.project.write("a.txt", "two\n");
    bench.project.write("staged.txt", "s\n");
    git(&bench, &["add", "staged.txt"]);
    bench.project.write("new.txt", "n\n");
    let before = state(&bench);
    let commit = async |message: &str, paths: &[&str]| {
        bench.err("git_commit", json!({"message": message, "paths": paths})).await
    };
    commit("Missing", &["no-such-file"]).await;
    commit("Ignored", &["x.log"]).await;
    commit(" ", &["new.txt"]).await;
    commit("Nothing", &["src"]).await;
    bench.project.write(".git/MERGE_HEAD", "x\n");
    assert_eq!(commit("Merging", &["new.txt"]).await.code, ErrorCode::Conflict);
    std::fs::remove_file(bench.project.path(".git/MERGE_HEAD")).unwrap();
    bench.project.write(".gitattributes", "*.big filter=lfs\n");
    bench.project.write("x.big", "b\n");
    let error = commit("Filtered", &["x.big"]).await;
    assert!(error.message.contains("x.big goes through the filter `lfs`"), "{error:?}");
    // HEAD cannot be moved.
    bench.project.write(".git/refs/heads/main.lock", "");
    commit("Locked", &["new.txt", "a.txt"]).await;
    std::fs::remove_file(bench.project.path(".git/refs/heads/main.lock")).unwrap();
    assert_eq!(state(&bench), before);
    // What is staged beside the named files stays staged.
    bench.ok("git_commit", json!({"message": "Named", "paths": ["new.txt", "a.txt"]})).await;
    assert_eq!(git(&bench, &["show", "--name-only", "--format="]), "a.txt\nnew.txt\n");
    assert_eq!(git(&bench, &["diff", "--cached", "--name-only"]), "staged.txt\n");
    assert_eq!(git(&bench, &["status", "--porcelain", "a.txt", "new.txt"]), "");
}

/// What is committed is what was shown, or nothing is.
#[tokio::test]
async fn a_file_that_is_written_while_the_user_is_asked_is_not_committed() {
    let Some(bench) = repository(vec![]) else { return };
    bench.project.write("a.txt", "two\n");
    let before = state(&bench);
    let file = bench.project.path("a.txt");
    bench.approver.before_answering(move || std::fs::write(&file, "sneaked in\n").unwrap());
    bench.err("git_commit", json!({"message": "Second", "paths": ["a.txt"]})).await;
    assert_eq!(state(&bench), before);
}

#[tokio::test]
async fn the_question_shows_message_files_and_difference() {
    let Some(bench) = repository(vec![]) else { return };
    bench.project.write("a.txt", "two\n");
    bench.project.write("src/new \u{202e}.txt", "n\n");
    bench.ok("git_commit", json!({"message": "Add\n\nWhy.\n", "paths": ["a.txt", "src"]})).await;
    let asked = bench.approver.asked();
    let Proposal::Command(command) = &asked[0].proposal else { panic!("{asked:?}") };
    insta::assert_snapshot!(protocol::describe_command(command), @r"
    Commit 2 files to main

        Add

        Why.

    a.txt +1 -1
    src/new \u{202E}.txt +1 -0

    diff --git a/a.txt b/a.txt
    index 5626abf..f719efd 100644
    --- a/a.txt
    +++ b/a.txt
    @@ -1 +1 @@
    -one
    +two
    diff --git a/src/new \u{202E}.txt b/src/new \u{202E}.txt
    new file mode 100644
    index 0000000..8ba3a16
    --- /dev/null
    +++ b/src/new \u{202E}.txt	
    @@ -0,0 +1 @@
    +n
    may change .git
    ");
    bench.project.write("long.txt", "line\n".repeat(20_000));
    bench.ok("git_commit", json!({"message": "Long", "paths": ["long.txt"]})).await;
    let asked = bench.approver.asked();
    let Proposal::Command(command) = &asked[0].proposal else { panic!("{asked:?}") };
    let shown = protocol::describe_command(command);
    assert!(shown.len() < 26_000, "{}", shown.len());
    let end = shown.lines().rev().nth(1).unwrap();
    assert!(
        end.starts_with("… ") && end.ends_with(" more lines of the diff are not shown"),
        "{end}"
    );
}

#[tokio::test]
async fn the_first_commit_can_be_made() {
    let files = "//- /a.txt\none\n";
    let options = ExecutorOptions::default();
    let Some(bench) = Bench::running(files, ScriptedApprover::answering([]), options) else {
        return;
    };
    git(&bench, &["init", "--quiet", "--initial-branch=main"]);
    git(&bench, &["config", "user.name", "Ada"]);
    git(&bench, &["config", "user.email", "ada@example.org"]);
    let done = bench.ok("git_commit", json!({"message": "First", "paths": ["."]})).await;
    assert_eq!((&done["branch"], &done["message"]), (&json!("main"), &Value::Null), "{done}");
    assert_eq!(git(&bench, &["log", "--format=%s %an <%ae>"]), "First Ada <ada@example.org>\n");
    assert_eq!(git(&bench, &["status", "--porcelain"]), "");
    assert_eq!(git(&bench, &["fsck", "--strict"]), "");
    assert!(git(&bench, &["reflog"]).contains("commit (initial): First"));
}
