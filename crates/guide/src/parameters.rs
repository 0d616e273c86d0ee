//! What a tool takes, read from the JSON schema of its parameters.

use context_manager::ToolSpec;
use protocol::parse_strict_json;
use serde_json::{Value, json};

/// The flag that the loop understands and no tool does.
const TERMINATE: &str = "terminate";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Whole,
    Number,
    Switch,
    List,
    Object,
    /// One of several, or anything.
    Other,
}

#[derive(Debug)]
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    schema: &'a Value,
}

/// The parameters of a tool: the required ones in their order, then the others in theirs.
pub(crate) fn parameters(tool: &ToolSpec) -> Vec<Parameter<'_>> {
    let [known, required] = ["properties", "required"].map(|key| &tool.parameters[key]);
    let required = required.as_array().map(Vec::as_slice).unwrap_or_default();
    let rank = |name: &str| required.iter().position(|one| one == name);
    let known = known.as_object().into_iter().flatten().filter(|(name, _)| *name != TERMINATE);
    let all = known.map(|(name, schema)| {
        let (kind, required) = (kind(schema), rank(name).is_some());
        Parameter { name, kind, required, schema }
    });
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|parameter| rank(parameter.name).unwrap_or(usize::MAX));
    all
}

fn kind(schema: &Value) -> Kind {
    // `["string", "null"]` is a string that may be left out.
    let types = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => Vec::from_iter(one.as_str()),
    };
    let types: Vec<&str> = types.into_iter().filter(|one| *one != "null").collect();
    match types[..] {
        ["string"] => Kind::Text,
        ["integer"] => Kind::Whole,
        ["number"] => Kind::Number,
        ["boolean"] => Kind::Switch,
        ["array"] => Kind::List,
        ["object"] => Kind::Object,
        _ => Kind::Other,
    }
}

impl Parameter<'_> {
    /// The value that a word stands for, or what is wrong with it.
    pub(crate) fn value(&self, text: &str, quoted: bool) -> Result<Value, String> {
        value(self.name, self.schema, text, quoted)
    }

    /// What the tool says about it.
    pub(crate) fn explanation(&self) -> Option<String> {
        let described = self.schema["description"].as_str().map(str::to_owned);
        let default = self.schema.get("default").map(|default| format!("Default {default}"));
        let said: Vec<String> = described.into_iter().chain(default).collect();
        (!said.is_empty()).then(|| said.join(". "))
    }

    fn choices(&self) -> Vec<&str> {
        self.schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    fn placeholder(&self) -> String {
        let usual = match self.kind {
            Kind::Text | Kind::Other => "TEXT",
            Kind::Whole | Kind::Number => "NUMBER",
            Kind::Switch => "yes|no",
            Kind::List => "A,B,…",
            Kind::Object => "{…}",
        };
        let choices = self.choices();
        if choices.is_empty() { usual.to_owned() } else { choices.join("|") }
    }

    fn sample(&self) -> String {
        let usual = match (self.name, self.kind) {
            ("path" | "file_path" | "file_paths", _) => "src/main.rs",
            ("pattern", _) => "TODO",
            ("query", _) => "session",
            ("symbol", _) => "main",
            ("new_name", _) => "start",
            ("from", _) => "old.md",
            ("to", _) => "new.md",
            ("url", _) => "https://example.com",
            ("command", _) => "ls",
            (name, Kind::Text | Kind::Other) => &format!("\"some {}\"", name.replace('_', " ")),
            (_, Kind::Whole | Kind::Number) => "1",
            (_, Kind::Switch) => "yes",
            (_, Kind::List) => "'[…]'",
            (_, Kind::Object) => "'{…}'",
        };
        self.choices().first().copied().unwrap_or(usual).to_owned()
    }
}

fn value(name: &str, schema: &Value, text: &str, quoted: bool) -> Result<Value, String> {
    let wrong = |wanted: &str| format!("`{name}` takes {wanted}, not `{text}`.");
    let json = || parse_strict_json(text).ok();
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
        Kind::List => match json().filter(Value::is_array) {
            Some(list) => list,
            None => {
                let parts = if quoted { vec![text] } else { split_list(text) };
                let items =
                    parts.into_iter().map(|part| value(name, &schema["items"], part, quoted));
                items.collect::<Result<_, _>>()?
            }
        },
        Kind::Object => json().filter(Value::is_object).ok_or_else(|| wrong("a JSON object"))?,
        Kind::Other => json().unwrap_or_else(|| json!(text)),
    })
}

/// The parts between commas; those in braces belong to a glob like `*.{js,ts}`.
fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|char| {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        char == ',' && depth == 0
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// How a tool is called as a command, as in ``Usage: `/grep pattern=TEXT [path=TEXT]` ``.
pub(crate) fn usage(tool: &ToolSpec) -> String {
    let parts = parameters(tool).into_iter().map(|one| {
        let part = format!("{}={}", one.name, one.placeholder());
        if one.required { format!(" {part}") } else { format!(" [{part}]") }
    });
    format!("Usage: `/{}{}`", tool.name, parts.collect::<String>())
}

/// A call of the tool as a user could type it.
pub(crate) fn example(tool: &ToolSpec) -> String {
    let needed = parameters(tool).into_iter().filter(|one| one.required);
    let parts = needed.map(|one| format!(" {}={}", one.name, one.sample()));
    format!("Example: `/{}{}`", tool.name, parts.collect::<String>())
}
