//! A schema that a foreign server wrote, made harmless: without references, and of bounded size.
//!
//! A small schema with references can take for ever to check, or never end. Local references are
//! therefore written out; one that leads back to itself allows anything, since the server checks its
//! arguments too.

use serde_json::{Map, Value, json};

/// Values in a schema once its references are written out.
const MAX_NODES: usize = 20_000;
/// Levels of a schema once its references are written out.
const MAX_DEPTH: usize = 64;

/// What only organises a schema, or leads out of it.
const LEFT_OUT: [&str; 8] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$schema",
    "$vocabulary",
    "definitions",
];

/// The schema without references, or why it cannot be used.
pub(crate) fn written_out(schema: &Value) -> Result<Value, String> {
    let mut writer = Writer { root: schema, nodes: 0, open: Vec::new() };
    writer.value(schema, 0, Place::Schema)
}

struct Writer<'s> {
    root: &'s Value,
    nodes: usize,
    /// The references that are being written out.
    open: Vec<&'s str>,
}

/// Whether names of an object are keywords, or names that the schema is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Schema,
    Names,
    /// A value that a schema quotes, such as a default.
    Data,
}

impl<'s> Writer<'s> {
    fn value(&mut self, value: &'s Value, depth: usize, place: Place) -> Result<Value, String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || depth > MAX_DEPTH {
            return Err("its schema is too large or too deep".to_owned());
        }
        match value {
            Value::Object(fields) if place == Place::Schema => self.schema(fields, depth),
            Value::Object(fields) => {
                let inner = if place == Place::Names { Place::Schema } else { Place::Data };
                let each = fields
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), self.value(value, depth + 1, inner)?)));
                Ok(Value::Object(each.collect::<Result<_, String>>()?))
            }
            Value::Array(items) => {
                let each = items.iter().map(|item| self.value(item, depth + 1, place));
                Ok(Value::Array(each.collect::<Result<_, String>>()?))
            }
            plain => Ok(plain.clone()),
        }
    }

    fn schema(&mut self, fields: &'s Map<String, Value>, depth: usize) -> Result<Value, String> {
        let mut written = Map::new();
        for (name, value) in fields {
            let place = match name.as_str() {
                name if LEFT_OUT.contains(&name) => continue,
                "$ref" => continue,
                // What they mean depends on the way to them.
                "$dynamicRef" | "$recursiveRef" => continue,
                "properties" | "patternProperties" | "dependentSchemas" => Place::Names,
                "default" | "const" | "enum" | "examples" | "required" => Place::Data,
                _ => Place::Schema,
            };
            written.insert(name.clone(), self.value(value, depth + 1, place)?);
        }
        if let Some(reference) = fields.get("$ref") {
            let target = self.target(reference, depth)?;
            match target {
                Value::Object(target) if written.is_empty() => written = target,
                target => {
                    let all = written.entry("allOf").or_insert_with(|| json!([]));
                    match all {
                        Value::Array(all) => all.push(target),
                        _ => return Err("its schema has an `allOf` that is not a list".to_owned()),
                    }
                }
            }
        }
        Ok(Value::Object(written))
    }

    fn target(&mut self, reference: &'s Value, depth: usize) -> Result<Value, String> {
        let Some(reference) = reference.as_str() else {
            return Err("its schema has a reference that is not text".to_owned());
        };
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err("its schema refers to something outside of itself".to_owned());
        };
        if self.open.contains(&reference) || pointer.is_empty() {
            return Ok(json!({}));
        }
        let target = self.root.pointer(pointer);
        let target = target.ok_or("its schema refers to something that is not there")?;
        self.open.push(reference);
        let written = self.value(target, depth + 1, Place::Schema);
        self.open.pop();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_references_are_written_out() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/name"},
                "b": {"$ref": "#/$defs/name", "description": "second"},
                "$ref": {"type": "string"},
                "default": {"type": "object", "default": {"$ref": "data"}},
            },
            "$defs": {"name": {"type": "string", "minLength": 1}},
        });
        insta::assert_snapshot!(written_out(&schema).unwrap(), @r#"{"type":"object","properties":{"a":{"type":"string","minLength":1},"b":{"description":"second","allOf":[{"type":"string","minLength":1}]},"$ref":{"type":"string"},"default":{"type":"object","default":{"$ref":"data"}}}}"#);
    }

    #[test]
    fn what_leads_back_to_itself_allows_anything() {
        let tree = json!({
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        });
        insta::assert_snapshot!(written_out(&tree).unwrap(), @r#"{"type":"object","properties":{"next":{"type":"object","properties":{"next":{}}}}}"#);
        for endless in
            [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}, {"$ref": "#/allOf/0"}]})]
        {
            assert!(written_out(&endless).is_ok(), "{endless}");
        }
    }

    #[test]
    fn a_schema_that_grows_without_end_or_leads_elsewhere_is_refused() {
        let mut defs = Map::new();
        for at in 0..60 {
            let next = format!("#/$defs/d{}", at + 1);
            defs.insert(format!("d{at}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
        }
        defs.insert("d60".into(), json!({"type": "string"}));
        let mut deep = json!({});
        for _ in 0..100 {
            deep = json!({"items": deep});
        }
        let refused = [
            json!({"$ref": "#/$defs/d0", "$defs": defs}),
            deep,
            json!({"properties": {"a": {"$ref": "https://example.org/schema"}}}),
            json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}),
            json!({"properties": {"a": {"$ref": "#/$defs/missing"}}}),
            json!({"properties": {"a": {"$ref": 3}}}),
        ];
        for schema in refused {
            assert!(written_out(&schema).is_err(), "{schema}");
        }
    }
}
