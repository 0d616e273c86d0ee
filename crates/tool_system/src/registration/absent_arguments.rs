//! Arguments that a caller has filled in although they say nothing.
//!
//! Some hosts make models fill in every argument of a schema, and models then send `null` or `""`
//! for what they would leave out.

use serde_json::{Map, Value};

use crate::json_schema::{Steps, accepts};

/// Removes the optional fields of `value` that are `null` or `""` where `schema` refuses that, here
/// and in everything inside. A schema that takes empty text, such as the new text of an edit, keeps
/// it.
pub(crate) fn drop_absent(value: &mut Value, schema: &Value, steps: &Steps) {
    match value {
        Value::Object(fields) => drop_absent_fields(fields, schema, steps),
        Value::Array(items) => {
            items.iter_mut().for_each(|item| drop_absent(item, &schema["items"], steps));
        }
        _ => {}
    }
}

fn drop_absent_fields(fields: &mut Map<String, Value>, schema: &Value, steps: &Steps) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    fields.retain(|name, value| {
        let Some(property) = properties.get(name) else { return true };
        let says_nothing = value.is_null() || value.as_str() == Some("");
        !says_nothing || is_required(name) || accepts(property, value, steps)
    });
    for (name, value) in fields {
        if let Some(property) = properties.get(name) {
            drop_absent(value, property, steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_mean_anything_is_absent_and_the_rest_stays() {
        let inner = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "line": {"type": "integer"}},
            "required": ["path"],
        });
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "below": {"type": "string", "minLength": 1},
                "text": {"type": "string"},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "limit": {"type": "integer"},
                "deep": {"type": "boolean"},
                "names": {"type": "array", "items": {"type": "string"}},
                "either": {"type": ["integer", "null"]},
                "changes": {"type": "array", "items": inner},
                "change": inner,
            },
            "required": ["path"],
        });
        let table = [
            (json!({"path": null}), json!({"path": null})),
            (json!({"path": ""}), json!({"path": ""})),
            (json!({"below": "", "text": "", "mode": ""}), json!({"text": ""})),
            (json!({"below": null, "text": null, "mode": null}), json!({})),
            (json!({"limit": "", "deep": "", "names": ""}), json!({})),
            (json!({"limit": null, "deep": null, "names": null}), json!({})),
            (
                json!({"limit": 0, "deep": false, "names": []}),
                json!({"limit": 0, "deep": false, "names": []}),
            ),
            (json!({"limit": " ", "below": " "}), json!({"limit": " ", "below": " "})),
            (json!({"either": null}), json!({"either": null})),
            (json!({"either": ""}), json!({})),
            (json!({"names": [""]}), json!({"names": [""]})),
            (
                json!({"changes": [{"path": "", "line": null}, {"path": "a", "line": 1}], "change": {"line": ""}}),
                json!({"changes": [{"path": ""}, {"path": "a", "line": 1}], "change": {}}),
            ),
            (json!({"unknown": null, "other": ""}), json!({"unknown": null, "other": ""})),
        ];
        for (given, expected) in table {
            let mut value = given.clone();
            drop_absent(&mut value, &schema, &Steps::new());
            assert_eq!(value, expected, "{given}");
        }
    }
}
