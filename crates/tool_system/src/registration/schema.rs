//! JSON schemas from Rust types, in the short form that is shown to models.
//!
//! The documentation of an argument struct *is* its schema's text. What a type generator adds for
//! its own purposes (titles, number formats, null defaults) only costs tokens and is taken out.

use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value};

/// The schema of a tool's arguments.
pub fn input_schema<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(Contract::Deserialize);
    // The struct's own documentation is the tool's description; it need not stand here again.
    if let Value::Object(schema) = &mut schema {
        schema.remove("description");
    }
    each_schema(&mut schema, &mut optional_text_is_not_empty);
    with_properties(schema)
}

/// The schema with `properties`, which an object without fields lacks: some hosts refuse a tool
/// whose schema has none.
pub(crate) fn with_properties(mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema {
        fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Optional text is not empty, so that the validator can take `""` as absent: some models fill in
/// every argument. Where empty text has a meaning, such as the text that replaces another, the
/// argument declares `length(min = 0)`.
fn optional_text_is_not_empty(schema: &mut Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        let Value::Object(property) = property else { continue };
        let is_text = property.get("type").is_some_and(|kind| kind == "string");
        if property.get("minLength").is_some_and(|least| least == 0) {
            property.remove("minLength");
        } else if is_text && !property.contains_key("enum") && !required.iter().any(|it| it == name)
        {
            property.entry("minLength").or_insert_with(|| 1.into());
        }
    }
}

/// The schema of a tool's result. It carries no descriptions: callers check with it, models do not
/// read it.
pub fn output_schema<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(Contract::Serialize);
    each_schema(&mut schema, &mut |schema| {
        schema.remove("description");
        schema.remove("minimum");
    });
    schema
}

/// The documentation of an argument struct, as one paragraph.
pub(crate) fn description_of<T: JsonSchema>() -> String {
    let schema = generate::<T>(Contract::Deserialize);
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn generate<T: JsonSchema>(contract: Contract) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.contract = contract;
    });
    shortened(settings.into_generator().into_root_schema_for::<T>().to_value())
}

fn shortened(mut schema: Value) -> Value {
    each_schema(&mut schema, &mut |schema| {
        schema.remove("title");
        schema.remove("format");
        if schema.get("default") == Some(&Value::Null) {
            schema.remove("default");
        }
        if let Some(Value::String(text)) = schema.get_mut("description") {
            *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        optional_instead_of_nullable(schema);
    });
    schema
}

/// An optional property may be left out. That it might also be `null` is a second way to say the
/// same thing, which strict callers dislike.
fn optional_instead_of_nullable(schema: &mut Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        if required.iter().any(|required| required == name) {
            continue;
        }
        let Value::Object(property) = property else { continue };
        if let Some(Value::Array(kinds)) = property.get_mut("type") {
            kinds.retain(|kind| kind != "null");
            if let [only] = kinds.as_slice() {
                let only = only.clone();
                property.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(options)) = property.get_mut("enum") {
            options.retain(|option| !option.is_null());
        }
        if let Some(Value::Array(options)) = property.get_mut("anyOf") {
            options.retain(|option| option.get("type") != Some(&Value::from("null")));
            if let [Value::Object(only)] = options.as_slice() {
                let only = only.clone();
                property.remove("anyOf");
                property.extend(only);
            }
        }
    }
}

/// Applies `change` to `schema` and every schema inside it, outermost first.
fn each_schema(schema: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(object) = schema else { return };
    change(object);
    for (key, value) in object.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs", Value::Object(inner)) => {
                inner.values_mut().for_each(|schema| each_schema(schema, change));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(inner)) => {
                inner.iter_mut().for_each(|schema| each_schema(schema, change));
            }
            ("items" | "additionalProperties" | "not", inner) => each_schema(inner, change),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::Whole;

    /// Does a thing
    /// to a file.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Args {
        /// Which file.
        path: String,
        /// How many lines.
        limit: Option<Whole<1>>,
        mode: Option<Mode>,
        #[serde(default)]
        names: Vec<String>,
        below: Option<String>,
        #[schemars(length(min = 0))]
        text: Option<String>,
    }

    /// Looks around.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct NoArgs {}

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        Fast,
        VerySafe,
    }

    #[derive(Serialize, JsonSchema)]
    struct Output {
        count: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[test]
    fn an_input_schema_is_short_and_says_what_the_doc_comments_say() {
        assert_snapshot!(input_schema::<Args>(), @r#"{"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"Which file."},"limit":{"type":"integer","minimum":1,"description":"How many lines."},"mode":{"type":"string","enum":["fast","very-safe"]},"names":{"type":"array","items":{"type":"string"},"default":[]},"below":{"type":"string","minLength":1},"text":{"type":"string"}},"required":["path"]}"#);
        assert_eq!(description_of::<Args>(), "Does a thing to a file.");
    }

    #[test]
    fn a_schema_without_arguments_has_properties_too() {
        assert_snapshot!(input_schema::<NoArgs>(), @r#"{"type":"object","additionalProperties":false,"properties":{}}"#);
        assert_snapshot!(input_schema::<Map<String, Value>>(), @r#"{"type":"object","additionalProperties":true,"properties":{}}"#);
    }

    #[test]
    fn an_output_schema_has_no_prose() {
        assert_snapshot!(output_schema::<Output>(), @r#"{"type":"object","properties":{"count":{"type":"integer"},"note":{"type":"string"}},"required":["count"]}"#);
    }
}
