//! Whether a provider would accept a request, as strictly as the real ones are.
//!
//! Each of them refuses a conversation in which a call has no result, two of them or one in the wrong
//! place, a name or an id that does not fit its pattern, or a thought with nothing after it; and from
//! then on the session would be dead.

mod images;

use std::collections::HashSet;

use serde_json::Value;

use self::images::{anthropic_part, chat_part, responses_part};
use super::{ModelCall, WireFormat};

/// Anthropic: `tools.0.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`.
const ANTHROPIC_NAME: usize = 128;
/// OpenAI: `Invalid 'tools[11].function.name': string too long. Expected … maximum length 64`.
const OPENAI_NAME: usize = 64;
/// `Invalid 'messages[2].tool_calls[0].id': string too long. Expected … maximum length 40`.
const CHAT_ID: usize = 40;
/// `Invalid 'input[95].call_id': string too long. Expected … maximum length 64`.
const RESPONSES_ID: usize = 64;

/// Panics if the provider whose form it is would refuse the request.
#[track_caller]
pub fn check(request: &ModelCall) {
    if let Err(why) = accepts(request) {
        panic!("{:?} would refuse the request: {why}\n{:#}", request.format, request.body);
    }
}

/// Whether the provider whose form it is would accept the request, and why not.
pub fn accepts(request: &ModelCall) -> Result<(), String> {
    let (takes, accepts) = match request.format {
        WireFormat::Anthropic => (anthropic_tool as Takes, anthropic as Accepts),
        WireFormat::Chat => (chat_tool as Takes, chat as Accepts),
        WireFormat::Responses => (responses_tool as Takes, responses as Accepts),
    };
    for tool in list(&request.body["tools"]) {
        require(takes(tool), format!("this is not a tool: {tool}"))?;
    }
    accepts(&request.body)
}

type Checked = Result<(), String>;
type Takes = fn(&Value) -> bool;
type Accepts = fn(&Value) -> Checked;

fn anthropic_tool(tool: &Value) -> bool {
    let is_markable = tool["defer_loading"] != true || tool.get("cache_control").is_none();
    is_described(tool, ANTHROPIC_NAME) && tool["input_schema"]["type"] == "object" && is_markable
}

fn chat_tool(tool: &Value) -> bool {
    let function = &tool["function"];
    tool["type"] == "function"
        && is_described(function, OPENAI_NAME)
        && function["parameters"]["type"] == "object"
}

fn responses_tool(tool: &Value) -> bool {
    let is_search = tool["type"] == "tool_search"
        && tool["execution"] == "client"
        && tool["description"].is_string()
        && tool["parameters"]["type"] == "object";
    is_search
        || tool["type"] == "function"
            && is_described(tool, OPENAI_NAME)
            && tool["parameters"]["type"] == "object"
}

fn is_described(tool: &Value, longest: usize) -> bool {
    let described = tool["description"].as_str().is_some_and(|text| !text.is_empty());
    described && named(&tool["name"], longest).is_ok()
}

/// A name of a tool: `^[a-zA-Z0-9_-]+$` everywhere, of different lengths.
fn named(name: &Value, longest: usize) -> Checked {
    let fits = name.as_str().is_some_and(|name| name.len() <= longest && is_plain(name));
    require(fits, format!("the name {name} does not match ^[a-zA-Z0-9_-]{{1,{longest}}}$"))
}

fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !text.is_empty() && text.chars().all(plain)
}

/// An id of a call on OpenAI's wires: short, and something to see.
fn short_id(id: &Value, longest: usize) -> Checked {
    let fits =
        |id: &str| (1..=longest).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    let fits = id.as_str().is_some_and(fits);
    require(fits, format!("the id {id} is not one of 1 to {longest} characters"))
}

/// Only fields that are known may be there.
fn known_fields(object: &Value, known: &[&str]) -> Checked {
    let mut fields = object.as_object().into_iter().flat_map(|object| object.keys());
    let unknown = fields.find(|field| !known.contains(&field.as_str()));
    require(unknown.is_none(), format!("the unknown field {unknown:?}"))
}

/// Calls without a result, and all that there were.
#[derive(Default)]
struct Calls {
    open: HashSet<String>,
    all: HashSet<String>,
}

impl Calls {
    fn made(&mut self, id: &Value) -> Checked {
        let id = id.as_str().ok_or("a call has no id")?;
        require(self.all.insert(id.to_owned()), format!("the id {id} is taken twice"))?;
        self.open.insert(id.to_owned());
        Ok(())
    }

    fn answered(&mut self, id: &Value) -> Checked {
        let id = id.as_str().ok_or("a result has no id")?;
        require(self.open.remove(id), format!("a result for {id}, which has one or is no call"))
    }

    fn all_answered(&self) -> Checked {
        require(self.open.is_empty(), format!("no results for {:?}", self.open))
    }
}

fn anthropic(body: &Value) -> Checked {
    let mut calls = Calls::default();
    let messages = list(&body["messages"]);
    for (at, message) in messages.iter().enumerate() {
        let is_user = at % 2 == 0;
        let speaker = if is_user { "user" } else { "assistant" };
        require(message["role"] == speaker, format!("message {at} is not the {speaker}'s"))?;
        let blocks = list(&message["content"]);
        require(!blocks.is_empty(), format!("message {at} is empty"))?;
        for block in blocks {
            match (block["type"].as_str(), is_user) {
                (Some("tool_result"), true) => {
                    calls.answered(&block["tool_use_id"])?;
                    let parts = list(&block["content"]).iter();
                    let (found, parts): (Vec<_>, Vec<_>) =
                        parts.partition(|part| part["type"] == "tool_reference");
                    found.into_iter().try_for_each(|part| deferred(part, &body["tools"]))?;
                    parts.into_iter().try_for_each(anthropic_part)?;
                }
                (Some("image"), true) => {
                    calls.all_answered()?;
                    anthropic_part(block)?;
                }
                (Some("tool_use"), false) => {
                    require(block["input"].is_object(), "a call without arguments")?;
                    named(&block["name"], ANTHROPIC_NAME)?;
                    let id = block["id"].as_str().unwrap_or_default();
                    require(is_plain(id), format!("the id {id} does not match ^[a-zA-Z0-9_-]+$"))?;
                    calls.made(&block["id"])?;
                }
                // Results come first, and all of them in the message after the calls.
                (Some("text"), true) => {
                    calls.all_answered()?;
                    says_something(&block["text"])?;
                }
                (Some("text"), false) => says_something(&block["text"])?,
                (Some("thinking"), false) => {
                    let sealed = block["thinking"].is_string() && block["signature"].is_string();
                    require(sealed, "a thought without its signature")?;
                }
                (Some("redacted_thinking"), false) => {
                    require(block["data"].is_string(), "a sealed thought without its data")?;
                }
                (other, _) => return Err(format!("a block of {other:?} from the {speaker}")),
            }
        }
        let last = blocks.last().and_then(|block| block["type"].as_str()).unwrap_or_default();
        require(!last.ends_with("thinking"), "the final block of a message is a thought")?;
        if is_user {
            calls.all_answered()?;
        }
    }
    require(messages.len() % 2 == 1, "the last message is not the user's")
}

/// `Tool reference 'x' not found in available tools`.
fn deferred(reference: &Value, tools: &Value) -> Checked {
    let name = &reference["tool_name"];
    let is_there = |tool: &Value| tool["name"] == *name && tool["defer_loading"] == true;
    require(list(tools).iter().any(is_there), format!("a reference to {name}, which is not a tool"))
}

fn chat(body: &Value) -> Checked {
    let mut calls = Calls::default();
    let messages = list(&body["messages"]);
    let mut before = "";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "system" | "developer" => require(at == 0, "instructions in the middle")?,
            "tool" => {
                calls.answered(&message["tool_call_id"])?;
                require(message["content"].is_string(), "a result without a text")?;
            }
            "user" if message["content"].is_array() => {
                require(!list(&message["content"]).is_empty(), "an empty message")?;
                list(&message["content"]).iter().try_for_each(chat_part)?;
            }
            "user" => says_something(&message["content"])?,
            "assistant" => {
                known_fields(
                    message,
                    &["role", "content", "tool_calls", "reasoning_content", "reasoning_details"],
                )?;
                let made = list(&message["tool_calls"]);
                if made.is_empty() {
                    says_something(&message["content"])?;
                }
                calls.all_answered()?;
                for call in made {
                    has_arguments(&call["function"]["arguments"])?;
                    named(&call["function"]["name"], OPENAI_NAME)?;
                    short_id(&call["id"], CHAT_ID)?;
                    calls.made(&call["id"])?;
                }
            }
            other => return Err(format!("message {at} is by {other:?}")),
        }
        if role != "assistant" && role != "tool" {
            calls.all_answered()?;
        }
        require(role == "tool" || role != before, format!("two messages of the {role} at {at}"))?;
        before = role;
    }
    calls.all_answered()?;
    require(matches!(before, "user" | "tool"), "the last message is the model's")
}

fn responses(body: &Value) -> Checked {
    let mut calls = Calls::default();
    let mut before = "";
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or_default();
        let follows = item["role"] != "user" && !kind.ends_with("_output");
        require(before != "reasoning" || follows, "a thought without its required following item")?;
        before = match kind {
            "function_call" => {
                has_arguments(&item["arguments"])?;
                named(&item["name"], OPENAI_NAME)?;
                short_id(&item["call_id"], RESPONSES_ID)?;
                calls.made(&item["call_id"])?;
                kind
            }
            "tool_search_call" => {
                require(item["arguments"].is_object(), "a search without arguments")?;
                require(item["execution"] == "client", "a search that is not ours")?;
                short_id(&item["call_id"], RESPONSES_ID)?;
                calls.made(&item["call_id"])?;
                kind
            }
            "tool_search_output" => {
                calls.answered(&item["call_id"])?;
                require(item["tools"].is_array(), "a search without tools")?;
                for tool in list(&item["tools"]) {
                    let fits = responses_tool(tool) && tool["defer_loading"] == true;
                    require(fits, format!("this is not a deferred tool: {tool}"))?;
                }
                kind
            }
            "function_call_output" => {
                calls.answered(&item["call_id"])?;
                let parts = list(&item["output"]);
                require(
                    item["output"].is_string() || !parts.is_empty(),
                    "a result without a text",
                )?;
                parts.iter().try_for_each(responses_part)?;
                kind
            }
            "message" => {
                let role = item["role"].as_str().unwrap_or_default();
                let content = &item["content"];
                if role == "user" {
                    list(content).iter().try_for_each(responses_part)?;
                    calls.all_answered()?;
                    require(!list(content).is_empty(), "an empty message")?;
                    require(before != "user", "two messages of the user in a row")?;
                } else {
                    says_something(content)?;
                }
                role
            }
            "reasoning" => {
                require(item["summary"].is_array(), "a thought without its summary")?;
                kind
            }
            other => return Err(format!("an item of the type {other:?}")),
        };
    }
    calls.all_answered()?;
    let is_ours = before == "user" || before.ends_with("_output");
    require(is_ours, "the last word is the model's")
}

fn says_something(text: &Value) -> Checked {
    require(text.as_str().is_some_and(|text| !text.trim().is_empty()), "an empty text")
}

fn has_arguments(text: &Value) -> Checked {
    let arguments: Option<Value> = text.as_str().and_then(|text| serde_json::from_str(text).ok());
    require(arguments.is_some_and(|arguments| arguments.is_object()), "a call without arguments")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn require(holds: bool, otherwise: impl Into<String>) -> Checked {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

#[cfg(test)]
mod tests;
