//! What each line is answered with, whatever it holds.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::incoming::MAX_VALUES;

use super::{Editor, PIPE, error};

fn invalid_request() -> String {
    error("null", -32600, "Invalid request", "")
}

#[tokio::test(start_paused = true)]
async fn what_is_answered_to_legal_and_hostile_lines() {
    let echo = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":[7]}}"#);
    let echoed = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":[7]}}"#);
    let method = |method: &str, rest: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"{rest}}}"#)
    };
    let batch = error(
        "null",
        -32600,
        "Invalid request",
        r#""JSON-RPC batches are not supported; send each message individually""#,
    );
    let broken =
        |line: &str| error("null", -32700, "Parse error", &json!({"line": line}).to_string());
    let long = "x".repeat(1000);
    // A megabyte that would become a hundred once it is parsed.
    let zeros = "0,".repeat(MAX_VALUES);
    let crowded = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":[{zeros}0]}}"#);
    let refused =
        error("null", -32600, "Invalid request", r#""a message holds at most 100000 values""#);
    let table = [
        // Every kind of id comes back as it is.
        (echo("1"), vec![echoed("1")]),
        (echo("-5"), vec![echoed("-5")]),
        (echo(r#""a""#), vec![echoed(r#""a""#)]),
        (echo(r#""1\n\"""#), vec![echoed(r#""1\n\"""#)]),
        (echo("null"), vec![echoed("null")]),
        (echo("9223372036854775807"), vec![echoed("9223372036854775807")]),
        (echo("9223372036854775808"), vec![invalid_request()]),
        (echo("1.5"), vec![invalid_request()]),
        (echo("true"), vec![invalid_request()]),
        (echo("{}"), vec![invalid_request()]),
        // Not JSON, or not a message.
        ("not json".to_owned(), vec![broken("not json")]),
        ("{\"jsonrpc\":".to_owned(), vec![broken("{\"jsonrpc\":")]),
        ("[".repeat(1000), vec![broken(&"[".repeat(200))]),
        (long.clone(), vec![broken(&long[..200])]),
        (crowded, vec![refused]),
        ("17".to_owned(), vec![invalid_request()]),
        ("{}".to_owned(), vec![invalid_request()]),
        ("[]".to_owned(), vec![batch.clone()]),
        (format!("[{}]", echo("1")), vec![batch]),
        (r#"{"id":1,"method":"echo"}"#.to_owned(), vec![invalid_request()]),
        (r#"{"jsonrpc":"1.0","id":1,"method":"echo"}"#.to_owned(), vec![invalid_request()]),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), vec![invalid_request()]),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#.to_owned(), vec![invalid_request()]),
        (method("echo", r#","params":5"#), vec![invalid_request()]),
        (method("echo", r#","result":5"#), vec![invalid_request()]),
        (String::new(), vec![]),
        // Methods and their parameters.
        (
            method("echo", r#","more":1"#),
            vec![r#"{"jsonrpc":"2.0","id":1,"result":null}"#.to_owned()],
        ),
        (method("dance", ""), vec![error("1", -32601, "Method not found", r#""dance""#)]),
        (method("_x/y", ""), vec![error("1", -32601, "Method not found", r#""_x/y""#)]),
        (
            method("typed", r#","params":{}"#),
            vec![error("1", -32602, "Invalid params", r#"{"error":"missing field `requestId`"}"#)],
        ),
        (
            method("drop", ""),
            vec![error("1", -32603, "Internal error", r#""`drop` ended without an answer""#)],
        ),
        (
            method("panic", ""),
            vec![error("1", -32603, "Internal error", r#""`panic` ended without an answer""#)],
        ),
        // Notifications are never answered.
        (r#"{"jsonrpc":"2.0","method":"dance"}"#.to_owned(), vec![]),
        (r#"{"jsonrpc":"2.0","method":"_x/y","params":{}}"#.to_owned(), vec![]),
        (r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}"#.to_owned(), vec![]),
        (
            r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#.to_owned(),
            vec![],
        ),
        // Nor are answers, whether to nothing or malformed.
        (r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.to_owned(), vec![]),
        (r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":""}}"#.to_owned(), vec![]),
        (r#"{"jsonrpc":"2.0","id":1,"error":5}"#.to_owned(), vec![]),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#.to_owned(), vec![]),
        (r#"{"jsonrpc":"2.0","result":1}"#.to_owned(), vec![]),
        (r#"{"result":1}"#.to_owned(), vec![]),
    ];
    let mut editor = Editor::new(PIPE, PIPE);
    for (line, expected) in table {
        editor.say(&line).await;
        let mut heard = Vec::new();
        for _ in &expected {
            heard.push(editor.hear().await);
        }
        assert_eq!(heard, expected, "{line}");
    }
    editor.say(&echo("2")).await;
    assert_eq!(editor.hear().await, echoed("2"), "nothing else was said");
    let (rest, ended) = editor.leave().await;
    assert!(rest.is_empty() && ended.is_ok(), "{rest:?} {ended:?}");
}

/// The id under which a line is answered, by the words of the specification; none for what needs no answer.
fn answered_under(line: &str) -> Option<Value> {
    if line.trim().is_empty() {
        return None;
    }
    let Ok(value) = serde_json::from_str::<Value>(line) else { return Some(Value::Null) };
    let (has, is) = (|key| value.get(key).is_some(), |key: &str| value[key].clone());
    if !has("method") && (has("result") || has("error")) {
        return None;
    }
    let id_is_legal = !has("id") || is("id").is_null() || is("id").is_string() || {
        let id = is("id");
        id.is_i64()
    };
    let is_call = value["jsonrpc"] == "2.0"
        && is("method").is_string()
        && !has("result")
        && !has("error")
        && id_is_legal
        && (is("params").is_null() || is("params").is_array() || is("params").is_object());
    match (is_call, has("id")) {
        (true, false) => None,
        (true, true) => Some(is("id")),
        (false, _) => Some(Value::Null),
    }
}

fn any_line() -> impl Strategy<Value = String> {
    let part = |texts: &[&'static str]| prop::sample::select(texts.to_vec());
    let methods = [
        "",
        r#","method":"echo""#,
        r#","method":"later""#,
        r#","method":"typed""#,
        r#","method":"drop""#,
        r#","method":"panic""#,
        r#","method":"_x""#,
        r#","method":1"#,
    ];
    let ids = ["", r#","id":1"#, r#","id":1"#, r#","id":"a""#, r#","id":null"#, r#","id":0.5"#];
    let params = ["", r#","params":{}"#, r#","params":{"requestId":1}"#, r#","params":3"#];
    let ends = ["", "", "", r#","result":1"#, r#","error":{"code":1,"message":""}"#];
    let versions = [r#""jsonrpc":"2.0""#, r#""jsonrpc":"2.0""#, r#""x":1"#];
    let message = (part(&versions), part(&ids), part(&methods), part(&params), part(&ends));
    prop_oneof![
        8 => message.prop_map(|(version, id, method, params, end)| {
            format!("{{{version}{id}{method}{params}{end}}}")
        }),
        1 => "[^\n\r]{0,20}",
        1 => r#"[{}\[\]":,0-9a ]{0,12}"#,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn each_line_has_one_answer_or_none_whatever_comes(
        lines in prop::collection::vec(any_line(), 0..30),
    ) {
        let mut expected: Vec<String> =
            lines.iter().filter_map(|line| answered_under(line)).map(|id| id.to_string()).collect();
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().unwrap();
        let mut heard = runtime.block_on(async {
            let mut editor = Editor::new(PIPE, PIPE);
            let mut heard = Vec::new();
            for line in &lines {
                editor.say(line).await;
            }
            for _ in &expected {
                let answer: Value = serde_json::from_str(&editor.hear().await).unwrap();
                heard.push(answer["id"].to_string());
            }
            let (rest, ended) = editor.leave().await;
            assert!(rest.is_empty() && ended.is_ok(), "{rest:?} {ended:?}");
            heard
        });
        expected.sort_unstable();
        heard.sort_unstable();
        prop_assert_eq!(heard, expected);
    }
}
