//! The validator accepts exactly what the schema accepts once arguments are repaired, and the tool can
//! parse all of that.

use proptest::prelude::*;
use protocol::ErrorCode;
use serde_json::{Map, Value, json};
use tool_system::{ToolRegistry, Vocabulary};

use crate::harness::Bench;

/// Values that come near to what a schema asks for, right and wrong ones.
fn near(schema: &Value) -> BoxedStrategy<Value> {
    let wrong = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(1.0), Just(-1.0), Just(1e300)].prop_map(Value::from),
        prop_oneof![Just(""), Just("a"), Just("7"), Just("true"), Just("[\"a\"]"), Just("{}")]
            .prop_map(Value::from),
        Just(json!([])),
        Just(json!(["a", 1])),
        Just(json!({})),
    ];
    let right: BoxedStrategy<Value> = match (schema["enum"].as_array(), schema["type"].as_str()) {
        (Some(options), _) => prop::sample::select(options.clone()).boxed(),
        (_, Some("boolean")) => any::<bool>().prop_map(Value::from).boxed(),
        (_, Some("integer")) => {
            prop_oneof![any::<u64>().prop_map(Value::from), (0u64..3).prop_map(Value::from)].boxed()
        }
        (_, Some("object")) => arguments(schema).prop_map(Value::Object).boxed(),
        (_, Some("array")) => {
            prop::collection::vec(near(&schema["items"]), 0..3).prop_map(Value::from).boxed()
        }
        _ => ".{0,8}".prop_map(Value::from).boxed(),
    };
    prop_oneof![4 => right, 1 => wrong].boxed()
}

fn arguments(schema: &Value) -> BoxedStrategy<Map<String, Value>> {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let known: Vec<_> = properties
        .iter()
        .map(|(name, schema)| {
            let name = name.clone();
            prop::option::weighted(0.6, near(schema)).prop_map(move |value| (name.clone(), value))
        })
        .collect();
    let unknown = prop::option::weighted(0.1, Just(("surprise".to_owned(), json!(1))));
    (known, unknown)
        .prop_map(|(known, unknown)| {
            let present = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
            present.chain(unknown).collect()
        })
        .boxed()
}

/// Leaves out optional `null` and `""` that the schema refuses, by the rule as it is documented.
fn without_fillers(schema: &Value, value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let kept = fields.into_iter().filter_map(|(name, value)| {
                let Some(property) = schema["properties"].get(&name) else {
                    return Some((name, value));
                };
                let optional = !required.contains(&json!(name));
                let filler = value.is_null() || value == "";
                if optional && filler && !jsonschema::is_valid(property, &value) {
                    return None;
                }
                let value = without_fillers(property, value);
                Some((name, value))
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => {
            items.into_iter().map(|item| without_fillers(&schema["items"], item)).collect()
        }
        other => other,
    }
}

/// Leaves out fillers and reads the strings that the schema refuses as JSON, by the rule as it is
/// documented.
fn repaired(schema: &Value, arguments: &Map<String, Value>) -> Map<String, Value> {
    let accepts =
        |name: &str, value: &Value| jsonschema::is_valid(&schema["properties"][name], value);
    let read = |(name, value): (&String, &Value)| {
        let inner = match value {
            Value::String(text) if !accepts(name, value) => serde_json::from_str(text).ok(),
            _ => None,
        };
        let inner = inner.map(|inner| without_fillers(&schema["properties"][name], inner));
        let chosen = inner.filter(|inner| accepts(name, inner)).unwrap_or_else(|| value.clone());
        (name.clone(), chosen)
    };
    let arguments = without_fillers(schema, Value::Object(arguments.clone()));
    arguments.as_object().expect("an object").iter().map(read).collect()
}

fn any_call() -> impl Strategy<Value = (Vocabulary, &'static str, Map<String, Value>)> {
    let registry = ToolRegistry::builtin();
    let calls: Vec<_> = Vocabulary::ALL
        .iter()
        .flat_map(|vocabulary| registry.list(*vocabulary))
        .map(|tool| {
            let (vocabulary, name) = (tool.vocabulary(), tool.name());
            arguments(tool.input_schema()).prop_map(move |arguments| (vocabulary, name, arguments))
        })
        .collect();
    prop::strategy::Union::new(calls)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_validator_accepts_exactly_what_the_schema_accepts((vocabulary, name, arguments) in any_call()) {
        let registry = ToolRegistry::builtin();
        let tool = registry.get(vocabulary, name).unwrap();
        let schema = tool.input_schema();
        let read = repaired(schema, &arguments);
        let expected = jsonschema::is_valid(schema, &Value::Object(read.clone()));
        match tool.validator().unwrap().validate(arguments) {
            Ok(accepted) => {
                prop_assert!(expected, "{name} accepted {accepted:?}");
                prop_assert_eq!(accepted, read);
            }
            Err(error) => {
                prop_assert!(!expected, "{name} refused {read:?}: {error}");
                prop_assert!(!error.details["problems"].as_array().unwrap().is_empty());
            }
        }
    }

    #[test]
    fn whatever_the_schema_accepts_the_tool_can_parse((vocabulary, name, arguments) in any_call()) {
        let registry = ToolRegistry::builtin();
        let tool = registry.get(vocabulary, name).unwrap();
        if tool.validator().unwrap().validate(arguments.clone()).is_ok() {
            let options = tool_system::ExecutorOptions { vocabulary, ..Default::default() };
            let bench = Bench::asking("//- /a\n", crate::harness::ScriptedApprover::answering([]), options);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let result = runtime.block_on(bench.call(name, Value::Object(arguments)));
            if let Err(error) = result {
                prop_assert_ne!(error.code, ErrorCode::Internal, "{}", error);
            }
        }
    }
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_point() {
    let bench = Bench::new("//- /a\n");
    let arguments = json!({"task": "look", "max_turns": 2.0, "max_tokens": 1.0});
    // No host runs sub-agents here, but the numbers have been understood.
    let error = bench.err("delegate", arguments).await;
    assert_ne!(error.code, ErrorCode::Internal, "{error}");
}

#[tokio::test]
async fn a_wrong_call_is_explained_with_every_problem_and_a_right_one() {
    let bench = Bench::new("//- /a\n");
    let error = bench.err("grep", json!({"patern": "x", "max_results": "many"})).await;
    insta::assert_json_snapshot!(error, @r#"
    {
      "code": "INVALID_ARGUMENTS",
      "message": "unknown argument `patern` (did you mean `pattern`?); `max_results`: expected a whole number of at least 1, got \"many\"; `pattern` is required: a string",
      "suggestion": "Example: grep(pattern=\"fn main\", file_type=\"rs\")",
      "details": {
        "problems": [
          {
            "path": "patern",
            "message": "unknown argument `patern` (did you mean `pattern`?)"
          },
          {
            "path": "max_results",
            "message": "`max_results`: expected a whole number of at least 1, got \"many\""
          },
          {
            "path": "pattern",
            "message": "`pattern` is required: a string"
          }
        ],
        "example": {
          "pattern": "fn main",
          "file_type": "rs"
        }
      }
    }
    "#);
}
