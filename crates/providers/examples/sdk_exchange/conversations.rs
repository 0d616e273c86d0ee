//! Conversations of every shape, made from a fixed seed, and replies likewise.

use std::sync::Arc;

use context_manager::{CacheHint, Effort, ModelRequest, ToolListing, ToolSpec};
use protocol::{Content, ErrorCode, Image, ImageFormat, Message, Speaker, ToolCall, ToolError};
use providers::catalogue::{COMPATIBLE, ENDPOINTS};
use providers::{Api, Quirks};
use serde_json::{Value, json};
use testkit::Reply;
use testkit::model_server::{ReplyUsage, Stop};

/// How many conversations are made up, beside the empty one.
const CONVERSATIONS: u64 = 80;
/// How many replies are made up.
const REPLIES: u64 = 40;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn one_of<T: Clone>(&mut self, all: &[T]) -> T {
        let at = self.roll(all.len() as u64);
        all[usize::try_from(at).unwrap_or_default()].clone()
    }

    fn text(&mut self) -> String {
        let texts = [
            "",
            " ",
            "find x",
            "häß→🦀\n\ttab",
            "{\"a\": \"\\\"\"}",
            "data: x\r\n\r\n",
            "\u{2028}\0",
        ];
        self.one_of(&texts).to_owned()
    }

    /// A name or an id that some model or server may invent.
    fn invented(&mut self) -> String {
        let long = "x.y:".repeat(80);
        let names = ["tool_0", "functions.tool_0", "", "🦀", "a b\n", "-x:0|", &long];
        self.one_of(&names).to_owned()
    }

    fn arguments(&mut self) -> Value {
        self.one_of(&[
            json!({}),
            json!({"path": "ä.txt", "lines": [1, 2.5, null, true]}),
            json!({"deep": {"deeper": [{"text": "\"quoted\"\n"}]}}),
        ])
    }
}

/// A body for each way to talk and each kind of server, for each conversation.
pub(crate) fn requests() -> Vec<Value> {
    let mut lines = Vec::new();
    for seed in 0..=CONVERSATIONS {
        for api in Api::ALL {
            let name = match api {
                Api::Anthropic => "anthropic",
                Api::OpenAiChat => "chat",
                Api::OpenAiResponses => "responses",
            };
            let request = conversation(seed, api);
            for quirks in quirks_of(api) {
                lines.push(json!({"api": name, "body": api.request_body(&request, &quirks)}));
            }
        }
    }
    lines
}

/// Only Chat Completions know quirks.
fn quirks_of(api: Api) -> Vec<Quirks> {
    let servers = ENDPOINTS.iter().chain([&COMPATIBLE]).filter(|endpoint| endpoint.api == api);
    let mut all: Vec<Quirks> = Vec::new();
    for quirks in servers.map(|endpoint| endpoint.quirks()) {
        if !all.contains(&quirks) {
            all.push(quirks);
        }
    }
    if api != Api::OpenAiChat {
        all.truncate(1);
    }
    all
}

fn conversation(seed: u64, api: Api) -> ModelRequest {
    let mut dice = Dice(seed * 0x9E37_79B9 + 1);
    let mut messages = Vec::new();
    let mut calls = 0;
    // The first one is empty but for one question: without any, no provider answers.
    for _ in 0..(seed.min(1) * dice.roll(6)) {
        add_exchange(&mut messages, &mut calls, &mut dice, api);
    }
    messages.push(message(Speaker::User, vec![text("go on")]));
    let tools = (0..dice.roll(3)).map(|at| ToolSpec {
        name: format!("tool_{at}"),
        description: dice.text(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        listing: ToolListing::Always,
    });
    let tools = tools.collect();
    ModelRequest {
        model: "m".into(),
        system: dice.text(),
        messages,
        tools,
        max_tokens: 100,
        effort: dice.one_of(&[None, Some(Effort::Low), Some(Effort::Medium), Some(Effort::High)]),
        cache: dice.one_of(&[CacheHint::Nothing, CacheHint::Conversation]),
        shows_images: dice.roll(4) > 0,
    }
}

fn message(role: Speaker, content: Vec<Content>) -> Arc<Message> {
    Arc::new(Message { role, content })
}

fn text(text: &str) -> Content {
    Content::Text { text: text.into() }
}

/// A question, an answer with thoughts and calls, and the results of the calls.
fn add_exchange(messages: &mut Vec<Arc<Message>>, calls: &mut u64, dice: &mut Dice, api: Api) {
    let (question, hint) = (dice.text(), dice.text());
    let mut asked = vec![text(&question), text("do it")];
    asked.extend(images(dice).into_iter().map(Content::Image));
    messages.push(message(Speaker::User, asked));
    if dice.roll(3) == 0 {
        messages.push(message(Speaker::System, vec![text(&hint)]));
    }
    let mut answer: Vec<Content> = thoughts(dice, api);
    answer.push(text(&dice.text()));
    let mut results = Vec::new();
    for _ in 0..dice.roll(4) {
        *calls += 1;
        // Unique, as the conversation sees to it.
        let id = format!(
            "{}{}",
            dice.invented(),
            if *calls == 1 { String::new() } else { format!("_{calls}") }
        );
        let arguments = dice.arguments().as_object().cloned().unwrap_or_default();
        answer.push(Content::ToolUse(ToolCall::new(id.clone(), dice.invented(), arguments)));
        let result = match dice.roll(4) {
            0 => Err(ToolError::new(ErrorCode::Timeout, "too slow").suggest("narrow it")),
            1 => Ok(json!({"found": [1, "ä"]})),
            2 => Ok(json!("")),
            _ => Ok(dice.text().into()),
        };
        let images = images(dice);
        results.push(Content::ToolResult {
            tool_use_id: id,
            result,
            images,
            found_tools: Vec::new(),
        });
    }
    messages.push(message(Speaker::Assistant, answer));
    if !results.is_empty() {
        messages.push(message(Speaker::User, results));
    }
}

/// One image in every third place where there can be some.
fn images(dice: &mut Dice) -> Vec<Image> {
    let format = dice.one_of(&ImageFormat::ALL);
    (dice.roll(3) == 0).then(|| Image::new("shot", format, (2, 1), b"pixels")).into_iter().collect()
}

/// What the provider itself has said, as it is sent back.
fn thoughts(dice: &mut Dice, api: Api) -> Vec<Content> {
    let blocks = match api {
        Api::Anthropic => vec![
            json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
            json!({"type": "redacted_thinking", "data": "abc"}),
        ],
        Api::OpenAiResponses => vec![json!({
            "type": "reasoning", "id": "rs_1", "encrypted_content": "abc",
            "summary": [{"type": "summary_text", "text": "hm"}],
        })],
        Api::OpenAiChat => vec![json!({
            "reasoning_content": "hm",
            "reasoning_details": [{"type": "reasoning.text", "text": "hm"}],
        })],
    };
    let provider = match api {
        Api::Anthropic => providers::anthropic::NAME,
        Api::OpenAiResponses => providers::openai_responses::NAME,
        Api::OpenAiChat => providers::openai_chat::NAME,
    };
    let kept = blocks.into_iter().filter(|_| dice.roll(2) == 0);
    kept.map(|block| Content::Opaque { provider: provider.into(), block }).collect()
}

/// Replies of every shape that a scripted model can give.
pub(crate) fn replies() -> Vec<Reply> {
    let mut replies = Vec::new();
    for seed in 0..REPLIES {
        let mut dice = Dice(seed * 0x9E37_79B9 + 7);
        let mut reply = Reply::default();
        for _ in 0..dice.roll(5) {
            reply = match dice.roll(3) {
                0 => reply.and_thinking("a thought"),
                1 => reply.and_text(dice.one_of(&["I look. ", "häß→🦀 ", "a b c"])),
                _ => reply.and_call("grep", dice.arguments()),
            };
        }
        let usage =
            ReplyUsage { input: dice.roll(99), output: dice.roll(99), cache_read: dice.roll(99) };
        // Calls that a limit may have cut are broken for us and whole for the SDKs.
        let has_calls =
            reply.parts.iter().any(|part| matches!(part, testkit::model_server::Part::Call { .. }));
        let stop =
            if has_calls { Stop::Natural } else { dice.one_of(&[Stop::Natural, Stop::Limit]) };
        replies.push(reply.using(Some(usage)).stopped(stop));
    }
    replies
}
