//! Commands through the gate: run in real sandboxes, their changes judged, approved and undone.

use std::sync::Arc;

use protocol::{
    ActivityType, AgentRole, ApprovalRequest, ApprovalResponse, ErrorCode, Proposal, ToolCall,
    ToolPermission,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_system::policy::{CommandMode, Policy};
use tool_system::{ExecutorOptions, Limits, Vocabulary};

use crate::harness::{Bench, Reply, ScriptedApprover, Setup, allowing, no, with_arguments, yes};

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

/// Changes files in every way that can be applied.
const CHANGES: &str = "umask 022; echo two > a.txt; rm gone.txt; mkdir -p new/deep; \
                       echo n > new/deep/n.txt; ln -s a.txt link; chmod +x dir/b.txt; \
                       mkdir -p target/debug; echo o > target/debug/app; echo l > x.log";

fn bench(setup: impl Into<Setup>, answers: Vec<Reply>) -> Option<Bench> {
    Bench::running(FILES, ScriptedApprover::answering(answers), setup)
}

async fn bash(bench: &Bench, command: &str) -> Value {
    bench.ok("bash", json!({"command": command, "timeout": 60})).await
}

#[tokio::test]
async fn a_command_is_asked_about_once_by_what_it_would_leave_behind() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    let mut ran = bash(&bench, &format!("{CHANGES}; echo done; echo oops >&2; exit 3")).await;
    let changes = ran["changes"].take();
    assert_eq!(
        ran,
        json!({"output": "done\n", "error": "oops\n", "return_code": 3, "ran": "copy", "changes": null})
    );
    let asked = bench.approver.asked();
    let [question] = asked.as_slice() else { panic!("{asked:?}") };
    let Proposal::Changes(set) = &question.proposal else { panic!("{question:?}") };
    assert_eq!(question.proposal_hash, question.proposal.hash());
    let paths: Vec<&str> = set.changes.iter().flat_map(protocol::Change::paths).collect();
    assert_eq!(
        paths,
        ["a.txt", "dir/b.txt", "gone.txt", "link", "new", "new/deep", "new/deep/n.txt"]
    );
    let shows = |diff| protocol::unified(std::slice::from_ref(diff)).contains("+two");
    assert!(question.diffs.iter().any(shows));
    assert_eq!((&changes["applied"], bench.project.read("a.txt")), (&json!(true), "two\n".into()));
    assert!(!bench.project.path("gone.txt").exists());
    assert_eq!(bench.project.read("new/deep/n.txt"), "n\n");
    assert_eq!(std::fs::read_link(bench.project.path("link")).unwrap().to_str(), Some("a.txt"));
    // What is ignored is kept apart, and said to be.
    assert_eq!(changes["private"], json!(["target", "x.log"]));
    assert!(!bench.project.path("target").exists() && !bench.project.path("x.log").exists());
    bench.ok("undo", json!({})).await;
    assert_eq!(bench.project.read("a.txt"), "one\n");
    assert_eq!(bench.project.read("gone.txt"), "x\n");
    assert!(!bench.project.path("new").exists());
}

#[tokio::test]
async fn what_the_first_command_needs_can_be_made_before() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    let layer = bench.project.root().with_file_name("state").join("layer");
    assert!(!layer.exists());
    bench.executor.preparation()();
    assert!(layer.join("kept").is_dir());
    assert_eq!(bash(&bench, "cat a.txt").await["output"], "one\n");
}

#[tokio::test]
async fn a_command_that_leaves_nothing_is_not_asked_about() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    let ran = bash(&bench, "cat a.txt; echo x > /tmp/y; mkdir z; rmdir z; touch dir").await;
    assert_eq!(ran, json!({"output": "one\n", "error": "", "return_code": 0, "ran": "look"}));
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn ignored_files_are_seen_by_the_next_command_only() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    bench.project.write("target/users", "u\n");
    bash(&bench, "echo 1 > target/n; echo c > target/users").await;
    let ran = bash(&bench, "cat target/n target/users; mkdir target/sub; rm target/n").await;
    assert_eq!((&ran["output"], ran.get("changes")), (&json!("1\nc\n"), None));
    let ran = bash(&bench, "rm -r target && mkdir target && echo 2 > target/m && ls target").await;
    assert_eq!((&ran["output"], ran.get("changes")), (&json!("m\n"), None), "{ran}");
    assert_eq!(bash(&bench, "rm -r target; ls").await["output"], "a.txt\ndir\ngone.txt\n");
    assert!(bench.approver.asked().is_empty());
    let left: Vec<_> = std::fs::read_dir(bench.project.path("target")).unwrap().collect();
    assert_eq!((left.len(), bench.project.read("target/users")), (1, "u\n".into()));
}

#[tokio::test]
async fn packages_that_the_user_installs_anew_are_seen() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    let install = |text: &str| {
        let _ = std::fs::remove_dir_all(bench.project.path("node_modules"));
        bench.project.write("node_modules/a/index.js", text);
    };
    let look = "cat node_modules/a/index.js";
    install("1\n");
    bash(&bench, "rm -r node_modules").await;
    assert_eq!(bash(&bench, look).await["return_code"], 1);
    install("2\n");
    assert_eq!(bash(&bench, look).await["output"], "2\n");
    bash(&bench, "echo patched > node_modules/a/index.js").await;
    assert_eq!(bash(&bench, look).await["output"], "patched\n");
    install("3\n");
    assert_eq!(bash(&bench, look).await["output"], "3\n");
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn ignored_files_are_kept_on_request_with_a_listing() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    bash(&bench, "mkdir target; echo 1 > target/app; echo 2 > target/map").await;
    let keep = json!({"command": "echo 3 > target/map", "keep": ["target", "dir", "target/app"]});
    let ran = bench.ok("bash", keep).await;
    assert_eq!(ran["changes"]["paths"], json!(["target", "target/app", "target/map"]), "{ran}");
    let note = "dir was not kept: commands wrote no ignored files there";
    assert_eq!(ran["changes"]["notes"], json!([note]));
    let asked = bench.approver.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(bench.project.read("target/app"), "1\n");
    assert_eq!(bench.project.read("target/map"), "3\n");
    // From now on the project's own is seen.
    bench.project.write("target/app", "of the user\n");
    assert_eq!(bash(&bench, "cat target/app").await["output"], "of the user\n");
}

#[tokio::test]
async fn what_git_holds_is_never_taken_for_ignored() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    bench.project.write("target/held", "h\n");
    bench.project.write("target/other", "o\n");
    for arguments in [&["init", "--quiet"][..], &["add", "--force", "target/held", "a.txt"]] {
        let mut git = std::process::Command::new("git");
        assert!(git.args(arguments).current_dir(bench.project.root()).status().unwrap().success());
    }
    let ran =
        bash(&bench, "echo x > target/held; echo y > target/other; echo .git >> .gitignore").await;
    assert_eq!(ran["changes"]["paths"], json!([".gitignore", "target/held"]), "{ran}");
    assert_eq!(bench.approver.asked().len(), 1);
    assert_eq!(bench.project.read("target/other"), "o\n");
}

#[tokio::test]
async fn a_linked_worktree_has_ignored_files_too() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    let (root, parent) = (bench.project.root(), bench.project.root().parent().unwrap());
    let git = |directory: &std::path::Path, words: &str| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
        let status = git.args(words.split(' ')).current_dir(directory).status().unwrap();
        assert!(status.success(), "git {words}");
    };
    git(parent, "init --quiet other");
    let other = parent.join("other");
    git(&other, "commit --quiet --allow-empty --message=first");
    git(&other, "worktree add --quiet --detach ../linked");
    std::fs::rename(parent.join("linked/.git"), root.join(".git")).unwrap();
    git(&other, &format!("worktree repair {}", root.display()));
    bench.project.write("target/held", "h\n");
    git(root, "add --force target/held");
    let ran = bash(&bench, "echo x > target/held; echo y > target/new").await;
    assert_eq!(ran["changes"]["paths"], json!(["target/held"]), "{ran}");
    assert_eq!(bash(&bench, "cat target/new").await["output"], "y\n");
    assert_eq!(bench.approver.asked().len(), 1);
}

#[tokio::test]
async fn caches_of_programs_are_no_matter_for_a_question() {
    let Some(bench) = bench(ExecutorOptions::default(), vec![]) else { return };
    let tag = "Signature: 8a477f597d28d172789f06886806bc55";
    let command = format!(
        "mkdir -p dir/__pycache__ .pytest_cache build; echo x > dir/__pycache__/a.pyc; \
         echo y > .pytest_cache/y; echo '{tag}' > build/CACHEDIR.TAG; echo z > build/z"
    );
    let ran = bash(&bench, &command).await;
    assert_eq!(ran["changes"], json!({"private": ["build"]}), "only what the model may look for");
    assert_eq!(bash(&bench, "echo w > build/w; cat build/z").await["output"], "z\n");
    assert!(bench.approver.asked().is_empty());
    assert!(!bench.project.path("build").exists());
}

#[tokio::test]
async fn whoever_may_not_write_changes_nothing_through_a_command() {
    let permissions = [ToolPermission::ReadFiles, ToolPermission::ExecuteCommands];
    let permissions = permissions.into_iter().collect();
    let role = AgentRole::Custom { name: "tester".into(), permissions };
    let setup = Setup::in_role(role, allowing(&["bash"]));
    let Some(bench) = bench(setup, vec![]) else { return };
    let ran = bash(&bench, "echo two > a.txt; cat a.txt").await;
    assert_eq!((&ran["output"], &ran["ran"]), (&json!("two\n"), &json!("look")));
    assert_eq!(ran["changes"]["dropped"], "the role tester may not change files");
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn a_role_does_to_files_by_a_command_what_it_may_do_to_them_and_no_more() {
    use ToolPermission::{CreateFiles, DeleteFiles, ExecuteCommands, ReadFiles, WriteFiles};
    let cases = [
        ("echo two > a.txt", WriteFiles, "change"),
        ("echo n > new.txt", CreateFiles, "create"),
        ("mkdir new", CreateFiles, "create"),
        ("ln -s a.txt new", CreateFiles, "create"),
        ("rm gone.txt", DeleteFiles, "delete"),
        ("rm -r dir", DeleteFiles, "delete"),
        ("mv gone.txt other.txt", DeleteFiles, "delete"),
    ];
    for (command, needed, what) in cases {
        let all = [ReadFiles, WriteFiles, CreateFiles, DeleteFiles, ExecuteCommands];
        let permissions = all.into_iter().filter(|one| *one != needed).collect();
        let role = AgentRole::Custom { name: "tester".into(), permissions };
        let setup = Setup::in_role(role, allowing(&["bash"]));
        let Some(bench) = bench(setup, vec![]) else { return };
        let ran = bash(&bench, command).await;
        let said = format!("the role tester may not {what} files");
        assert_eq!(ran["changes"]["dropped"], said, "{command}: {ran}");
        assert_eq!(bench.project.read("a.txt") + &bench.project.read("gone.txt"), "one\nx\n");
        assert!(!bench.project.path("new").exists() && bench.project.path("dir/b.txt").exists());
    }
}

#[tokio::test]
async fn build_output_goes_with_the_edits_that_it_was_made_from() {
    let answers = vec![no(None), yes(), no(None), no(None)];
    let Some(bench) = bench(ExecutorOptions::default(), answers) else { return };
    bash(&bench, "mkdir target; cp a.txt target/built").await;
    let build = "echo edited > a.txt; cp a.txt target/built; rm -f target/old";
    let ran = bash(&bench, build).await;
    let notes = ran["changes"]["notes"].to_string();
    assert!(notes.contains("ignored paths was dropped too"), "{ran}");
    assert_eq!(bash(&bench, "cat target/built").await["output"], "one\n");
    bash(&bench, build).await;
    assert_eq!(bash(&bench, "cat a.txt target/built").await["output"], "edited\nedited\n");
    // A file that a build finds gone makes it build again.
    let ran = bash(&bench, "echo new > n.txt; cp n.txt target/built").await;
    assert_eq!(ran["changes"].get("notes"), None, "{ran}");
    assert_eq!(bash(&bench, "cat target/built").await["output"], "new\n");
    // The same holds for what a call wants to keep.
    let keep = json!({"command": "echo x > a.txt; cp a.txt target/built", "keep": ["target"]});
    bench.ok("bash", keep).await;
    assert_eq!(bash(&bench, "cat a.txt; ls").await["output"], "edited\na.txt\ndir\ngone.txt\n");
    assert_eq!(bench.approver.asked().len(), 4);
}

#[tokio::test]
async fn refused_changes_are_dropped_and_the_output_stays() {
    let answers = vec![no(Some("no"))];
    let Some(bench) = bench(ExecutorOptions::default(), answers) else { return };
    let ran = bash(&bench, "echo two > a.txt; cat a.txt").await;
    assert_eq!(ran["output"], "two\n");
    let told = json!({"paths": ["a.txt"], "dropped": "no", "code": "REJECTED", "denied": true});
    assert_eq!(ran["changes"], told);
    assert_eq!(bench.project.read("a.txt"), "one\n");
}

#[tokio::test]
async fn what_was_picked_of_the_changes_is_what_the_model_is_told() {
    fn pick(request: &ApprovalRequest) -> ApprovalResponse {
        let has_both = request.diffs.iter().any(|diff| diff.path == "dir/b.txt");
        let none = || [("dir/b.txt".to_owned(), Vec::new())].into();
        if has_both { request.with_hunks(none()) } else { request.approve() }
    }
    let answers: Vec<Reply> = vec![Box::new(pick), Box::new(pick)];
    let Some(bench) = bench(ExecutorOptions::default(), answers) else { return };
    let ran = bash(&bench, "echo two > a.txt; echo c > dir/b.txt").await;
    let changes = &ran["changes"];
    assert_eq!((&changes["applied"], &changes["paths"]), (&json!(true), &json!(["a.txt"])));
    let told = "The user left out 1 of 2 hunks. `diff` is exactly what was applied.";
    assert_eq!(changes["edited_by_user"], told);
    let diff = changes["diff"].as_str().unwrap();
    assert!(diff.contains("+two") && !diff.contains("b.txt"), "{diff}");
    assert_eq!(bench.project.read("a.txt"), "two\n");
    assert_eq!(bench.project.read("dir/b.txt"), "b\n");
}

#[tokio::test]
async fn protected_names_and_links_are_asked_about_whatever_is_allowed() {
    let Some(bench) = bench(allowing(&["bash"]), vec![]) else { return };
    for command in [
        "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml",
        "ln -s a.txt link",
        "echo x > .envrc",
        "git init --quiet",
    ] {
        bash(&bench, command).await;
        let asked = bench.approver.asked();
        assert!(
            matches!(asked.as_slice(), [one] if matches!(one.proposal, Proposal::Changes(_))),
            "{command}: {asked:?}"
        );
    }
    let ran = bash(&bench, "ln -s /etc/passwd out; mkfifo pipe; echo y > a.txt").await;
    assert_eq!(
        ran["changes"]["notes"],
        json!([
            "out was left out: links that lead out of the project are not applied",
            "pipe was left out: sockets, pipes and devices are not applied",
        ])
    );
    assert!(bench.approver.asked().is_empty());
    assert_eq!(bench.project.read("a.txt"), "y\n");
    assert!(!bench.project.path("out").is_symlink());
    let ran = bash(&bench, "echo x > .git/hooks/pre-commit").await;
    assert_eq!((&ran["return_code"], ran.get("changes")), (&json!(1), None));
}

#[tokio::test]
async fn a_link_that_became_a_file_is_applied_and_comes_back() {
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
        let refused = ran["changes"]["dropped"].as_str().unwrap_or_default();
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
    let refused = ran["changes"]["dropped"].as_str().unwrap_or_default();
    assert_eq!(refused, "a.txt was changed by another process while the command ran", "{ran}");
    assert_eq!(bench.project.read("a.txt"), "theirs\n");
}

#[tokio::test]
async fn a_command_ends_with_its_time_and_its_changes_are_dropped() {
    let limits = Limits { max_bash_s: 1, ..Limits::default() };
    let Some(bench) = bench(ExecutorOptions { limits, ..allowing(&["bash"]) }, vec![]) else {
        return;
    };
    let ran = bash(&bench, "echo begun; echo x > a.txt; sleep 1000").await;
    assert_eq!((&ran["output"], &ran["return_code"]), (&json!("begun\n"), &json!(124)));
    assert_eq!(ran["changes"]["dropped"], "the command was stopped before its end");
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
async fn connections_that_were_refused_are_told_with_the_reason() {
    let options = ExecutorOptions { network: true, ..allowing(&["run_code"]) };
    let Some(bench) = bench(options, vec![yes()]) else { return };
    let code = "proxy=${HTTPS_PROXY#http://}; exec 3<>/dev/tcp/${proxy%:*}/${proxy#*:}; \
                printf 'CONNECT 10.0.0.1:443 HTTP/1.1\\r\\n\\r\\n' >&3; head -n 1 <&3";
    bench.project.write("ask.sh", code);
    let ran = bench.ok("run_code", json!({"language": "bash", "code": "bash ask.sh"})).await;
    assert_eq!(ran["stdout"], "HTTP/1.1 403 Forbidden\r\n", "{ran}");
    insta::assert_snapshot!(ran["message"].as_str().unwrap_or_default(), @r"
    Refused connections (sandbox.network_allow in the user's configuration can allow them): 10.0.0.1:443: 10.0.0.1 is an address of a private network.
    ");
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
    let plain = Bench::with(FILES, allowing(&["bash"]), Vec::new());
    let error = plain.err("bash", json!({"command": "ls"})).await;
    assert_eq!(error.code, ErrorCode::PermissionDenied);
}

#[tokio::test]
async fn arguments_that_a_user_changed_are_the_ones_that_run() {
    let answers = vec![with_arguments(json!({"command": "sh better.sh"})), yes()];
    let policy = Policy::default().with_commands(CommandMode::Ask);
    let options = ExecutorOptions { policy: policy.into(), ..ExecutorOptions::default() };
    let Some(bench) = bench(options, answers) else { return };
    bench.project.write("better.sh", "echo better");
    assert_eq!(bash(&bench, "sh worse.sh").await["output"], "better\n");
    assert_eq!(bench.approver.asked().len(), 2);
    assert_eq!(Arc::strong_count(&bench.approver), 2);
}

#[tokio::test]
async fn other_vocabularies_cut_long_output_between_lines_and_it_can_be_read_to_its_end() {
    let ally = ExecutorOptions { vocabulary: Vocabulary::Ally, ..allowing(&["bash"]) };
    let Some(bench) = bench(ally, vec![]) else { return };
    let ran = bash(&bench, "seq -f 'number %.0f of many' 100000").await;
    let output = ran["output"].as_str().filter(|output| output.len() < 80_000).unwrap();
    let marker = output.lines().find(|line| line.starts_with("[… ")).unwrap();
    let number = |line: &str| -> u64 { line.split(' ').nth(1).unwrap().parse().unwrap() };
    assert!(output.lines().all(|line| line == marker || line.ends_with(" of many")), "cut lines");
    let shown: Vec<u64> = output.lines().filter(|line| *line != marker).map(number).collect();
    let left_out = 100_000 - shown.len();
    assert!(marker.starts_with(&format!("[… {left_out} lines left out: read_file(")), "{marker}");
    // The handle gives every line that was left out.
    let mut next = shown.windows(2).find(|pair| pair[1] != pair[0] + 1).unwrap()[0] + 1;
    let last = 100_000
        - shown.iter().rev().zip((1..=100_000).rev()).take_while(|(a, b)| **a == *b).count() as u64;
    while next <= last {
        let path = &ran["truncation"][0]["handle"];
        let arguments = json!({"path": path, "offset": next, "line_numbers": false});
        let read = bench.ok("read_file", arguments).await;
        let lines: Vec<u64> = read["content"].as_str().unwrap().lines().map(number).collect();
        assert_eq!(lines[0], next);
        next = lines.last().unwrap() + 1;
    }
}
