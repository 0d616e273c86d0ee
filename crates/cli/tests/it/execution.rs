//! Commands through the whole binary, which confines them itself.

use serde_json::{Value, json};
use testkit::Fixture;

use crate::run::{Ran, command, finish, run_with_state};

const FILES: &str = "//- /.gitignore\n/target\n//- /a.txt\none\n//- /make.sh\necho two > a.txt\n";

/// Whether this machine can confine commands; says so if not.
fn can_confine(project: &Fixture) -> bool {
    let doctor = run_with_state(project, &["doctor", "--json"]).json();
    let checks = doctor.as_array().expect("a list of checks");
    let check = checks.iter().find(|check| check["name"] == "sandbox").expect("it is checked");
    let detail = check["detail"].as_str().expect("a text");
    let can = detail.starts_with("namespaces") && !detail.contains("without copies on write");
    if !can {
        testkit::left_out(&format!("commands cannot be confined here: {detail}"));
    }
    can
}

fn call(project: &Fixture, tool: &str, arguments: &Value, more: &[&str]) -> Ran {
    let arguments = arguments.to_string();
    run_with_state(project, &[&["call", tool, &arguments], more].concat())
}

#[test]
fn a_command_is_run_and_what_it_changed_can_be_undone() {
    let project = Fixture::new(FILES);
    if !can_confine(&project) {
        return;
    }
    let ran = call(&project, "bash", &json!({"command": "sh make.sh; cat a.txt"}), &["--yes"]);
    let answer = ran.json();
    assert_eq!((ran.code, &answer["output"]), (0, &json!("two\n")), "{answer} {}", ran.stderr);
    assert_eq!(answer["changes"]["paths"], json!(["a.txt"]));
    assert_eq!(project.read("a.txt"), "two\n");
    let undone = run_with_state(&project, &["undo", "--yes"]);
    assert_eq!((undone.code, project.read("a.txt")), (0, "one\n".to_owned()), "{}", undone.stderr);
}

#[test]
fn without_an_approver_nothing_is_kept() {
    let project = Fixture::new(FILES);
    if !can_confine(&project) {
        return;
    }
    let ran = call(&project, "bash", &json!({"command": "sh make.sh; cat a.txt"}), &[]);
    let answer = ran.json();
    assert_eq!((ran.code, &answer["output"], &answer["ran"]), (0, &json!("two\n"), &json!("look")));
    assert_eq!(answer["changes"]["code"], "APPROVAL_REQUIRED", "{answer}");
    assert_eq!(project.read("a.txt"), "one\n");
}

#[test]
fn each_vocabulary_spells_the_answer_its_own_way() {
    let project = Fixture::new(FILES);
    if !can_confine(&project) {
        return;
    }
    let arguments = json!({"command": "echo out; echo err >&2; exit 2"});
    let ally = call(&project, "bash", &arguments, &["--yes", "--vocabulary", "ally"]).json();
    let expected = json!({"success": true, "output": "out\n", "error": "err\n", "return_code": 2, "ran": "look"});
    assert_eq!(ally, expected);
    let arguments = json!({"language": "bash", "code": "echo out; exit 3"});
    let more = ["--yes", "--vocabulary", "workspace"];
    let mut workspace = call(&project, "run_code", &arguments, &more).json();
    assert!(workspace["value"]["duration"].take().is_u64(), "{workspace}");
    let value = json!({"stdout": "out\n", "stderr": "", "exitCode": 3, "duration": null});
    assert_eq!(workspace, json!({"ok": true, "value": value}));
}

#[test]
fn only_the_operator_can_do_without_confinement_and_every_answer_says_so() {
    let project = Fixture::new(FILES);
    let arguments = json!({"command": "sh make.sh; cat a.txt; sleep 1000 & exit 5"});
    let ran = call(&project, "bash", &arguments, &["--yes", "--unsafe-no-sandbox"]);
    assert!(ran.stderr.contains("NOT CONFINED"), "{}", ran.stderr);
    let answer = ran.json();
    assert_eq!((&answer["output"], &answer["return_code"]), (&json!("two\n"), &json!(5)));
    let message = answer["message"].as_str().expect("a message");
    assert!(message.contains("left behind") && message.contains("NOT CONFINED"), "{message}");
    assert_eq!(project.read("a.txt"), "two\n");
    let arguments = json!({"command": "echo begun; sleep 1000", "timeout": 1});
    let ran = call(&project, "bash", &arguments, &["--yes", "--unsafe-no-sandbox"]).json();
    assert_eq!((&ran["output"], &ran["return_code"]), (&json!("begun\n"), &json!(124)));
}

#[test]
fn without_confinement_whatever_could_write_is_asked_about_beforehand() {
    let project = Fixture::new(FILES);
    let calls = [
        ("bash", json!({"command": "echo two > a.txt"})),
        ("run_code", json!({"language": "bash", "code": "echo two > a.txt"})),
        ("job", json!({"action": "start", "command": "echo two > a.txt"})),
    ];
    for (tool, arguments) in calls {
        let ran = call(&project, tool, &arguments, &["--unsafe-no-sandbox"]);
        assert_eq!(ran.json()["code"], "APPROVAL_REQUIRED", "{tool}: {}", ran.stdout);
        for more in [["--role", "planner"], ["--mode", "read-only"]] {
            let more = [&["--unsafe-no-sandbox", "--yes"], &more[..]].concat();
            let ran = call(&project, tool, &arguments, &more);
            assert_eq!(ran.json()["code"], "PERMISSION_DENIED", "{more:?} {tool}: {}", ran.stdout);
        }
    }
    assert_eq!(project.read("a.txt"), "one\n");
    let start = json!({"action": "start", "command": "true"});
    let ran = call(&project, "job", &start, &["--unsafe-no-sandbox", "--yes"]).json();
    assert_eq!(ran["message"], "It is NOT CONFINED.", "{ran}");
}

#[test]
fn keys_and_the_home_directory_are_not_there() {
    let project = Fixture::new(FILES);
    if !can_confine(&project) {
        return;
    }
    let home = Fixture::new("//- /secret\nkey\n");
    let script = "env | grep -c SECRET; cat ~/secret; ls -A ~";
    let arguments = json!({"language": "bash", "code": script}).to_string();
    let mut command = command(None);
    command.env("HOME", home.root()).env("ANTHROPIC_API_KEY", "sk-SECRET").env("PATH", "/usr/bin");
    command.args(["call", "run_code", &arguments, "--yes", "--root"]).arg(project.root());
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    let answer = finish(&mut command).json();
    assert_eq!(answer["stdout"], "0\n", "{answer}");
    assert!(answer["stderr"].as_str().is_some_and(|text| text.contains("No such file")));
}

#[test]
fn the_private_layer_is_shown_and_cleared() {
    let project = Fixture::new(FILES);
    if !can_confine(&project) {
        return;
    }
    let layer = |more: &[&str]| run_with_state(&project, &[&["layer"], more].concat());
    assert_eq!(layer(&[]).stdout, "empty; commands have kept no ignored files\n");
    call(&project, "bash", &json!({"command": "mkdir target; echo x > target/app"}), &[]);
    let shown = layer(&[]).stdout;
    assert!(shown.contains("KB of ignored files that commands wrote, last 20"), "{shown}");
    let doctor = run_with_state(&project, &["doctor"]).stdout;
    assert!(doctor.contains("private layer") && doctor.contains(shown.trim()), "{doctor}");
    assert_eq!(layer(&["--clear"]).stdout, "empty; commands have kept no ignored files\n");
    let gone = call(&project, "bash", &json!({"command": "ls"}), &[]).json();
    assert_eq!(gone["output"], "a.txt\nmake.sh\n");
}

#[test]
fn another_project_at_the_same_path_sees_nothing_that_commands_left_in_the_first() {
    let project = Fixture::new(FILES);
    if !can_confine(&project) {
        return;
    }
    let write = json!({"command": "mkdir target; echo old > target/made"});
    call(&project, "bash", &write, &[]);
    let list = json!({"command": "ls; cat target/made"});
    assert_eq!(
        call(&project, "bash", &list, &[]).json()["output"],
        "a.txt\nmake.sh\ntarget\nold\n"
    );
    let first = project.root().with_file_name("first");
    std::fs::rename(project.root(), &first).unwrap();
    std::fs::create_dir(project.root()).unwrap();
    std::fs::copy(first.join(".gitignore"), project.path(".gitignore")).unwrap();
    assert_eq!(call(&project, "bash", &list, &[]).json()["output"], "");
}

/// The binary with a configuration of the user, and a place for its state.
fn call_with(config: &Fixture, project: &Fixture, script: &str, more: &[&str]) -> Value {
    let mut command = command(Some(config));
    let arguments = json!({"command": script}).to_string();
    command.args(["call", "bash", &arguments, "--root"]).arg(project.root()).args(more);
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.env("PATH", "/usr/bin:/bin");
    finish(&mut command).json()
}

fn git(project: &Fixture, arguments: &[&str]) {
    let mut git = std::process::Command::new("git");
    assert!(git.args(arguments).current_dir(project.root()).status().unwrap().success());
}

#[test]
fn a_user_may_let_ignored_files_pass_and_nothing_else() {
    let config = Fixture::new("//- /toolkiln/config.toml\n[sandbox]\nignored = \"through\"\n");
    let project = Fixture::new(FILES);
    if !can_confine(&project) {
        return;
    }
    // Without a repository it is unknown which files are tracked.
    let made = call_with(&config, &project, "mkdir target; echo 1 > target/made", &[]);
    assert_eq!((&made["ran"], &made["changes"]["private"]), (&json!("look"), &json!(["target"])));
    project.write("target/held", "h\n");
    git(&project, &["init", "--quiet"]);
    git(&project, &["add", "--force", "target/held"]);
    let script = "echo 2 > target/made; mkdir -p target/x/.vscode target/y; echo t > target/x/.vscode/tasks.json; \
                  ln -s /etc/passwd target/y/out; ln -s ../x target/y/in; mkfifo target/y/pipe; \
                  cp /bin/true target/y/lends; chmod 4755 target/y/lends";
    for more in [&["--mode", "read-only"][..], &["--role", "planner"]] {
        let ran = call_with(&config, &project, "echo 2 > target/made", more);
        assert!(!project.path("target/made").exists(), "{more:?} {ran}");
    }
    // Build output goes with the edits that it may be made from.
    let ran = call_with(&config, &project, "echo two > a.txt; echo 3 > target/made", &[]);
    assert_eq!(
        (&ran["ran"], &ran["changes"]["code"]),
        (&json!("look"), &json!("APPROVAL_REQUIRED"))
    );
    assert!(!project.path("target/made").exists(), "{ran}");
    let ran = call_with(&config, &project, "echo x > target/held", &[]);
    assert_eq!(ran["changes"]["paths"], json!(["target/held"]), "{ran}");
    let ran = call_with(&config, &project, script, &[]);
    let changes = &ran["changes"];
    assert_eq!(ran["ran"], "copy", "{ran}");
    assert_eq!(changes["written"], json!(["target/made", "target/x", "target/y"]), "{ran}");
    assert_eq!(project.read("target/made"), "2\n");
    assert_eq!(
        (project.read("target/held"), project.read("a.txt")),
        ("h\n".into(), "one\n".into())
    );
    assert!(!project.path("target/x/.vscode/tasks.json").exists());
    assert_eq!(std::fs::read_link(project.path("target/y/in")).unwrap().to_str(), Some("../x"));
    for name in ["out", "pipe"] {
        assert!(project.path("target/y").join(name).symlink_metadata().is_err(), "{name}");
    }
    let lends = std::fs::metadata(project.path("target/y/lends")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&lends) & 0o7777, 0o755);
    // What lay in the private layer before does not hide it.
    assert_eq!(call_with(&config, &project, "cat target/made", &[])["output"], "2\n");
    // What is removed goes, but for what is protected.
    project.write("target/x/.github/workflows/a.yml", "ci\n");
    let ran = call_with(&config, &project, "rm -r target/x target/y; ls target", &[]);
    assert_eq!((&ran["output"], &ran["error"]), (&json!("held\nmade\n"), &json!("")));
    assert!(project.path("target/x/.github/workflows/a.yml").exists(), "{ran}");
    assert!(!project.path("target/y").exists(), "{ran}");
}
