//! Code and diffs as a page draws them.

use serde_json::{Value, json};
use testkit::{Fixture, ModelServer, Reply};

use super::conversation::{question, until_idle};
use super::service::Service;

const PROJECT: &str = "//- /src/main.rs
fn main() {
    /* begins
    fn here() {} */
    let name = \"Ada\";
}
//- /notes.txt
a\u{202E}b
";

#[test]
fn files_and_code_blocks_have_spans_of_kinds() {
    let project = Fixture::new(PROJECT);
    let service = Service::start_with(&project, &["--provider", "offline"]);
    let file = service.get("/api/files/content?path=src%2Fmain.rs&offset=3&limit=2");
    // The window begins within a comment.
    assert_eq!(
        file["file"]["content"],
        "     3\t    fn here() {} */\n     4\t    let name = \"Ada\";"
    );
    assert_eq!(
        file["spans"],
        json!([[[19, "comment"]], [[4, null], [3, "keyword"], [8, null], [5, "text"]],])
    );
    let hidden = service.get("/api/files/content?path=notes.txt");
    assert_eq!(hidden["spans"], json!([[[1, null], [1, "hidden"]]]));

    let code =
        service.post("/api/highlight", json!({"language": "python", "text": "def f():\n  1"}));
    assert_eq!(
        code,
        json!({"lines": [
            [[3, "keyword"], [1, null], [1, "function"]],
            [[2, null], [1, "constant"]],
        ]})
    );
    let plain = service.post("/api/highlight", json!({"language": "klingon", "text": "a\n"}));
    assert_eq!(plain, json!({"lines": [[], []]}));
    let long = json!({"language": "rust", "text": "x".repeat(64 * 1024 + 1)});
    assert_eq!(service.try_post("/api/highlight", long).refusal(), "413 TOO_LARGE");
}

#[test]
fn questions_and_the_diff_of_a_session_have_spans_and_words() {
    let project = Fixture::new(PROJECT);
    let edit = json!({
        "path": "src/main.rs", "find": "let name = \"Ada\";", "replace": "let name = \"Eve\";",
    });
    let model = ModelServer::start([
        Reply::call("read_file", json!({"path": "src/main.rs"})),
        Reply::call("replace_in_file", edit),
        Reply::text("Done."),
    ]);
    let service = Service::start(&project, &model);
    let session = service.begin();
    let diff = format!("/api/sessions/{session}/diff");
    assert_eq!(service.get(&diff), json!({"files": [], "notes": []}));
    let mut watcher = service.watch(&session);
    service.say(&session, "Another name");
    let address = question(&mut watcher);
    let asked = service.get(&address);
    let line = |diffs: &Value| -> Value {
        let lines = diffs[0]["hunks"][0]["lines"].as_array().unwrap();
        lines.iter().find(|line| line["kind"] == "add").unwrap().clone()
    };
    let expected = json!({
        "kind": "add",
        "text": "    let name = \"Eve\";",
        "spans": [[4, null], [3, "keyword"], [8, null], [5, "text"]],
        "words": [[15, 21]],
    });
    assert_eq!(line(&asked["diffs"]), expected);
    service.post(&address, json!({"approve": true}));
    until_idle(&mut watcher, &session);
    let whole = service.get(&diff);
    assert_eq!(line(&whole["files"]), expected);
    assert_eq!(whole["notes"], json!([]));
    // What was changed back since is not in it.
    std::fs::write(project.path("src/main.rs"), project.read("src/main.rs").replace("Eve", "Ada"))
        .unwrap();
    assert_eq!(service.get(&diff), json!({"files": [], "notes": []}));
    let unknown = service.request(
        "GET /api/sessions/1hf7yat00zzzzzzzzzzz/diff",
        &[&service.token("chat")],
        "",
    );
    assert_eq!(unknown.refusal(), "404 NOT_FOUND");
}
