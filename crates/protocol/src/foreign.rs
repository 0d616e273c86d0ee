//! A call of a tool that a foreign server offers, as the approver sees it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ContentHash, visible};

/// A call of a tool of a server that is not ours. What the server does with it is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForeignCall {
    /// The server, as the user's configuration names it.
    pub server: String,
    /// The tool, as the server names it.
    pub tool: String,
    /// What it is called with.
    pub arguments: Map<String, Value>,
    /// The identity of the server's program or address and of all that it says about the tool.
    pub definition: ContentHash,
    /// Whether the server can reach the network.
    #[serde(default)]
    pub network: bool,
    /// Whether the server says that the tool may destroy something.
    #[serde(default)]
    pub destructive: bool,
    /// What the user has not agreed to yet: the whole definition if the tool is new, else how it
    /// differs from the one that was approved. A yes approves the definition too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unapproved: Option<String>,
    /// What the server wants to know from the user while a call runs. The arguments are then the
    /// answer that a yes sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
    /// How long it may take without a sign of progress.
    #[serde(default)]
    pub timeout_ms: u64,
}

/// All of a foreign call, one fact a line. Nothing is cut, and characters that could deceive are
/// escaped.
pub fn describe_foreign(call: &ForeignCall) -> String {
    let (server, tool) = (visible(&call.server), visible(&call.tool));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let mut line = |line: &str| _ = writeln!(text, "{line}");
    match &call.asks {
        None => line(&format!("MCP server {server}, tool {tool}")),
        Some(asks) => {
            line(&format!("The MCP server {server} asks, while its tool {tool} runs:"));
            asks.lines().for_each(|words| line(&format!("  {}", visible(words))));
            line("A yes sends this answer to it:");
        }
    }
    for (name, value) in &call.arguments {
        line(&format!("  {}: {}", visible(name), visible(&value.to_string())));
    }
    if call.arguments.is_empty() {
        line("  (nothing)");
    }
    if call.network {
        line("with the network");
    }
    if call.destructive {
        line("The server says that this may destroy something.");
    }
    if let Some(unapproved) = &call.unapproved {
        line("");
        line("You have not approved what the server says about this tool:");
        unapproved.lines().for_each(|words| line(&visible(words)));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call() -> ForeignCall {
        ForeignCall {
            server: "notes".into(),
            tool: "add\u{202e}".into(),
            arguments: Map::from_iter([("text".to_owned(), json!("a\nb\u{1b}[2J"))]),
            definition: ContentHash::of(b"x"),
            network: true,
            destructive: true,
            unapproved: Some("-old\n+new\u{200b}".into()),
            asks: None,
            timeout_ms: 1,
        }
    }

    #[test]
    fn a_call_is_told_whole_and_hides_nothing() {
        insta::assert_snapshot!(describe_foreign(&call()), @r#"
        MCP server notes, tool add\u{202E}
          text: "a\nb\u001b[2J"
        with the network
        The server says that this may destroy something.

        You have not approved what the server says about this tool:
        -old
        +new\u{200B}
        "#);
    }

    #[test]
    fn a_question_of_a_server_names_it_and_shows_the_answer_that_would_be_sent() {
        let asks = Some("Your name?\n\u{1b}[1mNow!".to_owned());
        let question =
            ForeignCall { asks, unapproved: None, network: false, destructive: false, ..call() };
        insta::assert_snapshot!(describe_foreign(&question), @r#"
        The MCP server notes asks, while its tool add\u{202E} runs:
          Your name?
          \x1B[1mNow!
        A yes sends this answer to it:
          text: "a\nb\u001b[2J"
        "#);
    }
}
