//! Tool calls that a model writes into its text: `<tool_call>{"name": …, "arguments": …}</tool_call>`.

use serde_json::Value;

const OPENING: &str = "<tool_call>";
const CLOSING: &str = "</tool_call>";

/// A piece of text, or a call that was found in it.
#[derive(Debug, PartialEq)]
pub(super) enum TextPiece {
    Text(String),
    /// The name and the arguments as JSON.
    Call(String, String),
}

/// Looks for calls in a text that comes in pieces. What is not a well-formed call stays text.
#[derive(Clone, Debug, Default)]
pub(super) struct TextCalls {
    /// Text that is, or may become, part of a call.
    held: String,
    /// Where the end has been looked for in vain, so that a long call is not searched again.
    searched: usize,
}

impl TextCalls {
    pub(super) fn push(&mut self, more: &str) -> Vec<TextPiece> {
        self.held.push_str(more);
        let mut pieces = Vec::new();
        loop {
            if self.held.starts_with(OPENING) {
                let from = self.held.floor_char_boundary(self.searched.max(OPENING.len()));
                let Some(at) = self.held[from..].find(CLOSING).map(|at| from + at) else {
                    self.searched = self.held.len().saturating_sub(CLOSING.len());
                    return pieces;
                };
                let rest = self.held.split_off(at + CLOSING.len());
                let block = std::mem::replace(&mut self.held, rest);
                self.searched = 0;
                pieces.push(call(&block[OPENING.len()..at]).unwrap_or(TextPiece::Text(block)));
            } else {
                let at = self.held.find(OPENING).unwrap_or_else(|| self.possible_opening());
                let rest = self.held.split_off(at);
                let text = std::mem::replace(&mut self.held, rest);
                if !text.is_empty() {
                    pieces.push(TextPiece::Text(text));
                }
                if !self.held.starts_with(OPENING) {
                    return pieces;
                }
            }
        }
    }

    /// The text ends here: what was held back as the beginning of a call is just text.
    pub(super) fn finish(&mut self) -> Option<TextPiece> {
        self.searched = 0;
        let held = std::mem::take(&mut self.held);
        (!held.is_empty()).then_some(TextPiece::Text(held))
    }

    /// Where the text may end in the first characters of an opening.
    fn possible_opening(&self) -> usize {
        let longest = (1..OPENING.len()).rev().find(|len| self.held.ends_with(&OPENING[..*len]));
        self.held.len() - longest.unwrap_or(0)
    }
}

fn call(block: &str) -> Option<TextPiece> {
    let call: Value = serde_json::from_str(block.trim()).ok()?;
    let name = call.get("name")?.as_str().filter(|name| !name.is_empty())?;
    let arguments = match call.get("arguments").or_else(|| call.get("parameters")) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    Some(TextPiece::Call(name.to_owned(), arguments))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All pieces, neighbouring texts joined.
    fn read(chunks: &[&str]) -> Vec<TextPiece> {
        let mut calls = TextCalls::default();
        let mut pieces: Vec<_> = chunks.iter().flat_map(|chunk| calls.push(chunk)).collect();
        pieces.extend(calls.finish());
        let mut joined: Vec<TextPiece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(TextPiece::Text(text)), TextPiece::Text(more)) => text.push_str(&more),
                (_, piece) => joined.push(piece),
            }
        }
        joined
    }

    fn text(text: &str) -> TextPiece {
        TextPiece::Text(text.into())
    }

    fn call(name: &str, arguments: &str) -> TextPiece {
        TextPiece::Call(name.into(), arguments.into())
    }

    #[test]
    fn well_formed_calls_are_found_and_all_else_is_text() {
        let cases = [
            ("plain < text <tool", vec![text("plain < text <tool")]),
            (
                "a<tool_call>\n{\"name\":\"ls\",\"arguments\":{\"p\":1}}\n</tool_call>b",
                vec![text("a"), call("ls", "{\"p\":1}"), text("b")],
            ),
            (
                "<tool_call>{\"name\":\"a\"}</tool_call><tool_call>{\"name\":\"b\",\"arguments\":\"{}\"}</tool_call>",
                vec![call("a", ""), call("b", "{}")],
            ),
            ("<<tool_call>{\"name\":\"é\"}</tool_call>", vec![text("<"), call("é", "")]),
            ("<tool_call>{\"name\":\"a\"}", vec![text("<tool_call>{\"name\":\"a\"}")]),
            ("<tool_call>no</tool_call>", vec![text("<tool_call>no</tool_call>")]),
            (
                "<tool_call>{\"name\":\"\"}</tool_call>",
                vec![text("<tool_call>{\"name\":\"\"}</tool_call>")],
            ),
        ];
        for (input, expected) in cases {
            assert_eq!(read(&[input]), expected, "{input}");
        }
    }

    proptest! {
        #[test]
        fn borders_between_pieces_change_nothing(
            parts in prop::collection::vec(prop_oneof![
                Just(OPENING.to_owned()), Just(CLOSING.to_owned()), Just("{\"name\":\"é\"}".to_owned()),
                "[<a/tool_é🦀]{0,5}",
            ], 0..12),
        ) {
            let whole = parts.concat();
            let characters: Vec<String> = whole.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            prop_assert_eq!(read(&characters), read(&[&whole]));
        }
    }
}
