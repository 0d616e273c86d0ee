//! Symbolic links: changes go to the file that a link leads to and keep the link; deleting and
//! moving mean the link itself.

use std::fs;
use std::path::{Path, PathBuf};

use protocol::{ApprovalRequest, ApprovalResponse, ErrorCode, ToolCall, ToolError};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::prelude::async_trait;
use tool_system::{Approver, ExecutorOptions};

use crate::harness::{Bench, ScriptedApprover, strings};

const PROJECT: &str = r"
//- /src/real.txt
one
two
//- /src/links/plain.txt
plain
//- /link symlink=src/links/hop
//- /src/links/hop symlink=../real.txt
//- /src/links/outside symlink=../../../outside/secret
//- /src/links/absolute symlink=/etc/passwd
//- /src/links/dangling symlink=nowhere
//- /src/links/loop symlink=loop
//- /src/links/up symlink=..
//- /alias symlink=src
//- /new symlink=made/later.txt
";

/// Every entry of the project, with the bytes of files and the targets of links.
fn snapshot(bench: &Bench) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = vec![bench.project.root().to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let content = match fs::symlink_metadata(&path).unwrap() {
                meta if meta.is_symlink() => {
                    format!("-> {}", fs::read_link(&path).unwrap().display())
                }
                meta if meta.is_dir() => {
                    pending.push(path.clone());
                    "directory".into()
                }
                _ => fs::read_to_string(&path).unwrap(),
            };
            let path = path.strip_prefix(bench.project.root()).unwrap();
            found.push((path.display().to_string(), content));
        }
    }
    found.sort_unstable();
    found
}

fn linked() -> Bench {
    let bench = Bench::writable(PROJECT);
    let outside = bench.project.root().with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret\n").unwrap();
    bench
}

fn patch(path: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n*** Update File: {path}\n-one\n+ONE\n*** End Patch")})
}

#[tokio::test]
async fn every_edit_through_a_link_changes_the_file_behind_it_and_keeps_the_link() {
    for path in ["link", "alias/links/hop", "alias/real.txt"] {
        for (tool, arguments) in [
            ("write_file", json!({"path": path, "content": "ONE\ntwo\n"})),
            ("update_file", json!({"path": path, "content": "ONE\ntwo\n"})),
            ("replace_in_file", json!({"path": path, "find": "one", "replace": "ONE"})),
            (
                "edit_lines",
                json!({"path": path, "operation": "replace", "start_line": 1, "content": "ONE"}),
            ),
            (
                "apply_changes",
                json!({"changes": [{"path": path, "search": "one", "replace": "ONE"}]}),
            ),
            ("apply_changes", json!({"changes": [{"path": path, "content": "ONE\ntwo\n"}]})),
            ("apply_changes", patch(path)),
        ] {
            let bench = linked();
            let before = snapshot(&bench);
            let done = bench.ok(tool, arguments).await;
            let after = snapshot(&bench);
            let changed: Vec<_> = after.iter().filter(|entry| !before.contains(entry)).collect();
            assert_eq!(
                changed,
                [&("src/real.txt".to_owned(), "ONE\ntwo\n".to_owned())],
                "{tool} {path}"
            );
            // What was approved is the real file, and the answer says how it was reached.
            let asked = bench.approver.asked();
            assert_eq!(asked[0].diffs[0].path, "src/real.txt", "{tool}");
            let remark =
                format!("{path} leads through a symbolic link to src/real.txt; the link is kept.");
            assert_eq!(strings(&done["links"]), [remark], "{tool}");
            bench.ok("undo", json!({})).await;
            assert_eq!(snapshot(&bench), before, "{tool} {path}");
        }
    }
}

#[tokio::test]
async fn a_file_is_created_where_a_dangling_link_leads() {
    let bench = linked();
    let before = snapshot(&bench);
    let done = bench.ok("create_file", json!({"path": "new", "content": "x\n"})).await;
    assert_eq!(
        (bench.project.read("made/later.txt").as_str(), &done["path"]),
        ("x\n", &json!("made/later.txt"))
    );
    assert!(bench.project.path("new").is_symlink());
    let error = bench.err("create_file", json!({"path": "new", "content": "y\n"})).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    bench.ok("undo", json!({})).await;
    assert_eq!(snapshot(&bench), before);
    let error = bench.err("update_file", json!({"path": "new", "content": "y\n"})).await;
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::FileNotFound, "new is a symbolic link: made/later.txt does not exist")
    );
}

#[tokio::test]
async fn a_link_is_deleted_or_moved_itself_wherever_it_leads() {
    let bench = linked();
    let before = snapshot(&bench);
    for (name, target) in [
        ("hop", "../real.txt"),
        ("outside", "../../../outside/secret"),
        ("absolute", "/etc/passwd"),
        ("dangling", "nowhere"),
        ("loop", "loop"),
        ("up", ".."),
    ] {
        let (path, real) = (format!("alias/links/{name}"), format!("src/links/{name}"));
        let patch = |action: &str| json!({"patch": format!("*** Begin Patch\n*** {action}\n*** End Patch")});
        for (tool, arguments) in [
            ("delete_file", json!({"path": path})),
            ("delete_file", json!({"path": path, "recursive": true})),
            ("apply_changes", json!({"changes": [{"path": path, "delete": true}]})),
            ("apply_changes", patch(&format!("Delete File: {path}"))),
            ("move_file", json!({"from": path, "to": "alias/moved"})),
            ("apply_changes", json!({"changes": [{"path": path, "move_to": "alias/moved"}]})),
            ("apply_changes", patch(&format!("Update File: {path}\n*** Move to: alias/moved"))),
        ] {
            let moves = arguments.to_string().contains("moved");
            let done = bench.ok(tool, arguments).await;
            let remark = format!("{real} is a symbolic link to {target}, which is left as it is.");
            assert_eq!(strings(&done["links"]), [remark.as_str()], "{tool} {name}");
            let mut expected = before.clone();
            expected.retain(|(path, _)| *path != real);
            if moves {
                expected.push(("src/moved".into(), format!("-> {target}")));
                expected.sort_unstable();
            }
            assert_eq!(snapshot(&bench), expected, "{tool} {name}");
            bench.ok("undo", json!({})).await;
            assert_eq!(snapshot(&bench), before, "{tool} {name}");
        }
    }
    assert_eq!(
        fs::read_to_string(bench.project.root().with_file_name("outside").join("secret")).unwrap(),
        "secret\n"
    );
}

#[tokio::test]
async fn directories_take_their_links_along_and_nothing_behind_them() {
    let bench = linked();
    let before = snapshot(&bench);
    let done = bench.ok("delete_file", json!({"path": "alias/links", "recursive": true})).await;
    assert_eq!(done["deleted"].as_array().map(Vec::len), Some(8));
    let left: Vec<_> =
        before.iter().filter(|(path, _)| !path.starts_with("src/links")).cloned().collect();
    assert_eq!(snapshot(&bench), left);
    bench.ok("undo", json!({})).await;
    assert_eq!(snapshot(&bench), before);
    bench.ok("move_file", json!({"from": "alias/links", "to": "moved"})).await;
    assert_eq!(
        fs::read_link(bench.project.path("moved/outside")).unwrap(),
        Path::new("../../../outside/secret")
    );
    bench.ok("undo", json!({})).await;
    assert_eq!(snapshot(&bench), before);
    // The link to a directory is not the directory.
    bench.ok("delete_file", json!({"path": "alias", "recursive": true})).await;
    assert_eq!(bench.project.read("src/real.txt"), "one\ntwo\n");
    bench.ok("undo", json!({})).await;
    let error = bench.err("move_file", json!({"from": "src", "to": "alias/inside"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPath);
    assert_eq!(snapshot(&bench), before);
}

#[tokio::test]
async fn what_lies_outside_is_neither_read_nor_written() {
    let bench = linked();
    std::os::unix::fs::symlink("../outside", bench.project.path("out")).unwrap();
    std::os::unix::fs::symlink(bench.project.path("src"), bench.project.path("back")).unwrap();
    let before = snapshot(&bench);
    for path in
        ["src/links/outside", "src/links/absolute", "src/links/loop", "out/secret", "back/real.txt"]
    {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("create_file", json!({"path": path, "content": "x"})),
            ("replace_in_file", json!({"path": path, "find": "one", "replace": "x"})),
            (
                "apply_changes",
                json!({"changes": [{"path": path, "search": "one", "replace": "x"}]}),
            ),
            ("apply_changes", patch(path)),
        ] {
            let error = bench.err(tool, arguments).await;
            assert_eq!(error.code, ErrorCode::InvalidPath, "{tool} {path}: {error}");
            assert!(error.message.contains("symbolic link"), "{tool} {path}: {error}");
        }
    }
    for (tool, arguments) in [
        ("delete_file", json!({"path": "out/secret"})),
        ("move_file", json!({"from": "out/secret", "to": "x"})),
        ("move_file", json!({"from": "src/real.txt", "to": "out/x"})),
    ] {
        assert_eq!(bench.err(tool, arguments).await.code, ErrorCode::InvalidPath);
    }
    assert_eq!(snapshot(&bench), before);
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn one_file_under_two_names_is_changed_once_and_a_link_is_not_edited_and_moved() {
    let bench = linked();
    let before = snapshot(&bench);
    let one = |path: &str| json!({"path": path, "search": "one", "replace": "1"});
    for changes in [
        json!([one("link"), one("src/real.txt")]),
        json!([{"path": "link", "search": "one", "replace": "1", "move_to": "moved"}]),
    ] {
        let error = bench.err("apply_changes", json!({"changes": changes})).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{error}");
    }
    assert_eq!(snapshot(&bench), before);
    // Git writes where a deleted link leads as its content.
    let git = |target: &str| {
        format!(
            "diff --git a/link b/link\ndeleted file mode 120000\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-{target}\n\\ No newline at end of file\n"
        )
    };
    let error = bench.err("apply_changes", json!({"patch": git("elsewhere")})).await;
    assert_eq!(error.code, ErrorCode::Conflict, "{error}");
    bench.ok("apply_changes", json!({"patch": git("src/links/hop")})).await;
    assert!(!bench.project.path("link").is_symlink());
}

#[tokio::test]
async fn a_file_that_was_read_through_a_link_is_known_by_both_names() {
    let options = ExecutorOptions { require_read: true, ..Default::default() };
    let bench = Bench::asking(PROJECT, ScriptedApprover::answering([]), options);
    let replace =
        |path: &str, find: &str, new: &str| json!({"path": path, "find": find, "replace": new});
    assert_eq!(
        bench.err("replace_in_file", replace("link", "one", "1")).await.code,
        ErrorCode::NotRead
    );
    bench.ok("read_file", json!({"path": "link"})).await;
    bench.ok("replace_in_file", replace("link", "one", "1")).await;
    bench.ok("replace_in_file", replace("src/real.txt", "two", "2")).await;
    bench.project.write("src/real.txt", "by hand\n");
    let error = bench.err("replace_in_file", replace("alias/real.txt", "hand", "x")).await;
    assert_eq!(error.code, ErrorCode::Conflict);
}

#[tokio::test]
async fn moving_onto_a_link_replaces_the_link_and_a_link_may_replace_a_file() {
    for (from, to) in [
        ("src/links/plain.txt", "link"),
        ("link", "src/links/plain.txt"),
        ("link", "alias/links/outside"),
    ] {
        let bench = linked();
        let before = snapshot(&bench);
        let refused = bench.err("move_file", json!({"from": from, "to": to})).await;
        assert_eq!(refused.code, ErrorCode::Conflict, "{from} {to}");
        bench.ok("move_file", json!({"from": from, "to": to, "overwrite": true})).await;
        assert!(fs::symlink_metadata(bench.project.path(from)).is_err());
        assert_eq!(bench.project.path(to).is_symlink(), from == "link", "{from} {to}");
        assert_eq!(bench.project.read("src/real.txt"), "one\ntwo\n");
        assert_eq!(snapshot(&bench).len(), before.len() - 1);
        bench.ok("undo", json!({})).await;
        assert_eq!(snapshot(&bench), before, "{from} {to}");
    }
}

#[tokio::test]
async fn a_session_that_took_links_apart_is_undone_as_a_whole() {
    let bench = linked();
    let before = snapshot(&bench);
    bench.ok("update_file", json!({"path": "link", "content": "1\n"})).await;
    bench.ok("delete_file", json!({"path": "link"})).await;
    bench.ok("create_file", json!({"path": "link", "content": "a file\n"})).await;
    bench.ok("move_file", json!({"from": "src/links", "to": "links"})).await;
    bench.ok("delete_file", json!({"path": "links/outside"})).await;
    bench.ok("move_file", json!({"from": "links/loop", "to": "links/renamed"})).await;
    bench.ok("delete_file", json!({"path": "alias"})).await;
    bench.ok("undo", json!({"session": true})).await;
    assert_eq!(snapshot(&bench), before);
}

#[tokio::test]
async fn a_link_to_a_directory_is_no_file_to_write_and_long_chains_end() {
    let bench = linked();
    for step in 0..60 {
        let target = format!("chain-{}", step + 1);
        std::os::unix::fs::symlink(target, bench.project.path(format!("chain-{step}"))).unwrap();
    }
    let before = snapshot(&bench);
    let write = |path: &str| json!({"path": path, "content": "x", "create_dirs": true});
    assert_eq!(bench.err("write_file", write("alias")).await.code, ErrorCode::NotAFile);
    assert_eq!(bench.err("write_file", write("src/links/up")).await.code, ErrorCode::NotAFile);
    assert_eq!(bench.err("write_file", write("chain-0")).await.code, ErrorCode::InvalidPath);
    assert_eq!(bench.err("write_file", write("chain-0/x")).await.code, ErrorCode::InvalidPath);
    assert_eq!(snapshot(&bench), before);
    // Forty links are as many as the system follows.
    bench.ok("write_file", write("chain-20")).await;
    assert_eq!(bench.project.read("chain-60"), "x");
    bench.ok("delete_file", json!({"path": "chain-0"})).await;
    bench.ok("undo", json!({"session": true})).await;
    assert_eq!(snapshot(&bench), before);
}

/// Something done to the project by another process.
type Swap = fn(&Path);

/// Swaps something for a link while the question stands, then says yes.
struct Swapping {
    root: PathBuf,
    swap: Swap,
}

#[async_trait]
impl Approver for Swapping {
    async fn decide(&self, request: &ApprovalRequest) -> Result<ApprovalResponse, ToolError> {
        (self.swap)(&self.root);
        Ok(request.approve())
    }
}

/// The other file holds the same bytes, so that only its name tells it apart.
#[tokio::test]
async fn a_link_that_is_swapped_while_the_question_stands_voids_the_approval() {
    let swaps: [(&str, Swap); 3] = [
        // The file becomes a link to the other one.
        ("src/real.txt", |root| {
            fs::remove_file(root.join("src/real.txt")).unwrap();
            std::os::unix::fs::symlink("../other/real.txt", root.join("src/real.txt")).unwrap();
        }),
        // Its directory becomes one.
        ("src/real.txt", |root| {
            fs::rename(root.join("src"), root.join("away")).unwrap();
            std::os::unix::fs::symlink("other", root.join("src")).unwrap();
        }),
        // The link that was given leads elsewhere: the approved file is changed, not the other one.
        ("link", |root| {
            fs::remove_file(root.join("link")).unwrap();
            std::os::unix::fs::symlink("other/real.txt", root.join("link")).unwrap();
        }),
    ];
    for (path, swap) in swaps {
        let bench = linked();
        bench.project.write("other/real.txt", "one\ntwo\n");
        let approver = Swapping { root: bench.project.root().to_owned(), swap };
        let arguments = json!({"path": path, "find": "one", "replace": "1"});
        let call = ToolCall::new("c1", "replace_in_file", arguments.as_object().unwrap().clone());
        let done = bench.executor.report(&call, &CancellationToken::new(), &approver).await.result;
        match path {
            "link" => {
                done.unwrap();
                assert_eq!(bench.project.read("src/real.txt"), "1\ntwo\n");
            }
            _ => assert_eq!(done.unwrap_err().code, ErrorCode::Conflict),
        }
        assert_eq!(bench.project.read("other/real.txt"), "one\ntwo\n");
    }
}
