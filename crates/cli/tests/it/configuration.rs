//! Configuration files: the user's own, and a project's that may only narrow.

use testkit::Fixture;

use crate::run::{command, finish};

fn call(config: &str, project: &str, arguments: &[&str]) -> crate::run::Ran {
    let config = Fixture::new(&format!("//- /toolkiln/config.toml\n{config}"));
    let project = Fixture::new(project);
    finish(command(Some(&config)).args(arguments).arg("--root").arg(project.root()))
}

const FILES: &str = "//- /a.txt\nx\n//- /b.txt\nx\n//- /c.txt\nx\n";

#[test]
fn a_tool_can_be_switched_off_by_the_user_and_by_the_project() {
    let ran =
        call("[tools]\ndisabled = [\"grep\"]\n", FILES, &["call", "grep", r#"{"pattern":"x"}"#]);
    assert_eq!((ran.code, ran.json()["code"].as_str()), (1, Some("TOOL_DISABLED")));
    let project = format!("{FILES}//- /.toolkiln/config.toml\n[tools]\ndisabled = [\"glob\"]\n");
    let ran = call("", &project, &["tools"]);
    assert!(!ran.stdout.contains("glob  ") && ran.stdout.contains("grep  "), "{}", ran.stdout);
}

#[test]
fn a_project_may_lower_limits_but_not_raise_them() {
    let grep = &["call", "grep", r#"{"pattern":"x"}"#];
    let shown = |config: &str, limit: u32| {
        let project =
            format!("{FILES}//- /.toolkiln/config.toml\n[limits]\ngrep_results = {limit}\n");
        call(config, &project, grep).json()["matches"].as_array().unwrap().len()
    };
    assert_eq!(shown("[limits]\ngrep_results = 2\n", 1), 1);
    assert_eq!(shown("[limits]\ngrep_results = 2\n", 100), 2);
}

#[test]
fn a_role_from_the_users_file_has_its_permissions_and_a_project_cannot_define_one() {
    let config = "[roles.guest]\npermissions = [\"NetworkAccess\"]\n";
    let ran = call(config, FILES, &["call", "grep", r#"{"pattern":"x"}"#, "--role", "guest"]);
    assert_eq!(ran.json()["message"], "the role guest may not use grep: it lacks ReadFiles");
    let project = format!("{FILES}//- /.toolkiln/config.toml\n{config}");
    let ran = call("", &project, &["tools"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("a project's file cannot set `roles`"), "{}", ran.stderr);
}

#[test]
fn all_mistakes_in_both_files_are_named_with_their_places() {
    let project = format!("{FILES}//- /.toolkiln/config.toml\n[model]\nprovider = \"offline\"\n");
    let ran = call("[limits]\ngrep_result = 2\n[model]\neffort = \"hihg\"\n", &project, &["tools"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let (_, told) = ran.stderr.split_once("toolkiln/").unwrap();
    let told: Vec<_> = told.lines().map(|line| line.rsplit("toolkiln/").next().unwrap()).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    config.toml, line 2, column 1: there is no setting `limits.grep_result`; did you mean `limits.grep_results`?
    config.toml, line 4, column 10: `model.effort`: unknown variant `hihg`, expected one of `low`, `medium`, `high`; did you mean `high`?
    config.toml, line 2, column 1: a project's file cannot set `model.provider`: a project cannot choose where your requests and keys go or what they cost; it belongs into your own configuration
    ");
}

#[test]
fn a_disabled_name_that_is_not_a_tool_is_pointed_out() {
    let ran = call("[tools]\ndisabled = [\"gerp\"]\n", FILES, &["tools"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("`gerp`, which is not a tool"), "{}", ran.stderr);
}
