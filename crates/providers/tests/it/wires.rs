//! Sessions that change their provider in the middle, with a model that invents whatever it likes:
//! every request is one that its provider accepts.

use std::collections::{HashMap, HashSet};

use context_manager::AgentOptions;
use proptest::prelude::*;
use protocol::SessionEvent;
use providers::{Api, HttpProvider};
use serde_json::{Value, json};
use testkit::model_server::{ModelCall, Part, Stop, WireFormat, validity};
use testkit::{ModelServer, Reply};

use crate::stage::Stage;
use crate::talk::{config, format};

/// One turn: who is asked, and what the model says until it is done.
#[derive(Clone, Debug)]
struct Turn {
    api: usize,
    replies: Vec<Reply>,
}

/// Names and ids of models and servers that were seen, and those that no one would think of.
const INVENTED: [&str; 16] = [
    "look",
    "functions.look",
    "functions.look:0",
    "",
    " ",
    "call_1",
    "chatcmpl-tool-0123456789abcdef0123456789abcdef",
    "functions_look-x0123456789abcdef",
    "a.b/c:d|e",
    "über",
    "🦀",
    "a\u{0}b\n\u{7f}",
    "\u{202e}look",
    "-look",
    "1",
    "look\"}",
];

fn invented() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(&INVENTED[..]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[a-z.:]{280,320}",
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let arguments =
        prop::sample::select(vec!["{}", "{\"a\":\"🦀\\u0000\"}", "", "[1]", "{\"a\":", "null"]);
    let call = (invented(), invented(), arguments).prop_map(|(id, name, arguments)| Part::Call {
        id: Some(id),
        name,
        arguments: arguments.to_owned(),
    });
    prop_oneof![
        1 => "\\PC{0,12}".prop_map(Part::Text),
        1 => "[a-z ]{0,9}".prop_map(Part::Thinking),
        3 => call,
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let stop = prop::sample::select(vec![
        Stop::Natural,
        Stop::Natural,
        Stop::Natural,
        Stop::Limit,
        Stop::Refusal,
    ]);
    (prop::collection::vec(part(), 0..5), stop).prop_map(|(parts, stop)| Reply {
        parts,
        stop,
        ..Reply::default()
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    (0..Api::ALL.len(), prop::collection::vec(reply(), 1..4))
        .prop_map(|(api, replies)| Turn { api, replies })
}

fn provider(api: Api, server: &ModelServer) -> HttpProvider {
    let mut config = config(api, &server.base_url());
    config.quirks.returned_reasoning = Some("reasoning_content".into());
    HttpProvider::new(config).expect("a good configuration")
}

/// Plays the turns; a model without a line left says that it is done.
fn play(turns: &[Turn]) -> (Stage, Vec<ModelCall>) {
    let lines = std::sync::Arc::new(std::sync::Mutex::new(std::collections::VecDeque::new()));
    let script = lines.clone();
    let server = ModelServer::answering(move |_| {
        script.lock().unwrap().pop_front().unwrap_or_else(|| Reply::text("Done."))
    });
    let providers = Api::ALL.map(|api| provider(api, &server));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut stage = Stage::new(AgentOptions::default());
    for turn in turns {
        *lines.lock().unwrap() = turn.replies.iter().cloned().collect();
        runtime.block_on(stage.send("Go on.", &providers[turn.api]));
    }
    (stage, server.calls())
}

/// The conversation as a request has it, without the marks for the cache, which move.
fn conversation(call: &ModelCall) -> Vec<Value> {
    let key = if call.format == WireFormat::Responses { "input" } else { "messages" };
    let mut list = call.body[key].as_array().cloned().unwrap_or_default();
    for block in list.iter_mut().filter_map(|item| item["content"].as_array_mut()).flatten() {
        block.as_object_mut().map(|block| block.remove("cache_control"));
    }
    list
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_session_goes_on_on_any_wire_whatever_the_model_invents(
        turns in prop::collection::vec(turn(), 1..7),
    ) {
        let (stage, requests) = play(&turns);
        for request in &requests {
            let accepted = validity::accepts(request);
            prop_assert!(accepted.is_ok(), "{:?}: {:?}\n{:#}", request.format, accepted, request.body);
        }
        // What was sent once is sent again as it was: caches depend on that.
        let mut before: HashMap<&str, Vec<Value>> = HashMap::new();
        for request in &requests {
            let said = conversation(request);
            if let Some(before) = before.get(request.path.as_str()) {
                // The last turn may grow by what the user says next.
                let settled = before.len().saturating_sub(1);
                prop_assert_eq!(&said[..settled], &before[..settled], "{:?}", request.format);
            }
            before.insert(&request.path, said);
        }
        // The log keeps names as they came, and ids too unless they were taken.
        let told: HashSet<String> = turns.iter().flat_map(|turn| &turn.replies).flat_map(|reply| &reply.parts)
            .filter_map(|part| match part { Part::Call { name, .. } => Some(name.clone()), _ => None })
            .collect();
        let mut ids = HashSet::new();
        for call in stage.calls() {
            prop_assert!(told.contains(&call.name), "{:?}", call.name);
            prop_assert!(ids.insert(call.id), "an id was given twice");
        }
    }
}

#[test]
fn hostile_names_and_ids_are_stored_as_they_came_and_sent_in_one_form() {
    let calls = [
        ("functions.look:0", "functions.look"),
        ("", ""),
        ("🦀", "look"),
        ("functions.look:0", "look"),
    ];
    let said =
        calls.iter().fold(Reply::default(), |reply, (id, name)| reply.and_raw_call(id, name, "{}"));
    let turns: Vec<Turn> = [0, 1, 2].map(|api| Turn { api, replies: vec![] }).to_vec();
    let first = Turn { api: 2, replies: vec![said] };
    let (stage, requests) = play(&[vec![first], turns].concat());
    let stored: Vec<_> = stage.calls().iter().map(|call| json!([call.id, call.name])).collect();
    insta::assert_snapshot!(Value::from(stored), @r#"[["functions.look:0","functions.look"],["",""],["🦀","look"],["functions.look:0_5","look"]]"#);
    let last = |api: Api| requests.iter().rfind(|request| request.format == format(api)).unwrap();
    let ids = Api::ALL.map(|api| {
        let answers = last(api).tool_answers();
        format!(
            "{api:?}: {}",
            answers.iter().map(|answer| answer.id.as_str()).collect::<Vec<_>>().join(" ")
        )
    });
    insta::assert_snapshot!(ids.join("\n"), @"
    Anthropic: functions_look_0-x3f85012e0a8908fe unnamed-xaf1349b9f5f9a1a6 unnamed-xa4abc90628d5caf7 functions_look_0_5-x5cac4dffda8c8b2e
    OpenAiResponses: functions.look:0 unnamed-xaf1349b9f5f9a1a6 unnamed-xa4abc90628d5caf7 functions.look:0_5
    OpenAiChat: functions.look:0 unnamed-xaf1349b9f5f9a1a6 unnamed-xa4abc90628d5caf7 functions.look:0_5
    ");
    requests.iter().for_each(validity::check);
}

#[test]
fn what_the_user_adds_during_a_turn_follows_the_results_on_every_wire() {
    for api in 0..Api::ALL.len() {
        let said = json!({"user_says": "Only in src, please."});
        let replies = vec![Reply::call("look", said).and_call("look", json!({}))];
        let (stage, requests) = play(&[Turn { api, replies }]);
        requests.iter().for_each(validity::check);
        let [first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
        let words = |call: &ModelCall| Value::from(conversation(call)).to_string();
        assert!(!words(first).contains("Only in src, please.\"}]"), "{}", words(first));
        // The results are there, and the words are the last thing the model reads.
        assert_eq!(second.tool_answers().len(), 2);
        let last = words(second);
        let (results, added) = last.rsplit_once("Only in src, please.").unwrap();
        assert!(results.contains("Go on.") && !added.contains("seen"), "{last}");
        let added = |event: &SessionEvent| matches!(event, SessionEvent::UserAdded { .. });
        let turns = |event: &SessionEvent| matches!(event, SessionEvent::UserMessage { .. });
        let count = |is: fn(&SessionEvent) -> bool| stage.events().iter().filter(|e| is(e)).count();
        assert_eq!((count(added), count(turns)), (1, 1));
    }
}
