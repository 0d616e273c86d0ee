//! Tools that write, move and delete whole files.

use std::os::unix::fs::PermissionsExt as _;

use protocol::ErrorCode;
use serde_json::json;
use tool_system::policy::{ApprovalMode, Policy};
use tool_system::{ExecutorOptions, Vocabulary};

use crate::harness::{Bench, ScriptedApprover, strings};

const PROJECT: &str = "//- /a.txt\none\n//- /dir/b.txt\ntwo\n//- /dir/sub/c.txt\nthree\n//- /run.sh mode=755\n#!/bin/sh\n";

#[tokio::test]
async fn a_new_file_is_created_with_its_directories_and_never_over_another() {
    let bench = Bench::writable(PROJECT);
    let done = bench.ok("create_file", json!({"path": "new/deep/x.txt", "content": "hi\n"})).await;
    assert_eq!((&done["path"], &done["size"]), (&json!("new/deep/x.txt"), &json!(3)));
    assert_eq!(bench.project.read("new/deep/x.txt"), "hi\n");
    let error = bench.err("create_file", json!({"path": "a.txt", "content": "x"})).await;
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::Conflict, "a.txt already exists"));
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn updating_keeps_mode_encoding_and_line_endings() {
    let bench = Bench::writable(PROJECT);
    bench.ok("update_file", json!({"path": "run.sh", "content": "#!/bin/sh\necho hi\n"})).await;
    let mode = std::fs::metadata(bench.project.path("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    bench.project.write("win.txt", b"\xEF\xBB\xBFa\r\nb\r\n");
    bench.ok("update_file", json!({"path": "win.txt", "content": "a\nc\n"})).await;
    assert_eq!(bench.project.read_bytes("win.txt"), b"\xEF\xBB\xBFa\r\nc\r\n");
    bench.ok("update_file", json!({"path": "win.txt", "content": "\u{feff}d\n"})).await;
    assert_eq!(bench.project.read_bytes("win.txt"), b"\xEF\xBB\xBFd\r\n");
    let same = bench.ok("update_file", json!({"path": "a.txt", "content": "one\n"})).await;
    assert!(same["message"].as_str().unwrap().contains("already holds exactly this"), "{same}");
    let error = bench.err("update_file", json!({"path": "b.txt", "content": "x"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
}

#[tokio::test]
async fn text_that_stands_for_left_out_code_is_refused() {
    let bench = Bench::writable("//- /a.rs\nfn a() {}\nfn b() {}\n");
    let lazy = "fn a() { 1 }\n// ... rest of code unchanged ...\n";
    let error = bench.err("update_file", json!({"path": "a.rs", "content": lazy})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
    assert_eq!(bench.project.read("a.rs"), "fn a() {}\nfn b() {}\n");
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn appending_starts_a_line_of_its_own() {
    let bench = Bench::writable(PROJECT);
    bench.project.write("end.txt", "no newline");
    bench.ok("append_file", json!({"path": "end.txt", "content": "more\n"})).await;
    assert_eq!(bench.project.read("end.txt"), "no newline\nmore\n");
    bench.ok("append_file", json!({"path": "a.txt", "content": "two\n"})).await;
    assert_eq!(bench.project.read("a.txt"), "one\ntwo\n");
}

#[tokio::test]
async fn write_file_asks_only_when_overwriting_in_the_workspace_mode() {
    let policy = Policy::new(ApprovalMode::Workspace, []).into();
    let options =
        ExecutorOptions { policy, vocabulary: Vocabulary::Workspace, ..Default::default() };
    let bench = Bench::asking(PROJECT, ScriptedApprover::answering([]), options);
    let done = bench
        .ok("write_file", json!({"path": "n/x.txt", "content": "x", "createDirs": true}))
        .await;
    assert_eq!((&done["path"], &done["size"]), (&json!("n/x.txt"), &json!(1)));
    assert!(bench.approver.asked().is_empty());
    bench.ok("write_file", json!({"path": "a.txt", "content": "over\n"})).await;
    assert_eq!(bench.approver.asked().len(), 1);
    bench.ok("move_file", json!({"from": "a.txt", "to": "z.txt"})).await;
    assert!(bench.approver.asked().is_empty());
    bench.ok("move_file", json!({"from": "z.txt", "to": "dir/b.txt", "overwrite": true})).await;
    assert_eq!(bench.approver.asked().len(), 1);
    bench.ok("delete_file", json!({"path": "dir/b.txt"})).await;
    assert_eq!(bench.approver.asked().len(), 1);
}

#[tokio::test]
async fn write_file_takes_base64_and_makes_directories_only_when_told() {
    let bench = Bench::writable(PROJECT);
    bench.ok("write_file", json!({"path": "b.bin", "content": "AAEC", "encoding": "base64"})).await;
    assert_eq!(bench.project.read_bytes("b.bin"), [0, 1, 2]);
    let error = bench.err("write_file", json!({"path": "no/x", "content": "x"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert!(error.suggestion.unwrap().contains("create_dirs"));
    let wrong = json!({"path": "b.bin", "content": "%%%", "encoding": "base64"});
    assert_eq!(bench.err("write_file", wrong).await.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn deleting_lists_what_went_and_needs_recursive_for_directories() {
    let bench = Bench::writable(PROJECT);
    let error = bench.err("delete_file", json!({"path": "dir"})).await;
    assert_eq!(error.code, ErrorCode::NotAFile);
    let done = bench.ok("delete_file", json!({"path": "dir", "recursive": true})).await;
    assert_eq!(strings(&done["deleted"]), ["dir/sub/c.txt", "dir/sub", "dir/b.txt", "dir"]);
    assert!(!bench.project.path("dir").exists());
    assert_eq!(bench.approver.asked().len(), 1);
    assert_eq!(bench.err("delete_file", json!({"path": "."})).await.code, ErrorCode::InvalidPath);
    assert_eq!(
        bench.err("delete_file", json!({"path": "nope"})).await.code,
        ErrorCode::FileNotFound
    );
}

#[tokio::test]
async fn moving_never_overwrites_unasked_and_never_into_itself() {
    let bench = Bench::writable(PROJECT);
    let done = bench.ok("move_file", json!({"from": "a.txt", "to": "x/y.txt"})).await;
    assert_eq!((&done["from"], &done["to"]), (&json!("a.txt"), &json!("x/y.txt")));
    assert_eq!(bench.project.read("x/y.txt"), "one\n");
    let error = bench.err("move_file", json!({"from": "x/y.txt", "to": "run.sh"})).await;
    assert_eq!(error.code, ErrorCode::Conflict);
    bench.ok("move_file", json!({"from": "dir", "to": "moved"})).await;
    assert_eq!(bench.project.read("moved/sub/c.txt"), "three\n");
    let error = bench.err("move_file", json!({"from": "moved", "to": "moved/inside"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPath);
}

#[tokio::test]
async fn nothing_outside_the_project_can_be_written() {
    let bench = Bench::writable("//- /a.txt\none\n//- /out symlink=../outside\n");
    std::fs::create_dir(bench.project.root().with_file_name("outside")).unwrap();
    for path in ["../x.txt", "/tmp/x.txt", "out/x.txt"] {
        for (tool, arguments) in [
            ("create_file", json!({"path": path, "content": "x"})),
            ("write_file", json!({"path": path, "content": "x", "create_dirs": true})),
            ("move_file", json!({"from": "a.txt", "to": path})),
            ("delete_file", json!({"path": path})),
        ] {
            let error = bench.err(tool, arguments).await;
            assert_eq!(error.code, ErrorCode::InvalidPath, "{tool} {path}: {error}");
        }
    }
    assert_eq!(
        std::fs::read_dir(bench.project.root().with_file_name("outside")).unwrap().count(),
        0
    );
}

#[tokio::test]
async fn a_file_must_be_read_first_where_the_session_demands_it() {
    let options = ExecutorOptions { require_read: true, ..Default::default() };
    let bench = Bench::asking(PROJECT, ScriptedApprover::answering([]), options);
    let update = json!({"path": "a.txt", "content": "two\n"});
    assert_eq!(bench.err("update_file", update.clone()).await.code, ErrorCode::NotRead);
    bench.ok("read_file", json!({"path": "a.txt"})).await;
    bench.ok("update_file", update).await;
    // What it has written itself, it knows.
    bench.ok("update_file", json!({"path": "a.txt", "content": "three\n"})).await;
}
