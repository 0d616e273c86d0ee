//! A model that makes everything up, within the rules of its wire format: its answers are rendered as a
//! provider streams them and read as we read them. Only the connection between is left out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_manager::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream, Prices,
};
use futures_util::{StreamExt as _, stream};
use providers::{Api, Quirks, SseDecoder};
use serde_json::json;
use session::Model;
use testkit::Reply;
use testkit::model_server::{ReplyUsage, WireFormat};

/// What decides about everything: each question takes the next byte. It begins again at its end.
#[derive(Debug, Default)]
struct Tape {
    bytes: Vec<u8>,
    at: usize,
}

impl Tape {
    fn next(&mut self, choices: usize) -> usize {
        self.at += 1;
        usize::from(self.bytes[self.at % self.bytes.len()]) % choices
    }
}

#[derive(Debug, Default)]
struct State {
    tape: Tape,
    requests: usize,
    was_fault: bool,
    /// What the streams have announced, each its last word on it.
    announced: Vec<u64>,
}

#[derive(Debug)]
pub(crate) struct WireModel {
    format: WireFormat,
    /// Whether streams may fall silent, which only a clock ends.
    hangs: bool,
    state: Mutex<State>,
}

pub(crate) const PRICES: Prices =
    Prices { input: 3.0, output: 15.0, cache_read: 0.3, cache_write: 3.75 };

impl WireModel {
    pub(crate) fn new(format: WireFormat, bytes: Vec<u8>, hangs: bool) -> Arc<Self> {
        let state = State { tape: Tape { bytes, at: 0 }, ..State::default() };
        Arc::new(Self { format, hangs, state: Mutex::new(state) })
    }

    pub(crate) fn model(self: &Arc<Self>) -> Model {
        Model {
            provider: self.clone(),
            name: "made-up".to_owned(),
            max_tokens: 2_000,
            context_tokens: 60_000,
            effort: None,
            prices: Some(PRICES),
            calls_tools: true,
            images: None,
        }
    }

    pub(crate) fn requests(&self) -> usize {
        self.state.lock().unwrap().requests
    }

    /// All tokens that were ever announced.
    pub(crate) fn announced(&self) -> u64 {
        self.state.lock().unwrap().announced.iter().sum()
    }

    fn api(&self) -> Api {
        match self.format {
            WireFormat::Anthropic => Api::Anthropic,
            WireFormat::Chat => Api::OpenAiChat,
            WireFormat::Responses => Api::OpenAiResponses,
        }
    }
}

/// What becomes of a stream.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Whole,
    /// This share of its bytes comes, in hundredths, and then an error.
    Cut(usize),
    /// The same, and then nothing.
    Silent(usize),
    Refused(ModelErrorKind),
}

fn fate(state: &mut State, hangs: bool) -> Fate {
    let share = state.tape.next(100);
    let fate = match state.tape.next(8) {
        _ if state.was_fault => Fate::Whole,
        0 => Fate::Cut(share),
        1 => Fate::Refused(ModelErrorKind::Overloaded),
        2 if hangs => Fate::Silent(share),
        _ => Fate::Whole,
    };
    state.was_fault = fate != Fate::Whole;
    fate
}

/// Sub-agents come to an end; the conversation itself never does.
fn reply(state: &mut State, request: &ModelRequest) -> Reply {
    let number = state.requests;
    let is_sub_agent = request.system.contains("You are a sub-agent");
    let mut reply = Reply::text("I go on. ");
    match state.tape.next(6) {
        0 | 1 if is_sub_agent => {}
        2 | 3 => {
            for task in 0..=state.tape.next(3) {
                let task = json!({"task": format!("Part {task} of {number}"), "max_turns": 5});
                reply = reply.and_call("delegate", task);
            }
        }
        _ => reply = reply.and_call("glob", json!({"pattern": format!("*.{number}")})),
    }
    reply.using(usage(state, request))
}

/// A report that is true, nothing, too small, or as large as it can be.
fn usage(state: &mut State, request: &ModelRequest) -> Option<ReplyUsage> {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let messages = request.messages.iter().map(|message| json!(message.content).to_string().len());
    let bytes = (request.system.len() + tools.sum::<usize>() + messages.sum::<usize>()) as u64;
    let output = u64::from(request.max_tokens);
    let (input, output) = match state.tape.next(5) {
        0 => return None,
        1 => (90, 10),
        2 => (bytes * 3 / 4, output),
        3 => (bytes / 3, output / 2),
        _ => (bytes / 4, 20),
    };
    Some(ReplyUsage { input, output, cache_read: 0 })
}

#[async_trait]
impl ModelProvider for WireModel {
    fn name(&self) -> &str {
        "made-up"
    }

    async fn stream(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let mut state = self.state.lock().unwrap();
        state.requests += 1;
        let reply = reply(&mut state, request);
        let fate = fate(&mut state, self.hangs);
        let items = self.items(&reply, fate, state.requests);
        let announced = items.iter().rev().find_map(|item| match item {
            Ok(ModelEvent::Usage(usage)) => Some(usage.total()),
            _ => None,
        });
        state.announced.extend(announced);
        // Requests that are under way at the same time take turns.
        let items = stream::iter(items).then(|item| async {
            tokio::task::yield_now().await;
            item
        });
        Ok(match fate {
            Fate::Silent(_) => items.chain(stream::pending()).boxed(),
            _ => items.boxed(),
        })
    }
}

impl WireModel {
    fn items(
        &self,
        reply: &Reply,
        fate: Fate,
        number: usize,
    ) -> Vec<Result<ModelEvent, ModelError>> {
        if let Fate::Refused(kind) = fate {
            return vec![Err(at_once(kind, "it has too much to do"))];
        }
        let bytes = reply.render(self.format, number);
        let part = match fate {
            Fate::Cut(share) | Fate::Silent(share) => &bytes[..bytes.len() * share / 100],
            _ => &bytes[..],
        };
        let mut reader = self.api().reader(&Quirks::openai(), &[]);
        let mut items = Vec::new();
        for event in SseDecoder::new().push(part) {
            items.extend(reader.push(event.unwrap()));
        }
        if let Fate::Cut(_) = fate {
            items.push(Err(at_once(ModelErrorKind::Cut, "the answer broke off")));
        }
        items
    }
}

/// An error after which no time is lost.
fn at_once(kind: ModelErrorKind, message: &str) -> ModelError {
    ModelError { retry_after: Some(Duration::ZERO), ..ModelError::new(kind, message) }
}
