//! Whatever is written, dropped, resumed and restarted in whatever order: a client that catches up has
//! seen each position of the log once, and shows what the log says.

use std::collections::BTreeMap;

use proptest::prelude::*;
use protocol::{Content, LogEntry, ModelAnswer, SessionEvent, StopReason, TurnEnd, Usage};
use serde_json::{Value, json};

use super::*;

/// A client as a browser is one: what it shows, and the position it would send to resume.
#[derive(Clone, Debug, Default)]
struct Client {
    shown: BTreeMap<u64, Value>,
    seen: u64,
    /// What the service knows of it, if a stream is open.
    stream: Option<Known>,
    ranges: Vec<(u64, u64)>,
}

impl Client {
    fn connect(&mut self, feed: &Feed) {
        self.stream = Some(Known { revision: feed.revision_at(self.seen), is_whole: false });
    }

    /// Reads one batch. One that is lost on its way ends the stream.
    fn read(&mut self, feed: &mut Feed, is_lost: bool) -> bool {
        let Some(known) = self.stream else { return false };
        let batch = feed.since(known);
        if is_lost {
            self.stream = None;
            return false;
        }
        if batch.through > batch.after {
            self.ranges.push((batch.after, batch.through));
        }
        for item in &batch.items {
            let item: Value = serde_json::from_str(item).unwrap();
            self.shown.insert(item["id"].as_u64().unwrap(), item);
        }
        for more in &batch.grown {
            let more: Value = serde_json::from_str(more).unwrap();
            let item = self.shown.get_mut(&more["id"].as_u64().unwrap()).unwrap();
            let text = item["text"].as_str().unwrap().to_owned() + more["text"].as_str().unwrap();
            item["text"] = Value::from(text);
        }
        (self.seen, self.stream) = (batch.through, Some(Known::after(&batch)));
        batch.has_more
    }
}

/// The store, the process that serves it, and what is on its way from one to the other.
#[derive(Default)]
struct World {
    log: Vec<LogEntry>,
    feed: Feed,
    /// Entries that were written and that the feed has not been told of yet.
    on_the_way: Vec<LogEntry>,
    clients: Vec<Client>,
}

impl World {
    fn write(&mut self, event: SessionEvent) {
        let sequence = self.log.len() as u64 + 1;
        let entry = LogEntry { sequence, at: sequence as i64, event };
        self.log.push(entry.clone());
        self.on_the_way.push(entry);
    }

    fn tell(&mut self) {
        for entry in std::mem::take(&mut self.on_the_way) {
            if self.feed.take(&entry) == EntryFate::Gap {
                self.feed.catch_up(&self.log);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    Write(usize),
    /// The feed is told of what was written.
    Tell,
    /// Telling the feed fails; a later entry shows the gap.
    LoseTelling,
    Output,
    Connect(usize),
    Read(usize),
    ReadLost(usize),
    Drop(usize),
    /// The process is killed. What is not in the log is gone, and so are all streams.
    Kill,
}

fn act() -> impl Strategy<Value = Act> {
    let client = 0..3_usize;
    prop_oneof![
        4 => (0..8_usize).prop_map(Act::Write),
        3 => Just(Act::Tell),
        1 => Just(Act::LoseTelling),
        1 => Just(Act::Output),
        2 => client.clone().prop_map(Act::Connect),
        4 => client.clone().prop_map(Act::Read),
        1 => client.clone().prop_map(Act::ReadLost),
        1 => client.prop_map(Act::Drop),
        1 => Just(Act::Kill),
    ]
}

fn event(which: usize) -> SessionEvent {
    let call = Content::ToolUse(protocol::ToolCall::new("c", "bash", serde_json::Map::new()));
    match which {
        0 => SessionEvent::UserMessage { content: vec![Content::Text { text: "do".into() }] },
        1 => SessionEvent::TextDelta { text: "word ".into() },
        2 => SessionEvent::ThinkingDelta { text: "hm ".into() },
        3 => SessionEvent::ModelAnswered(ModelAnswer {
            content: vec![Content::Text { text: "words".into() }, call],
            broken: Vec::new(),
            stop: StopReason::ToolUse,
            usage: Usage::default(),
            cost_usd: None,
            duration_ms: 1,
        }),
        4 => SessionEvent::CallStarted { call_id: "c".into(), title: None },
        5 => SessionEvent::TurnEnded(TurnEnd::Cancelled),
        6 => SessionEvent::Renamed { title: "name".into() },
        _ => SessionEvent::Continued,
    }
}

fn run(acts: &[Act]) -> World {
    let mut world = World { clients: vec![Client::default(); 3], ..World::default() };
    for act in acts {
        match *act {
            Act::Write(which) => world.write(event(which)),
            Act::Tell => world.tell(),
            Act::LoseTelling => world.on_the_way.clear(),
            Act::Output => world.feed.output("c", "line\n"),
            Act::Connect(at) => world.clients[at].connect(&world.feed),
            Act::Read(at) => drop(world.clients[at].read(&mut world.feed, false)),
            Act::ReadLost(at) => drop(world.clients[at].read(&mut world.feed, true)),
            Act::Drop(at) => world.clients[at].stream = None,
            Act::Kill => {
                world.feed = Feed::of(&world.log);
                world.on_the_way.clear();
                world.clients.iter_mut().for_each(|client| client.stream = None);
            }
        }
    }
    world
}

/// Without what calls print, which is not in the log.
fn without_output(mut item: Value) -> Value {
    if let Some(item) = item.as_object_mut() {
        item.remove("output");
    }
    item
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_missed_and_nothing_comes_twice(acts in prop::collection::vec(act(), 0..60)) {
        let mut world = run(&acts);
        world.feed.catch_up(&world.log);
        let whole = Timeline::of(&world.log);
        let expected: Vec<Value> = whole.items().iter().map(|item| without_output(json!(item))).collect();
        for client in &mut world.clients {
            if client.stream.is_none() {
                client.connect(&world.feed);
            }
            while client.read(&mut world.feed, false) {}
            let shown: Vec<Value> = client.shown.values().cloned().map(without_output).collect();
            prop_assert_eq!(&shown, &expected);
            prop_assert_eq!(client.seen, world.log.len() as u64);
            // The ranges lie end to end: no position is missing and none is in two of them.
            let mut at = 0;
            for (after, through) in &client.ranges {
                prop_assert_eq!(*after, at);
                at = *through;
            }
            prop_assert_eq!(at, world.log.len() as u64);
        }
    }
}

#[test]
fn a_client_far_behind_gets_pieces_and_can_resume_between_them() {
    let mut world = World::default();
    for _ in 0..3 * MAX_ITEMS {
        world.write(event(0));
    }
    world.tell();
    world.feed.catch_up(&world.log);
    let mut client = Client::default();
    let mut pieces = 0;
    for _ in testkit::at_most(100, "the pieces of the feed") {
        client.connect(&world.feed);
        pieces += 1;
        let has_more = client.read(&mut world.feed, false);
        client.stream = None;
        if !has_more {
            break;
        }
    }
    assert!(pieces >= 3, "{pieces}");
    assert_eq!(client.shown.len(), 3 * MAX_ITEMS);
    assert!(client.ranges.windows(2).all(|pair| pair[0].1 == pair[1].0), "{:?}", client.ranges);
}

#[test]
fn a_client_that_has_the_text_gets_what_came_to_its_end() {
    let mut world = World { clients: vec![Client::default()], ..World::default() };
    world.write(event(0));
    world.write(event(1));
    world.tell();
    world.clients[0].connect(&world.feed);
    world.clients[0].read(&mut world.feed, false);
    world.write(event(1));
    world.tell();
    let batch = world.feed.since(world.clients[0].stream.unwrap());
    assert_eq!((batch.items.len(), &*batch.grown[0]), (0, r#"{"id":1,"text":"word "}"#));
    // One that comes back may lack the item, and gets all of it.
    world.clients[0].connect(&world.feed);
    let batch = world.feed.since(world.clients[0].stream.unwrap());
    assert_eq!((batch.items.len(), batch.grown.len()), (1, 0));
}

#[test]
fn an_entry_that_shows_a_gap_is_not_taken_before_the_log_is_read() {
    let mut world = World::default();
    world.write(event(0));
    world.write(event(1));
    let second = world.log[1].clone();
    assert_eq!(world.feed.take(&second), EntryFate::Gap);
    assert_eq!(world.feed.through(), 0);
    world.feed.catch_up(&world.log);
    assert_eq!(world.feed.take(&second), EntryFate::Known);
}
