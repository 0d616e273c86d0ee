//! What holds for every timeline, whatever its log says.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use protocol::{
    ApprovalResponse, Content, ErrorCode, LogEntry, ModelErrorKind, PauseReason, SessionEvent,
    ToolError, ToolResult, TurnEnd, Usage,
};
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use timeline::safe_text::safe;
use timeline::{CallState, Item, ItemBody, Timeline};

use crate::story::{answers, call, ends, log, nested, piece, request, runs, says, starts, writes};

static DESCRIBED: LazyLock<Validator> = LazyLock::new(|| {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Item>();
    jsonschema::validator_for(schema.as_value()).unwrap()
});

fn hostile() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![
            Just("\x1b[2J".to_owned()),
            Just("\u{202e}".to_owned()),
            Just("\r".to_owned()),
            Just("\n".to_owned()),
            Just("</style><script>".to_owned()),
            Just("```".to_owned()),
            "[a-z ]{0,5}",
            any::<char>().prop_map(String::from),
        ],
        0..5,
    )
    .prop_map(|parts| parts.concat())
}

fn id() -> impl Strategy<Value = String> {
    "[a-d]"
}

fn result() -> impl Strategy<Value = ToolResult> {
    prop_oneof![
        hostile().prop_map(|text| Ok(json!({"output": text, "exit_code": 1, "diff": text}))),
        hostile().prop_map(|text| Ok(json!({"changes": {"dropped": text}}))),
        Just(Ok(Value::Null)),
        (hostile(), prop::sample::select(ErrorCode::ALL))
            .prop_map(|(text, code)| Err(ToolError::new(code, text.clone()).suggest(text))),
    ]
}

fn flat_event() -> impl Strategy<Value = SessionEvent> {
    let calls = prop::collection::vec((id(), hostile(), hostile()), 0..3);
    prop_oneof![
        hostile().prop_map(|text| says(&text)),
        hostile().prop_map(|text| piece(&text)),
        hostile().prop_map(|text| SessionEvent::ThinkingDelta { text }),
        Just(SessionEvent::ModelAsked { estimated_tokens: 1 }),
        (hostile(), calls).prop_map(|(text, calls)| {
            let calls = calls.iter().map(|(id, name, path)| call(id, name, json!({"path": path})));
            answers(&text, calls.collect())
        }),
        (hostile(), any::<bool>()).prop_map(|(message, again)| SessionEvent::ModelFailed {
            kind: ModelErrorKind::Cut,
            message,
            retry_in_ms: again.then_some(5),
            usage: Usage::default(),
            cost_usd: None,
        }),
        (id(), prop::option::of(hostile())).prop_map(|(id, title)| starts(&id, title.as_deref())),
        (id(), hostile()).prop_map(|(id, path)| {
            SessionEvent::ApprovalAsked(Box::new(request(&id, writes(&path, &path))))
        }),
        (id(), hostile()).prop_map(|(id, text)| {
            SessionEvent::ApprovalAsked(Box::new(request(&id, runs(&text))))
        }),
        (id(), hostile()).prop_map(|(call_id, text)| SessionEvent::ApprovalAnswered {
            call_id,
            response: ApprovalResponse::no(Some(text)),
        }),
        (id(), result(), prop::option::of(hostile())).prop_map(|(id, result, title)| ends(
            &id,
            result,
            title.as_deref()
        )),
        hostile().prop_map(|title| SessionEvent::Renamed { title }),
        hostile().prop_map(|note| SessionEvent::Repaired { notes: vec![note] }),
        Just(SessionEvent::Paused(PauseReason::TurnLimit { turns: 1 })),
        Just(SessionEvent::Continued),
        Just(SessionEvent::TurnEnded(TurnEnd::Done)),
        Just(SessionEvent::TurnEnded(TurnEnd::Cancelled)),
    ]
}

pub(crate) fn event() -> impl Strategy<Value = SessionEvent> {
    (flat_event(), prop::collection::vec(id(), 0..3))
        .prop_map(|(event, path)| path.iter().fold(event, |event, id| nested(id, event)))
}

/// Entries in any order, at any time.
fn entries() -> impl Strategy<Value = Vec<LogEntry>> {
    let entry = (any::<i64>(), event()).prop_map(|(at, event)| LogEntry { sequence: 1, at, event });
    prop::collection::vec(entry, 0..40)
}

fn strings(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) => all.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, all)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, all)),
        _ => {}
    }
}

proptest! {
    #[test]
    fn whoever_follows_the_changes_sees_the_timeline(entries in entries()) {
        let mut timeline = Timeline::default();
        let mut mirror: Vec<Item> = Vec::new();
        for entry in &entries {
            let changes = timeline.apply(entry);
            for id in changes.ids() {
                let item = timeline.item(id).clone();
                prop_assert_eq!(changes.is_added(id), !mirror.iter().any(|known| known.id == id));
                match mirror.iter_mut().find(|known| known.id == id) {
                    Some(known) => *known = item,
                    None => mirror.push(item),
                }
            }
            prop_assert_eq!(&mirror, timeline.items());
        }
        let again = Timeline::of(&entries);
        prop_assert_eq!(timeline.items(), again.items());
    }

    #[test]
    fn no_text_of_an_item_is_obeyed_reorders_or_hides(entries in entries()) {
        let timeline = Timeline::of(&entries);
        let mut all = Vec::new();
        strings(&serde_json::to_value(timeline.items()).unwrap(), &mut all);
        strings(&serde_json::to_value(timeline.facts()).unwrap(), &mut all);
        for text in all {
            prop_assert_eq!(safe(&text), text);
        }
    }

    #[test]
    fn items_are_written_as_they_are_described(entries in entries()) {
        let timeline = Timeline::of(&entries);
        for item in timeline.items() {
            let item = serde_json::to_value(item).unwrap();
            prop_assert!(DESCRIBED.is_valid(&item), "{:?}", DESCRIBED.validate(&item));
        }
    }

    #[test]
    fn every_item_stands_in_one_place(entries in entries()) {
        let timeline = Timeline::of(&entries);
        let mut found = Vec::new();
        let mut parents = vec![None];
        while let Some(parent) = parents.pop() {
            for item in timeline.children(parent) {
                prop_assert_eq!(item.parent, parent);
                found.push(item.id);
                parents.push(Some(item.id));
            }
        }
        found.sort();
        prop_assert_eq!(found, timeline.items().iter().map(|item| item.id).collect::<Vec<_>>());
    }

    #[test]
    fn pieces_may_be_cut_anywhere(texts in prop::collection::vec(hostile(), 1..6), ends_well in any::<bool>()) {
        let whole = texts.concat();
        let end = || if ends_well {
            answers(&whole, Vec::new())
        } else {
            SessionEvent::TurnEnded(TurnEnd::Cancelled)
        };
        let thought = |text: &String| SessionEvent::ThinkingDelta { text: text.clone() };
        let in_pieces = texts.iter().map(thought).chain(texts.iter().map(|text| piece(text)));
        let at_once = [thought(&whole), piece(&whole)];
        let fold = |events: Vec<SessionEvent>| {
            let entries =
                log(events).into_iter().map(|entry| LogEntry { at: 0, sequence: 1, ..entry });
            Timeline::of(&entries.collect::<Vec<_>>()).items().to_vec()
        };
        let in_pieces = fold(in_pieces.chain([end()]).collect());
        prop_assert_eq!(in_pieces, fold(at_once.into_iter().chain([end()]).collect()));
    }

    #[test]
    fn output_may_be_cut_anywhere(texts in prop::collection::vec(hostile(), 1..6)) {
        let run = |pieces: &[String]| {
            let mut timeline = Timeline::default();
            let entries = log([
                answers("", vec![call("1", "bash", json!({}))]),
                ends("1", Ok(Value::Null), None),
            ]);
            timeline.apply(&entries[0]);
            pieces.iter().for_each(|text| { timeline.output("1", text); });
            timeline.apply(&entries[1]);
            timeline.items().to_vec()
        };
        prop_assert_eq!(run(&texts), run(&[texts.concat()]));
    }

    /// A sound log: calls side by side at two depths, with the same ids, ended in any order.
    #[test]
    fn every_call_has_one_card_with_its_own_result(
        count in 1usize..6,
        order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let ids: Vec<String> = (0..count).map(|id| id.to_string()).collect();
        let calls = |of: &str| {
            let calls = ids.iter().map(|id| call(id, "t", json!({"name": format!("{of} {id}")})));
            calls.collect::<Vec<_>>()
        };
        let mut outer = calls("outer");
        outer.push(call("d", "delegate", json!({})));
        let mut events = vec![answers("", outer), nested("d", answers("", calls("inner")))];
        for place in order.into_iter().filter(|place| place / 2 < count) {
            let id = &ids[place / 2];
            let result = |of: &str| ends(id, Ok(json!(format!("{of} {id}"))), None);
            events.push(match place % 2 {
                0 => result("outer"),
                _ => nested("d", result("inner")),
            });
        }
        let timeline = Timeline::of(&log(events));
        let mut seen = BTreeMap::new();
        for item in timeline.items() {
            let ItemBody::Call(card) = &item.body else { continue };
            *seen.entry((item.depth, card.call_id.clone())).or_insert(0) += 1;
            if card.call_id != "d" {
                let of = if item.depth == 0 { "outer" } else { "inner" };
                let expected = format!("{of} {}", card.call_id);
                prop_assert_eq!(&card.title, &format!("t {expected}"));
                prop_assert_eq!(&card.outcome, &[expected]);
                prop_assert_eq!(card.state, CallState::Done);
            }
        }
        prop_assert_eq!(seen.len(), 2 * count + 1);
        prop_assert!(seen.values().all(|times| *times == 1));
    }
}

proptest! {
    /// Whatever the ids are, also one twice in an answer, and wherever the log ends.
    #[test]
    fn every_message_call_and_result_occurs_once(
        rounds in prop::collection::vec(prop::collection::vec(id(), 0..5), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut events = Vec::new();
        for (round, ids) in rounds.iter().enumerate() {
            events.push(says(&format!("message {round}")));
            let of = |at: usize| format!("{round}.{at}");
            let calls = ids.iter().enumerate().map(|(at, id)| call(id, "t", json!({"name": of(at)})));
            events.push(answers(&format!("answer {round}"), calls.collect()));
            let results = ids.iter().enumerate();
            events.extend(results.map(|(at, id)| ends(id, Ok(json!(of(at))), None)));
            events.push(SessionEvent::TurnEnded(TurnEnd::Done));
        }
        events.truncate(cut.index(events.len() + 1));
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        for event in &events {
            match event {
                SessionEvent::UserMessage { .. } => expected.push("message".to_owned()),
                SessionEvent::ModelAnswered(answer) => {
                    expected.push("answer".to_owned());
                    expected.extend(answer.content.iter().filter_map(|part| match part {
                        Content::ToolUse(call) => Some(format!("t {}", call.arguments["name"].as_str()?)),
                        _ => None,
                    }));
                }
                SessionEvent::CallEnded { result: Ok(value), .. } => {
                    let name = value.as_str().unwrap();
                    expected.push(format!("result of t {name}: {name}"));
                }
                _ => {}
            }
        }
        let timeline = Timeline::of(&log(events));
        for item in timeline.items() {
            match &item.body {
                ItemBody::Message(_) => found.push("message".to_owned()),
                ItemBody::Answer(_) => found.push("answer".to_owned()),
                ItemBody::Call(card) => {
                    found.push(card.title.clone());
                    let results = card.outcome.iter();
                    found.extend(results.map(|line| format!("result of {}: {line}", card.title)));
                }
                _ => {}
            }
        }
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_log_of_many_entries_is_folded_in_a_moment() {
    let calls = (0..20_000).map(|id| id.to_string());
    let events = calls.flat_map(|id| {
        [answers("text", vec![call(&id, "t", json!({}))]), starts(&id, None), piece("x")]
    });
    let entries = log(events);
    // Quadratic work would take minutes. The last piece has no whole answer yet, so it is an item.
    assert_eq!(Timeline::of(&entries).items().len(), 20_000 + 20_000 + 1);
}
