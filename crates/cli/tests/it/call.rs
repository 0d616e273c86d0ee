//! `toolkiln call`.

use testkit::Fixture;

use crate::run::{run, run_with_input};

fn project() -> Fixture {
    Fixture::new("//- /src/main.rs\nfn main() {}\n//- /notes.txt\nTODO: bake\n")
}

#[test]
fn a_result_is_one_line_of_json_on_standard_output_and_the_exit_code_is_zero() {
    let ran = run(&project(), &["call", "read_file", r#"{"path": "src/main.rs"}"#]);
    assert_eq!((ran.code, ran.stderr.as_str(), ran.stdout.lines().count()), (0, "", 1));
    assert_eq!(ran.json()["content"], "     1\tfn main() {}");
}

#[test]
fn a_result_can_be_printed_as_a_model_reads_it() {
    let arguments = r#"{"path": "src/main.rs"}"#;
    let ran = run(&project(), &["call", "read_file", arguments, "--text"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\tfn main() {}\n"));
    // Other vocabularies promise JSON.
    let ran =
        run(&project(), &["call", "read_file", arguments, "--text", "--vocabulary", "explorer"]);
    assert!(ran.json().is_object(), "{}", ran.stdout);
    let ran = run(&project(), &["call", "read_file", arguments, "--text", "--view", "flat"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

#[test]
fn a_tool_error_is_a_result_too_with_words_for_people_and_exit_code_one() {
    let ran = run(&project(), &["call", "read_file", r#"{"path": "src/mian.rs"}"#]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.json()["code"], "FILE_NOT_FOUND");
    assert_eq!(
        ran.stderr,
        "toolkiln: FILE_NOT_FOUND: src/mian.rs does not exist\nDid you mean main.rs?\n"
    );
}

#[test]
fn what_cannot_be_understood_is_exit_code_two_and_nothing_on_standard_output() {
    let table: &[(&[&str], &str)] = &[
        (&["call", "read_file", "{\"path\":"], "the arguments are not JSON"),
        (&["call", "read_file", "[1]"], "must be a JSON object"),
        (&["call", "read_file", r#"{"path":"a","path":"b"}"#], "the key `path` occurs twice"),
        (&["call", "read_file", "{}", "--view", "round"], "unknown view `round`"),
        (&["call", "read_file", "{}", "--vocabulary", "latin"], "unknown vocabulary `latin`"),
        (&["call", "read_file", "{}", "--role", "king"], "there is no role `king`"),
        (&["call"], "required"),
        (&["dance"], "unrecognized subcommand"),
    ];
    for (arguments, words) in table {
        let ran = run(&project(), arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.stderr.contains(words), "{arguments:?}: {}", ran.stderr);
    }
    let nowhere = crate::run::finish(crate::run::command(None).args([
        "call",
        "grep",
        "{}",
        "--root",
        "/nowhere/at/all",
    ]));
    assert_eq!(nowhere.code, 2);
    assert!(nowhere.stderr.contains("/nowhere/at/all"), "{}", nowhere.stderr);
}

#[test]
fn arguments_can_come_from_standard_input() {
    let ran = run_with_input(&project(), &["call", "grep", "-"], r#"{"pattern": "todo"}"#);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["matches"][0]["path"], "notes.txt");
}

#[test]
fn arguments_written_as_json_in_a_string_are_read() {
    let ran = run(&project(), &["call", "grep", r#""{\"pattern\": \"todo\"}""#]);
    assert_eq!(ran.json()["total"], 1);
}

#[test]
fn every_view_can_be_asked_for_and_each_vocabulary_has_its_own() {
    let call = |more: &[&str]| {
        let mut arguments = vec!["call", "read_file", r#"{"path": "notes.txt"}"#];
        arguments.extend(more);
        run(&project(), &arguments).json()
    };
    assert_eq!(call(&["--view", "flat"])["success"], true);
    assert_eq!(call(&["--view", "tagged"])["value"]["size"], 11);
    assert_eq!(call(&["--view", "block"])["type"], "tool_result");
    assert_eq!(call(&["--view", "bare"])["size"], 11);
    assert_eq!(call(&["--vocabulary", "workspace"])["value"]["content"], "TODO: bake\n");
    assert_eq!(call(&["--vocabulary", "explorer"])["tool_use_id"], "call_1");
    assert_eq!(call(&["--vocabulary", "workspace", "--view", "bare"])["content"], "TODO: bake\n");
}

#[test]
fn a_flat_error_is_prefixed_by_the_call() {
    let ran =
        run(&project(), &["call", "read", r#"{"file_paths": ["x"]}"#, "--vocabulary", "ally"]);
    assert_eq!(ran.code, 1);
    let error = ran.json();
    assert_eq!(error["error"], r#"read(file_paths=["x"]): x does not exist"#);
    assert_eq!(error["error_type"], "user_error");
}

#[test]
fn large_results_are_not_cut_where_no_later_call_could_ask_for_the_rest() {
    let project = project();
    project.write("wide.txt", format!("{}\n", "é".repeat(100_000)));
    let ran =
        run(&project, &["call", "read_file", r#"{"path": "wide.txt", "encoding": "base64"}"#]);
    assert_eq!(ran.json()["content"].as_str().unwrap().len(), 200_001usize.div_ceil(3) * 4);
    assert_eq!(ran.json().get("truncation"), None);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let project = project();
    let mut command = crate::run::command(None);
    command.args(["tools", "--format", "json", "--root"]).arg(project.root());
    command.stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
