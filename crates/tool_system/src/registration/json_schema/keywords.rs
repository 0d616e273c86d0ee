//! Which keywords there are, and what may be written after each.

use serde_json::{Number, Value};

use super::numbers;

/// What a keyword takes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Takes {
    Schema,
    /// One at least.
    Schemas,
    SchemaOrSchemas,
    SchemasByName,
    SchemasByPattern,
    /// By name a schema or a list of names.
    Dependencies,
    /// A name of a kind of values, or several.
    Kinds,
    Number,
    NumberAboveZero,
    Count,
    Flag,
    Text,
    Pattern,
    Names,
    NamesByName,
    List,
    /// A remark, or a keyword of another vocabulary.
    Anything,
}

pub(super) fn takes(keyword: &str) -> Takes {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Takes::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Takes::Schemas,
        "items" => Takes::SchemaOrSchemas,
        "$defs" | "definitions" | "dependentSchemas" | "properties" => Takes::SchemasByName,
        "patternProperties" => Takes::SchemasByPattern,
        "dependencies" => Takes::Dependencies,
        "type" => Takes::Kinds,
        "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" => Takes::Number,
        "multipleOf" => Takes::NumberAboveZero,
        "maxContains" | "maxItems" | "maxLength" | "maxProperties" | "minContains" | "minItems"
        | "minLength" | "minProperties" => Takes::Count,
        "deprecated" | "readOnly" | "uniqueItems" | "writeOnly" => Takes::Flag,
        "$anchor" | "$comment" | "$dynamicAnchor" | "$dynamicRef" | "$id" | "$ref" | "$schema"
        | "contentEncoding" | "contentMediaType" | "description" | "format" | "title" => {
            Takes::Text
        }
        "pattern" => Takes::Pattern,
        "required" => Takes::Names,
        "dependentRequired" => Takes::NamesByName,
        "enum" | "examples" => Takes::List,
        _ => Takes::Anything,
    }
}

impl Takes {
    /// What is wrong with a value, but for the schemas and expressions in it.
    pub(super) fn refuses(self, value: &Value) -> Option<&'static str> {
        let (fits, wanted) = match self {
            Takes::Schema => (is_schema(value), "is not a schema"),
            Takes::Schemas => (are_schemas(value), "is not a list of schemas"),
            Takes::SchemaOrSchemas => {
                (is_schema(value) || are_schemas(value), "is neither a schema nor a list of them")
            }
            Takes::SchemasByName | Takes::SchemasByPattern => {
                (all_by_name(value, is_schema), "is not an object of schemas")
            }
            Takes::Dependencies => (
                all_by_name(value, |value| is_schema(value) || are_names(value)),
                "is not an object of schemas and lists of names",
            ),
            Takes::Kinds => (are_kinds(value), "names a type that does not exist"),
            Takes::Number => (value.is_number(), "is not a number"),
            Takes::NumberAboveZero => {
                (value.as_f64().is_some_and(|number| number > 0.0), "is not a number above 0")
            }
            Takes::Count => (is_count(value), "is not a whole number of at least 0"),
            Takes::Flag => (value.is_boolean(), "is neither true nor false"),
            Takes::Text | Takes::Pattern => (value.is_string(), "is not a string"),
            Takes::Names => (are_names(value), "is not a list of different names"),
            Takes::NamesByName => {
                (all_by_name(value, are_names), "is not an object of lists of names")
            }
            Takes::List => (value.is_array(), "is not a list"),
            Takes::Anything => (true, ""),
        };
        (!fits).then_some(wanted)
    }
}

pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn are_schemas(value: &Value) -> bool {
    value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(is_schema))
}

fn all_by_name(value: &Value, fits: impl Fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|fields| fields.values().all(fits))
}

fn is_count(value: &Value) -> bool {
    let is_count =
        |number: &Number| numbers::is_whole(number) && !number.to_string().starts_with('-');
    value.as_number().is_some_and(is_count)
}

fn are_names(value: &Value) -> bool {
    let Some(names) = value.as_array() else { return false };
    let mut known: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    known.sort_unstable();
    known.dedup();
    known.len() == names.len()
}

fn are_kinds(value: &Value) -> bool {
    let is_kind = |name: &str| {
        matches!(name, "array" | "boolean" | "integer" | "null" | "number" | "object" | "string")
    };
    match value {
        Value::String(name) => is_kind(name),
        Value::Array(names) => {
            !names.is_empty()
                && are_names(value)
                && names.iter().filter_map(Value::as_str).all(is_kind)
        }
        _ => false,
    }
}
