//! Rules: from the command line, from files, and explained.

use testkit::Fixture;

use crate::run::{command, finish, run_with_state};

const APPEND: &[&str] = &["call", "append_file", r#"{"path":"src/a.txt","content":"x\n"}"#];

fn project() -> Fixture {
    Fixture::new("//- /src/a.txt\none\n//- /b.txt\none\n")
}

fn with(arguments: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    arguments.iter().chain(more).copied().collect()
}

#[test]
fn a_rule_of_the_command_line_allows_what_it_names_and_a_denial_wins() {
    let project = project();
    assert_eq!(run_with_state(&project, &with(APPEND, &["--allow", "append_file:src/**"])).code, 0);
    assert_eq!(project.read("src/a.txt"), "one\nx\n");
    let other = [
        "call",
        "append_file",
        r#"{"path":"b.txt","content":"x\n"}"#,
        "--allow",
        "append_file:src/**",
    ];
    assert_eq!(run_with_state(&project, &other).json()["code"], "APPROVAL_REQUIRED");
    let denied = run_with_state(&project, &with(APPEND, &["--yes", "--deny", "*:src/**"]));
    assert_eq!(denied.json()["code"], "PERMISSION_DENIED");
    assert_eq!(project.read("src/a.txt"), "one\nx\n");
}

#[test]
fn the_read_only_mode_denies_even_with_a_yes() {
    let project = project();
    let denied = run_with_state(&project, &with(APPEND, &["--yes", "--mode", "read-only"]));
    assert_eq!(denied.json()["code"], "PERMISSION_DENIED");
    assert_eq!(project.read("src/a.txt"), "one\n");
}

#[test]
fn explain_names_the_rule_that_decides_and_does_nothing() {
    let project = project();
    let arguments = ["policy", "explain", "append_file", r#"{"path":"src/a.txt","content":"x"}"#];
    let asked = run_with_state(&project, &arguments);
    assert!(
        asked.stdout.starts_with("ask: ") && asked.stdout.contains("strict"),
        "{}",
        asked.stdout
    );
    let allowed =
        run_with_state(&project, &[&arguments[..], &["--allow", "append_file:src/**"]].concat());
    assert!(
        allowed.stdout.starts_with("allow: ") && allowed.stdout.contains("src/**"),
        "{}",
        allowed.stdout
    );
    assert!(allowed.stdout.contains("it changes the existing `src/a.txt`"), "{}", allowed.stdout);
    assert_eq!(project.read("src/a.txt"), "one\n");
}

#[test]
fn rules_from_files_are_listed_tested_and_not_revoked_here() {
    let config = Fixture::new(
        "//- /toolkiln/config.toml\n[[policy.rules]]\ndecision = \"allow\"\ntool = \"edit_lines\"\npaths = [\"src/**\"]\nmatches = [\"docs/a.md\"]\n",
    );
    let project = project();
    let run = |arguments: &[&str]| {
        finish(command(Some(&config)).args(arguments).arg("--root").arg(project.root()))
    };
    let listed = run(&["policy", "list"]);
    assert!(
        listed.stdout.contains("allow edit_lines on src/**  (your configuration)"),
        "{}",
        listed.stdout
    );
    let tested = run(&["policy", "test"]);
    assert_eq!(tested.code, 1);
    assert!(tested.stdout.contains("docs/a.md"), "{}", tested.stdout);
    let unknown = run(&["policy", "revoke", "00000000"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.stderr.contains("there is no rule 00000000"), "{}", unknown.stderr);
    let id = listed.stdout.lines().nth(1).unwrap().split(' ').next().unwrap();
    let configured = run(&["policy", "revoke", id]);
    assert_eq!(configured.code, 1);
    assert!(configured.stderr.contains("remove it there"), "{}", configured.stderr);
}

#[test]
fn a_project_may_forbid_more_but_allow_nothing() {
    let narrowing = "//- /.toolkiln/config.toml\n[[policy.rules]]\ndecision = \"deny\"\npaths = [\"secret/**\"]\n//- /secret/k\nx\n";
    let project = Fixture::new(narrowing);
    let denied = run_with_state(
        &project,
        &["call", "append_file", r#"{"path":"secret/k","content":"y"}"#, "--yes"],
    );
    assert_eq!(denied.json()["code"], "PERMISSION_DENIED");
    let widening = "//- /.toolkiln/config.toml\n[[policy.rules]]\ndecision = \"allow\"\n";
    let ran = run_with_state(&Fixture::new(widening), &["policy", "list"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("may deny or ask, not allow"), "{}", ran.stderr);
}

#[test]
fn a_protected_name_behind_a_link_is_protected_too() {
    let project = Fixture::new(
        "//- /.github/workflows/ci.yml\non: push\n//- /harmless symlink=.github/workflows\n",
    );
    let arguments = [
        "policy",
        "explain",
        "append_file",
        r#"{"path":"harmless/ci.yml","content":"x"}"#,
        "--allow",
        "*",
    ];
    let explained = run_with_state(&project, &arguments);
    assert!(
        explained.stdout.starts_with("ask: ") && explained.stdout.contains("protected"),
        "{}",
        explained.stdout
    );
}

fn explained(project: &Fixture, command: &str, more: &[&'static str]) -> String {
    let call = serde_json::json!({"command": command}).to_string();
    let arguments = ["policy", "explain", "bash", &call];
    run_with_state(project, &[&arguments[..], more].concat()).stdout
}

#[test]
fn commands_are_explained_one_by_one() {
    let project = project();
    let looked = explained(&project, "cat b.txt | wc -l", &[]);
    assert_eq!(
        looked,
        "allow: bash runs `cat b.txt` and has one more effect: allowed, because it runs on a copy without network; what it would leave behind is judged afterwards.\n  \
         it runs `cat b.txt`\n  it runs `wc -l`\n"
    );
    let rule = ["--allow", "bash:cargo test*"];
    let allowed = explained(&project, "cd src && cargo test -q | tail", &rule);
    assert!(allowed.starts_with("allow: ") && allowed.contains("`cargo test*`"), "{allowed}");
    project.write(".toolkiln/config.toml", "[policy]\ncommands = \"ask\"\n");
    let asked = explained(&project, "cargo test; make", &rule);
    assert!(asked.starts_with("ask: bash runs `make`"), "{asked}");
    std::fs::remove_file(project.path(".toolkiln/config.toml")).expect("it is there");
    let denied = explained(&project, "cargo test; make", &["--deny", "bash:make *"]);
    assert!(denied.starts_with("deny: bash runs `make`"), "{denied}");
    let refused = explained(&project, "rm -rf /", &["--allow", "bash"]);
    assert!(
        refused.starts_with("deny: ") && refused.contains("with everything in it"),
        "{refused}"
    );
    let unclear = explained(&project, "$CMD", &["--deny", "bash:make *"]);
    assert!(unclear.starts_with("ask: ") && unclear.contains("not fully understood"), "{unclear}");
}

#[test]
fn rules_about_commands_are_tested_by_commands() {
    let config = Fixture::new(
        "//- /toolkiln/config.toml\n[[policy.rules]]\ndecision = \"allow\"\ntool = \"bash\"\ncommand = [\"cargo test*\"]\nmatches = [\"cargo test -q | cargo test\"]\nnever = [\"cargo test; make\", \"cargo test x\"]\n",
    );
    let project = project();
    let run = |arguments: &[&str]| {
        finish(command(Some(&config)).args(arguments).arg("--root").arg(project.root()))
    };
    let listed = run(&["policy", "list"]).stdout;
    assert!(listed.contains("allow bash of `cargo test*`  (your configuration)"), "{listed}");
    let tested = run(&["policy", "test"]);
    assert_eq!(tested.code, 1);
    assert!(
        tested.stdout.ends_with("`cargo test x` must never match and does\n"),
        "{}",
        tested.stdout
    );
    assert_eq!(tested.stdout.lines().count(), 1);
}
