//! Judges arguments by a tool's schema, and explains every problem at once.

use std::borrow::Cow;

use protocol::{ErrorCode, ToolCall, ToolError, describe_call, parse_strict_json};
use serde_json::{Map, Value, json};

use crate::absent_arguments::drop_absent;
use crate::argument_problems;
use crate::json_schema::{JsonSchema, Steps, accepts};

/// Names whose similarity reaches this are offered as "did you mean".
const SIMILAR: f64 = 0.7;

/// The checked schema of one face of a tool.
pub struct ToolValidator {
    name: String,
    schema: JsonSchema<'static>,
    example: Map<String, Value>,
}

impl ToolValidator {
    /// Checks `schema`; `example` is a right call to quote in errors.
    pub fn new(name: &str, schema: &Value, example: Map<String, Value>) -> Result<Self, ToolError> {
        let schema = JsonSchema::new(Cow::Owned(schema.clone())).map_err(|error| {
            ToolError::new(ErrorCode::Internal, format!("the schema of {name} is invalid: {error}"))
        })?;
        Ok(Self { name: name.to_owned(), schema, example })
    }

    /// Accepts `arguments` exactly if the schema does, or if it does after two repairs of what models
    /// send: optional arguments that say nothing (`null`, `""`) are left out, and values that are JSON
    /// written as a string, such as `"[\"a\"]"` for `["a"]`, are read as the JSON they hold.
    pub fn validate(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let mut arguments = Value::Object(arguments);
        // One allowance for everything, so that no call takes long, whatever is wrong with it.
        let steps = Steps::new();
        if !self.schema.accepts(&arguments, &steps) {
            drop_absent(&mut arguments, self.schema.as_value(), &steps);
            self.read_stringified(&mut arguments, &steps);
            if !self.schema.accepts(&arguments, &steps) {
                return Err(self.explain(&arguments, &steps));
            }
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => unreachable!("the arguments were an object"),
        }
    }

    /// Replaces each string argument that the schema refuses by the JSON in it, if that is accepted.
    fn read_stringified(&self, arguments: &mut Value, steps: &Steps) {
        let Some(arguments) = arguments.as_object_mut() else { return };
        for (name, value) in arguments {
            let Some(schema) = self.schema.as_value()["properties"].get(name) else { continue };
            let Value::String(text) = &*value else { continue };
            if accepts(schema, value, steps) {
                continue;
            }
            let Ok(mut inner) = parse_strict_json(text) else { continue };
            drop_absent(&mut inner, schema, steps);
            if accepts(schema, &inner, steps) {
                *value = inner;
            }
        }
    }

    /// All problems at once.
    fn explain(&self, arguments: &Value, steps: &Steps) -> ToolError {
        let problems = argument_problems::problems(self.schema.as_value(), arguments, steps);
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        let listed = problems
            .iter()
            .map(|problem| json!({"path": problem.path, "message": problem.message}));
        let example = ToolCall::new("", self.name.clone(), self.example.clone());
        ToolError::new(ErrorCode::InvalidArguments, messages.join("; "))
            .suggest(format!("Example: {}", describe_call(&example)))
            .detail("problems", listed.collect::<Vec<_>>())
            .detail("example", self.example.clone())
    }
}

/// The candidate that looks most like `name`, if any looks like it at all.
pub(crate) fn closest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = name.to_lowercase();
    let scored = candidates
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate));
    let best = scored.max_by(|(left, _), (right, _)| left.total_cmp(right))?;
    (best.0 >= SIMILAR).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validator() -> ToolValidator {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"},
                "max_results": {"type": "integer", "minimum": 1},
                "exclude": {"type": "array", "items": {"type": "string"}},
                "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}, "additionalProperties": false},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        });
        let example = json!({"pattern": "fn main"}).as_object().unwrap().clone();
        ToolValidator::new("grep", &schema, example).unwrap()
    }

    fn validate(arguments: Value) -> Result<Value, ToolError> {
        validator().validate(arguments.as_object().unwrap().clone()).map(Value::Object)
    }

    #[test]
    fn all_problems_are_told_at_once_each_with_its_path_and_with_a_right_call() {
        let error = validate(json!({
            "patern": "x", "max_results": 0, "exclude": ["a", 3], "deep": {"off": true},
        }))
        .unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArguments);
        let mut paths: Vec<_> = error.details["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| problem["path"].as_str().unwrap())
            .collect();
        paths.sort_unstable();
        assert_eq!(paths, ["deep.off", "exclude[1]", "max_results", "patern", "pattern"]);
        assert!(error.message.contains("`pattern` is required"), "{}", error.message);
        assert!(error.message.contains("did you mean `pattern`?"), "{}", error.message);
        assert_eq!(error.suggestion.unwrap(), r#"Example: grep(pattern="fn main")"#);
    }

    #[test]
    fn json_written_as_a_string_is_read_and_nothing_else_is_coerced() {
        assert_eq!(
            validate(json!({"pattern": "1", "exclude": "[\"a\"]", "max_results": "7"})).unwrap(),
            json!({"pattern": "1", "exclude": ["a"], "max_results": 7})
        );
        for wrong in [
            json!({"pattern": 1}),
            json!({"pattern": "x", "max_results": "many"}),
            json!({"pattern": "x", "max_results": true}),
            json!({"pattern": "x", "exclude": "a"}),
            json!({"pattern": null}),
        ] {
            assert!(validate(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn optional_arguments_that_say_nothing_count_as_absent() {
        assert_eq!(
            validate(
                json!({"pattern": "", "max_results": null, "exclude": "", "deep": "{\"on\":null}"})
            )
            .unwrap(),
            json!({"pattern": "", "deep": {}})
        );
        let error = validate(json!({"pattern": null, "max_results": ""})).unwrap_err();
        assert_eq!(error.message, "`pattern`: expected a string, got null");
    }

    #[test]
    fn a_keyword_without_words_of_its_own_is_named() {
        let schema = json!({"type": "object", "properties": {}, "maxProperties": 0});
        let validator = ToolValidator::new("none", &schema, Map::new()).unwrap();
        let arguments = json!({"a": 1}).as_object().unwrap().clone();
        let error = validator.validate(arguments).unwrap_err();
        assert_eq!(
            error.message,
            r#"the arguments: expected an object with `maxProperties` 0, got {"a":1}"#
        );
    }
}
