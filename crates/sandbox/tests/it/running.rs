//! Ordinary commands.

use std::process::Command;

use serde_json::{Value, json};

use crate::bench::{Bench, User, is_running, users};

#[test]
fn a_command_runs_in_the_project_and_its_output_and_code_come_back() {
    for user in users() {
        let bench = Bench::new(user, "//- /sub/file\nhello\n");
        let mut spec =
            bench.spec(&["sh", "-c", "pwd; cat file; echo no >&2; echo x > made; exit 3"]);
        spec.working_dir = "sub".into();
        let ran = bench.run(&spec);
        assert_eq!(ran["exit"], json!({"code": 3}), "{ran}");
        let expected = format!("{}\nhello\n", bench.project.path("sub").display());
        assert_eq!(ran["stdout"], expected);
        assert_eq!(ran["stderr"], "no\n");
        assert_eq!(bench.project.read("sub/made"), "x\n");
    }
}

#[test]
fn standard_input_and_variables_arrive_and_nothing_else_does() {
    for user in users() {
        let bench = Bench::new(user, "");
        let mut spec = bench.spec(&["sh", "-c", "cat; env | sort | cut -d= -f1 | tr '\\n' ' '"]);
        spec.stdin = Some("given\n".into());
        spec.env.insert("MINE".into(), "1".into());
        let ran = bench.run(&spec);
        assert_eq!(
            ran["stdout"],
            "given\nCARGO_NET_OFFLINE GOPROXY HOME LC_CTYPE LOGNAME MAVEN_OPTS MINE PATH PIP_NO_INDEX PWD SHELL \
             TERM TMPDIR USER UV_OFFLINE npm_config_offline npm_config_update_notifier ",
            "{ran}"
        );
    }
}

#[test]
fn a_long_command_arrives_whole() {
    for user in users() {
        let bench = Bench::new(user, "");
        for length in [10, 2_000, 5_000, 100_000] {
            let mut spec = bench.spec(&["sh", "-c", "cat; echo ${#1}", "sh", &"x".repeat(length)]);
            spec.stdin = Some("given ".into());
            assert_eq!(bench.run(&spec)["stdout"], format!("given {length}\n"));
        }
    }
}

#[test]
fn a_program_that_is_missing_is_named() {
    for user in users() {
        let bench = Bench::new(user, "");
        let ran = bench.run(&bench.spec(&["no-such-program"]));
        assert_eq!(ran["error"], "EXECUTION_ERROR", "{ran}");
        let message = ran["message"].as_str().unwrap_or_default();
        let expected = "`no-such-program` cannot be started: there is no such program here\n";
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_working_directory_outside_is_refused() {
    let bench = Bench::new(users()[0], "//- /file\n");
    for path in ["..", "/tmp", "a/../..", "missing", "file"] {
        let mut spec = bench.spec(&["true"]);
        spec.working_dir = path.into();
        assert_eq!(bench.run(&spec)["error"], "INVALID_PATH", "{path}");
    }
}

#[test]
fn the_home_directory_is_no_project() {
    let mut bench = Bench::new(users()[0], "");
    bench.profile.home = bench.project.path("home");
    let ran = bench.sh("true");
    assert_eq!(ran["error"], "PERMISSION_DENIED", "{ran}");
}

#[test]
fn signals_and_the_processor_limit_are_told_apart() {
    for user in users() {
        let bench = Bench::new(user, "");
        assert_eq!(bench.sh("kill -TERM $$")["exit"], json!({"signal": 15}));
        assert_eq!(bench.sh("ulimit -t 1; while :; do :; done")["exit"], json!({"signal": 9}));
    }
}

#[test]
fn the_repository_and_our_settings_cannot_be_changed() {
    for user in users() {
        for overlay in [false, true] {
            let files = "//- /.git/config\n[core]\n//- /.toolkiln/config.toml\nx = 1\n";
            let bench = Bench::new(user, files);
            let bench = if overlay { bench.with_overlay() } else { bench };
            let attempts = [
                "echo x >> .git/config",
                "echo x > .git/hooks-file",
                "mv .git other",
                "rm -rf .git",
                "rm .toolkiln/config.toml",
                "mkdir .toolkiln/tools",
            ];
            for attempt in attempts {
                let ran = bench.sh(attempt);
                assert_ne!(ran["exit"], json!({"code": 0}), "{attempt}: {ran}");
                assert_ne!(ran["exit"], json!(null), "{attempt}: {ran}");
            }
            assert_eq!(bench.project.read(".git/config"), "[core]\n");
            assert_eq!(bench.sh("cat .git/config")["stdout"], "[core]\n");
        }
    }
}

#[test]
fn programs_that_come_first_share_the_sandbox_and_the_first_failure_ends_it() {
    for user in users() {
        let bench = Bench::new(user, "");
        let argv = |script: &str| ["sh", "-c", script].map(str::to_owned).to_vec();
        let mut spec = bench.spec(&["cat", "/tmp/note"]);
        spec.first = vec![argv("echo one; echo kept > /tmp/note"), argv("echo two")];
        let ran = bench.run(&spec);
        assert_eq!(ran["stdout"], "one\ntwo\nkept\n", "{ran}");
        assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
        spec.first = vec![argv("echo one"), argv("exit 3"), argv("echo never")];
        let ran = bench.run(&spec);
        assert_eq!((&ran["stdout"], &ran["exit"]), (&json!("one\n"), &json!({"code": 3})), "{ran}");
        spec.first = vec![argv("kill -9 $$")];
        assert_eq!(bench.run(&spec)["exit"], json!({"signal": 9}));
    }
}

#[test]
fn programs_may_talk_to_themselves_over_loopback() {
    for user in users() {
        let bench = Bench::new(user, "");
        let script = "import socket; s=socket.create_server(('127.0.0.1',0)); \
                      c=socket.create_connection(s.getsockname()); print('connected')";
        if !std::path::Path::new("/usr/bin/python3").exists() {
            return testkit::left_out(
                "a loopback in the sandbox, since there is no /usr/bin/python3",
            );
        }
        let ran = bench.run(&bench.spec(&["/usr/bin/python3", "-c", script]));
        assert_eq!(ran["stdout"], "connected\n", "{ran}");
    }
}

#[test]
fn a_child_that_holds_the_output_does_not_hold_up_the_answer() {
    for user in users() {
        let bench = Bench::new(user, "");
        let mark = format!("held-output-{user:?}-{}", std::process::id());
        let ran = bench.attempt(&["daemon", &mark]);
        assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
        assert_eq!(ran["left_behind"], true, "{ran}");
        assert!(!is_running(&mark));
        let ran = bench.attempt(&["quiet-daemon", &mark]);
        assert_eq!(ran["exit"], json!({"code": 0}), "{ran}");
        assert_eq!(ran["left_behind"], false, "its output was closed: {ran}");
        assert!(!is_running(&mark));
    }
}

#[test]
fn the_probe_finds_what_the_commands_use() {
    for user in users() {
        let bench = Bench::new(user, "").with_overlay();
        let mut command = bench.as_user();
        let command = command.arg("probe").arg(bench.project.root()).arg(&bench.profile.home);
        let output = command.output().expect("it runs");
        let probe: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(probe["available"], true, "{probe}");
        assert_eq!(probe["level"], bench.sh("true")["level"]);
        let required = probe["findings"].as_array().expect("a list").iter();
        let mut required = required.filter(|finding| finding["required"] == true);
        assert!(required.all(|finding| finding["problem"].is_null()), "{probe}");
    }
}

/// A system that refuses namespaces, imitated by leaving none to the helper.
#[test]
fn without_namespaces_nothing_runs_and_the_fix_is_told() {
    let bench = Bench::new(User::Unprivileged, "");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount-proc",
        "--pid",
        "--fork",
        "sh",
        "-c",
        script,
        "sh",
    ]);
    let command = command.arg(bench.testbed()).arg("probe").arg(bench.project.root());
    let output = command.arg(&bench.profile.home).output().expect("it runs");
    let probe: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no answer: {output:?}"));
    assert_eq!(probe["available"], false, "{probe}");
    let last = probe["findings"].as_array().and_then(|list| list.last()).expect("a finding");
    assert!(last["problem"]["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{probe}");
}

#[test]
fn the_level_that_was_reached_is_told() {
    for user in users() {
        let bench = Bench::new(user, "");
        let level = &bench.sh("true")["level"];
        assert_eq!(level["network"], "none");
        assert_ne!(level["uid"], 0, "commands never run as root");
    }
}
