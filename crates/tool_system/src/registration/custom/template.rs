//! The command of a custom tool, with places for arguments.

use std::collections::BTreeMap;

use protocol::{ErrorCode, ToolError};
use serde_json::{Map, Value};

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Template {
    /// Words, in which `{name}` stands for an argument and `{{` for a brace.
    Argv(Vec<String>),
    /// A script for bash, which finds the arguments in variables of their names.
    Shell(String),
}

/// A word in pieces.
#[derive(Debug, PartialEq)]
enum TemplatePiece<'t> {
    Text(&'t str),
    Argument(&'t str),
}

impl Template {
    /// The words to run, and the variables for them.
    pub(super) fn fill(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<String>, BTreeMap<String, String>), ToolError> {
        match self {
            Template::Argv(words) => Ok((argv(words, arguments)?, BTreeMap::new())),
            Template::Shell(script) => {
                let variables = arguments.iter().map(|(name, value)| (name.clone(), joined(value)));
                let argv = ["bash", "-c", script].map(str::to_owned).into();
                Ok((argv, variables.collect()))
            }
        }
    }
}

fn argv(words: &[String], arguments: &Map<String, Value>) -> Result<Vec<String>, ToolError> {
    let mut argv = Vec::new();
    let mut options_ended = false;
    for word in words {
        let pieces = pieces(word).unwrap_or_default();
        match pieces.as_slice() {
            // A word of its own: several for a list, none for what was left out.
            [TemplatePiece::Argument(name)] => {
                let values = arguments.get(*name).map(words_of).unwrap_or_default();
                if !options_ended {
                    values.iter().try_for_each(|value| no_dash(name, value))?;
                }
                argv.extend(values);
            }
            pieces => {
                let text = pieces.iter().map(|piece| match piece {
                    TemplatePiece::Text(text) => (*text).to_owned(),
                    TemplatePiece::Argument(name) => {
                        arguments.get(*name).map(joined).unwrap_or_default()
                    }
                });
                argv.push(text.collect());
            }
        }
        options_ended |= word == "--";
    }
    Ok(argv)
}

/// A value must not become an option of the program by beginning like one.
fn no_dash(name: &str, value: &str) -> Result<(), ToolError> {
    if !value.starts_with('-') {
        return Ok(());
    }
    let message = format!("`{name}` begins with a dash and would be taken for an option: {value}");
    Err(ToolError::new(ErrorCode::InvalidArguments, message)
        .suggest("Give another value; a file can be written as ./-name."))
}

fn words_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(joined).collect(),
        Value::Null => Vec::new(),
        value => vec![joined(value)],
    }
}

fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(joined).collect::<Vec<_>>().join("\n"),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The names of the arguments in a word, or what is wrong with it.
pub(super) fn names(word: &str) -> Result<Vec<&str>, &'static str> {
    let named = pieces(word)?.into_iter().filter_map(|piece| match piece {
        TemplatePiece::Argument(name) => Some(name),
        TemplatePiece::Text(_) => None,
    });
    Ok(named.collect())
}

fn pieces(word: &str) -> Result<Vec<TemplatePiece<'_>>, &'static str> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        let (text, from) = rest.split_at(at);
        if !text.is_empty() {
            pieces.push(TemplatePiece::Text(text));
        }
        rest = if from.starts_with("{{") || from.starts_with("}}") {
            pieces.push(TemplatePiece::Text(&from[..1]));
            &from[2..]
        } else if let Some(inner) = from.strip_prefix('{') {
            let (name, after) =
                inner.split_once('}').ok_or("a { without its }; write {{ for a brace")?;
            pieces.push(TemplatePiece::Argument(name));
            after
        } else {
            return Err("a } without its {; write }} for a brace");
        };
    }
    if !rest.is_empty() {
        pieces.push(TemplatePiece::Text(rest));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(words: &[&str], arguments: Value) -> Result<Vec<String>, ToolError> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let arguments = arguments.as_object().unwrap().clone();
        Template::Argv(words).fill(&arguments).map(|(argv, _)| argv)
    }

    #[test]
    fn arguments_take_their_places() {
        let cases = [
            (vec!["a", "{x}"], json!({"x": "1 2; rm"}), vec!["a", "1 2; rm"]),
            (vec!["a", "--x={x}", "{{x}}"], json!({"x": 5}), vec!["a", "--x=5", "{x}"]),
            (vec!["a", "{x}", "b"], json!({}), vec!["a", "b"]),
            (vec!["a", "{x}"], json!({"x": ["p", "q r"]}), vec!["a", "p", "q r"]),
            (vec!["a", "--", "{x}"], json!({"x": "-v"}), vec!["a", "--", "-v"]),
            (vec!["a", "--x={x}"], json!({"x": "-v"}), vec!["a", "--x=-v"]),
            (vec!["a", "{x}{y}"], json!({"x": true, "y": 1.5}), vec!["a", "true1.5"]),
        ];
        for (words, arguments, expected) in cases {
            assert_eq!(filled(&words, arguments).unwrap(), expected, "{words:?}");
        }
    }

    #[test]
    fn no_value_becomes_an_option() {
        let error = filled(&["rm", "{x}"], json!({"x": "-rf"})).unwrap_err();
        assert!(error.message.contains("taken for an option"), "{}", error.message);
        assert!(filled(&["rm", "{x}"], json!({"x": ["a", "-rf"]})).is_err());
    }

    #[test]
    fn a_script_gets_its_arguments_as_variables() {
        let arguments = json!({"where": "$(id)"});
        let template = Template::Shell("ls \"$where\"".into());
        let (argv, env) = template.fill(arguments.as_object().unwrap()).unwrap();
        assert_eq!(argv, ["bash", "-c", "ls \"$where\""]);
        assert_eq!(env["where"], "$(id)");
    }

    #[test]
    fn braces_that_do_not_match_are_mistakes() {
        assert_eq!(names("a{b}c{d}").unwrap(), ["b", "d"]);
        assert!(names("a{b").is_err() && names("a}").is_err() && names("{{}}").unwrap().is_empty());
    }
}
