use serde_json::{Map, Value, json};

use super::OutcomeText;
use crate::{CustomTool, Tool, ToolArguments, ToolRegistry, Vocabulary};

/// What a call is called, what the model reads of its result, and what it came to.
fn told_by(tool: &dyn Tool, arguments: &Value, result: &Value) -> String {
    let arguments = ToolArguments::new(arguments.as_object().cloned().unwrap_or_default());
    let title = tool.title(&arguments).unwrap();
    let text = tool.text(&arguments, result).unwrap();
    let summary = tool.summary(&arguments, result).unwrap();
    format!("> {title}\n{text}\n< {summary}\n")
}

fn told(name: &str, calls: &[(Value, Value)]) -> String {
    let listed = ToolRegistry::builtin().get(Vocabulary::Standard, name).unwrap();
    calls.iter().map(|(args, result)| told_by(&*listed.tool, args, result)).collect()
}

#[test]
fn a_command_gives_its_output_alone_and_what_is_unusual_in_brackets() {
    let args = json!({"command": "npm install\nnpm test"});
    let ran = |output: &str, error: &str, code: i64, more: Value| {
        let mut ran = json!({"output": output, "error": error, "return_code": code, "ran": "look"});
        if let (Value::Object(ran), Value::Object(more)) = (&mut ran, more) {
            ran.extend(more);
        }
        (args.clone(), ran)
    };
    let none = || json!({});
    let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -2 +2 @@\n-old\n+new\n\
                diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n";
    let applied = json!({"applied": true, "paths": ["a.rs", "n"], "diff": diff, "added": 2, "removed": 1,
        "change_id": "4", "private": ["target"], "notes": ["a socket was left out"],
        "user_note": "Thanks.", "checks": [{"name": "fmt", "ok": true}]});
    let without_diff = json!({"applied": true, "paths": ["a", "b"], "files": 70, "change_id": "5"});
    let dropped =
        json!({"paths": ["a.rs", "b.rs"], "dropped": "User rejected changes", "code": "REJECTED"});
    let calls = [
        ran("done\n", "", 0, none()),
        ran("", "", 0, none()),
        ran("one", "two\n", 1, none()),
        ran(
            "",
            "",
            124,
            json!({"message": "It was ended after 1.5 s. A longer timeout may help, or a job."}),
        ),
        ran("ok\n", "", 0, json!({"changes": applied})),
        ran("ok\n", "", 0, json!({"changes": without_diff})),
        ran("", "", 0, json!({"changes": dropped})),
        ran("", "", 0, json!({"edited_by_user": "The user changed command to \"ls\"."})),
    ];
    insta::assert_snapshot!(told("bash", &calls), @r#"
    > Run npm install …
    done
    < Ran npm install …
    > Run npm install …
    [no output]
    < Ran npm install …
    > Run npm install …
    one
    two
    [exit 1]
    < Ran npm install …, exit 1
    > Run npm install …
    [exit 124; It was ended after 1.5 s. A longer timeout may help, or a job]
    < Ran npm install …, exit 124
    > Run npm install …
    ok
    It changed (change 4):
    a.rs: line 2
    2	new
    n: created
    The user says: Thanks.
    [only commands see: target; check fmt passed; a socket was left out]
    < Ran npm install …, 2 files changed, +2 −1
    > Run npm install …
    ok
    It changed a, b and 68 more (change 5)
    < Ran npm install …, 70 files changed
    > Run npm install …
    Its changes to a.rs, b.rs were dropped: User rejected changes
    < Ran npm install …, changes to 2 files dropped
    > Run npm install …
    [The user changed command to "ls"]
    < Ran npm install …
    "#);
}

#[test]
fn tests_are_told_by_their_counts_and_what_failed() {
    let calls = [
        (
            json!({}),
            json!({"ok": true, "passed": 12, "failed": 0, "skipped": 1, "exit_code": 0, "timed_out": false}),
        ),
        (
            json!({"path": "crates/a", "filter": "adds"}),
            json!({"ok": false, "passed": 1, "failed": 1, "skipped": 0, "exit_code": 101, "timed_out": false,
                "failures": [{"name": "adds", "output": "left: 1\nright: 2"}]}),
        ),
        (
            json!({}),
            json!({"ok": false, "output": "error[E0425]: cannot find value", "exit_code": 101,
            "timed_out": false, "message": "No test report was recognised; the exit code tells."}),
        ),
        (
            json!({}),
            json!({"ok": false, "output": "", "exit_code": null, "timed_out": true,
            "message": "The tests were stopped because their time was over; choose fewer with path or filter."}),
        ),
    ];
    insta::assert_snapshot!(told("run_tests", &calls), @r"
    > Run the tests
    12 passed, 1 skipped
    < Ran the tests: 12 passed, 1 skipped
    > Run the tests of crates/a for adds
    1 failed, 1 passed
    adds:
    left: 1
    right: 2
    < Ran the tests: 1 failed, 1 passed
    > Run the tests
    error[E0425]: cannot find value
    [exit 101; No test report was recognised; the exit code tells]
    < Ran the tests: they failed
    > Run the tests
    [The tests were stopped because their time was over; choose fewer with path or filter]
    < Ran the tests: their time was over
    ");
}

#[test]
fn formatters_and_package_managers_tell_what_they_changed() {
    let diff =
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1,2 @@\n-a(  b)\n+a(\n+b)\n";
    let changes = json!({"applied": true, "paths": ["a.rs"], "diff": diff, "added": 2, "removed": 1, "change_id": "7"});
    let format = [
        (json!({"path": "a.rs"}), json!({"ok": true, "exit_code": 0, "changes": changes})),
        (json!({}), json!({"ok": true, "exit_code": 0})),
        (json!({}), json!({"ok": false, "exit_code": 1, "output": "error: expected `;`"})),
    ];
    let lock = json!({"applied": true, "paths": ["Cargo.lock", "Cargo.toml"], "change_id": "8", "added": 9, "removed": 0});
    let packages = json!({"packages": ["serde@1", "insta"]});
    let install = [
        (
            packages.clone(),
            json!({"ok": true, "exit_code": 0, "output": "Adding serde", "changes": lock}),
        ),
        (packages, json!({"ok": false, "exit_code": 1, "output": "error: no such crate"})),
    ];
    let text = told("format_code", &format) + &told("install_package", &install);
    insta::assert_snapshot!(text, @r"
    > Format a.rs
    It changed (change 7):
    a.rs: lines 1-2 (+1)
    1	a(
    2	b)
    < Formatted a.rs, 1 file changed, +2 −1
    > Format the project
    Nothing to change
    < Formatted the project, nothing changed
    > Format the project
    error: expected `;`
    [exit 1]
    < Formatting the project failed
    > Install serde@1, insta
    Adding serde
    It changed Cargo.lock, Cargo.toml (change 8)
    < Installed serde@1, insta, 2 files changed, +9 −0
    > Install serde@1, insta
    error: no such crate
    [exit 1]
    < Installing serde@1, insta failed, exit 1
    ");
}

#[test]
fn code_and_jobs_give_their_output() {
    let code = json!({"language": "python", "code": "import sys\nprint(1)"});
    let ran = [
        (code.clone(), json!({"stdout": "1\n", "stderr": "", "exit_code": 0, "duration": 5})),
        (code, json!({"stdout": "", "stderr": "Traceback\n", "exit_code": 1, "duration": 5})),
    ];
    let jobs = [
        (json!({"action": "start", "command": "npm run dev"}), json!({"id": "1", "running": true})),
        (
            json!({"action": "output", "id": "1"}),
            json!({"id": "1", "output": "ready\n", "cursor": 6, "running": true}),
        ),
        (
            json!({"action": "output", "id": "1", "cursor": 6}),
            json!({"id": "1", "output": "", "cursor": 6, "running": false, "exit_code": 1, "message": "8 earlier bytes are not kept"}),
        ),
        (json!({"action": "input", "id": "1", "input": "q"}), json!({"id": "1", "running": true})),
        (json!({"action": "stop", "id": "1"}), json!({"id": "1", "running": false})),
        (
            json!({"action": "list"}),
            json!({"jobs": [
            {"id": "1", "command": "npm run dev", "running": true}, {"id": "2", "command": "make", "running": false, "exit_code": 2}]}),
        ),
        (json!({"action": "list"}), json!({"jobs": []})),
    ];
    insta::assert_snapshot!(told("run_code", &ran) + &told("job", &jobs), @r"
    > Run python: import sys …
    1
    < Ran python: import sys …
    > Run python: import sys …
    Traceback
    [exit 1]
    < Ran python: import sys …, exit 1
    > Start npm run dev
    [job 1 running]
    < Started job 1: npm run dev
    > Look at job 1
    ready
    [job 1 running; cursor=6]
    < Looked at job 1
    > Look at job 1
    [job 1 exit 1; cursor=6; 8 earlier bytes are not kept]
    < Looked at job 1, exit 1
    > Write to job 1
    [job 1 running]
    < Wrote to job 1
    > Stop job 1
    [job 1 ended]
    < Stopped job 1, ended
    > List jobs
    1	running	npm run dev
    2	exit 2	make
    < Listed 2 jobs
    > List jobs
    No jobs
    < Listed 0 jobs
    ");
}

#[test]
fn git_is_told_as_git_tells_it() {
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let status = [
        (
            json!({}),
            json!({"branch": "main", "commit": hash, "ahead": 0, "behind": 0, "clean": true}),
        ),
        (
            json!({}),
            json!({"branch": "main", "commit": hash, "upstream": "origin/main", "ahead": 2, "behind": 1, "clean": false,
                "staged": [{"path": "both", "change": "added"}, {"path": "new", "change": "renamed", "from": "old"}],
                "unstaged": [{"path": "both", "change": "deleted"}, {"path": "link", "change": "type changed"}],
                "conflicts": ["torn"], "untracked": ["a b.txt"],
                "redundant": "This exact call was already answered in this turn."}),
        ),
        (json!({}), json!({"ahead": 0, "behind": 0, "clean": true})),
    ];
    let commit = |author: &str, subject: &str, body: &str| json!({"commit": hash, "author": author, "date": "2026-11-15T10:00:00+01:00", "subject": subject, "body": body});
    let (ada, bob) = (commit("Ada", "Add a", "Why a."), commit("Bob", "Add b", ""));
    let log = [
        (json!({"path": "src"}), json!({"commits": [ada, bob]})),
        (json!({}), json!({"commits": [ada, ada, ada, ada]})),
        (json!({"commit": "main..topic"}), json!({"commits": []})),
    ];
    let files = json!([{"path": "a", "added": 1, "removed": 2}, {"path": "b.png"}]);
    let diff = [
        (
            json!({}),
            json!({"files": files, "diff": "diff --git a/a b/a\n@@ -1,2 +1 @@\n-x\n-y\n+z\n"}),
        ),
        (json!({"staged": true, "path": "src"}), json!({"files": [], "diff": ""})),
        (
            json!({"commit": "main"}),
            json!({"files": files, "diff": "diff --git a/a b/a\n@@ -1", "message": "The diff is long; its middle is left out. Name a path.",
            "truncation": [{"field": "diff", "unit": "characters", "total": 900, "shown": 20, "handle": "result:12ab", "hint": "…"}]}),
        ),
    ];
    let commit = json!({"message": "Add a parser\n\nIt reads."});
    let commits = [
        (
            commit.clone(),
            json!({"commit": hash, "branch": "main", "summary": "3 files changed, 2 insertions(+)"}),
        ),
        (
            commit,
            json!({"commit": hash, "branch": "main", "summary": "", "message": "The commit is made, but the index does not know it yet."}),
        ),
    ];
    let pushed = [(
        json!({"branch": "topic"}),
        json!({"remote": "https://h/x", "result": ["* refs/heads/topic:refs/heads/topic [new branch]"]}),
    )];
    let text = told("git_status", &status)
        + &told("git_log", &log)
        + &told("git_diff", &diff)
        + &told("git_commit", &commits)
        + &told("git_push", &pushed);
    insta::assert_snapshot!(text, @r#"
    > Show the git status
    main 0123456789, clean
    < Git status: clean
    > Show the git status
    main 0123456789, upstream origin/main, ahead 2, behind 1
    ?? a b.txt
    AD both
     T link
    R  old -> new
    UU torn
    [This exact call was already answered in this turn]
    < Git status: 5 files changed
    > Show the git status
    detached at no commits, clean
    < Git status: clean
    > Show the commits of src
    2026-11-15 Ada:
    0123456789 Add a
        Why a.
    2026-11-15 Bob:
    0123456789 Add b
    < Listed 2 commits of src
    > Show the commits
    2026-11-15 Ada:
    0123456789 Add a
    0123456789 Add a
    0123456789 Add a
    0123456789 Add a
    [limit=3 or less shows the whole messages]
    < Listed 4 commits
    > Show the commits of main..topic
    No commits
    < Listed 0 commits of main..topic
    > Show the changes since the last commit
    diff --git a/a b/a
    @@ -1,2 +1 @@
    -x
    -y
    +z
    < Compared: 2 files, +1 −2
    > Show the staged changes in src
    No changes
    < Compared in src: 0 files
    > Show the changes of main
    a +1 -2
    b.png (binary)
    diff --git a/a b/a
    @@ -1
    [The diff is long; its middle is left out. Name a path; diff: 20 of 900 characters; read_file path="result:12ab"]
    < Compared: 2 files, +1 −2
    > Commit: Add a parser …
    Committed 0123456789 on main
    3 files changed, 2 insertions(+)
    < Committed 3 files: Add a parser …
    > Commit: Add a parser …
    Committed 0123456789 on main
    [The commit is made, but the index does not know it yet]
    < Committed: Add a parser …
    > Push topic to origin
    To https://h/x
    * refs/heads/topic:refs/heads/topic [new branch]
    < Pushed topic to origin
    "#);
}

#[test]
fn sub_agents_and_plans_are_told_by_their_outcome() {
    let task = json!({"task": "Find every caller.\nList them."});
    let delegate = [
        (
            task.clone(),
            json!({"report": "There are two:\n- a\n- b", "outcome": "done", "turns": 3, "tokens": 900}),
        ),
        (
            task,
            json!({"report": "One so far.", "outcome": "limit reached", "reason": "20 turns", "turns": 20, "tokens": 900, "changed": ["a.rs"]}),
        ),
    ];
    let steps = json!({"steps": [{"text": "Find the callers"}, {"text": "Change them"}]});
    let plan = [
        (steps.clone(), json!({"steps": 2, "done": 1, "next": "Change them"})),
        (steps, json!({"steps": 2, "done": 2})),
    ];
    insta::assert_snapshot!(told("delegate", &delegate) + &told("plan", &plan), @r"
    > Delegate: Find every caller. …
    There are two:
    - a
    - b
    [3 turns, 900 tokens]
    < Delegated, done in 3 turns: Find every caller. …
    > Delegate: Find every caller. …
    One so far.
    [limit reached: 20 turns; 20 turns, 900 tokens; changed a.rs]
    < Delegated, limit reached after 20 turns: Find every caller. …
    > Plan 2 steps
    1 of 2 done
    < Plan: 1 of 2 done, next: Change them
    > Plan 2 steps
    2 of 2 done
    < Plan: all 2 done
    ");
}

#[test]
fn a_custom_tool_is_told_by_its_name_and_output() {
    let file = "name = 'check_links'\ndescription = 'Check links.'\nshell = 'lychee'\n";
    let tool = CustomTool::read(file).unwrap_or_else(|found| panic!("{found:?}"));
    let calls = [
        (
            json!({"directory": "docs", "depth": 2}),
            json!({"ok": true, "stdout": "42 links\n", "exit_code": 0}),
        ),
        (json!({}), json!({"ok": false, "stdout": "", "stderr": "b\n", "exit_code": 2})),
        (json!({}), json!({"ok": false, "stdout": "", "exit_code": null, "timed_out": true})),
    ];
    let text: String = calls.iter().map(|(args, result)| told_by(&tool, args, result)).collect();
    insta::assert_snapshot!(text, @r"
    > Run check_links docs 2
    42 links
    < Ran check_links
    > Run check_links
    b
    [exit 2]
    < Ran check_links, exit 2
    > Run check_links
    [no exit code; its time was over]
    < Ran check_links, it was ended
    ");
}

#[test]
fn checks_after_an_edit_are_told_with_what_they_printed() {
    let diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n";
    let result = json!({"diff": diff, "change_id": "3", "added": 1, "removed": 1, "checks": [
        {"name": "fmt", "ok": true},
        {"name": "clippy", "ok": false, "exit_code": 101, "output": "warning: unused\nerror: 1"},
        {"name": "slow", "ok": false, "signal": 9, "why": "it took longer than 2.5 s"},
        {"name": "killed", "ok": false, "signal": 11},
        {"name": "none", "ok": false, "not_run": "no such program"},
        {"name": "fix", "ok": true, "changes": {"paths": ["a"], "files": 30, "dropped": "a check changes nothing", "diff": diff}},
    ], "remark": "This is always asked.", "notes": ["the mode was kept"]});
    let args = json!({"path": "a", "operation": "replace", "start_line": 1, "content": "y"});
    insta::assert_snapshot!(told("edit_lines", &[(args, result)]), @r"
    > Edit a
    Edited line 1 (change 3)
    Check clippy failed, exit 101:
    warning: unused
    error: 1
    Check slow was ended: it took longer than 2.5 s
    Check killed was ended by signal 11
    Check none was not run: no such program
    Check fix would change a and 29 more; a check changes nothing
    a: line 1
    1	y
    [check fmt passed; check fix passed; This is always asked; the mode was kept]
    < Edited a, +1 −1; clippy, slow, killed, none failed
    ");
}

#[test]
fn a_result_of_another_shape_has_no_text() {
    for listed in
        ToolRegistry::builtin().list_for(Vocabulary::Standard, &protocol::AgentRole::Actor)
    {
        use crate::Category::{Agent, Execution, Management, VersionControl, Writing};
        let tool = &listed.tool;
        let acts = [Agent, Execution, Management, VersionControl, Writing];
        if !acts.contains(&listed.definition().category) {
            continue;
        }
        let arguments = ToolArguments::new(Map::new());
        for odd in [
            json!(null),
            json!({}),
            json!([1]),
            json!("text"),
            json!({"diff": 1, "ok": "x", "files": 2}),
        ] {
            assert_eq!(tool.text(&arguments, &odd), None, "{} {odd}", listed.name());
            // The summary may say less, and must not fail.
            tool.summary(&arguments, &odd);
        }
        tool.title(&arguments);
    }
}

#[test]
fn notes_are_one_line_and_a_text_is_never_empty() {
    let mut text = OutcomeText::new("a\n\n");
    text.note("one\n  two.");
    text.note("");
    assert_eq!(text.finish(), "a\n[one two]");
    assert_eq!(OutcomeText::default().finish(), "[no output]");
}
