use std::io::{Read as _, Write as _};

use serde_json::json;

use super::*;

fn ask(server: &ModelServer, path: &str, body: &str) -> String {
    let mut wire = TcpStream::connect(server.address()).expect("the server listens");
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n");
    wire.write_all(format!("{head}\r\n{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    wire.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn the_path_decides_the_form() {
    let reply = Reply::text("hello you").and_call("ls", json!({"path": "."}));
    let server = ModelServer::start([reply.clone(), reply.clone(), reply]);
    let marks = [
        ("/v1/messages", "\"stop_reason\":\"tool_use\""),
        ("/v1/chat/completions", "\"finish_reason\":\"tool_calls\""),
        ("/v1/responses", "event: response.completed"),
    ];
    for (path, mark) in marks {
        let answer = ask(&server, path, "{}");
        assert!(answer.contains(mark), "{path}: {answer}");
    }
    assert_eq!((server.connections(), server.unused()), (3, 0));
}

#[test]
fn beyond_the_script_there_is_a_refusal_and_elsewhere_nothing() {
    let server = ModelServer::start([]).with_models(&["a"]);
    assert!(ask(&server, "/v1/messages", "{}").contains("the script has no reply left"));
    assert!(ask(&server, "/api/tags", "").contains("{\"models\":[{\"id\":\"a\",\"name\":\"a\""));
    assert!(ask(&server, "/nowhere", "").starts_with("HTTP/1.1 404"));
    assert_eq!(server.calls().len(), 1);
}

#[test]
#[should_panic(expected = "the script of the model server panicked: 1 is not 2")]
fn a_script_that_panics_fails_its_test_and_keeps_no_client_waiting() {
    let server = ModelServer::answering(|_| panic!("1 is not {}", 2));
    assert!(ask(&server, "/v1/messages", "{}").starts_with("HTTP/1.1 400"));
}

#[test]
fn a_reply_can_depend_on_what_was_sent() {
    let server = ModelServer::answering(|call| match call.tool_answers().last() {
        Some(answer) => Reply::text(&format!("it says {}", answer.text)),
        None => Reply::call("ls", json!({})),
    });
    let bodies = [
        (
            "/v1/messages",
            json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "42", "is_error": true}]}]}),
        ),
        (
            "/v1/chat/completions",
            json!({"messages": [{"role": "tool", "tool_call_id": "1", "content": "42"}]}),
        ),
        (
            "/v1/responses",
            json!({"input": [{"type": "function_call", "call_id": "1"}, {"type": "function_call_output", "call_id": "1", "output": "42"}]}),
        ),
    ];
    for (path, body) in bodies {
        assert!(ask(&server, path, "{}").contains("\"name\":\"ls\""));
        assert!(ask(&server, path, &body.to_string()).contains("42"), "{path}");
    }
    let errors: Vec<bool> = server
        .calls()
        .iter()
        .flat_map(ModelCall::tool_answers)
        .map(|answer| answer.is_error)
        .collect();
    assert_eq!(errors, [true, false, false]);
}

#[test]
fn dropping_the_server_ends_what_hangs() {
    let server = ModelServer::start([Reply::fault(Fault::HangBefore)]);
    let mut wire = TcpStream::connect(server.address()).expect("the server listens");
    wire.write_all(b"POST /v1/messages HTTP/1.1\r\n\r\n").expect("it reads");
    server.watch().wait_for_calls(1);
    drop(server);
    assert!(wire.read(&mut [0]).is_ok_and(|read| read == 0));
}

#[test]
fn a_gate_lets_pieces_go_one_by_one_in_every_form() {
    for path in ["/v1/messages", "/v1/chat/completions", "/v1/responses"] {
        let gate = Gate::new();
        let server = ModelServer::start([Reply::pieces(["uno ", "due ", "quinto"]).through(&gate)]);
        let mut wire = TcpStream::connect(server.address()).expect("the server listens");
        write!(wire, "POST {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{{}}")
            .expect("it reads");
        let mut seen = String::new();
        let mut read_until = |mark: &str| {
            let mut byte = [0];
            while !seen.contains(mark) {
                wire.read_exact(&mut byte).expect("it goes on");
                seen.push(char::from(byte[0]));
            }
            seen.clone()
        };
        gate.pass(1);
        let first = read_until("uno");
        assert!(!first.contains("due"), "{path}: {first}");
        gate.pass(1);
        let second = read_until("due");
        assert!(!second.contains("quinto"), "{path}: {second}");
        gate.open();
        let last = read_until("\r\n0\r\n\r\n");
        assert!(last.contains("quinto"), "{path}: {last}");
    }
}

#[test]
fn a_client_that_goes_before_the_gate_opens_is_seen() {
    let gate = Gate::new();
    let server = ModelServer::start([Reply::pieces(["never"]).through(&gate)]);
    let mut wire = TcpStream::connect(server.address()).expect("the server listens");
    wire.write_all(b"POST /v1/messages HTTP/1.1\r\n\r\n").expect("it reads");
    server.watch().wait_for_calls(1);
    drop(wire);
    server.watch().wait_for_abandoned(1);
}

#[test]
fn dropping_the_server_ends_what_a_gate_holds() {
    let server = ModelServer::start([Reply::pieces(["never"]).through(&Gate::new())]);
    let mut wire = TcpStream::connect(server.address()).expect("the server listens");
    wire.write_all(b"POST /v1/messages HTTP/1.1\r\n\r\n").expect("it reads");
    server.watch().wait_for_calls(1);
    drop(server);
    let mut rest = Vec::new();
    let end = wire.read_to_end(&mut rest);
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{end:?} {}", String::from_utf8_lossy(&rest));
}
