use serde_json::json;

use super::*;

fn fits(schema: &Value, value: &Value) -> bool {
    JsonSchema::borrowed(schema).unwrap().accepts(value, &Steps::new())
}

#[test]
fn each_keyword_accepts_and_refuses() {
    let list = "http://json-schema.org/draft-07/schema#";
    let table = [
        (json!(true), json!(1), None),
        (json!({"type": "integer"}), json!(1.0), Some(json!(1.5))),
        (json!({"type": ["string", "null"]}), json!(null), Some(json!(false))),
        (json!({"enum": [1, {"a": [1.0, "é"]}]}), json!({"a": [1, "é"]}), Some(json!({"a": [1]}))),
        (json!({"const": -0.0}), json!(0), Some(json!(false))),
        (json!({"minimum": 0.5, "exclusiveMaximum": 2}), json!(1.5), Some(json!(2.0))),
        (json!({"maximum": 1, "exclusiveMinimum": 0}), json!(1), Some(json!(0))),
        (json!({"multipleOf": 0.01}), json!(19.99), Some(json!(0.075))),
        (json!({"minLength": 2.0, "maxLength": 2}), json!("é🐲"), Some(json!("é"))),
        (json!({"pattern": "b.$"}), json!("abc"), Some(json!("bcd"))),
        (json!({"pattern": "^(?!a)"}), json!("a"), None),
        (json!({"minItems": 1, "maxItems": 2}), json!([1]), Some(json!([]))),
        (json!({"uniqueItems": true}), json!([1, true, "1"]), Some(json!([{"a": 1}, {"a": 1.0}]))),
        (
            json!({"prefixItems": [{"type": "null"}], "items": {"type": "string"}}),
            json!([null, "a"]),
            Some(json!([null, 1])),
        ),
        (
            json!({"$schema": list, "items": [true], "additionalItems": false}),
            json!([1]),
            Some(json!([1, 2])),
        ),
        (
            json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}),
            json!([1, 2, 1]),
            Some(json!([1, 2])),
        ),
        (
            json!({"properties": {"a": {"type": "null"}}, "patternProperties": {"^b": false}}),
            json!({"a": null, "ab": 1}),
            Some(json!({"b": 1})),
        ),
        (
            json!({"properties": {"a": true}, "patternProperties": {"^b": true}, "additionalProperties": false}),
            json!({"a": 1, "bc": 1}),
            Some(json!({"c": 1})),
        ),
        (
            json!({"patternProperties": {"^(?=b)": false}, "additionalProperties": false}),
            json!({"b": 1}),
            None,
        ),
        (json!({"required": ["a"], "maxProperties": 1}), json!({"a": 1}), Some(json!({"b": 1}))),
        (json!({"minProperties": 1}), json!({"a": 1}), Some(json!({}))),
        (json!({"propertyNames": {"maxLength": 1}}), json!({"a": 1}), Some(json!({"ab": 1}))),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"b": 1}), Some(json!({"a": 1}))),
        (json!({"dependencies": {"a": ["b"], "c": false}}), json!({"b": 1}), Some(json!({"c": 1}))),
        (
            json!({"dependentSchemas": {"a": {"minProperties": 2}}}),
            json!({}),
            Some(json!({"a": 1})),
        ),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), json!(1), Some(json!(3))),
        (json!({"anyOf": [{"type": "null"}, {"minimum": 1}]}), json!(1), Some(json!(0))),
        (json!({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}), json!(4), Some(json!(6))),
        (json!({"not": {"type": "null"}}), json!(1), Some(json!(null))),
        (
            json!({"if": {"minimum": 1}, "then": {"const": 1}, "else": {"const": 0}}),
            json!(0),
            Some(json!(2)),
        ),
        (
            json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}),
            json!({"a": 1}),
            Some(json!({"b": 1})),
        ),
        (
            json!({"anyOf": [{"prefixItems": [true]}, {"contains": {"const": 2}}], "unevaluatedItems": false}),
            json!([1, 2]),
            Some(json!([1, 3])),
        ),
        (
            json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "null"}}, "minimum": 1}),
            json!(null),
            Some(json!(1)),
        ),
        (
            json!({"$schema": list, "$ref": "#/definitions/a", "definitions": {"a": true}, "type": "null"}),
            json!(1),
            None,
        ),
        (
            json!({"$id": "http://a/b", "$ref": "c#d", "$defs": {"x": {"$id": "/c", "$defs": {"y": {"$anchor": "d", "type": "null"}}}}}),
            json!(null),
            Some(json!(1)),
        ),
        (
            json!({"$id": "http://a", "$ref": "list", "$defs": {
                "text": {"$dynamicAnchor": "T", "type": "string"},
                "list": {"$id": "list", "items": {"$dynamicRef": "#T"}, "$defs": {"any": {"$dynamicAnchor": "T"}}},
            }}),
            json!(["a"]),
            Some(json!([1])),
        ),
        (json!({"format": "email", "contentEncoding": "base64"}), json!("é"), None),
    ];
    for (schema, right, wrong) in table {
        assert!(fits(&schema, &right), "{schema} {right}");
        assert!(wrong.is_none_or(|wrong| !fits(&schema, &wrong)), "{schema}");
    }
    assert!(!fits(&json!(false), &json!(1)));
}

#[test]
fn an_invalid_schema_is_refused_with_the_keyword_and_its_place() {
    let told = |schema: Value| JsonSchema::borrowed(&schema).err().unwrap().to_string();
    let table = [
        (json!({"type": "nonsense"}), "at `#`, `type` names a type that does not exist"),
        (
            json!({"properties": {"a/b": {"pattern": "("}}}),
            "at `#/properties/a~1b`, `pattern` \"(\" is not a regular expression: unclosed group",
        ),
        (
            json!({"items": {"$ref": "#/$defs/a"}}),
            "at `#/items`, `$ref` leads to \"#/$defs/a\", which is not in this document",
        ),
        (
            json!({"$ref": "#/title", "title": "a"}),
            "at `#`, `$ref` leads to \"#/title\", which is not a schema",
        ),
        (
            json!({"$ref": "#/own/0", "own": [{"minLength": -1}]}),
            "at `#/own/0`, `minLength` is not a whole number of at least 0",
        ),
        (json!({"anyOf": [{}, 1]}), "at `#`, `anyOf` is not a list of schemas"),
        (json!({"required": ["a", "a"]}), "at `#`, `required` is not a list of different names"),
        (json!({"multipleOf": 0}), "at `#`, `multipleOf` is not a number above 0"),
        (json!([]), "at `#`, there is neither an object nor true or false"),
    ];
    for (schema, expected) in table {
        assert_eq!(told(schema), expected);
    }
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"not": deep});
    }
    assert!(told(deep).ends_with("schemas are nested too deeply"));
    assert!(!accepts(&json!({"type": "nonsense"}), &json!(1), &Steps::new()));
}

#[test]
fn a_hostile_schema_neither_hangs_nor_overflows_the_stack() {
    let endless = json!({"anyOf": [{"not": {"$ref": "#"}}, {"$ref": "#"}]});
    assert!(!fits(&endless, &json!(1)));
    // Twice as much work with each of sixty names.
    let mut doubling = json!({"a0": {"type": "null"}});
    for step in 1..60 {
        let before = json!({"$ref": format!("#/$defs/a{}", step - 1)});
        doubling[format!("a{step}")] = json!({"anyOf": [before, before]});
    }
    let schema = json!({"$defs": doubling, "not": {"$ref": "#/$defs/a59"}});
    // A few, because tests are not optimised.
    let steps = Steps { left: Cell::new(100_000), used_up: Cell::new(false) };
    assert!(!JsonSchema::borrowed(&schema).unwrap().accepts(&json!(1), &steps));
    assert!(steps.are_used_up());
}

#[test]
fn a_deep_value_is_judged_to_its_end() {
    let schema = json!({"$defs": {"node": {"anyOf": [
        {"properties": {"next": {"$ref": "#/$defs/node"}}, "additionalProperties": false},
    ]}}, "$ref": "#/$defs/node"});
    let mut value = json!({});
    let mut wrong = json!({"other": 1});
    for _ in 0..125 {
        value = json!({"next": value});
        wrong = json!({"next": wrong});
    }
    assert!(fits(&schema, &value));
    assert!(!fits(&schema, &wrong));
}

#[test]
fn many_different_items_are_compared_in_no_time() {
    let schema = json!({"uniqueItems": true, "items": {"pattern": "^[a-z]\\d+$"}});
    let mut items: Vec<_> = (0..100_000).map(|number| json!(format!("a{number}"))).collect();
    assert!(fits(&schema, &Value::Array(items.clone())));
    items.push(json!("a7"));
    assert!(!fits(&schema, &Value::Array(items)));
}
