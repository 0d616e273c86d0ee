//! What our own judge of schemas says is what another implementation says.

use jsonschema::Draft;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tool_system::misfit;

fn one_of(values: Value) -> BoxedStrategy<Value> {
    let values = values.as_array().expect("a list").clone();
    prop::sample::select(values).boxed()
}

fn name() -> BoxedStrategy<String> {
    prop::sample::select(vec!["x", "y", "ab", "a"]).prop_map(str::to_owned).boxed()
}

fn scalar() -> BoxedStrategy<Value> {
    one_of(json!([
        null,
        true,
        false,
        "",
        "a",
        "ab",
        "b1",
        "é",
        "🐲é",
        "12",
        0,
        0.0,
        1,
        1.0,
        2,
        3,
        -1,
        0.5,
        1.5,
        0.1,
        0.3,
        2.5,
        9007199254740993u64,
        9007199254740992f64,
        u64::MAX,
        i64::MIN,
        1e19,
        1e-7
    ]))
}

fn value() -> BoxedStrategy<Value> {
    let nested = |inner: BoxedStrategy<Value>| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    };
    prop_oneof![1 => scalar(), 3 => scalar().prop_recursive(3, 24, 4, move |inner| nested(inner.boxed()))]
        .boxed()
}

/// Keywords that hold no schemas.
fn simple(draft: Draft) -> BoxedStrategy<(String, Value)> {
    let kinds = json!([
        "array",
        "object",
        "string",
        "integer",
        "number",
        "null",
        ["string", "object"],
        ["integer", "array", "boolean"]
    ]);
    let count = || one_of(json!([0, 1, 2, 2.0, 3]));
    let number = || {
        one_of(json!([0, 1, 1.0, 0.5, 2, -1, 9007199254740993u64, 9007199254740992f64, u64::MAX]))
    };
    let names = || prop::collection::btree_set(name(), 0..3).prop_map(|names| json!(names)).boxed();
    let mut all: Vec<(&str, BoxedStrategy<Value>)> = vec![
        ("type", one_of(kinds.clone())),
        ("type", one_of(kinds)),
        ("enum", prop::collection::vec(value(), 1..5).prop_map(Value::from).boxed()),
        ("const", value()),
        ("minimum", number()),
        ("maximum", number()),
        ("exclusiveMinimum", number()),
        ("exclusiveMaximum", number()),
        // The other implementation divides by decimals as floating-point numbers; ours has a table of them.
        ("multipleOf", one_of(json!([1, 2, 3, 0.5]))),
        ("minLength", count()),
        ("maxLength", count()),
        ("pattern", one_of(json!(["^a", "b$", "^\\d+$", "[^a]", "^.$", "\\w", "^(a|b)+$"]))),
        ("minItems", count()),
        ("maxItems", count()),
        ("uniqueItems", any::<bool>().prop_map(Value::from).boxed()),
        ("minProperties", count()),
        ("maxProperties", count()),
        ("required", names()),
    ];
    if draft != Draft::Draft7 {
        all.push(("minContains", count()));
        all.push(("maxContains", count()));
        let by_name = prop::collection::btree_map(name(), names(), 1..3);
        all.push(("dependentRequired", by_name.prop_map(|all| json!(all)).boxed()));
    }
    named(all)
}

fn named(all: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<(String, Value)> {
    let all = all
        .into_iter()
        .map(|(name, wanted)| wanted.prop_map(move |wanted| (name.to_owned(), wanted)).boxed());
    prop::strategy::Union::new(all).boxed()
}

/// Keywords with schemas in them.
fn nested(schema: BoxedStrategy<Value>, draft: Draft) -> BoxedStrategy<(String, Value)> {
    let list = prop::collection::vec(schema.clone(), 1..4).prop_map(Value::from).boxed();
    let by_name = prop::collection::btree_map(name(), schema.clone(), 1..4)
        .prop_map(|all| json!(all))
        .boxed();
    let patterns = prop::sample::select(vec!["^a", "b$", "x|y"]).prop_map(str::to_owned);
    let by_pattern = prop::collection::btree_map(patterns, schema.clone(), 1..3);
    let mut all = vec![
        ("allOf", list.clone()),
        ("anyOf", list.clone()),
        ("oneOf", list.clone()),
        ("not", schema.clone()),
        ("if", schema.clone()),
        ("then", schema.clone()),
        ("else", schema.clone()),
        ("items", schema.clone()),
        ("contains", schema.clone()),
        ("properties", by_name.clone()),
        ("properties", by_name.clone()),
        ("patternProperties", by_pattern.prop_map(|all| json!(all)).boxed()),
        ("additionalProperties", schema.clone()),
        ("propertyNames", schema.clone()),
    ];
    match draft {
        Draft::Draft7 => {
            all.extend([("items", list), ("additionalItems", schema), ("dependencies", by_name)]);
        }
        _ => all.extend([
            ("prefixItems", list),
            ("dependentSchemas", by_name),
            ("unevaluatedItems", schema.clone()),
            ("unevaluatedProperties", schema),
        ]),
    }
    named(all)
}

/// A schema that refers to no other name than these.
fn schema(draft: Draft, names: &'static [&'static str]) -> BoxedStrategy<Value> {
    let object = |fields: Vec<(String, Value)>| Value::Object(fields.into_iter().collect());
    let referring = move || match names {
        [] => any::<bool>().prop_map(Value::from).boxed(),
        _ => prop::sample::select(names)
            .prop_map(|name| json!({"$ref": format!("#/$defs/{name}")}))
            .boxed(),
    };
    let leaf = prop_oneof![
        6 => prop::collection::vec(simple(draft), 0..3).prop_map(object),
        1 => any::<bool>().prop_map(Value::from),
        2 => referring(),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let keywords = prop_oneof![1 => simple(draft), 3 => nested(inner.boxed(), draft)];
        let own = prop::collection::vec(keywords, 1..5).prop_map(object);
        (own, prop::option::weighted(0.2, referring())).prop_map(move |(mut own, reference)| {
            if let (Some(own), Some(Value::Object(reference))) = (own.as_object_mut(), reference)
                && is_clear_beside_reference(own, draft)
            {
                own.extend(reference);
            }
            if let Some(own) = own.as_object_mut()
                && !own.get("items").is_some_and(Value::is_array)
            {
                // The other implementation then reads `items: false` as refusing everything.
                own.shift_remove("additionalItems");
            }
            own
        })
    })
    .boxed()
}

/// In draft 7 nothing counts beside a reference, and the other implementation now and then forgets the rest of a
/// schema that has both a reference and `unevaluated…`.
fn is_clear_beside_reference(own: &Map<String, Value>, draft: Draft) -> bool {
    draft != Draft::Draft7 && !own.keys().any(|keyword| keyword.starts_with("unevaluated"))
}

fn document(draft: Draft) -> BoxedStrategy<Value> {
    // None of these leads to itself on the same value, which has no meaning.
    let node = schema(draft, &["a"]).prop_map(|inner| {
        let again = json!({"$ref": "#/$defs/node"});
        json!({"anyOf": [inner, {"type": "array"}], "properties": {"x": again}, "items": again})
    });
    (schema(draft, &["a", "b", "node"]), schema(draft, &[]), schema(draft, &["a"]), node)
        .prop_map(move |(root, a, b, node)| {
            let mut root = match root {
                Value::Object(fields) => fields,
                flag => Map::from_iter([("allOf".to_owned(), json!([flag]))]),
            };
            if root.contains_key("$ref") {
                root = Map::from_iter([("allOf".to_owned(), json!([root]))]);
            }
            root.insert("$defs".to_owned(), json!({"a": a, "b": b, "node": node}));
            if draft == Draft::Draft7 {
                root.insert("$schema".to_owned(), json!("http://json-schema.org/draft-07/schema#"));
            }
            Value::Object(root)
        })
        .boxed()
}

fn agree(draft: Draft, schema: &Value, values: &[Value]) -> Result<(), TestCaseError> {
    let options = jsonschema::options().with_draft(draft).should_validate_formats(false);
    let other = options.build(schema).expect("a valid schema");
    for value in values {
        prop_assert_eq!(
            misfit(schema, value).is_none(),
            other.is_valid(value),
            "{} {}",
            schema,
            value
        );
    }
    Ok(())
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    prop::collection::vec(value(), 4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn schemas_of_2020_12_mean_the_same_to_both(schema in document(Draft::Draft202012), values in values()) {
        agree(Draft::Draft202012, &schema, &values)?;
    }

    #[test]
    fn schemas_of_draft_7_mean_the_same_to_both(schema in document(Draft::Draft7), values in values()) {
        agree(Draft::Draft7, &schema, &values)?;
    }
}
