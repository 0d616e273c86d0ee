//! Everything a provider can do wrong: one clear line each, no half call, and the next request works.

use context_manager::{ModelErrorKind, ModelEvent};
use insta::assert_snapshot;
use providers::{Api, HttpProvider};
use serde_json::json;
use testkit::{Fault, ModelServer, Reply};

use crate::talk::{KEY, SILENCE, ask, config, format, plain, provider, told};

fn calling() -> Reply {
    Reply::text("I look. ").and_call("grep", json!({"pattern": "some text"}))
}

/// What is told of a fault, which has to be the same in every way to talk.
async fn fault(fault: Fault) -> String {
    let [one, two, three] = Api::ALL.map(|api| fault_of(api, &fault));
    let (one, two, three) = tokio::join!(one, two, three);
    assert!(one == two && two == three, "{one}\n{two}\n{three}");
    one
}

/// What is told of a fault; then the session goes on.
async fn fault_of(api: Api, fault: &Fault) -> String {
    let server = ModelServer::start([calling().with_fault(fault.clone()), Reply::text("fine")]);
    let mut config = config(api, &server.base_url());
    if matches!(fault, Fault::HangBefore | Fault::HangAfter(_)) {
        config.timeouts.first_byte = SILENCE;
    }
    let provider = HttpProvider::new(config).expect("a good configuration");
    let lines = plain(&told(&provider).await, api, &server);
    assert!(!lines.contains("call "), "{api:?}: {lines}");
    let next = told(&provider).await;
    assert_eq!(next, "text \"fine\"\ndone EndOfTurn", "{api:?}: the next request");
    lines
}

#[tokio::test]
async fn refusals_say_who_refused_why_and_what_to_do() {
    let mut shown = Vec::new();
    for status in [400, 401, 403, 404, 408, 413, 429, 500, 503, 529, 301] {
        shown.push(fault(Fault::status(status, "because")).await);
    }
    shown.push(fault(Fault::status(429, "x").header("retry-after", "3600")).await);
    shown.push(fault(Fault::status(500, "x").header("request-id", "req_1")).await);
    shown.push(fault(Fault::status(401, &format!("the key {KEY} is wrong"))).await);
    assert_snapshot!(shown.join("\n"), @"
    InvalidRequest: scripted answered with status 400: because
    Unauthorized: scripted answered with status 401: because; check the key in SCRIPTED_KEY and its account
    Unauthorized: scripted answered with status 403: because; check the key in SCRIPTED_KEY and its account
    UnknownModel: scripted answered with status 404: because; choose another model, or check the address
    Overloaded: scripted answered with status 408: because
    ContextFull: scripted answered with status 413: because
    RateLimited: scripted answered with status 429: because
    Overloaded: scripted answered with status 500: because
    Overloaded: scripted answered with status 503: because
    Overloaded: scripted answered with status 529: because
    Malformed: scripted answered with status 301: because; check that http://ADDRESS/v1 speaks API
    RateLimited: scripted answered with status 429: x
    Overloaded: scripted answered with status 500: x (request req_1)
    Unauthorized: scripted answered with status 401: the key *** is wrong; check the key in SCRIPTED_KEY and its account
    ");
}

#[tokio::test]
async fn something_else_at_the_address_is_recognised() {
    let body = |content_type: &str, body: &str| Fault::Body {
        content_type: content_type.into(),
        body: body.into(),
    };
    let shown = [
        fault(body("text/html; charset=utf-8", "<html>Welcome to nginx</html>")).await,
        fault(body("application/json", "{\"error\":{\"message\":\"no stream here\"}}")).await,
        fault(body("application/json", "{\"choices\":[]}")).await,
        fault(body("text/event-stream", "")).await,
        fault(body("text/event-stream", "data: nonsense\n\n")).await,
    ];
    assert_snapshot!(shown.join("\n"), @"
    Malformed: scripted answered with `text/html; charset=utf-8` instead of a stream of events; check that http://ADDRESS/v1 speaks API
    Malformed: scripted answered with status 200: no stream here; check that http://ADDRESS/v1 speaks API
    Malformed: scripted answered with `application/json` instead of a stream of events; check that http://ADDRESS/v1 speaks API
    Cut: scripted: the answer ended before it was complete
    Malformed: scripted: a piece of the answer is not valid JSON: expected ident at line 1 column 2; check that http://ADDRESS/v1 speaks API
    ");
}

#[tokio::test]
async fn broken_answers_are_told_as_what_they_are() {
    let overloaded = |after| Fault::ErrorEvent {
        after,
        kind: "overloaded_error".into(),
        message: "Overloaded".into(),
    };
    let shown = [
        ("closed before", fault(Fault::CloseBefore).await),
        ("hang before", fault(Fault::HangBefore).await),
        ("hang after the head", fault(Fault::HangAfter(0)).await),
        ("error first", fault(overloaded(0)).await),
    ];
    let shown = shown.map(|(name, lines)| format!("# {name}\n{lines}"));
    assert_snapshot!(shown.join("\n"), @"
    # closed before
    Connection: scripted: the connection to http://ADDRESS broke before an answer came (connection closed before message completed); check that a server is running there
    # hang before
    Connection: scripted did not answer within 500 ms; it may be overloaded
    # hang after the head
    Connection: scripted did not answer within 500 ms; it may be overloaded
    # error first
    Overloaded: scripted broke off: Overloaded
    ");
}

/// The place of the first piece of arguments in a stream.
fn within_the_call(api: Api) -> usize {
    let stream = String::from_utf8(calling().render(format(api), 0)).expect("a stream is text");
    stream.find("{\\\"pattern").expect("the arguments are there") + 5
}

#[tokio::test]
async fn in_the_middle_of_a_call_nothing_runs() {
    for api in Api::ALL {
        let at = within_the_call(api);
        let mut shown = Vec::new();
        for fault in
            [Fault::CutAfter(at), Fault::HangAfter(at), Fault::HalfCall, Fault::InvalidJson]
        {
            let server = ModelServer::start([calling().with_fault(fault), Reply::text("fine")]);
            let mut config = config(api, &server.base_url());
            config.timeouts.between_bytes = SILENCE;
            let provider = HttpProvider::new(config).expect("a good configuration");
            let lines = told(&provider).await;
            assert!(!lines.contains("\ncall "), "{api:?}: {lines}");
            assert_eq!(told(&provider).await, "text \"fine\"\ndone EndOfTurn", "{api:?}");
            shown.push(plain(lines.lines().last().expect("there is an end"), api, &server));
        }
        let malformed = shown.pop().expect("four faults");
        assert!(
            malformed.starts_with("Malformed: scripted: a piece of the answer is not valid JSON"),
            "{malformed}"
        );
        insta::allow_duplicates! {
            assert_snapshot!(shown.join("\n"), @"
            Cut: scripted: the connection broke in the middle of the answer (unexpected EOF during chunk size line)
            Connection: scripted sent nothing for 500 ms in the middle of the answer
            Cut: scripted: the answer ended before it was complete
            ");
        }
    }
}

#[tokio::test]
async fn wherever_a_stream_is_cut_no_half_call_is_passed_on() {
    for api in Api::ALL {
        let server = ModelServer::answering(|call| {
            let at = call.header("x-cut").and_then(|at| at.parse().ok()).expect("a number");
            calling().with_fault(Fault::CutAfter(at))
        });
        for at in (1..1400).step_by(23) {
            let mut config = config(api, &server.base_url());
            config.headers.push(("x-cut".into(), at.to_string()));
            let events = ask(&HttpProvider::new(config).expect("good")).await;
            for event in &events {
                if let Ok(ModelEvent::ToolCall(call)) = event {
                    assert_eq!(call.arguments["pattern"], "some text", "{api:?} at {at}");
                }
            }
            let ends =
                events.iter().filter(|event| matches!(event, Err(_) | Ok(ModelEvent::Done(_))));
            assert_eq!(ends.count(), 1, "{api:?} at {at}: {events:?}");
            if let Some(Err(error)) = events.last() {
                assert_eq!(error.kind, ModelErrorKind::Cut, "{api:?} at {at}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn a_missing_server_is_told_with_the_address() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("a bound port has a number");
    drop(free);
    let config = config(Api::OpenAiChat, &format!("http://{address}/v1"));
    let provider = HttpProvider::new(config).expect("a good configuration");
    let told = told(&provider).await.replace(&address.to_string(), "ADDRESS");
    assert_snapshot!(told, @"Connection: scripted: cannot connect to http://ADDRESS: Connection refused (os error 111); check that a server is running there");
}

#[tokio::test]
async fn a_key_is_never_told() {
    for api in Api::ALL {
        let server = ModelServer::start([Reply::fault(Fault::status(401, &format!("{KEY}?")))]);
        let provider = provider(api, &server);
        let told = told(&provider).await;
        assert!(told.contains("***?") && !told.contains(KEY), "{told}");
        assert!(!format!("{provider:?}").contains(KEY));
    }
}
