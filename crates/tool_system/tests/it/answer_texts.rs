//! Whole answers of the tools that change files, as a model reads them and as users see them.

use protocol::{CallReport, ToolCall};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::{ExecutorOptions, Vocabulary};

use crate::harness::{Bench, ScriptedApprover, no, with_arguments, with_hunks, yes};

pub(crate) const FILES: &str = "\
//- /src/a.rs
use std::fmt;

fn main() {
    let limit = 8;
    println!(\"{limit}\");
}
//- /src/b.rs
pub fn area(width: u32) -> u32 {
    width * width
}
//- /notes.md
# Notes
";

/// Makes the calls one after the other. Of each there is what it is called, what the model reads, and
/// what it came to.
pub(crate) async fn transcript(bench: &Bench, calls: Vec<(&str, Value)>) -> String {
    let mut text = String::new();
    for (name, arguments) in calls {
        let call = ToolCall::new("c1", name, arguments.as_object().unwrap().clone());
        let title = bench.executor.title(&call).unwrap();
        let report = bench
            .executor
            .report(&call, &CancellationToken::new(), bench.executor.approver())
            .await;
        let CallReport { result, text: told, title: summary, .. } = report;
        let (told, summary) = match result {
            Ok(_) => (told.unwrap(), summary.unwrap()),
            Err(error) => (error.full_message(), error.code.to_string()),
        };
        text.push_str(&format!("> {title}\n{told}\n< {summary}\n"));
    }
    text
}

#[tokio::test]
async fn edits_name_the_lines_and_show_them_only_if_they_were_not_sent_so() {
    let bench = Bench::writable(FILES);
    let path = "src/a.rs";
    let calls = vec![
        (
            "edit_lines",
            json!({"path": path, "operation": "replace", "start_line": 4, "content": "    let limit = 9;"}),
        ),
        (
            "edit_lines",
            json!({"path": path, "operation": "insert", "start_line": 1, "content": "use std::io;\nuse std::env;"}),
        ),
        (
            "edit_lines",
            json!({"path": path, "operation": "delete", "start_line": 2, "end_line": 3}),
        ),
        ("replace_in_file", json!({"path": path, "find": "limit", "replace": "most"})),
        (
            "replace_in_file",
            json!({"path": path, "find": r"most = (\d)", "replace": "most = 1$1", "is_regex": true}),
        ),
        (
            "replace_in_file",
            json!({"path": path, "find": "let most = 19;\nprintln!(\"{most}\");", "replace": "let most = 20;\nprintln!(\"{most}\");"}),
        ),
        (
            "replace_in_file",
            json!({"path": path, "find": "most", "replace": "all", "preview_only": true}),
        ),
    ];
    insta::assert_snapshot!(transcript(&bench, calls).await, @r#"
    > Edit src/a.rs
    Edited line 4 (change 1)
    < Edited src/a.rs, +1 −1
    > Edit src/a.rs
    Edited lines 2-3 (+2) (change 2)
    < Edited src/a.rs, +2 −0
    > Edit src/a.rs
    Deleted lines 2-3 (change 3)
    < Edited src/a.rs, +0 −2
    > Edit src/a.rs
    Replaced 2: lines 4-5 (change 4)
    < Edited src/a.rs, +2 −2
    > Edit src/a.rs
    Edited line 4 (change 5)
    4	    let most = 19;
    < Edited src/a.rs, +1 −1
    > Edit src/a.rs
    Edited line 4 (change 6)
    4	    let most = 20;
    [match apart from indentation; the new lines were re-indented]
    < Edited src/a.rs, +1 −1
    > Edit src/a.rs
    Preview only: 2 replacements would be made.
    @@ -1,6 +1,6 @@
     use std::fmt;
     
     fn main() {
    -    let most = 20;
    -    println!("{most}");
    +    let all = 20;
    +    println!("{all}");
     }
    < Looked for a text in src/a.rs: 2 found
    "#);
}

#[tokio::test]
async fn a_text_that_is_not_there_gets_the_nearest_lines_or_nothing() {
    let bench = Bench::writable(FILES);
    let path = "src/a.rs";
    let calls = vec![
        (
            "replace_in_file",
            json!({"path": path, "find": "let limit = 6;", "replace": "let limit = 7;"}),
        ),
        ("replace_in_file", json!({"path": path, "find": "@@@@ 0123456789", "replace": "x"})),
        (
            "replace_in_file",
            json!({"path": path, "find": "let limit = 6;", "replace": "let limit = 8;"}),
        ),
        (
            "apply_changes",
            json!({"changes": [{"path": path, "search": "    let limit = 6;\n", "replace": "    let limit = 7;\n"}]}),
        ),
        (
            "apply_changes",
            json!({"changes": [{"path": path, "search": "@@@@ 0123456789", "replace": "x"}]}),
        ),
        (
            "apply_changes",
            json!({"changes": [
                {"path": path, "search": "fmt", "replace": "io"},
                {"path": path, "search": "let limit = 6;", "replace": "let limit = 7;"},
                {"path": "notes.md", "search": "# Notes", "replace": "# News"},
            ]}),
        ),
        (
            "apply_changes",
            json!({"patch": "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-    let limit = 6;\n+    let limit = 7;\n*** End Patch"}),
        ),
        ("edit_lines", json!({"path": "src/aa.rs", "operation": "delete", "start_line": 1})),
        ("update_file", json!({"path": "nowhere/at/all", "content": "x"})),
    ];
    insta::assert_snapshot!(transcript(&bench, calls).await, @r"
    > Edit src/a.rs
    Not found.
    The file has:
    4	let limit = 8;
    < Looked for a text in src/a.rs: 0 found
    > Edit src/a.rs
    Not found: nothing in the file is like it.
    Read the file again.
    < Looked for a text in src/a.rs: 0 found
    > Edit src/a.rs
    Not found, but the replacement is at line 4: already applied.
    < Looked for a text in src/a.rs: 0 found
    > Edit src/a.rs
    Not found.
    The file has:
    4	    let limit = 8;
    < CONFLICT
    > Edit src/a.rs
    Not found: nothing in the file is like it.
    Read the file again.
    < CONFLICT
    > Edit 2 files
    src/a.rs: block 2 of 2: Not found; nothing was changed
    The file has:
    4	let limit = 8;
    < CONFLICT
    > Apply a patch
    Not found (line 3 of the patch)
    The file has:
    4	    let limit = 8;
    < CONFLICT
    > Edit src/aa.rs
    src/aa.rs does not exist
    Did you mean a.rs or b.rs?
    < FILE_NOT_FOUND
    > Rewrite nowhere/at/all
    nowhere/at/all does not exist
    List the directory or search by name to find the right path.
    < FILE_NOT_FOUND
    ");
}

#[tokio::test]
async fn changes_to_many_files_are_told_a_line_each() {
    let bench = Bench::writable(FILES);
    let calls = vec![
        (
            "apply_changes",
            json!({"changes": [{"path": "src/a.rs", "search": "limit = 8", "replace": "limit = 9"}]}),
        ),
        (
            "apply_changes",
            json!({"changes": [
                {"path": "src/a.rs", "search": "let limit = 9;\nprintln!(\"{limit}\");", "replace": "let limit = 10;\nprintln!(\"{limit}\");"},
                {"path": "src/b.rs", "line": 2, "content": "    width\n        * width"},
                {"path": "src/c.rs", "content": "mod b;\n"},
                {"path": "notes.md", "delete": true},
            ]}),
        ),
        ("apply_changes", json!({"changes": [{"path": "src/c.rs", "content": "mod b;\n"}]})),
        ("apply_changes", json!({"changes": [{"path": "src/c.rs", "move_to": "src/d.rs"}]})),
        ("apply_changes", json!({"changes": [{"path": "src/d.rs", "delete": true}]})),
        ("rename_symbol", json!({"symbol": "area", "new_name": "square"})),
        ("rename_symbol", json!({"symbol": "nothing_of_that_name", "new_name": "square"})),
    ];
    insta::assert_snapshot!(transcript(&bench, calls).await, @r"
    > Edit src/a.rs
    Edited line 4 (change 1)
    < Edited src/a.rs, +1 −1
    > Edit 4 files
    notes.md: deleted
    src/a.rs: line 4
    4	    let limit = 10;
    src/b.rs: lines 2-3 (+1)
    src/c.rs: created
    [change 2; match apart from indentation; the new lines were re-indented]
    < Edited 4 files, +4 −3
    > Edit src/c.rs
    Nothing was changed: the files are like this already
    < Changed nothing
    > Edit src/c.rs
    Moved (change 3)
    < Moved src/c.rs to src/d.rs
    > Edit src/d.rs
    Deleted (change 4)
    < Deleted src/d.rs
    > Rename area to square
    Renamed `area` to `square` in 1 place, by name.
    src/b.rs 1
    [change 5]
    < Renamed area to square in 1 place, src/b.rs
    > Rename nothing_of_that_name to square
    0 replacements: `nothing_of_that_name` is not used as a name here.
    < Renamed nothing: nothing_of_that_name is not used
    ");
}

#[tokio::test]
async fn whole_files_are_told_without_their_content() {
    let bench = Bench::writable(FILES);
    let calls = vec![
        ("create_file", json!({"path": "deep/new.txt", "content": "a\nb\n"})),
        ("create_file", json!({"path": "deep/new.txt", "content": "a\nb\n"})),
        ("update_file", json!({"path": "deep/new.txt", "content": "a\nc\nd\n"})),
        ("update_file", json!({"path": "deep/new.txt", "content": "a\nc\nd\n"})),
        (
            "write_file",
            json!({"path": "dot.gif", "content": "R0lGODlhAQABAAAAACw=", "encoding": "base64"}),
        ),
        ("write_file", json!({"path": "deep/new.txt", "content": ""})),
        ("append_file", json!({"path": "notes.md", "content": "More.\nAnd more.\n"})),
        ("append_file", json!({"path": "notes.md", "content": ""})),
        ("move_file", json!({"from": "notes.md", "to": "docs/notes.md"})),
        ("delete_file", json!({"path": "dot.gif"})),
        ("delete_file", json!({"path": "docs", "recursive": true})),
        ("undo", json!({})),
        ("redo", json!({})),
        ("undo", json!({"change_id": "99"})),
    ];
    insta::assert_snapshot!(transcript(&bench, calls).await, @r"
    > Create deep/new.txt
    Created (change 1)
    < Created deep/new.txt, 2 lines
    > Create deep/new.txt
    deep/new.txt already exists
    Change it with replace_in_file, edit_lines or update_file, or choose another path.
    < CONFLICT
    > Rewrite deep/new.txt
    Rewrote, +2 -1 (change 2)
    < Rewrote deep/new.txt, +2 −1
    > Rewrite deep/new.txt
    The file already holds exactly this; nothing was changed.
    < Left deep/new.txt as it was
    > Write dot.gif
    Created (change 3)
    < Created dot.gif
    > Write deep/new.txt
    Wrote, +0 -3 (change 4)
    < Wrote deep/new.txt, +0 −3
    > Append to notes.md
    Appended lines 2-3 (+2) (change 5)
    < Appended to notes.md, +2 −0
    > Append to notes.md
    The file already holds exactly this; nothing was changed.
    < Left notes.md as it was
    > Move notes.md to docs/notes.md
    Moved (change 6)
    < Moved notes.md to docs/notes.md
    > Delete dot.gif
    Deleted (change 7)
    < Deleted dot.gif
    > Delete docs
    Deleted 2 entries (change 8)
    < Deleted docs with 1 entry
    > Undo the last change
    Undid change 8: docs, docs/notes.md (change 9)
    < Undid change 8: 2 files
    > Redo the last undo
    Redid change 9: docs, docs/notes.md (change 10)
    < Redid change 9: 2 files
    > Undo change 99
    there is no change 99 in the journal
    Only changes made through Toolkiln can be undone; `toolkiln history` lists them.
    < INVALID_ARGUMENTS
    ");
}

#[tokio::test]
async fn what_the_user_says_and_changes_is_told() {
    let mut first = FILES.to_owned();
    first.push_str("//- /long.txt\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n");
    let with_note = Box::new(|request: &protocol::ApprovalRequest| {
        let mut response = request.approve();
        response.reason = Some("Fine, but keep it short.".to_owned());
        response
    });
    let other = json!({"path": "src/b.rs", "operation": "delete", "start_line": 2});
    let approver = ScriptedApprover::answering([
        no(None),
        no(Some("Not in this file.")),
        with_note,
        with_hunks("long.txt", &[1]),
        yes(),
        with_arguments(other),
        yes(),
        with_hunks("src/b.rs", &[]),
        yes(),
    ]);
    let bench = Bench::asking(&first, approver, ExecutorOptions::default());
    let edit = json!({"path": "src/a.rs", "operation": "delete", "start_line": 2});
    let calls = vec![
        ("edit_lines", edit.clone()),
        ("edit_lines", edit.clone()),
        ("edit_lines", edit.clone()),
        ("replace_in_file", json!({"path": "long.txt", "find": "1\n2\n", "replace": "one\n2\n"})),
        ("edit_lines", edit),
        (
            "apply_changes",
            json!({"changes": [
                {"path": "long.txt", "search": "2\n", "replace": "two\n"},
                {"path": "src/b.rs", "delete": true},
            ]}),
        ),
    ];
    let long =
        json!({"path": "long.txt", "find": r"^(1|12)$", "replace": "<$1>", "is_regex": true});
    let calls = calls.into_iter().map(|(name, arguments)| match name {
        "replace_in_file" => (name, long.clone()),
        _ => (name, arguments),
    });
    insta::assert_snapshot!(transcript(&bench, calls.collect()).await, @r#"
    > Edit src/a.rs
    User rejected changes
    < REJECTED
    > Edit src/a.rs
    Not in this file.
    < REJECTED
    > Edit src/a.rs
    Deleted line 2 (change 1)
    The user says: Fine, but keep it short.
    < Edited src/a.rs, +0 −1
    > Edit long.txt
    Edited line 12 (change 2)
    12	<12>
    [The user left out 1 of 2 hunks]
    < Edited long.txt, +1 −1
    > Edit src/a.rs
    Deleted line 2 (change 3)
    [The user changed path to "src/b.rs"]
    < Edited src/b.rs, +0 −1
    > Edit 2 files
    long.txt: line 2 (change 4)
    2	two
    [The user left out 1 of 2 hunks]
    < Edited long.txt, +1 −1
    "#);
}

#[tokio::test]
async fn links_that_were_met_are_told() {
    let bench = Bench::writable(FILES);
    std::os::unix::fs::symlink("a.rs", bench.project.path("src/link.rs")).unwrap();
    let calls = vec![(
        "edit_lines",
        json!({"path": "src/link.rs", "operation": "delete", "start_line": 2}),
    )];
    insta::assert_snapshot!(transcript(&bench, calls).await, @r"
    > Edit src/link.rs
    Deleted line 2 (change 1)
    [src/link.rs leads through a symbolic link to src/a.rs; the link is kept]
    < Edited src/link.rs, +0 −1
    ");
}

#[tokio::test]
async fn other_vocabularies_get_json() {
    let options = ExecutorOptions { vocabulary: Vocabulary::Ally, ..Default::default() };
    let bench = Bench::asking(FILES, ScriptedApprover::answering([]), options);
    let arguments = json!({"file_path": "src/a.rs", "find": "8", "replace": "9"});
    let call = ToolCall::new("c1", "edit", arguments.as_object().unwrap().clone());
    let report =
        bench.executor.report(&call, &CancellationToken::new(), bench.executor.approver()).await;
    assert_eq!(report.text, None);
    assert_eq!(report.title.as_deref(), Some("Edited src/a.rs, +1 −1"));
}
