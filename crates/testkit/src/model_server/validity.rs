//! Whether a provider would accept a request. Each of them refuses a conversation in which a call
//! has no result, two of them or one in the wrong place, and from then on the session would be dead.

use std::collections::HashSet;

use serde_json::{Value, json};
use testkit::model_server::{ModelCall, WireFormat};

/// Panics if the provider whose form it is would refuse the request.
#[track_caller]
pub(crate) fn check(request: &ModelCall) {
    let (takes, accepts) = match request.format {
        WireFormat::Anthropic => (anthropic_tool as Takes, anthropic as Accepts),
        WireFormat::Chat => (chat_tool as Takes, chat as Accepts),
        WireFormat::Responses => (responses_tool as Takes, responses as Accepts),
    };
    let body = &request.body;
    for tool in list(&body["tools"]) {
        assert!(takes(tool), "{:?} does not take this tool: {tool}", request.format);
    }
    if let Err(why) = accepts(body) {
        panic!("{:?} would refuse the request: {why}\n{body:#}", request.format);
    }
}

type Checked = Result<(), String>;
type Takes = fn(&Value) -> bool;
type Accepts = fn(&Value) -> Checked;

fn anthropic_tool(tool: &Value) -> bool {
    is_described(tool) && tool["input_schema"]["type"] == "object"
}

fn chat_tool(tool: &Value) -> bool {
    let function = &tool["function"];
    tool["type"] == "function"
        && is_described(function)
        && function["parameters"]["type"] == "object"
}

fn responses_tool(tool: &Value) -> bool {
    tool["type"] == "function" && is_described(tool) && tool["parameters"]["type"] == "object"
}

fn is_described(tool: &Value) -> bool {
    let said = |key: &str| tool[key].as_str().is_some_and(|text| !text.is_empty());
    said("name") && said("description")
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
                (Some("tool_result"), true) => calls.answered(&block["tool_use_id"])?,
                (Some("tool_use"), false) => {
                    require(block["input"].is_object(), "a call without arguments")?;
                    calls.made(&block["id"])?;
                }
                // Results come first, and all of them in the message after the calls.
                (Some("text"), true) => {
                    calls.all_answered()?;
                    says_something(&block["text"])?;
                }
                (Some("text"), false) => says_something(&block["text"])?,
                (Some("thinking" | "redacted_thinking"), false) => {}
                (other, _) => return Err(format!("a block of {other:?} from the {speaker}")),
            }
        }
        if is_user {
            calls.all_answered()?;
        }
    }
    require(messages.len() % 2 == 1, "the last message is not the user's")
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
            "user" => says_something(&message["content"])?,
            "assistant" => {
                let made = list(&message["tool_calls"]);
                if made.is_empty() {
                    says_something(&message["content"])?;
                }
                calls.all_answered()?;
                for call in made {
                    has_arguments(&call["function"]["arguments"])?;
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
        before = match kind {
            "function_call" => {
                has_arguments(&item["arguments"])?;
                calls.made(&item["call_id"])?;
                kind
            }
            "function_call_output" => {
                calls.answered(&item["call_id"])?;
                require(item["output"].is_string(), "a result without a text")?;
                kind
            }
            "message" => {
                let role = item["role"].as_str().unwrap_or_default();
                let content = &item["content"];
                list(content).iter().try_for_each(|part| says_something(&part["text"]))?;
                if role == "user" {
                    calls.all_answered()?;
                    require(!list(content).is_empty(), "an empty message")?;
                    require(before != "user", "two messages of the user in a row")?;
                } else {
                    says_something(content)?;
                }
                role
            }
            "reasoning" => kind,
            other => return Err(format!("an item of the type {other:?}")),
        };
    }
    calls.all_answered()?;
    require(matches!(before, "user" | "function_call_output"), "the last word is the model's")
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

/// What the checks above are worth: each refuses a conversation that is broken in one place.
#[test]
fn broken_conversations_are_refused() {
    let user = json!({"role": "user", "content": [{"type": "text", "text": "hi"}]});
    let made = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]});
    let result = json!({"type": "tool_result", "tool_use_id": "1", "content": "ok"});
    let answered = json!({"role": "user", "content": [result]});
    let twice = json!({"role": "user", "content": [result, result]});
    refuses(
        anthropic,
        "messages",
        &[&user, &made, &answered],
        &[
            &[&user, &made, &user],
            &[&user, &made, &twice],
            &[&user, &made],
            &[&user, &answered],
            &[&user, &user],
            &[&user, &made, &answered, &made, &answered],
        ],
    );

    let user = json!({"role": "user", "content": "hi"});
    let call = json!({"id": "1", "type": "function", "function": {"name": "t", "arguments": "{}"}});
    let made = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let answered = json!({"role": "tool", "tool_call_id": "1", "content": "ok"});
    refuses(
        chat,
        "messages",
        &[&user, &made, &answered],
        &[
            &[&user, &made, &user],
            &[&user, &made, &answered, &answered],
            &[&user, &made],
            &[&user, &answered],
            &[&user, &user],
            &[&user, &made, &answered, &made, &answered],
        ],
    );

    let said = json!([{"type": "input_text", "text": "hi"}]);
    let user = json!({"type": "message", "role": "user", "content": said});
    let made = json!({"type": "function_call", "call_id": "1", "name": "t", "arguments": "{}"});
    let answered = json!({"type": "function_call_output", "call_id": "1", "output": "ok"});
    refuses(
        responses,
        "input",
        &[&user, &made, &answered],
        &[
            &[&user, &made, &user],
            &[&user, &made, &answered, &answered],
            &[&user, &made],
            &[&user, &answered],
            &[&user, &user],
            &[&user, &made, &answered, &made, &answered],
        ],
    );
}

/// Checks that of these conversations the first is accepted and the others are not.
fn refuses(accepts: Accepts, key: &str, good: &[&Value], bad: &[&[&Value]]) {
    let checked = |conversation: &[&Value]| accepts(&json!({key: conversation}));
    assert_eq!(checked(good), Ok(()));
    for conversation in bad {
        assert!(checked(conversation).is_err(), "{conversation:?}");
    }
}
