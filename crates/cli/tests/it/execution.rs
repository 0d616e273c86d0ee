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
fn nobody_to_ask_means_nothing_is_kept() {
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

/// For their own projects users may let ignored files through; not everything passes even then.
#[test]
fn ignored_files_pass_through_if_the_user_wants_that() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = Fixture::new("//- /.gitignore\ntarget/\n//- /target/held\nheld\n");
    if !can_confine(&project) {
        return;
    }
    for arguments in [&["init", "--quiet"][..], &["add", "--force", "."]] {
        let mut git = std::process::Command::new("git");
        assert!(git.args(arguments).current_dir(project.root()).status().unwrap().success());
    }
    let config = Fixture::new("//- /toolkiln/config.toml\n[sandbox]\nignored = \"through\"\n");
    let script = "cd target; echo built > app; chmod 6755 app; echo x > held; ln -s /etc/passwd out; \
                  ln -s app link; mkfifo pipe; mkdir -p sub/.git .vscode; echo x > sub/.git/config; \
                  echo x > .vscode/tasks.json";
    let arguments = json!({"command": script}).to_string();
    let mut command = command(Some(&config));
    command.args(["call", "bash", &arguments, "--root"]).arg(project.root());
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    let answer = finish(&mut command).json();
    assert_eq!(answer["changes"]["paths"], json!(["target/held"]), "{answer}");
    assert_eq!(
        (project.read("target/app"), project.read("target/held")),
        ("built\n".into(), "held\n".into())
    );
    let mode = std::fs::metadata(project.path("target/app")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    let link = std::fs::read_link(project.path("target/link")).unwrap();
    assert_eq!(link.to_str(), Some("app"));
    for name in ["out", "pipe", "sub/.git", ".vscode"] {
        let path = project.path("target").join(name);
        assert!(path.symlink_metadata().is_err(), "{name} was let through");
    }
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
