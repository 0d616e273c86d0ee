//! Commands through the gate: run in real sandboxes, their changes judged, approved and undone.

use std::sync::Arc;

use protocol::{ActivityType, ApprovalResponse, ErrorCode, Proposal, ToolCall};
use serde_json::{Value, json};
use testkit::Fixture;
use tokio_util::sync::CancellationToken;
use tool_system::{ExecutorOptions, Limits, Vocabulary};

use crate::harness::{Bench, Person, allowing};

const FILES: &str = "\
//- /.gitignore
/target
*.log
//- /a.txt
one
//- /gone.txt
x
//- /dir/b.txt
b
";

/// Changes files in every way that can be taken over.
const CHANGES: &str = "umask 022; echo two > a.txt; rm gone.txt; mkdir -p new/deep; \
                       echo n > new/deep/n.txt; ln -s a.txt link; chmod +x dir/b.txt; \
                       mkdir -p target/debug; echo o > target/debug/app; echo l > x.log";

fn bench(options: ExecutorOptions, answers: Vec<ApprovalResponse>) -> Option<Bench> {
    Bench::running(FILES, Person::answering(answers), options)
}

async fn bash(bench: &Bench, command: &str) -> Value {
    bench.ok("bash", json!({"command": command, "timeout": 60})).await
}

#[tokio::test]
async fn an_allowed_command_changes_files_at_once_and_all_of_it_can_be_undone() {
    let Some(bench) = bench(allowing(&["bash", "undo"]), vec![]) else { return };
    let command = CHANGES.replace("ln -s a.txt link; ", "");
    let mut ran = bash(&bench, &format!("{command}; echo done; echo oops >&2; exit 3")).await;
    let changes = ran["changes"].take();
    assert_eq!(
        ran,
        json!({"output": "done\n", "error": "oops\n", "return_code": 3, "changes": null})
    );
    assert!(bench.person.asked().is_empty());
    assert_eq!(
        changes["paths"],
        json!(["a.txt", "dir/b.txt", "gone.txt", "new", "new/deep", "new/deep/n.txt"])
    );
    assert_eq!((&changes["applied"], bench.project.read("a.txt")), (&json!(true), "two\n".into()));
    assert!(!bench.project.path("gone.txt").exists());
    assert_eq!(bench.project.read("new/deep/n.txt"), "n\n");
    // What is ignored is there too, and belongs to no change.
    assert_eq!(bench.project.read("target/debug/app"), "o\n");
    assert_eq!(bench.project.read("x.log"), "l\n");
    bench.ok("undo", json!({})).await;
    assert_eq!(bench.project.read("a.txt"), "one\n");
    assert_eq!(bench.project.read("gone.txt"), "x\n");
    assert!(!bench.project.path("new").exists());
    assert_eq!(bench.project.read("target/debug/app"), "o\n");
}

#[tokio::test]
async fn ignored_directories_are_written_directly_once_they_exist() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    bash(&bench, "mkdir target; echo 1 > target/n").await;
    // A second process of the host sees what the command writes while it still runs.
    let ran = bash(&bench, "echo 2 > target/n; mkdir target/sub; rm target/n; ls target").await;
    assert_eq!((&ran["output"], ran.get("changes")), (&json!("sub\n"), None));
    assert!(!bench.project.path("target/n").exists());
    // It is gone meanwhile, and no longer in the way.
    std::fs::remove_dir_all(bench.project.path("target")).unwrap();
    assert_eq!(bash(&bench, "ls; echo x > a.txt").await["return_code"], 0);
    assert_eq!(bench.project.read("a.txt"), "x\n");
}

#[tokio::test]
async fn ignored_directories_can_be_removed_and_made_anew() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    bash(&bench, "mkdir -p target/debug; echo 1 > target/debug/n").await;
    let ran = bash(&bench, "rm -r target && mkdir target && echo 2 > target/m && ls target").await;
    assert_eq!((&ran["output"], ran.get("changes")), (&json!("m\n"), None), "{ran}");
    assert!(!bench.project.path("target/debug").exists());
    assert_eq!(bench.project.read("target/m"), "2\n");
    let ran = bash(&bench, "rm -r target && ls").await;
    assert_eq!((&ran["output"], ran.get("changes")), (&json!("a.txt\ndir\ngone.txt\n"), None));
    assert!(!bench.project.path("target").exists());
}

#[tokio::test]
async fn who_was_asked_for_the_command_is_asked_for_its_changes() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    let ran = bash(&bench, CHANGES).await;
    assert_eq!(ran["changes"]["applied"], true, "{ran}");
    let asked = bench.person.asked();
    let [command, changes] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(matches!(command.proposal, Proposal::Command(_)));
    let Proposal::Changes(set) = &changes.proposal else { panic!("{changes:?}") };
    assert_eq!(changes.proposal_hash, changes.proposal.hash());
    let paths: Vec<&str> = set.changes.iter().flat_map(protocol::Change::paths).collect();
    assert_eq!(
        paths,
        ["a.txt", "dir/b.txt", "gone.txt", "link", "new", "new/deep", "new/deep/n.txt"]
    );
    assert!(
        changes
            .diffs
            .iter()
            .any(|diff| protocol::unified(std::slice::from_ref(diff)).contains("+two"))
    );
    assert_eq!(std::fs::read_link(bench.project.path("link")).unwrap().to_str(), Some("a.txt"));
}

#[tokio::test]
async fn refused_changes_are_thrown_away_and_the_output_stays() {
    let answers = vec![ApprovalResponse::yes(), ApprovalResponse::no(Some("not now".into()))];
    let Some(bench) = bench(ExecutorOptions::default(), answers) else { return };
    let ran = bash(&bench, "echo two > a.txt; cat a.txt").await;
    assert_eq!(ran["output"], "two\n");
    let refused = json!({"paths": ["a.txt"], "refused": "not now", "code": "REJECTED"});
    assert_eq!(ran["changes"], refused);
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn protected_names_and_links_are_asked_for_even_after_an_allowed_command() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    // What a script does is not to be seen in the command.
    bench.project.write("make.sh", "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml");
    bash(&bench, "sh make.sh").await;
    let asked = bench.person.asked();
    assert!(matches!(asked.as_slice(), [one] if matches!(one.proposal, Proposal::Changes(_))));
    bash(&bench, "ln -s a.txt link").await;
    assert_eq!(bench.person.asked().len(), 1);
    let ran = bash(&bench, "ln -s /etc/passwd out; mkfifo pipe; echo y > a.txt").await;
    assert_eq!(
        ran["changes"]["notes"],
        json!([
            "out was not taken over: links that lead out of the project are not",
            "pipe was not taken over: sockets, pipes and devices are not",
        ])
    );
    assert!(bench.person.asked().is_empty());
    assert_eq!(bench.project.read("a.txt"), "y\n");
    assert!(!bench.project.path("out").is_symlink());
    bench.project.write("make.sh", "echo x > .git/hooks; echo y > .envrc");
    let ran = bash(&bench, "sh make.sh").await;
    assert_eq!((&ran["return_code"], ran.get("changes")), (&json!(2), None));
}

/// A command can leave links in ignored places, where nobody is asked; they lead our own tools nowhere.
#[tokio::test]
async fn links_that_a_command_plants_do_not_lead_the_other_tools_outside() {
    let tools = ["bash", "read_file", "write_file", "delete_file"];
    let Some(bench) = bench(allowing(&tools), vec![]) else { return };
    let outside = Fixture::new("//- /secret\nfor nobody\n");
    let secret = outside.path("secret");
    let (file, directory) = (secret.display(), outside.root().display());
    let plant = format!("ln -s {file} x.log; mkdir target; ln -s {directory} target/out");
    assert_eq!(bash(&bench, &plant).await["return_code"], 0);
    for path in ["x.log", "target/out/secret"] {
        let error = bench.err("read_file", json!({"path": path})).await;
        assert_eq!(error.code, ErrorCode::InvalidPath, "{path}");
        let error = bench.err("write_file", json!({"path": path, "content": "mine"})).await;
        assert_eq!(error.code, ErrorCode::InvalidPath, "{path}");
        // The control: whoever just opens the path is led outside.
        assert_eq!(std::fs::read_to_string(bench.project.path(path)).unwrap(), "for nobody\n");
    }
    let error = bench.err("delete_file", json!({"path": "target/out/secret"})).await;
    assert_eq!(error.code, ErrorCode::InvalidPath);
    assert!(secret.exists());
}

#[tokio::test]
async fn a_link_that_became_a_file_is_taken_over_and_comes_back() {
    let Some(bench) = bench(allowing(&["bash", "undo"]), vec![]) else { return };
    std::os::unix::fs::symlink("a.txt", bench.project.path("link")).unwrap();
    let ran = bash(&bench, "sed -i s/one/two/ link").await;
    assert_eq!((&ran["changes"]["applied"], ran["return_code"].as_i64()), (&json!(true), Some(0)));
    assert!(!bench.project.path("link").is_symlink());
    assert_eq!(
        (bench.project.read("link"), bench.project.read("a.txt")),
        ("two\n".into(), "one\n".into())
    );
    bench.ok("undo", json!({})).await;
    assert_eq!(std::fs::read_link(bench.project.path("link")).unwrap().to_str(), Some("a.txt"));
}

/// No set of changes names a path twice, so that each can be taken back whatever happens.
#[tokio::test]
async fn a_directory_that_became_a_file_is_refused_and_all_stays() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    for command in ["rm -r dir; echo f > dir; echo x > a.txt", "rm gone.txt; mkdir gone.txt"] {
        let ran = bash(&bench, command).await;
        let refused = ran["changes"]["refused"].as_str().unwrap_or_default();
        assert!(refused.contains("became a directory, or was one"), "{ran}");
    }
    assert_eq!(
        (bench.project.read("dir/b.txt"), bench.project.read("a.txt")),
        ("b\n".into(), "one\n".into())
    );
}

#[tokio::test]
async fn a_file_that_someone_else_writes_meanwhile_is_a_conflict() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    let mut events = bench.executor.activity().subscribe(ActivityType::ToolOutputChunk);
    let command = "echo mine > a.txt; echo ready; while ! grep -q go dir/b.txt; do :; done";
    let (ran, ()) = tokio::join!(bash(&bench, command), async {
        events.next().await.unwrap();
        bench.project.write("a.txt", "theirs\n");
        bench.project.write("dir/b.txt", "go\n");
    });
    let refused = ran["changes"]["refused"].as_str().unwrap_or_default();
    assert_eq!(refused, "a.txt was changed by someone else while the command ran", "{ran}");
    assert_eq!(bench.project.read("a.txt"), "theirs\n");
}

#[tokio::test]
async fn a_command_ends_with_its_time_and_its_changes_are_thrown_away() {
    let limits = Limits { max_bash_s: 1, ..Limits::default() };
    let Some(bench) = bench(ExecutorOptions { limits, ..allowing(&["bash"]) }, vec![]) else {
        return;
    };
    let ran = bash(&bench, "echo begun; echo x > a.txt; sleep 1000").await;
    assert_eq!((&ran["output"], &ran["return_code"]), (&json!("begun\n"), &json!(124)));
    assert_eq!(ran["changes"]["refused"], "the command was stopped before its end");
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

/// Builds take their time; the vocabulary `ally` promises its own times.
#[tokio::test]
async fn a_command_has_as_much_time_as_its_vocabulary_says() {
    let least = |name: &str| Limits {
        bash_s: if name == "bash_s" { 1 } else { 120 },
        ally_bash_s: if name == "ally_bash_s" { 1 } else { 5 },
        ally_max_bash_s: if name == "ally_max_bash_s" { 1 } else { 60 },
        ..Limits::default()
    };
    let cases = [
        (Vocabulary::Standard, "bash_s", json!({}), "default 120, at most 600"),
        (Vocabulary::Ally, "ally_bash_s", json!({}), "default 5, at most 60"),
        (Vocabulary::Ally, "ally_max_bash_s", json!({"timeout": 50}), "default 5, at most 60"),
    ];
    for (vocabulary, limit, mut arguments, told) in cases {
        let options = ExecutorOptions { vocabulary, limits: least(limit), ..Default::default() };
        let Some(bench) = bench(options, vec![]) else { return };
        arguments["command"] = json!("sleep 1000");
        assert_eq!(bench.ok("bash", arguments).await["return_code"], 124, "{limit}");
        let tool = bench.executor.registry().get(vocabulary, "bash").unwrap();
        let description = tool.input_schema()["properties"]["timeout"]["description"].to_string();
        assert!(description.contains(told), "{description}");
    }
}

#[tokio::test]
async fn a_withdrawn_call_ends_its_command() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    let mut events = bench.executor.activity().subscribe(ActivityType::ToolOutputChunk);
    let cancel = CancellationToken::new();
    let arguments = json!({"command": "echo x > a.txt; echo begun; sleep 1000", "timeout": 60});
    let call = ToolCall::new("c1", "bash", arguments.as_object().unwrap().clone());
    let (result, ()) = tokio::join!(bench.executor.execute_tool(&call, &cancel), async {
        events.next().await.unwrap();
        cancel.cancel();
    });
    assert_eq!(result.unwrap_err().code, ErrorCode::Cancelled);
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn code_runs_with_arguments_and_variables_and_without_network() {
    let options = ExecutorOptions { vocabulary: Vocabulary::Workspace, ..allowing(&["run_code"]) };
    let Some(bench) = bench(options, vec![]) else { return };
    let code = "echo \"$1 $WORD\"; ls /sys/class/net 2>/dev/null; exit 4";
    let arguments =
        json!({"language": "bash", "code": code, "args": ["a b"], "env": {"WORD": "w"}});
    let mut ran = bench.ok("run_code", arguments).await;
    assert!(ran["duration"].take().is_u64());
    assert_eq!(ran, json!({"stdout": "a b w\n", "stderr": "", "exitCode": 4, "duration": null}));
    let arguments = json!({"language": "bash", "code": "", "env": {"LD_PRELOAD": "x"}});
    assert_eq!(bench.err("run_code", arguments).await.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn what_cannot_be_run_is_explained() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    let error = bench.err("bash", json!({"command": "ls", "working_dir": "nowhere"})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    let error = bench.err("bash", json!({"command": "ls", "working_dir": "../.."})).await;
    assert_eq!(error.code, ErrorCode::InvalidPath);
    let ran = bench.ok("bash", json!({"command": "pwd; ls", "working_dir": "dir"})).await;
    let inside = format!("{}\nb.txt\n", bench.project.path("dir").display());
    assert_eq!(ran["output"], inside);
    let nobody = Bench::with(FILES, allowing(&["bash"]), Vec::new());
    let error = nobody.err("bash", json!({"command": "ls"})).await;
    assert_eq!(error.code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn arguments_that_a_person_changed_are_the_ones_that_run() {
    let changed = ApprovalResponse {
        modified_args: json!({"command": "sh better.sh"}).as_object().cloned(),
        ..ApprovalResponse::yes()
    };
    let answers = vec![changed, ApprovalResponse::yes()];
    let Some(bench) = bench(ExecutorOptions::default(), answers) else { return };
    bench.project.write("better.sh", "echo better");
    assert_eq!(bash(&bench, "sh worse.sh").await["output"], "better\n");
    assert_eq!(bench.person.asked().len(), 2);
    assert_eq!(Arc::strong_count(&bench.person), 2);
}

#[tokio::test]
async fn long_output_is_cut_between_lines_and_can_be_read_to_its_end() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    let ran = bash(&bench, "seq -f 'number %.0f of many' 100000").await;
    let output = ran["output"].as_str().unwrap();
    assert!(output.len() < 80_000, "{}", output.len());
    let marker = output.lines().find(|line| line.starts_with("[… ")).unwrap();
    let number = |line: &str| -> u64 { line.split(' ').nth(1).unwrap().parse().unwrap() };
    assert!(output.lines().all(|line| line == marker || line.ends_with(" of many")), "cut lines");
    let note = &ran["truncation"][0];
    let shown: Vec<u64> = output.lines().filter(|line| *line != marker).map(number).collect();
    let left_out = 100_000 - shown.len();
    assert!(marker.starts_with(&format!("[… {left_out} lines left out: read_file(")), "{marker}");
    // The handle gives every line that was left out.
    let mut next = shown.windows(2).find(|pair| pair[1] != pair[0] + 1).unwrap()[0] + 1;
    let last = 100_000
        - shown.iter().rev().zip((1..=100_000).rev()).take_while(|(a, b)| **a == *b).count() as u64;
    while next <= last {
        let arguments = json!({"path": note["handle"], "offset": next, "line_numbers": false});
        let read = bench.ok("read_file", arguments).await;
        let lines: Vec<u64> = read["content"].as_str().unwrap().lines().map(number).collect();
        assert_eq!(lines[0], next);
        next = lines.last().unwrap() + 1;
    }
}
