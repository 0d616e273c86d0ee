//! Whole timelines as they come out of their logs.

use std::collections::BTreeMap;

use insta::{assert_json_snapshot, assert_snapshot};
use protocol::{
    AgentRole, ApprovalResponse, Compaction, Content, ContentHash, ErrorCode, Image, ImageFormat,
    Instructions, ModelErrorKind, Opened, PauseReason, PlanStep, Rewind, SessionEvent, Settings,
    StepStatus, ToolError, TurnEnd, Usage,
};
use serde_json::{Value, json};
use timeline::{CallState, Card, Item, ItemBody, Timeline};

use crate::story::{
    answers, call, ends, log, nested, piece, request, runs, says, shows, starts, writes,
};

/// One line for each item: what a front end would draw first.
pub(crate) fn outline(timeline: &Timeline) -> String {
    let lines = timeline.items().iter().map(|item| {
        let text = match &item.body {
            ItemBody::Message(message) => format!("user: {}", message.text),
            ItemBody::Answer(answer) => format!("answer, {:?}: {}", answer.state, answer.text),
            ItemBody::Thinking { text, .. } => format!("thinking: {text}"),
            ItemBody::Call(card) => card_line(card),
            ItemBody::Plan { steps } => format!("plan of {}", steps.len()),
            ItemBody::Notice(notice) => format!("{:?}: {}", notice.level, notice.text),
            ItemBody::Turn(turn) => format!(
                "turn {:?}: {} tokens, {:?} dollars, worked {} of {} ms",
                turn.end,
                turn.usage.total(),
                turn.cost_usd,
                turn.working_ms,
                turn.duration_ms
            ),
        };
        format!("{}{text}\n", "    ".repeat(item.depth))
    });
    lines.collect()
}

fn card_line(card: &Card) -> String {
    let mut line = format!("[{}] {:?}: {}", card.call_id, card.state, card.title);
    let failure = card.failure.as_ref();
    let failure = failure.map(|failure| format!("{}: {}", failure.code, failure.message));
    let replies = card.questions.iter().map(|question| {
        let reply = question.reply.as_ref().map_or("no answer", |reply| &reply.words);
        format!("asked: {reply}")
    });
    let worked = card.working_ms.map(|time| format!("worked {time} ms"));
    let parts = card.outcome.iter().cloned().chain(failure).chain(replies).chain(worked);
    parts.for_each(|part| line += &format!(" | {part}"));
    line
}

fn failed(kind: ModelErrorKind, retry_in_ms: Option<u64>) -> SessionEvent {
    let message = "529".into();
    let usage = Usage::default();
    SessionEvent::ModelFailed { kind, message, retry_in_ms, usage, cost_usd: None }
}

#[test]
fn a_turn_with_calls_side_by_side() {
    let calls = vec![
        call("1", "grep", json!({"pattern": "TODO", "path": "src"})),
        call("2", "read_file", json!({"path": "src/main.rs"})),
        call("3", "edit_file", json!({"path": "a.rs"})),
    ];
    let missing = ToolError::new(ErrorCode::FileNotFound, "src/main.rs does not exist");
    let timeline = Timeline::of(&log([
        says("Where are the notes?"),
        SessionEvent::ModelAsked { estimated_tokens: 10 },
        SessionEvent::ThinkingDelta { text: "Let me ".into() },
        SessionEvent::ThinkingDelta { text: "look.".into() },
        piece("I'll "),
        piece("search."),
        answers("I'll search.", calls),
        starts("1", None),
        starts("2", Some("Read src/main.rs, lines 10 to 20")),
        starts("3", Some("Edit a.rs")),
        // The results come in another order.
        ends("3", Ok(json!({"message": "Applied."})), Some("Edited 2 files, +12 −3")),
        ends("2", Err(missing), None),
        ends("1", Ok(json!({"content": "12 matches"})), None),
        answers("Not streamed.", Vec::new()),
        SessionEvent::TurnEnded(TurnEnd::Done),
    ]));
    assert_snapshot!(outline(&timeline), @"
    user: Where are the notes?
    thinking: Let me look.
    answer, Complete: I'll search.
    [1] Done: grep TODO | 12 matches | worked 5000 ms
    [2] Failed: Read src/main.rs, lines 10 to 20 | FILE_NOT_FOUND: src/main.rs does not exist | worked 5000 ms
    [3] Done: Edited 2 files, +12 −3 | Applied. | worked 5000 ms
    answer, Complete: Not streamed.
    turn Done: 2400 tokens, Some(0.5) dollars, worked 7000 of 7000 ms
    ");
    assert_eq!(timeline.facts().usage.total(), 2_400);
}

#[test]
fn everything_that_is_not_a_message_or_a_call_is_a_notice() {
    let settings =
        Settings { provider: "p".into(), model: "m\u{1b}[2J".into(), role: AgentRole::Planner };
    let step = PlanStep { text: "search".into(), status: StepStatus::Pending };
    let timeline = Timeline::of(&log([
        SessionEvent::Opened(Opened {
            root: "/p".into(),
            settings: settings.clone(),
            forked_from: None,
        }),
        says("go"),
        piece("Half an ans"),
        failed(ModelErrorKind::Overloaded, Some(2_000)),
        piece("Whole"),
        answers("Whole.", Vec::new()),
        SessionEvent::PlanChanged { steps: vec![step.clone()] },
        SessionEvent::PlanChanged { steps: vec![step] },
        SessionEvent::Nudged { text: "You go\nin circles.".into() },
        SessionEvent::SettingsChanged(settings),
        SessionEvent::Compacted(Compaction {
            tokens_before: 12_340,
            tokens_after: 940,
            summarised: 3,
            ..Compaction::default()
        }),
        SessionEvent::Instructed(Instructions {
            path: "a/AGENTS.md".into(),
            version: ContentHash::of(b"x"),
            remark: Some("cut at 32 KB".into()),
            text: "x".into(),
        }),
        SessionEvent::Renamed { title: "the name".into() },
        SessionEvent::ImagesRefused { message: "no".into() },
        SessionEvent::Repaired { notes: vec!["a".into(), "b".into()] },
        SessionEvent::Paused(PauseReason::TurnLimit { turns: 10 }),
        SessionEvent::Continued,
        failed(ModelErrorKind::Cancelled, None),
        SessionEvent::TurnEnded(TurnEnd::Cancelled),
    ]));
    assert_snapshot!(outline(&timeline), @r"
    user: go
    answer, Cut: Half an ans
    Info: the provider is overloaded: 529; trying again in 2.0 s
    answer, Complete: Whole.
    plan of 1
    Info: the model was told: You go in circles.
    Info: m\x1B[2J of p answers, as planner
    Info: made room: 12.3k → 0.9k tokens (3 messages summarised)
    Warning: instructions: a/AGENTS.md (cut at 32 KB)
    Info: this session is called the name
    Warning: the provider refused images: they are described in words until a model is chosen again
    Warning: the log was repaired: a
    Warning: the log was repaired: b
    Warning: paused: the model has used tools 10 times in a row
    Warning: cancelled
    turn Cancelled: 1200 tokens, Some(0.25) dollars, worked 8000 of 8500 ms
    ");
    assert_eq!(timeline.facts().title.as_deref(), Some("the name"));
    assert_eq!(timeline.facts().settings.as_ref().unwrap().model, "m\\x1B[2J");
}

#[test]
fn the_time_that_a_question_stood_is_not_working_time() {
    let asked = request("1", writes("a.txt", "one\n"));
    let yes = SessionEvent::ApprovalAnswered { call_id: "1".into(), response: asked.approve() };
    let no = ApprovalResponse::no(Some("not there".into()));
    let timeline = Timeline::of(&log([
        says("write"),
        answers("", vec![call("1", "write_file", json!({"path": "a.txt"}))]),
        starts("1", None),
        SessionEvent::ApprovalAsked(Box::new(asked)),
        yes,
        ends("1", Ok(json!({"message": "Written."})), None),
        answers("", vec![call("2", "bash", json!({"command": "make"}))]),
        starts("2", None),
        SessionEvent::ApprovalAsked(Box::new(request("2", runs("make")))),
        SessionEvent::ApprovalAnswered { call_id: "2".into(), response: no },
        ends("2", Err(ToolError::new(ErrorCode::Rejected, "the user said no")), None),
        SessionEvent::TurnEnded(TurnEnd::Done),
    ]));
    assert_snapshot!(outline(&timeline), @"
    user: write
    [1] Done: write_file a.txt | Written. | asked: approved | worked 4500 ms
    [2] Refused: bash make | REJECTED: the user said no | asked: refused: not there | worked 4500 ms
    turn Done: 2400 tokens, Some(0.5) dollars, worked 4500 of 5500 ms
    ");
    let cards: Vec<&Card> = timeline.items().iter().filter_map(|item| item.card()).collect();
    assert!(cards[0].diff().unwrap().ends_with("@@ -0,0 +1 @@\n+one\n"));
    assert_eq!(cards[1].questions[0].what.as_deref(), Some("$ make\n"));
}

#[test]
fn the_card_of_a_change_that_was_approved_in_part_shows_what_was_made() {
    let asked = request("1", writes("a.txt", "one\ntwo\n"));
    let part = asked.with_hunks(BTreeMap::from([("a.txt".to_owned(), vec![0])]));
    let answer = |response: ApprovalResponse, result| {
        let timeline = Timeline::of(&log([
            answers("", vec![call("1", "write_file", json!({}))]),
            SessionEvent::ApprovalAsked(Box::new(asked.clone())),
            SessionEvent::ApprovalAnswered { call_id: "1".into(), response },
            ends("1", result, None),
        ]));
        timeline.items().iter().find_map(Item::card).unwrap().diff().unwrap()
    };
    let made = || Ok(json!({"diff": "+one\n"}));
    assert_eq!(answer(part, made()), "+one");
    assert!(answer(asked.approve(), made()).ends_with("+one\n+two\n"));
    let refused = Err(ToolError::new(ErrorCode::Rejected, "no"));
    assert!(answer(ApprovalResponse::no(None), refused).ends_with("+one\n+two\n"));
}

#[test]
fn the_time_between_a_crash_and_the_next_start_is_not_spent_on_the_turn() {
    let day = 24 * 60 * 60 * 1000;
    let mut entries = log([
        says("make"),
        answers("", vec![call("1", "bash", json!({}))]),
        starts("1", None),
        SessionEvent::ApprovalAsked(Box::new(request("1", runs("make")))),
        ends("1", Err(ToolError::new(ErrorCode::Interrupted, "The session ended")), None),
        SessionEvent::TurnEnded(TurnEnd::Interrupted),
        says("again"),
    ]);
    entries[4..].iter_mut().for_each(|entry| entry.at += day);
    let timeline = Timeline::of(&entries);
    let turn = timeline.items().iter().find_map(|item| match &item.body {
        ItemBody::Turn(turn) => Some(turn.clone()),
        _ => None,
    });
    let turn = turn.unwrap();
    assert_eq!((turn.duration_ms, turn.working_ms), (1_500, 1_500));
    assert_eq!(timeline.facts().last_at, entries[6].at);
}

#[test]
fn a_card_is_waiting_while_its_question_stands() {
    let mut timeline = Timeline::of(&log([
        answers("", vec![call("d", "delegate", json!({"task": "look"}))]),
        starts("d", None),
        nested("d", answers("", vec![call("1", "bash", json!({}))])),
        nested("d", starts("1", None)),
        nested("d", SessionEvent::ApprovalAsked(Box::new(request("1", runs("make"))))),
    ]));
    let state = |timeline: &Timeline, at: usize| timeline.items()[at].card().unwrap().state;
    assert_eq!(state(&timeline, 1), CallState::WaitingForApproval);
    assert_eq!(timeline.items()[0].card().unwrap().waiting.since, Some(2_500));
    for mut entry in log([ends("d", Ok(Value::Null), None)]) {
        entry.at = 6_500;
        timeline.apply(&entry);
    }
    // No answer came, and the call of the sub-agent ends with its parent.
    assert_eq!(state(&timeline, 1), CallState::Interrupted);
    let card = timeline.items()[0].card().unwrap();
    assert_eq!((card.waiting.total_ms, card.working_ms), (4_000, Some(1_000)));
}

#[test]
fn sub_agents_stand_under_their_call_and_may_use_its_ids() {
    let timeline = Timeline::of(&log([
        says("go"),
        answers(
            "",
            vec![call("d", "delegate", json!({"task": "look"})), call("b", "bash", json!({}))],
        ),
        starts("d", None),
        starts("b", None),
        nested("d", says("look")),
        nested("d", piece("inner")),
        nested("d", answers("inner words", vec![call("b", "glob", json!({"pattern": "*"}))])),
        nested("d", starts("b", None)),
        nested("d", nested("b", says("deeper"))),
        ends("b", Ok(json!("outer result")), None),
        nested("d", ends("b", Ok(json!("inner result")), None)),
        nested("d", SessionEvent::TurnEnded(TurnEnd::Done)),
        ends("d", Ok(json!({"message": "It is small."})), None),
    ]));
    assert_snapshot!(outline(&timeline), @"
    user: go
    [d] Done: delegate look | It is small. | worked 5000 ms
    [b] Done: bash | outer result | worked 5000 ms
        user: look
        answer, Complete: inner words
        [b] Done: glob * | inner result | worked 5000 ms
            user: deeper
    ");
    let children = |at: usize| timeline.children(Some(timeline.items()[at].id)).count();
    assert_eq!((timeline.children(None).count(), children(1), children(2)), (3, 3, 0));
}

#[test]
fn calls_that_a_turn_leaves_open_are_interrupted_and_unknown_ones_have_a_card() {
    let timeline = Timeline::of(&log([
        answers("", vec![call("1", "bash", json!({})), call("2", "grep", json!({}))]),
        starts("1", None),
        piece("and the"),
        says("still there?"),
        // The process of before had written this late.
        ends("1", Ok(json!("late")), None),
        ends("1", Ok(json!("twice")), None),
        ends("lost", Ok(json!("found")), None),
        // An id that is used again is another call.
        answers("", vec![call("1", "glob", json!({}))]),
        SessionEvent::TurnEnded(TurnEnd::Interrupted),
    ]));
    assert_snapshot!(outline(&timeline), @"
    [1] Done: bash | late | worked 5000 ms
    [2] Interrupted: grep
    answer, Cut: and the
    user: still there?
    [lost] Done: A call | found | worked 5000 ms
    [1] Interrupted: glob
    Warning: the turn was interrupted
    turn Interrupted: 1200 tokens, Some(0.25) dollars, worked 2000 of 2000 ms
    ");
}

#[test]
fn items_are_json_without_the_bytes_of_images() {
    let image = Image::new("a.png", ImageFormat::Png, (2, 1), b"png");
    let mut ended = ends("1", Ok(json!({"exit_code": 0, "output": "ok\n"})), Some("Ran make"));
    if let SessionEvent::CallEnded { images, .. } = &mut ended {
        images.push(image.without_data());
    }
    let mut timeline = Timeline::default();
    let entries = log([
        shows("see", image.clone()),
        answers("", vec![call("1", "bash", json!({"command": "make"}))]),
        starts("1", Some("Run make")),
        ended,
    ]);
    for entry in &entries[..3] {
        timeline.apply(entry);
    }
    let changes = timeline.output("1", "o");
    assert!(changes.is_empty());
    let changes = timeline.output("1", "k\n");
    assert!(changes.ids().all(|id| !changes.is_added(id)) && changes.ids().count() == 1);
    timeline.apply(&entries[3]);
    assert_json_snapshot!(timeline.items(), @r#"
    [
      {
        "id": 0,
        "depth": 0,
        "at": 500,
        "sequence": 1,
        "kind": "message",
        "text": "see\n[image: a.png (PNG image, 2x1 pixels, 3 bytes)]",
        "words": "see",
        "images": [
          {
            "name": "a.png",
            "media_type": "image/png",
            "width": 2,
            "height": 1,
            "size": 3,
            "hash": "bad7c9a32d645d0eb45be765104af05c7a16c3c28f5ef95ed66e1fd10c12798d"
          }
        ]
      },
      {
        "id": 1,
        "depth": 0,
        "at": 1000,
        "sequence": 2,
        "kind": "call",
        "call_id": "1",
        "tool": "bash",
        "title": "Ran make",
        "headline": {
          "verb": "Ran",
          "object": "make",
          "result": ""
        },
        "arguments": "{\n  \"command\": \"make\"\n}",
        "state": "done",
        "started_at": 1500,
        "working_ms": 5000,
        "waiting": {
          "total_ms": 0
        },
        "output": {
          "left_out": 0,
          "text": "ok\n"
        },
        "outcome": [
          "ok"
        ],
        "detail": "ok",
        "exit_code": 0,
        "images": [
          {
            "name": "a.png",
            "media_type": "image/png",
            "width": 2,
            "height": 1,
            "size": 3,
            "hash": "bad7c9a32d645d0eb45be765104af05c7a16c3c28f5ef95ed66e1fd10c12798d"
          }
        ]
      }
    ]
    "#);
    assert_eq!(timeline.image(image.hash).and_then(Image::base64), Some("cG5n"));
}

#[test]
fn what_was_taken_back_is_marked_and_left_out_of_exports() {
    let rewind = Rewind { to: 4, restored: vec!["a.rs".into()], kept: vec!["b.rs".into()] };
    let timeline = Timeline::of(&log([
        says("first"),
        answers("One.", Vec::new()),
        SessionEvent::TurnEnded(TurnEnd::Done),
        says("second\nline"),
        SessionEvent::UserAdded { content: Vec::new() },
        answers("Two.", Vec::new()),
        SessionEvent::Rewound(rewind),
        says("third"),
    ]));
    let marked = timeline.items().iter().filter(|item| item.rewound).map(|item| item.sequence);
    assert_eq!(marked.collect::<Vec<u64>>(), [4, 5, 6]);
    let words = outline(&timeline);
    assert!(
        words.contains(
            "Warning: rewound to before “second”; restored: a.rs; changed since, left alone: b.rs"
        ),
        "{words}"
    );
    let text = timeline::markdown(&timeline);
    assert!(text.contains("One.") && text.contains("third") && !text.contains("Two."), "{text}");
}

#[test]
fn attached_files_have_their_names_in_logs_of_earlier_versions_too() {
    let said = || Content::Text { text: "look".into() };
    let typed = vec![said(), Content::attached("a.rs", "fn a() {}\n"), said()];
    let text = "The user attached a.rs:\nfn a() {}\n";
    let earlier = vec![said(), Content::Text { text: text.into() }, said()];
    for content in [typed, earlier] {
        let timeline = Timeline::of(&log([SessionEvent::UserMessage { content }]));
        let ItemBody::Message(message) = &timeline.items()[0].body else { panic!("no message") };
        let attached: Vec<(&str, &str)> =
            message.attached.iter().map(|it| (it.title.as_str(), it.text.as_str())).collect();
        assert_eq!(message.text, "look");
        assert_eq!(attached, [("a.rs, 1 line", text), ("look", "look")]);
    }
}
