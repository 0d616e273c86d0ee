//! What a tool takes, read from the JSON schema of its parameters.

use context_manager::ToolSpec;
use protocol::parse_strict_json;
use serde_json::{Value, json};

use super::toolbox::{TERMINATE, properties, required};

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Number,
    Switch,
    List,
    Object,
    /// One of several, or anything.
    Other,
}

/// A parameter of a tool.
#[derive(Debug)]
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) kind: Kind,
    pub(super) required: bool,
    schema: &'a Value,
}

/// The parameters of a tool: the required ones in their order, then the others in theirs.
pub(super) fn parameters(tool: &ToolSpec) -> Vec<Parameter<'_>> {
    let Some(known) = properties(tool) else { return Vec::new() };
    let needed: Vec<&str> = required(tool).collect();
    let rank = |name: &str| needed.iter().position(|one| *one == name).unwrap_or(needed.len());
    let known = known.iter().filter(|(name, _)| *name != TERMINATE);
    let mut all: Vec<_> = known
        .map(|(name, schema)| Parameter {
            name,
            kind: kind(schema),
            required: needed.contains(&name.as_str()),
            schema,
        })
        .collect();
    all.sort_by_key(|parameter| rank(parameter.name));
    all
}

fn kind(schema: &Value) -> Kind {
    let named = match &schema["type"] {
        // `["string", "null"]` is a string that may be left out.
        Value::Array(types) => {
            match types.iter().filter(|one| **one != "null").collect::<Vec<_>>()[..] {
                [only] => only,
                _ => &Value::Null,
            }
        }
        other => other,
    };
    match named.as_str() {
        Some("string") => Kind::Text,
        Some("integer") => Kind::Whole,
        Some("number") => Kind::Number,
        Some("boolean") => Kind::Switch,
        Some("array") => Kind::List,
        Some("object") => Kind::Object,
        _ => Kind::Other,
    }
}

impl Parameter<'_> {
    /// The value that a word stands for, or what is wrong with it.
    pub(super) fn value(&self, text: &str, quoted: bool) -> Result<Value, String> {
        value(self.name, self.schema, text, quoted)
    }

    /// What the tool says about it.
    pub(super) fn explanation(&self) -> Option<String> {
        let described = self.schema["description"].as_str().map(str::to_owned);
        let default = self.schema.get("default").map(|default| format!("Default {default}"));
        let said: Vec<String> = described.into_iter().chain(default).collect();
        (!said.is_empty()).then(|| said.join(". "))
    }

    fn placeholder(&self) -> String {
        if let Some(choices) = self.schema["enum"].as_array() {
            return choices.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|");
        }
        match self.kind {
            Kind::Text | Kind::Other => "TEXT".into(),
            Kind::Whole | Kind::Number => "NUMBER".into(),
            Kind::Switch => "yes|no".into(),
            Kind::List => "A,B,…".into(),
            Kind::Object => "{…}".into(),
        }
    }

    fn sample(&self) -> String {
        const BY_NAME: [(&str, &str); 11] = [
            ("path", "src/main.rs"),
            ("file_path", "src/main.rs"),
            ("file_paths", "src/main.rs"),
            ("pattern", "TODO"),
            ("query", "session"),
            ("symbol", "main"),
            ("new_name", "start"),
            ("from", "old.md"),
            ("to", "new.md"),
            ("url", "https://example.com"),
            ("command", "ls"),
        ];
        if let Some(choice) = self.schema["enum"][0].as_str() {
            return choice.to_owned();
        }
        if let Some((_, sample)) = BY_NAME.iter().find(|(name, _)| *name == self.name) {
            return (*sample).to_owned();
        }
        match self.kind {
            Kind::Text | Kind::Other => format!("\"some {}\"", self.name.replace('_', " ")),
            Kind::Whole | Kind::Number => "1".into(),
            Kind::Switch => "yes".into(),
            Kind::List => "'[…]'".into(),
            Kind::Object => "'{…}'".into(),
        }
    }
}

fn value(name: &str, schema: &Value, text: &str, quoted: bool) -> Result<Value, String> {
    let wrong = |wanted: &str| format!("`{name}` takes {wanted}, not `{text}`.");
    Ok(match kind(schema) {
        Kind::Text => json!(text),
        Kind::Whole => json!(text.parse::<i64>().map_err(|_| wrong("a whole number"))?),
        Kind::Number => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => json!(number),
            _ => return Err(wrong("a number")),
        },
        Kind::Switch => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => json!(true),
            "false" | "no" | "off" | "0" => json!(false),
            _ => return Err(wrong("yes or no")),
        },
        Kind::List => match parse_strict_json(text) {
            Ok(list @ Value::Array(_)) => list,
            _ => {
                let parts = if quoted { vec![text] } else { split_list(text) };
                let parts =
                    parts.into_iter().map(|part| value(name, &schema["items"], part, quoted));
                Value::Array(parts.collect::<Result<_, _>>()?)
            }
        },
        Kind::Object => match parse_strict_json(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => return Err(wrong("a JSON object")),
        },
        Kind::Other => parse_strict_json(text).unwrap_or_else(|_| json!(text)),
    })
}

/// The parts between commas; those in braces belong to a glob like `*.{js,ts}`.
fn split_list(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, char) in text.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

/// How a tool is called as a command, as in ``Usage: `/grep pattern=TEXT [path=TEXT]` ``.
pub(super) fn usage(tool: &ToolSpec) -> String {
    let parts = parameters(tool).into_iter().map(|one| {
        let part = format!("{}={}", one.name, one.placeholder());
        if one.required { format!(" {part}") } else { format!(" [{part}]") }
    });
    format!("Usage: `/{}{}`", tool.name, parts.collect::<String>())
}

/// A call of the tool as somebody could type it.
pub(super) fn example_command(tool: &ToolSpec) -> String {
    let needed = parameters(tool).into_iter().filter(|one| one.required);
    let parts = needed.map(|one| format!(" {}={}", one.name, one.sample()));
    format!("/{}{}", tool.name, parts.collect::<String>())
}
