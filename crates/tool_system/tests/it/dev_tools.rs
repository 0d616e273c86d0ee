//! Tests, formatters, packages, custom tools and checks, run confined.

use std::sync::Arc;

use protocol::{ErrorCode, Proposal};
use serde_json::json;
use tool_system::policy::{ApprovalMode, Policy};
use tool_system::{CustomTool, EditCheck, ExecutorOptions};

use crate::harness::{Bench, Reply, ScriptedApprover, allowing, each, no, yes};

fn running(fixture: &str, options: ExecutorOptions) -> Option<Bench> {
    Bench::running(fixture, ScriptedApprover::answering([]), options)
}

/// An interpreter that does what a test wants of it, so that none has to be installed.
fn fake_python(bench: &Bench, script: &str) {
    let path = bench.project.path(".venv/bin/python");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).unwrap();
}

const PYTHON: &str = "//- /.gitignore\n.venv\n//- /conftest.py\n//- /a.py\nx  =  1\n";

#[tokio::test]
async fn tests_are_run_and_their_failures_are_told() {
    let Some(bench) = running(PYTHON, allowing(&["run_tests"])) else { return };
    let report = include_str!("../../src/answers/test_reports/captured/pytest.txt");
    bench.project.write("report.txt", report);
    fake_python(&bench, "echo \"$@\" >&2; cat report.txt; exit 1");
    let result = bench.ok("run_tests", json!({"filter": "bad"})).await;
    assert_eq!(
        (&result["ok"], &result["passed"], &result["failed"], &result["skipped"]),
        (&json!(false), &json!(2), &json!(3), &json!(1)),
        "{result:#}"
    );
    let names = each(&result["failures"], "name");
    assert_eq!(names[1], "test_a.py::test_bad");
    assert!(result["failures"][1]["output"].as_str().unwrap().contains("assert 1 == 2"));
    assert!(bench.approver.asked().is_empty());
    let error = bench.err("run_tests", json!({"filter": "--help"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_makefile_is_judged_by_its_exit_code_and_by_the_reports_in_it() {
    let fixture = "//- /Makefile\ntest:\n\t@echo '1..2'; echo 'ok 1 - a'; echo 'not ok 2 - b'; exit 1\n//- /sub/x.txt\n";
    let Some(bench) = running(fixture, allowing(&["run_tests"])) else { return };
    let result = bench.ok("run_tests", json!({"path": "sub"})).await;
    assert_eq!((&result["passed"], &result["failed"]), (&json!(1), &json!(1)), "{result:#}");
    assert_eq!(each(&result["failures"], "name"), ["b"]);
}

#[tokio::test]
async fn a_project_without_tests_says_what_was_looked_for() {
    let bench = Bench::writable("//- /a.txt\nx\n");
    let error = bench.err("run_tests", json!({})).await;
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert!(error.suggestion.unwrap().contains("Cargo.toml"));
    let error = bench.err("format_code", json!({"path": "a.txt"})).await;
    assert!(error.message.contains("no formatter"), "{}", error.message);
    let error = bench.err("install_package", json!({"packages": ["serde"]})).await;
    assert!(error.suggestion.unwrap().contains("cargo, npm or pip"));
    let error = bench.err("install_package", json!({"packages": ["--x"], "manager": "npm"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_formatter_leaves_changes_that_can_be_undone() {
    let Some(bench) = running(PYTHON, allowing(&["format_code", "undo"])) else { return };
    fake_python(&bench, "echo 'x = 1' > a.py");
    let result = bench.ok("format_code", json!({"path": "a.py"})).await;
    assert_eq!(result["changes"]["paths"], json!(["a.py"]), "{result:#}");
    assert_eq!(bench.project.read("a.py"), "x = 1\n");
    bench.ok("undo", json!({})).await;
    assert_eq!(bench.project.read("a.py"), "x  =  1\n");
}

#[tokio::test]
async fn installing_asks_even_where_the_tool_is_allowed() {
    let fixture = "//- /package.json\n{\"name\": \"x\"}\n";
    let answers = [no(None)];
    let options = allowing(&["install_package"]);
    let Some(bench) = Bench::running(fixture, ScriptedApprover::answering(answers), options) else {
        return;
    };
    let error = bench.err("install_package", json!({"packages": ["left-pad"]})).await;
    assert_eq!(error.code, ErrorCode::Rejected);
    let asked = bench.approver.asked();
    let Proposal::Command(command) = &asked[0].proposal else { panic!("{asked:?}") };
    assert!(command.network && command.argv.ends_with(&["--".into(), "left-pad".into()]));
    let shown = protocol::describe_command(command);
    assert_eq!(
        shown,
        "Install left-pad with npm\nwith the network\nmay change package.json\nmay change package-lock.json\n\
         may change pnpm-lock.yaml\nmay change yarn.lock\nmay change node_modules\n"
    );
}

/// Plays npm: writes the lists of packages and fills a directory, with what it had better not.
const FAKE_NPM: &str = "#!/bin/sh
echo '{\"changed\": 1}' > package.json; [ -e quiet ] || echo x > elsewhere
mkdir -p node_modules/x/.vscode node_modules/a/b; echo i > node_modules/x/index.js
echo t > node_modules/x/.vscode/tasks.json
ln -s ../x/index.js node_modules/a/in; ln -s /etc node_modules/a/out
ln -s ../../x node_modules/a/b/up; ln -s a/b/up/../../.. node_modules/far
[ ! -e fails ]
";

/// Installs something in a project that has this file too, with a rule that denies a path. The user
/// agrees, and answers so if asked again.
async fn install(
    flag: &str,
    deny: Option<&str>,
    second: Reply,
) -> Option<(Bench, Result<serde_json::Value, protocol::ToolError>)> {
    let rule = |path| serde_json::from_value(json!({"decision": "deny", "paths": [path]})).unwrap();
    let policy = Policy::new(ApprovalMode::Strict, deny.map(rule));
    let options = ExecutorOptions { policy: policy.into(), ..ExecutorOptions::default() };
    let fixture = format!(
        "//- /.gitignore\nnode_modules\n//- /package.json\n{{}}\n//- /{flag}\n\n//- /bin/npm\n{FAKE_NPM}"
    );
    let answers = [yes(), second];
    let approver = ScriptedApprover::answering(answers);
    let bench = Bench::running_on_path(&fixture, approver, options, &["bin"])?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bench.project.path("bin/npm"), mode).unwrap();
    let result = bench.call("install_package", json!({"packages": ["left-pad"]})).await;
    Some((bench, result))
}

#[tokio::test]
async fn an_installation_leaves_what_was_agreed_to_and_no_way_out() {
    let Some((bench, result)) = install("plain", None, yes()).await else { return };
    // Whatever it wrote besides is asked about.
    assert_eq!(bench.approver.asked().len(), 2);
    assert_eq!(bench.project.read("elsewhere"), "x\n", "{result:?}");
    assert_eq!(bench.project.read("node_modules/x/index.js"), "i\n", "{result:?}");
    assert_eq!(bench.project.read("node_modules/a/in"), "i\n");
    for name in ["x/.vscode/tasks.json", "a/out", "far"] {
        let path = bench.project.path("node_modules").join(name);
        assert!(path.symlink_metadata().is_err(), "{name}");
    }
}

#[tokio::test]
async fn an_installation_that_fails_or_is_refused_fills_nothing() {
    for (flag, second) in [("fails", yes()), ("plain", no(None))] {
        let Some((bench, result)) = install(flag, None, second).await else { return };
        assert!(!bench.project.path("node_modules").exists(), "{flag}: {result:?}");
    }
}

#[tokio::test]
async fn a_rule_that_denies_beats_an_installation_that_was_agreed_to() {
    let Some((bench, _)) = install("quiet", None, no(None)).await else { return };
    assert_eq!(bench.project.read("package.json"), "{\"changed\": 1}\n");
    let Some((bench, result)) = install("quiet", Some("package.json"), yes()).await else { return };
    assert_eq!(bench.project.read("package.json"), "{}\n", "{result:?}");
    assert!(!bench.project.path("node_modules").exists(), "{result:?}");
}

/// A directory of the project is not a package, however it is spelled, and the approver is not even asked.
#[tokio::test]
async fn what_is_not_in_a_registry_is_not_installed() {
    let fixture =
        "//- /package.json\n{\"name\": \"x\"}\n//- /evil/package.json\n{\"name\": \"evil\"}\n";
    let options = ExecutorOptions::default();
    let Some(bench) = Bench::running(fixture, ScriptedApprover::answering([]), options) else {
        return;
    };
    for (manager, package) in [
        ("npm", "./evil"),
        ("npm", "evil/"),
        ("npm", "x@file:evil"),
        ("npm", "someone/evil"),
        ("npm", "evil.tgz"),
        ("cargo", "x/evil"),
        ("cargo", "--path=evil"),
        ("pip", "."),
        ("pip", "evil.whl"),
        ("pip", "x @ file:evil"),
    ] {
        let arguments = json!({"packages": [package], "manager": manager});
        let error = bench.err("install_package", arguments).await;
        assert_eq!(error.code, ErrorCode::InvalidArguments, "{manager} {package}: {error:?}");
    }
    assert!(bench.approver.asked().is_empty());
}

const COUNT: &str = "name = 'count'\ndescription = 'Count the lines of files.'\n\
                     command = ['wc', '-l', '--', '{files}']\n[parameters.files]\ntype = 'array'\n";

#[tokio::test]
async fn a_custom_tool_is_validated_judged_and_run_like_any_other() {
    let tool = CustomTool::read(COUNT).unwrap_or_else(|found| panic!("{found:?}"));
    let fixture = "//- /a.txt\n1\n2\n//- /b c.txt\n3\n";
    let (approver, options) = (ScriptedApprover::answering([]), ExecutorOptions::default());
    let Some(bench) = Bench::running_with(fixture, approver, options, vec![Arc::new(tool)]) else {
        return;
    };
    let result = bench.ok("count", json!({"files": ["a.txt", "b c.txt"]})).await;
    assert!(result["stdout"].as_str().unwrap().contains("3 total"), "{result:#}");
    assert_eq!(result["ok"], true);
    let error = bench.err("count", json!({"files": "a.txt"})).await;
    assert_eq!(error.code, ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn checks_run_after_a_change_and_tell_the_model_what_broke() {
    let check = |name: &str, script: &str, paths: &[&str]| {
        let command = ["sh", "-c", script].map(str::to_owned).into();
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        EditCheck::new(name.into(), command, &paths, 20).unwrap()
    };
    let checks = vec![
        check("good", "grep -q two a.txt", &["*.txt"]),
        check("bad", "echo broken; touch made; exit 1", &["a.txt"]),
        check("other", "exit 1", &["*.rs"]),
    ];
    let options = ExecutorOptions { checks, ..allowing(&["write_file"]) };
    let Some(bench) = running("//- /a.txt\none\n", options) else { return };
    let result = bench.ok("write_file", json!({"path": "a.txt", "content": "two\n"})).await;
    assert_eq!(result["checks"][0], json!({"name": "good", "ok": true}));
    let bad = &result["checks"][1];
    assert_eq!(
        (&bad["ok"], &bad["exit_code"], &bad["output"]),
        (&json!(false), &json!(1), &json!("broken"))
    );
    assert_eq!(result["checks"].as_array().map(Vec::len), Some(2));
    assert_eq!(bench.project.read("a.txt"), "two\n");
}

#[tokio::test]
async fn a_check_that_changes_files_says_which_and_that_they_were_thrown_away() {
    let script = "touch b.txt; echo formatted > a.txt; echo new > made";
    let command = ["sh", "-c", script].map(str::to_owned).into();
    let checks = vec![EditCheck::new("format".into(), command, &[], 20).unwrap()];
    let options = ExecutorOptions { checks, ..allowing(&["write_file"]) };
    let Some(bench) = running("//- /a.txt\none\n//- /b.txt\nb\n", options) else { return };
    let result = bench.ok("write_file", json!({"path": "a.txt", "content": "two\n"})).await;
    let check = &result["checks"][0];
    assert_eq!(check["ok"], true, "{check:#}");
    let changes = &check["changes"];
    assert_eq!(changes["paths"], json!(["a.txt", "made"]));
    assert!(changes["dropped"].as_str().unwrap().contains("thrown away"), "{changes:#}");
    let diff = changes["diff"].as_str().unwrap();
    assert!(diff.contains("-two\n+formatted\n") && diff.contains("+new\n"), "{diff}");
    assert_eq!(bench.project.read("a.txt"), "two\n");
    assert!(!bench.project.path("made").exists());
    assert!(bench.approver.asked().is_empty());
}

#[tokio::test]
async fn a_check_that_is_killed_or_cannot_start_says_so() {
    let check = |name: &str, command: &[&str], timeout: u64| {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        EditCheck::new(name.into(), command, &[], timeout).unwrap()
    };
    let checks = vec![
        check("killed", &["sh", "-c", "echo before; kill -SEGV $$"], 20),
        check("slow", &["sleep", "60"], 1),
        check("missing", &["no-such-program-here"], 20),
    ];
    let options = ExecutorOptions { checks, ..allowing(&["write_file"]) };
    let Some(bench) = running("//- /a.txt\none\n", options) else { return };
    let result = bench.ok("write_file", json!({"path": "a.txt", "content": "two\n"})).await;
    let [killed, slow, missing] = result["checks"].as_array().unwrap().as_slice() else {
        panic!("{result:#}");
    };
    assert_eq!(*killed, json!({"name": "killed", "ok": false, "signal": 11, "output": "before"}));
    let why = "it took longer than 1 s";
    assert_eq!(*slow, json!({"name": "slow", "ok": false, "signal": 9, "why": why}));
    assert_eq!(missing["ok"], false);
    let not_run = missing["not_run"].as_str().unwrap();
    assert!(not_run.contains("no-such-program-here"), "{missing:#}");
}
