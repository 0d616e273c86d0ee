//! What a client has sent.

use std::io::{self, BufRead, Read as _};

use serde_json::Value;

use super::wire::WireFormat;

/// A request for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// The path that was asked.
    pub path: String,
    /// The form that goes with it.
    pub format: WireFormat,
    /// Names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// Null if it is not valid JSON.
    pub body: Value,
}

/// The result of a tool as it was sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The id of the call.
    pub id: String,
    /// The text of the result.
    pub text: String,
    /// Whether it is marked as an error. Only Anthropic has such a mark.
    pub is_error: bool,
}

impl ModelCall {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The names of the tools that were offered.
    pub fn tools(&self) -> Vec<&str> {
        let tools = list(&self.body["tools"]).iter();
        tools
            .filter_map(|tool| tool["name"].as_str().or(tool["function"]["name"].as_str()))
            .collect()
    }

    /// The instructions.
    pub fn system(&self) -> String {
        match self.format {
            WireFormat::Anthropic => texts(&self.body["system"]).concat(),
            WireFormat::Responses => texts(&self.body["instructions"]).concat(),
            WireFormat::Chat => self.said_by(&["system", "developer"]).concat(),
        }
    }

    /// What the user said, message by message and piece by piece.
    pub fn user_texts(&self) -> Vec<String> {
        self.said_by(&["user"])
    }

    /// The results of tools, in their order.
    pub fn tool_answers(&self) -> Vec<ToolAnswer> {
        let blocks = self.messages().iter().flat_map(|message| match self.format {
            WireFormat::Anthropic => list(&message["content"]).iter().collect(),
            WireFormat::Chat | WireFormat::Responses => vec![message],
        });
        blocks.filter_map(tool_answer).collect()
    }

    /// The images in their order, in Base64.
    pub fn images(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.messages().iter().for_each(|message| images_in(message, &mut found));
        found
    }

    fn messages(&self) -> &[Value] {
        let key = if self.format == WireFormat::Responses { "input" } else { "messages" };
        list(&self.body[key])
    }

    fn said_by(&self, roles: &[&str]) -> Vec<String> {
        let messages = self.messages().iter();
        let theirs = messages
            .filter(|message| message["role"].as_str().is_some_and(|role| roles.contains(&role)));
        theirs.flat_map(|message| texts(&message["content"])).collect()
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn images_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "image") => {
            found.push(fields["source"]["data"].as_str().unwrap_or_default().to_owned());
        }
        Value::String(text) => {
            let data = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
            found.extend(data.map(|(_, data)| data.to_owned()));
        }
        Value::Object(fields) => fields.values().for_each(|value| images_in(value, found)),
        Value::Array(members) => members.iter().for_each(|value| images_in(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        _ => list(content)
            .iter()
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect(),
    }
}

fn tool_answer(block: &Value) -> Option<ToolAnswer> {
    let id = ["tool_use_id", "tool_call_id", "call_id"];
    let id = id.iter().find_map(|key| block[*key].as_str())?;
    let told = if block["output"].is_null() { &block["content"] } else { &block["output"] };
    // The call itself has an id as well, but no content.
    if told.is_null() {
        return None;
    }
    let is_error = block["is_error"] == Value::Bool(true);
    Some(ToolAnswer { id: id.to_owned(), text: texts(told).concat(), is_error })
}

/// A request as it came.
pub(super) struct Incoming<'a> {
    pub(super) path: String,
    headers: Vec<(String, String)>,
    body: &'a [u8],
}

impl Incoming<'_> {
    /// Whether the client wants no further request on this connection.
    pub(super) fn closes(&self) -> bool {
        self.headers.iter().any(|(name, value)| name == "connection" && value == "close")
    }

    pub(super) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    pub(super) fn into_call(self, format: WireFormat) -> ModelCall {
        let body = serde_json::from_slice(self.body).unwrap_or_default();
        ModelCall { path: self.path, format, headers: self.headers, body }
    }
}

/// The next request of a connection; none if there are no more. Its body is put into `body`, which is
/// used again and again, so that what is measured is not how the system makes room for it.
pub(super) fn read_request<'a>(
    reader: &mut impl BufRead,
    body: &'a mut Vec<u8>,
) -> io::Result<Option<Incoming<'a>>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    body.clear();
    reader.take(length).read_to_end(body)?;
    Ok(Some(Incoming { path, headers, body }))
}
