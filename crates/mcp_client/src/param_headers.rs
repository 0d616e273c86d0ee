//! Arguments that a tool wants to have in the head of an HTTP request as well, so that what lies between
//! can route by them.

use serde_json::Value;

/// How a property says so.
const KEYWORD: &str = "x-mcp-header";

/// An argument and the name of its header, without the beginning that all have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    pub(crate) argument: String,
    pub(crate) header: String,
}

/// Those of a schema, or why it cannot be used.
pub(crate) fn of_schema(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found: Vec<ParamHeader> = Vec::new();
    for (argument, property) in schema["properties"].as_object().into_iter().flatten() {
        let Some(header) = property.get(KEYWORD) else { continue };
        let is_token = |name: &&str| {
            let is_part =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            !name.is_empty() && name.bytes().all(is_part)
        };
        let header = header.as_str().filter(is_token);
        let header = header.ok_or("it wants an argument in a header without a usable name")?;
        let kind = property["type"].as_str().unwrap_or_default();
        if !["string", "integer", "boolean"].contains(&kind) {
            return Err("it wants an argument in a header that does not fit into one".to_owned());
        }
        if found.iter().any(|known| known.header.eq_ignore_ascii_case(header)) {
            return Err("it wants two arguments in the same header".to_owned());
        }
        found.push(ParamHeader { argument: argument.clone(), header: header.to_owned() });
    }
    Ok(found)
}

/// An argument as text for a header; none if it is absent.
pub(crate) fn text_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(properties: Value) -> Result<Vec<String>, String> {
        let found = of_schema(&json!({"properties": properties}))?;
        Ok(found.into_iter().map(|one| format!("{} as {}", one.argument, one.header)).collect())
    }

    #[test]
    fn arguments_for_headers_are_found_and_unusable_ones_refused() {
        let good = json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "plain": {"type": "object"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
        });
        assert_eq!(found(good).unwrap(), ["region as Region", "count as Count"]);
        for wrong in [
            json!({"a": {"type": "string", "x-mcp-header": ""}}),
            json!({"a": {"type": "string", "x-mcp-header": "two words"}}),
            json!({"a": {"type": "string", "x-mcp-header": "a:b"}}),
            json!({"a": {"type": "string", "x-mcp-header": "a\r\nb"}}),
            json!({"a": {"type": "string", "x-mcp-header": 3}}),
            json!({"a": {"type": "object", "x-mcp-header": "A"}}),
            json!({"a": {"type": "number", "x-mcp-header": "A"}}),
            json!({"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}),
        ] {
            assert!(found(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_absent_argument_has_no_header() {
        assert_eq!(text_of(None), None);
        assert_eq!(text_of(Some(&Value::Null)), None);
        assert_eq!(text_of(Some(&json!(7))).as_deref(), Some("7"));
        assert_eq!(text_of(Some(&json!(true))).as_deref(), Some("true"));
    }
}
