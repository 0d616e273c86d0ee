//! `toolkiln doctor`.

use testkit::Fixture;

use crate::run::{command, finish, run};

#[test]
fn a_healthy_project_is_all_well() {
    let project = Fixture::new("//- /a.txt\nx\n");
    let ran = run(&project, &["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let names = [
        "machine",
        "project",
        "reading",
        "confinement",
        "configuration",
        "keys",
        "model",
        "journal",
        "index",
        "tools",
    ];
    for name in names {
        assert!(ran.stdout.contains(name), "{name} in {}", ran.stdout);
    }
    let checks = run(&project, &["doctor", "--json"]).json();
    assert!(checks.as_array().unwrap().iter().all(|check| check["state"] != "failed"), "{checks}");
}

#[test]
fn what_is_broken_is_named_and_the_exit_code_says_so() {
    let project = Fixture::new("//- /.toolkiln/config.toml\nnonsense = 1\n");
    let ran = run(&project, &["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("FAILED    configuration"), "{}", ran.stdout);
    let ran = finish(command(None).args(["doctor", "--root", "/nowhere/at/all"]));
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("FAILED    project"), "{}", ran.stdout);
}
