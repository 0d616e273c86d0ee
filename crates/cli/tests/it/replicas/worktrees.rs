//! Each session in a worktree of its own: two agents change the same file, and neither sees the other's change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use testkit::Reply;

use super::{Replicas, has_ended, texts};
use crate::web::service::state;

fn git(root: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let ran = Command::new("git").current_dir(root).args(identity).args(arguments).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// The only directory of a session below the state directory.
fn worktree(states: &Path, session: &str) -> PathBuf {
    let projects = fs::read_dir(states.join("toolkiln/worktrees")).unwrap();
    let found = projects.map(|project| project.unwrap().path().join(session));
    found.into_iter().find(|path| path.is_dir()).expect("a worktree")
}

#[test]
fn two_sessions_change_the_same_file_and_the_users_checkout_stays_as_it_is() {
    let write = |line: &str| {
        let line = json!({"path": "notes.txt", "content": format!("{line}\n")});
        Reply::text("I add a line. ").and_call("append_file", line)
    };
    let look = || Reply::text("I look. ").and_call("git_status", json!({}));
    let replies =
        [write("one"), look(), Reply::text("Done one."), write("two"), Reply::text("Done two.")];
    let Some(replicas) = Replicas::new(replies) else { return };
    let root = replicas.project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    fs::create_dir(root.join(".vscode")).unwrap();
    fs::write(root.join(".vscode/settings.json"), "{}\n").unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "First"]);
    let service = replicas.start_with(&["--worktrees", "--yes"]);
    let sessions = ["one", "two"].map(|line| {
        let session = service.begin();
        let mut watcher = service.watch(&format!("{session}:0"));
        service.say(&session, &format!("Add {line}"));
        let done = format!("Done {line}.");
        watcher.until(&done, |seen| {
            texts(&seen.items_of(&session)).contains(&&*done) && has_ended(seen, &session)
        });
        session
    });
    let states = state(&replicas.project);
    for (session, line) in sessions.iter().zip(["one", "two"]) {
        let own = worktree(&states, session);
        assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), format!("zero\n{line}\n"));
        assert_eq!(fs::read_to_string(own.join(".vscode/settings.json")).unwrap(), "{}\n");
        assert_eq!(git(&own, &["branch", "--show-current"]), format!("toolkiln/{session}\n"));
        assert_eq!(git(&own, &["status", "--porcelain"]), " M notes.txt\n");
        // What a session has done can be committed and merged like any branch.
        git(&own, &["commit", "--quiet", "--all", "-m", line]);
    }
    assert_eq!(replicas.project.read("notes.txt"), "zero\n");
    assert_eq!(git(root, &["status", "--porcelain"]), "");
    git(root, &["merge", "--quiet", &format!("toolkiln/{}", sessions[0])]);
    assert_eq!(replicas.project.read("notes.txt"), "zero\none\n");
    let told = replicas.model.calls()[2].tool_answers();
    assert!(told.iter().all(|answer| !answer.is_error), "{told:?}");
    // What is committed and merged goes with its session; what is only on its branch, or nowhere, stays.
    let delete = |session: &str| {
        let target = format!("DELETE /api/sessions/{session}");
        let answer = service.request(&target, &[&service.token("all")], "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["kept_worktree"].clone()
    };
    let trees = sessions.each_ref().map(|session| worktree(&states, session));
    assert_eq!(delete(&sessions[0]), Value::Null);
    assert!(!trees[0].exists());
    let merged = format!("toolkiln/{}", sessions[0]);
    assert_eq!(
        git(root, &["branch", "--list", "--format=%(refname:short)", &merged]).trim(),
        merged
    );
    let kept = delete(&sessions[1]);
    assert_eq!(kept["path"], trees[1].display().to_string());
    assert_eq!(kept["why"], "it has commits that are not merged");
    assert_eq!(fs::read_to_string(trees[1].join("notes.txt")).unwrap(), "zero\ntwo\n");
}

#[test]
fn work_that_is_committed_nowhere_outlives_its_session() {
    let Some(replicas) = Replicas::new([]) else { return };
    let root = replicas.project.root();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(root.join(".gitignore"), "*.secret\n").unwrap();
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "First"]);
    let service = replicas.start_with(&["--worktrees", "--yes"]);
    let states = state(&replicas.project);
    type Work = fn(&Path);
    let changes: [(&str, Work); 7] = [
        ("it has changes that are not committed", |own| {
            fs::write(own.join("notes.txt"), "changed\n").unwrap();
        }),
        ("git does not hold new.txt", |own| fs::write(own.join("new.txt"), "new\n").unwrap()),
        ("git does not hold a.secret", |own| fs::write(own.join("a.secret"), "new\n").unwrap()),
        ("git does not hold some of its changes", |own| {
            git(own, &["update-index", "--assume-unchanged", "notes.txt"]);
            fs::write(own.join("notes.txt"), "changed\n").unwrap();
        }),
        // Nothing but the worktree's own log leads to the commit.
        ("it has commits that are not merged", |own| {
            git(own, &["checkout", "--quiet", "--detach"]);
            git(own, &["commit", "--quiet", "--allow-empty", "-m", "Lost"]);
            git(own, &["checkout", "--quiet", "-"]);
        }),
        ("it was made for another database, or another name of the project", |own| {
            fs::write(own.with_extension("home"), "another database").unwrap();
        }),
        // Git is told to look at sizes and times alone, and both are as they were.
        ("it has changes that are not committed", |own| {
            let file = fs::OpenOptions::new().write(true).open(own.join("notes.txt")).unwrap();
            let year_2001 = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            file.set_modified(year_2001).unwrap();
            git(own, &["config", "core.checkStat", "minimal"]);
            git(own, &["config", "core.trustctime", "false"]);
            git(own, &["status"]);
            fs::write(own.join("notes.txt"), "mine\n").unwrap();
            file.set_modified(year_2001).unwrap();
            assert_eq!(git(own, &["status", "--porcelain"]), "");
        }),
    ];
    for (why, change) in changes {
        let session = service.begin();
        let own = worktree(&states, &session);
        change(&own);
        let target = format!("DELETE /api/sessions/{session}");
        let answer = service.request(&target, &[&service.token("all")], "");
        assert_eq!(
            (answer.status, answer.json()["kept_worktree"]["why"].as_str()),
            (200, Some(why))
        );
        assert!(own.join("notes.txt").exists() && own.join(".git").exists(), "{why}");
    }
    let session = service.begin();
    let own = worktree(&states, &session);
    let answer =
        service.request(&format!("DELETE /api/sessions/{session}"), &[&service.token("all")], "");
    assert_eq!((answer.status, own.exists()), (200, false), "{}", answer.body);
}
