use std::io::{self, ErrorKind};
use std::time::Duration;

use agent_client_protocol_schema::v1::{ReadTextFileRequest, ReadTextFileResponse};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::task::JoinHandle;

use super::exchange::{LAST_WORDS, MOST_UNANSWERED, MOST_UNANSWERED_BYTES};
use super::*;
use crate::responder::Responder;

mod lines;

const PIPE: usize = 1 << 20;
const INVALID_ANSWER: &str =
    r#""error":{"code":-32603,"message":"its answer is not a JSON-RPC answer"}"#;
/// The clock of these tests stands still while anything can go on.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Answers by the name of the method.
struct Desk(EditorConnection, CancellationToken);

impl MessageHandler for Desk {
    fn request(&self, request: IncomingRequest) {
        match &*request.method {
            "echo" => request.answer(|params: Value| Ok(params)),
            "later" => request.answer_later(|params: Value| async move { Ok(params) }),
            "typed" => request.answer(|params: CancelRequestNotification| Ok(params)),
            "drop" => request.take(|_: Value, responder: Responder<Value>| drop(responder)),
            "panic" => request.answer_later(|_: Value| panicking()),
            "slow" => request.answer_later(|params: Value| async move {
                tokio::time::sleep(LAST_WORDS / 2).await;
                Ok(params)
            }),
            "prompt" => {
                let left = self.1.clone();
                request.answer_later(|_: Value| async move {
                    left.cancelled().await;
                    Ok("cancelled")
                });
            }
            "hold" => request.take(|_: Value, responder: Responder<Value>| {
                tokio::spawn(async move { responder.cancellation().cancelled_owned().await });
            }),
            _ => request.refuse_method(),
        }
    }

    fn notification(&self, method: &str, params: Value) {
        if method == "say" {
            self.0.notify("said", &params);
        }
    }

    fn left(&self) {
        self.1.cancel();
    }
}

async fn panicking() -> Result<Value, Error> {
    panic!("in a task")
}

/// The editor's side of a connection.
struct Editor {
    connection: EditorConnection,
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    stop: CancellationToken,
    agent: JoinHandle<io::Result<()>>,
}

impl Editor {
    fn new(pipe: usize, most_unread: usize) -> Self {
        let (connection, written) = EditorConnection::bounded(most_unread);
        let (input, agent_input) = duplex(pipe);
        let (agent_output, output) = duplex(pipe);
        let (ours, stop) = (connection.clone(), CancellationToken::new());
        let fired = stop.clone();
        let agent = tokio::spawn(async move {
            let desk = Desk(ours.clone(), CancellationToken::new());
            ours.run(written, agent_input, agent_output, &fired, &desk).await
        });
        let output = BufReader::new(output).lines();
        Self { connection, input, output, stop, agent }
    }

    async fn say(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    /// The next line that the agent writes.
    async fn hear(&mut self) -> String {
        let heard = tokio::time::timeout(WATCHDOG, self.output.next_line()).await;
        heard.expect("the agent is silent").unwrap().expect("the agent has ended")
    }

    /// Leaves, and gives what else was said.
    async fn leave(self) -> (Vec<String>, io::Result<()>) {
        let Self { input, mut output, agent, .. } = self;
        drop(input);
        let mut rest = Vec::new();
        while let Some(line) = output.next_line().await.unwrap() {
            rest.push(line);
        }
        (rest, agent.await.unwrap())
    }
}

fn error(id: &str, code: i32, message: &str, data: &str) -> String {
    let data = if data.is_empty() { String::new() } else { format!(r#","data":{data}"#) };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"{data}}}}}"#
    )
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_taken_back_is_answered_all_the_same() {
    let mut editor = Editor::new(PIPE, PIPE);
    for id in ["1", "\"1\"", "null"] {
        editor.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"hold"}}"#)).await;
    }
    for id in ["null", "1", "\"1\""] {
        let cancel = r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":"#;
        editor.say(&format!(r#"{cancel}{{"requestId":{id}}}}}"#)).await;
        assert_eq!(editor.hear().await, error(id, -32800, "Request cancelled", ""));
    }
}

#[tokio::test(start_paused = true)]
async fn messages_come_in_the_order_in_which_they_were_said() {
    let mut editor = Editor::new(PIPE, PIPE);
    let lines = (0..100).flat_map(|n| {
        [
            format!(r#"{{"jsonrpc":"2.0","method":"say","params":[{n}]}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":{n},"method":"echo"}}"#),
        ]
    });
    editor.say(&lines.collect::<Vec<_>>().join("\n")).await;
    for n in 0..100 {
        let said = format!(r#"{{"jsonrpc":"2.0","method":"said","params":[{n}]}}"#);
        assert_eq!(editor.hear().await, said);
        assert_eq!(editor.hear().await, format!(r#"{{"jsonrpc":"2.0","id":{n},"result":null}}"#));
    }
}

/// What became of a request for a text, unless it waits for ever.
async fn outcome(asked: impl Future<Output = Result<ReadTextFileResponse, Error>>) -> String {
    match tokio::time::timeout(WATCHDOG, asked).await.expect("the request hangs") {
        Ok(answer) => format!(r#""result":{}"#, json!(answer.content)),
        Err(error) => format!(r#""error":{}"#, json!(error)),
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_editor_answers_goes_to_who_asked() {
    let mut editor = Editor::new(PIPE, PIPE);
    let answers = [
        (r#""result":{"content":"text"}"#, r#""result":"text""#),
        (
            r#""error":{"code":7,"message":"no","data":[1]}"#,
            r#""error":{"code":7,"message":"no","data":[1]}"#,
        ),
        (
            r#""result":{}"#,
            r#""error":{"code":-32603,"message":"its answer is not valid: missing field `content`"}"#,
        ),
        // Some libraries write both fields always.
        (r#""result":{"content":"text"},"error":null"#, r#""result":"text""#),
        (
            r#""result":null,"error":{"code":7,"message":"no"}"#,
            r#""error":{"code":7,"message":"no"}"#,
        ),
        // What is malformed is an answer all the same: nothing better will come.
        (r#""error":5"#, INVALID_ANSWER),
        (r#""error":null"#, INVALID_ANSWER),
        (r#""result":1,"error":{}"#, INVALID_ANSWER),
        (r#""result":{"content":"text"},"jsonrpc":"1.0""#, INVALID_ANSWER),
    ];
    for (number, (answer, expected)) in answers.iter().enumerate() {
        let id = number + 1;
        let asked = editor.connection.request(&ReadTextFileRequest::new("s", "/f"));
        assert_eq!(
            editor.hear().await,
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"fs/read_text_file","params":{{"sessionId":"s","path":"/f"}}}}"#
            )
        );
        // A second answer goes nowhere.
        editor.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#)).await;
        editor.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).await;
        assert_eq!(outcome(asked).await, *expected, "{answer}");
    }
    assert!(editor.leave().await.0.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_dropped_is_taken_back() {
    let mut editor = Editor::new(PIPE, PIPE);
    drop(editor.connection.request(&ReadTextFileRequest::new("s", "/f")));
    editor.hear().await;
    assert_eq!(
        editor.hear().await,
        r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}"#
    );
    editor.say(r#"{"jsonrpc":"2.0","id":1,"result":{"content":""}}"#).await;
    assert!(editor.leave().await.0.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_connection() {
    for is_stopped in [false, true] {
        let mut editor = Editor::new(PIPE, PIPE);
        let connection = editor.connection.clone();
        let asked = connection.request(&ReadTextFileRequest::new("s", "/f"));
        editor.hear().await;
        if is_stopped {
            editor.stop.cancel();
            editor.connection.0.closed.cancelled().await;
            // What is said from then on is not written.
            editor.connection.notify("late", &json!({}));
        }
        let (rest, ended) = editor.leave().await;
        assert!(rest.is_empty() && ended.is_ok());
        assert!(connection.is_closed());
        assert_eq!(asked.await.unwrap_err().message, "the editor has gone away");
        let later = connection.request(&ReadTextFileRequest::new("s", "/f")).await;
        assert_eq!(later.unwrap_err().message, "the editor has gone away");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_when_the_editor_says_no_more_is_answered() {
    let mut editor = Editor::new(PIPE, PIPE);
    editor.say(r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#).await;
    editor.say(r#"{"jsonrpc":"2.0","id":2,"method":"prompt"}"#).await;
    let (rest, ended) = editor.leave().await;
    let cancelled = r#"{"jsonrpc":"2.0","id":2,"result":"cancelled"}"#;
    let slow = r#"{"jsonrpc":"2.0","id":1,"result":null}"#;
    assert_eq!(rest, [cancelled, slow]);
    assert!(ended.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_not_waited_for_at_the_end() {
    let mut editor = Editor::new(PIPE, PIPE);
    editor.say(r#"{"jsonrpc":"2.0","id":1,"method":"hold"}"#).await;
    let before = tokio::time::Instant::now();
    let (rest, ended) = editor.leave().await;
    assert!(rest.is_empty() && ended.is_ok());
    assert_eq!(before.elapsed(), LAST_WORDS);
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_closes_its_ear_ends_the_connection() {
    let Editor { connection, output, agent, input, .. } = Editor::new(PIPE, PIPE);
    drop(output);
    connection.notify("said", &json!({}));
    assert_eq!(agent.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    assert!(connection.is_closed());
    drop(input);
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_does_not_read_is_gone_at_a_bound() {
    let Editor { connection, agent, input, output, .. } = Editor::new(100, 10_000);
    let text = "x".repeat(90);
    for _ in 0..1000 {
        connection.notify("said", &json!([text]));
    }
    assert!(connection.0.unread.load(Ordering::Relaxed) < 10_000 + 200);
    assert_eq!(agent.await.unwrap().unwrap_err().to_string(), "the editor does not read");
    drop((input, output));
}

#[tokio::test(start_paused = true)]
async fn one_line_above_the_bound_reaches_an_editor_that_reads() {
    let mut editor = Editor::new(100, 10_000);
    let text = "x".repeat(20_000);
    editor.connection.notify("said", &json!([text]));
    assert!(editor.hear().await.contains(&text));
    assert!(editor.leave().await.1.is_ok());
}

#[tokio::test(start_paused = true)]
async fn many_who_wait_for_room_never_have_more_than_one_message_above_it() {
    const TELLERS: usize = 20;
    const MESSAGES: usize = 50;
    let mut editor = Editor::new(100, 10_000);
    let text = "x".repeat(900);
    for _ in 0..TELLERS {
        let (connection, text) = (editor.connection.clone(), text.clone());
        tokio::spawn(async move {
            for _ in 0..MESSAGES {
                let _turn = connection.room().await;
                connection.notify("said", &json!([text]));
                assert!(connection.0.unread.load(Ordering::Relaxed) < connection.0.room + 1000);
            }
        });
    }
    for _ in 0..TELLERS * MESSAGES {
        editor.hear().await;
    }
    assert!(editor.leave().await.1.is_ok());
}

#[tokio::test(start_paused = true)]
async fn once_the_editor_has_gone_there_is_room() {
    let Editor { connection, agent, input, output, stop, .. } = Editor::new(100, 10_000);
    connection.notify("said", &json!(["x".repeat(9_000)]));
    let waiting = {
        let connection = connection.clone();
        tokio::spawn(async move { drop(connection.room().await) })
    };
    stop.cancel();
    waiting.await.unwrap();
    agent.await.unwrap().unwrap();
    drop((input, output));
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_does_not_read_is_not_waited_for_at_the_end() {
    let Editor { connection, agent, input, output, stop, .. } = Editor::new(100, PIPE);
    connection.notify("said", &json!(["x".repeat(1000)]));
    stop.cancel();
    agent.await.unwrap().unwrap();
    drop((input, output));
}

#[test]
fn requests_that_wait_are_bounded_by_their_bytes_too() {
    let (connection, _written) = EditorConnection::new();
    let half = MOST_UNANSWERED_BYTES / 2;
    let (first, _) = connection.arrive(&RequestId::Number(1), half).unwrap();
    assert!(connection.arrive(&RequestId::Number(2), half).is_some());
    assert!(connection.arrive(&RequestId::Number(3), 1).is_none());
    connection.answer(&RequestId::Number(1), first, Ok("{}".to_owned()));
    assert!(connection.arrive(&RequestId::Number(3), 1).is_some());
}

#[tokio::test(start_paused = true)]
async fn only_so_many_requests_can_wait() {
    let mut editor = Editor::new(PIPE, PIPE);
    for id in 0..MOST_UNANSWERED {
        editor.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"hold"}}"#)).await;
    }
    editor.say(r#"{"jsonrpc":"2.0","id":"more","method":"echo"}"#).await;
    let why = "too many requests wait for their answers";
    assert_eq!(editor.hear().await, error("\"more\"", -32603, why, ""));
    editor.say(r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#).await;
    assert_eq!(editor.hear().await, error("7", -32800, "Request cancelled", ""));
    editor.say(r#"{"jsonrpc":"2.0","id":"more","method":"echo"}"#).await;
    assert_eq!(editor.hear().await, r#"{"jsonrpc":"2.0","id":"more","result":null}"#);
}
