//! What a schema refuses of arguments, or of another value, in words: which part, what was expected and what came.

use serde_json::{Map, Value};

use crate::json_schema::{JsonSchema, Steps, accepts};
use crate::validator::closest;

/// Characters of a value that a message quotes.
const MAX_QUOTED: usize = 60;

/// Keywords that [`expected`] puts into words, and those that are looked into.
const IN_WORDS: [&str; 11] = [
    "additionalProperties",
    "anyOf",
    "const",
    "enum",
    "items",
    "maximum",
    "minimum",
    "oneOf",
    "properties",
    "required",
    "type",
];

/// What is judged, as messages call it.
#[derive(Clone, Copy)]
enum Judged {
    Arguments,
    Answer,
}

#[derive(Clone, Copy)]
struct Judging<'s> {
    judged: Judged,
    steps: &'s Steps,
}

impl Judging<'_> {
    /// Whether enough was found: arguments can be corrected, all at once, and an answer cannot.
    fn is_told(self, found: &[ArgumentProblem]) -> bool {
        !found.is_empty() && (matches!(self.judged, Judged::Answer) || self.steps.are_used_up())
    }
}

/// One thing that is wrong.
#[derive(Debug, PartialEq)]
pub(crate) struct ArgumentProblem {
    /// Where, as in `edits[2].old`.
    pub(crate) path: String,
    pub(crate) message: String,
}

/// Everything in `arguments` that `schema` refuses, outermost first.
pub(crate) fn problems(schema: &Value, arguments: &Value, steps: &Steps) -> Vec<ArgumentProblem> {
    let mut found = Vec::new();
    look(schema, arguments, Judging { judged: Judged::Arguments, steps }, "", &mut found);
    found
}

/// What in the answer of another program its schema refuses first; nothing if it fits.
pub fn misfit(schema: &Value, answer: &Value) -> Option<String> {
    let steps = Steps::new();
    if accepts(schema, answer, &steps) {
        return None;
    }
    let mut found = Vec::new();
    look(schema, answer, Judging { judged: Judged::Answer, steps: &steps }, "", &mut found);
    Some(found.into_iter().next().map_or_else(String::new, |problem| problem.message))
}

fn look(
    schema: &Value,
    value: &Value,
    judging: Judging<'_>,
    path: &str,
    found: &mut Vec<ArgumentProblem>,
) {
    let before = found.len();
    match value {
        Value::Object(fields) if is_kind(schema, "object") => {
            look_into_object(schema, fields, judging, path, found);
        }
        Value::Array(items) if is_kind(schema, "array") && is_schema(&schema["items"]) => {
            // Checked once, because there may be very many.
            let checked = JsonSchema::borrowed(&schema["items"]);
            let is_refused =
                |item: &Value| !checked.as_ref().is_ok_and(|it| it.accepts(item, judging.steps));
            for (index, item) in items.iter().enumerate().filter(|(_, item)| is_refused(item)) {
                if judging.is_told(found) {
                    break;
                }
                look(&schema["items"], item, judging, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
    if found.len() == before && !accepts(schema, value, judging.steps) {
        let whole = match (path, judging.judged) {
            ("", Judged::Arguments) => "the arguments".to_owned(),
            ("", Judged::Answer) => "the whole".to_owned(),
            _ => format!("`{path}`"),
        };
        let message = match schema {
            _ if judging.steps.are_used_up() => {
                format!("{whole}: to judge this by its schema takes too long")
            }
            Value::Bool(_) => format!("{whole}: nothing is allowed here"),
            _ => {
                let (expected, unmet) = (expected(schema), unmet(schema, value, judging.steps));
                format!("{whole}: expected {expected}{unmet}, got {}", quoted(value))
            }
        };
        found.push(ArgumentProblem { path: path.to_owned(), message });
    }
}

fn look_into_object(
    schema: &Value,
    fields: &Map<String, Value>,
    judging: Judging<'_>,
    path: &str,
    found: &mut Vec<ArgumentProblem>,
) {
    let no_properties = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&no_properties);
    let mut all_told = false;
    let more = &schema["additionalProperties"];
    let checked = is_schema(more).then(|| JsonSchema::borrowed(more));
    let is_more = |value: &Value| {
        let accepts = |it: &JsonSchema<'_>| it.accepts(value, judging.steps);
        checked.as_ref().is_none_or(|it| it.as_ref().is_ok_and(accepts))
    };
    for (name, value) in fields {
        if judging.is_told(found) {
            return;
        }
        match properties.get(name) {
            Some(property) => look(property, value, judging, &join(path, name), found),
            None if schema["additionalProperties"] == false => {
                found.push(unknown(judging.judged, path, name, properties, &mut all_told));
            }
            None if is_more(value) => {}
            None => look(more, value, judging, &join(path, name), found),
        }
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| !fields.contains_key(*name)) {
        let path = join(path, name);
        let mut message = format!("`{path}` is required");
        if let Some(property) = properties.get(name) {
            message.push_str(&format!(": {}", expected(property)));
        }
        found.push(ArgumentProblem { path, message });
    }
}

/// A name that does not exist, with the one that was meant or, the first time, all that exist.
fn unknown(
    judged: Judged,
    path: &str,
    name: &str,
    properties: &Map<String, Value>,
    all_told: &mut bool,
) -> ArgumentProblem {
    let (one, all) = match (path, judged) {
        ("", Judged::Arguments) => ("argument", "the arguments are".to_owned()),
        ("", Judged::Answer) => ("field", "the fields are".to_owned()),
        _ => ("field", format!("the fields of `{path}` are")),
    };
    let hint = match closest(name, properties.keys().map(String::as_str)) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None if properties.is_empty() => format!("; there are no {one}s"),
        None if std::mem::replace(all_told, true) => String::new(),
        None => format!("; {all} {}", listed(properties.keys().map(|name| format!("`{name}`")))),
    };
    let path = join(path, name);
    ArgumentProblem { message: format!("unknown {one} `{path}`{hint}"), path }
}

/// What a schema takes, as in "a whole number of at least 1".
fn expected(schema: &Value) -> String {
    if let Some(options) = schema["enum"].as_array() {
        return format!("one of {}", listed(options.iter().map(Value::to_string)));
    }
    if let Some(only) = schema.get("const") {
        return only.to_string();
    }
    if let Some(branches) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return branches.iter().map(expected).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(kind) => expected_kind(kind, schema),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.map(|kind| expected_kind(kind, schema)).collect::<Vec<_>>().join(" or ")
        }
        _ => "another value".into(),
    }
}

fn expected_kind(kind: &str, schema: &Value) -> String {
    let bound = |least: &str, most: &str| match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    };
    match kind {
        "integer" => format!("a whole number{}", bound("minimum", "maximum")),
        "number" => format!("a number{}", bound("minimum", "maximum")),
        "boolean" => "true or false".into(),
        "string" if schema["minLength"] == 1 => "a string that is not empty".into(),
        "string" => "a string".into(),
        "array" if schema["minItems"] == 1 => format!("a list{} that is not empty", items(schema)),
        "array" => format!("a list{}", items(schema)),
        "object" => "an object".into(),
        other => other.to_owned(),
    }
}

/// The keywords that refuse a value of the right type and have no words in [`expected`].
fn unmet(schema: &Value, value: &Value, steps: &Steps) -> String {
    let fields = schema.as_object().into_iter().flatten();
    let refuses = |key: &String, wanted: &Value| {
        let alone = Value::Object(Map::from_iter([(key.clone(), wanted.clone())]));
        JsonSchema::borrowed(&alone).is_ok_and(|alone| !alone.accepts(value, steps))
    };
    // One item or letter at least is told as "not empty".
    let refusing = fields.filter(|(key, wanted)| {
        !IN_WORDS.contains(&key.as_str()) && **wanted != 1 && refuses(key, wanted)
    });
    let refusing = refusing.map(|(key, wanted)| match wanted {
        Value::Object(_) | Value::Array(_) => format!("`{key}`"),
        _ => format!("`{key}` {wanted}"),
    });
    let refusing = listed(refusing);
    if refusing.is_empty() { refusing } else { format!(" with {refusing}") }
}

fn items(schema: &Value) -> &'static str {
    match schema["items"]["type"].as_str() {
        Some("string") => " of strings",
        Some("integer" | "number") => " of numbers",
        Some("object") => " of objects",
        _ => "",
    }
}

/// What came, shortened.
fn quoted(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn is_kind(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind
        || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_problem_names_the_argument_what_was_expected_and_what_came() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "below": {"type": "string", "minLength": 1},
                "mode": {"type": "string", "enum": ["fast", "safe"]},
                "limit": {"type": "integer", "minimum": 1},
                "share": {"type": "number", "minimum": 0, "maximum": 1},
                "deep": {"type": "boolean"},
                "names": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "edits": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                    "required": ["old"],
                    "additionalProperties": false,
                }},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let told = |arguments: Value| {
            let problems = problems(&schema, &arguments, &Steps::new());
            let lines = problems.into_iter().map(|problem| problem.message + "\n");
            lines.collect::<String>()
        };
        insta::assert_snapshot!(told(json!({
            "path": null, "below": "", "mode": "slow", "limit": 0, "share": 2, "deep": "no",
            "names": [], "either": [], "edits": [{"old": 1}, {"olt": "x"}, "y"],
        })), @r#"
        `path`: expected a string, got null
        `below`: expected a string that is not empty, got ""
        `mode`: expected one of "fast", "safe", got "slow"
        `limit`: expected a whole number of at least 1, got 0
        `share`: expected a number from 0 to 1, got 2
        `deep`: expected true or false, got "no"
        `names`: expected a list of strings that is not empty, got []
        `either`: expected a string or a whole number, got []
        `edits[0].old`: expected a string, got 1
        unknown field `edits[1].olt` (did you mean `old`?)
        `edits[1].old` is required: a string
        `edits[2]`: expected an object, got "y"
        "#);
        insta::assert_snapshot!(told(json!({"nothing": 1, "zzz": 2, "names": "x".repeat(100)})), @r#"
        unknown argument `nothing`; the arguments are `path`, `below`, `mode`, `limit`, `share`, `deep`, `names`, `either`, `edits`
        unknown argument `zzz`
        `names`: expected a list of strings that is not empty, got "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
        `path` is required: a string
        "#);
    }

    #[test]
    fn what_has_no_words_of_its_own_is_told_by_its_keyword() {
        let schema = json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "maxLength": 3, "pattern": "^[A-Z]+$"},
                "never": false,
                "any": {"type": "array"},
                "not_a": {"not": {"const": "a"}},
            },
            "additionalProperties": {"type": "integer"},
            "maxProperties": 5,
        });
        let told = |answer: Value| misfit(&schema, &answer).unwrap_or_default();
        assert_eq!(
            told(json!({"code": "abcd"})),
            r#"`code`: expected a string with `maxLength` 3, `pattern` "^[A-Z]+$", got "abcd""#
        );
        assert_eq!(told(json!({"never": 1})), "`never`: nothing is allowed here");
        assert_eq!(
            told(json!({"any": [1, "x"], "not_a": "a"})),
            r#"`not_a`: expected another value with `not`, got "a""#
        );
        assert_eq!(told(json!({"more": "x"})), r#"`more`: expected a whole number, got "x""#);
        assert_eq!(
            told(json!({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6})),
            r#"the whole: expected an object with `maxProperties` 5, got {"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}"#
        );
        assert_eq!(told(json!([])), "the whole: expected an object, got []");
        assert_eq!(misfit(&schema, &json!({"any": [1, "x"]})), None);
        assert!(misfit(&json!({"type": "nonsense"}), &json!({})).is_some());
    }

    #[test]
    fn a_field_may_be_required_that_nothing_else_is_said_of() {
        let schema = json!({"type": "object", "required": ["a"]});
        assert_eq!(misfit(&schema, &json!({})).unwrap(), "`a` is required");
    }

    #[test]
    fn a_tool_without_arguments_says_so() {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let message = &problems(&schema, &json!({"x": 1}), &Steps::new())[0].message;
        assert_eq!(message, "unknown argument `x`; there are no arguments");
    }
}
