//! Tools that a project defines, and the trust they need.

use serde_json::json;
use testkit::Fixture;

use crate::pty::{Output, Session};
use crate::run::run_with_state;

pub(crate) const FILE: &str = ".toolkiln/tools/greet.toml";
pub(crate) const TOOL: &str = "\
name = \"greet\"
description = \"Greet a user by name.\"
command = [\"echo\", \"hello {who}\"]
approval = \"never\"

[parameters.who]
type = \"string\"
";

/// A project with that tool and `a.txt`.
pub(crate) fn project() -> Fixture {
    Fixture::new(&format!("//- /{FILE}\n{TOOL}//- /a.txt\nx\n"))
}

#[test]
fn a_tool_of_the_project_is_listed_and_run_only_as_it_was_trusted() {
    let project = project();
    let arguments = json!({"who": "Ada"}).to_string();
    let before = run_with_state(&project, &["tools"]).stdout;
    assert!(!before.contains("Greet a user"), "{before}");
    assert!(before.contains("`greet` and is not trusted"), "{before}");
    assert!(before.contains("toolkiln tools trust .toolkiln/tools/greet.toml"), "{before}");
    let refused = run_with_state(&project, &["call", "greet", &arguments]);
    let error = refused.stderr.replace(&project.root().display().to_string(), "ROOT");
    assert_eq!(
        error,
        "toolkiln: TOOL_DISABLED: the project defines the tool `greet`, but it is not trusted\nThe user has to \
         look at .toolkiln/tools/greet.toml and run: toolkiln tools trust .toolkiln/tools/greet.toml --root ROOT\n"
    );

    let trusted = run_with_state(&project, &["tools", "trust", FILE]);
    assert_eq!(trusted.code, 0, "{}", trusted.stderr);
    assert_eq!(
        trusted.stdout,
        "`greet` is trusted as it is now. It runs, without asking: \"echo\" \"hello {who}\"\n"
    );
    let listed = run_with_state(&project, &["tools"]).stdout;
    assert!(listed.contains("greet            Greet a user by name. May ask first."), "{listed}");
    assert!(!listed.contains("not trusted"), "{listed}");
    let called = run_with_state(&project, &["call", "greet", &arguments]);
    if called.stdout.contains("SANDBOX_UNAVAILABLE") {
        testkit::left_out("commands cannot be confined here");
    } else {
        assert_eq!(called.json()["stdout"], "hello Ada\n", "{}", called.stdout);
    }

    let other = project.read(FILE).replace("hello", "goodbye");
    project.write(FILE, other);
    let changed = run_with_state(&project, &["call", "greet", &arguments]);
    assert!(changed.stdout.contains("it is not trusted"), "{}", changed.stdout);
}

/// The project goes, and another one comes to the same path.
fn replace_by_another(project: &Fixture) {
    let copy = project.root().with_file_name("copy");
    std::fs::create_dir_all(copy.join(".toolkiln/tools")).unwrap();
    for file in [FILE, "a.txt"] {
        std::fs::copy(project.path(file), copy.join(file)).unwrap();
    }
    std::fs::remove_dir_all(project.root()).unwrap();
    std::fs::rename(copy, project.root()).unwrap();
}

#[test]
fn another_project_at_the_same_path_inherits_neither_trust_nor_rules() {
    let project = project();
    assert_eq!(run_with_state(&project, &["tools", "trust", FILE]).code, 0);
    let edit = ["call", "update_file", r#"{"path":"a.txt","content":"y\n"}"#];
    let mut session = Session::start(&project, &edit, Output::Piped);
    session.answer("Do it?", "always");
    assert_eq!(session.end().0, 0);
    let held = |yes: bool| {
        let listed = run_with_state(&project, &["tools"]).stdout;
        assert_eq!(!listed.contains("not trusted"), yes, "{listed}");
        let rules = run_with_state(&project, &["policy", "list"]).stdout;
        assert_eq!(rules.contains("update_file on /a.txt"), yes, "{rules}");
        let edit = json!({"path": "a.txt", "content": format!("{yes}\n")}).to_string();
        assert_eq!(run_with_state(&project, &["call", "update_file", &edit]).code == 0, yes);
    };
    held(true);
    replace_by_another(&project);
    held(false);
    // What is trusted from now on is trusted for this one.
    assert_eq!(run_with_state(&project, &["tools", "trust", FILE]).code, 0);
    assert!(!run_with_state(&project, &["tools"]).stdout.contains("not trusted"));
}

#[test]
fn mistakes_in_a_file_are_told_with_line_and_column() {
    let project = project();
    project
        .write(FILE, "name = \"greet\"\ndescription = \"x\"\ncommand = [\"echo\", \"{whom}\"]\n");
    let expected = format!(
        "{FILE}, line 3, column 20: there is no parameter `whom`; describe it under [parameters.whom]"
    );
    let listed = run_with_state(&project, &["tools"]);
    assert!(listed.stdout.contains(&expected), "{}", listed.stdout);
    let refused = run_with_state(&project, &["tools", "trust", FILE]);
    assert_eq!((refused.code, refused.stderr), (2, format!("toolkiln: {expected}\n")));
    let elsewhere = run_with_state(&project, &["tools", "trust", "a.txt"]);
    assert!(elsewhere.stderr.contains("where a project defines its tools"), "{}", elsewhere.stderr);
}

#[test]
fn a_tool_cannot_take_the_name_of_another() {
    let project = project();
    project.write(FILE, project.read(FILE).replace("\"greet\"", "\"grep\""));
    assert_eq!(run_with_state(&project, &["tools", "trust", FILE]).code, 0);
    let listed = run_with_state(&project, &["tools"]);
    assert!(listed.stderr.contains("defines `grep`, which is a tool already"), "{}", listed.stderr);
    assert!(!listed.stdout.contains("Greet a user"));
}
