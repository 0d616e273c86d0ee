//! The description of the API, OpenAPI 3.1, from the table of routes.

mod shown;
#[cfg(test)]
mod tests;

pub(crate) use shown::shown;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::api_error::ErrorBody;
use crate::guard::Need;
use crate::route::Route;

/// The version of OpenAPI, whose schemas are JSON Schema 2020-12 as they are.
const OPENAPI: &str = "3.1.0";

/// How values are written and how they are read, which differ where fields have defaults or are left out.
struct Described {
    written: SchemaGenerator,
    read: SchemaGenerator,
}

impl Described {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let read = settings.clone().for_deserialize().into_generator();
        Self { written: settings.for_serialize().into_generator(), read }
    }

    /// All definitions. What is both written and read has one, so it must look the same.
    fn into_definitions(mut self) -> Map<String, Value> {
        let mut all = self.read.take_definitions(true);
        all.extend(self.written.take_definitions(true));
        all
    }
}

/// The description of these routes.
pub fn document(routes: &[Route]) -> Value {
    let mut described = Described::new();
    let error = described.written.subschema_for::<ErrorBody>();
    let mut paths = Map::new();
    for route in routes {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut described, &error);
    }
    json!({
        "openapi": OPENAPI,
        "info": {
            "title": "Toolkiln",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Sessions of the projects on this machine. Every request needs a Host of \
                            this service; with a cookie, requests that change something need the \
                            header `x-toolkiln` and the service's own Origin.",
        },
        "paths": paths,
        "components": {
            "schemas": described.into_definitions(),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": crate::guard::COOKIE_NAME},
            },
        },
    })
}

fn operation(route: &Route, described: &mut Described, error: &schemars::Schema) -> Value {
    let answer = match route.answer {
        Some(schema) => schema(&mut described.written).to_value(),
        None if route.content_type == crate::route::JSON => json!({"type": "object"}),
        // Each event of a stream.
        None if route.content_type == crate::api::EVENT_STREAM => {
            json!({"type": "object", "required": ["event", "data"], "properties": {
                "id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"},
            }})
        }
        None => json!({"type": "string"}),
    };
    let failure = json!({
        "description": "What went wrong.",
        "content": {"application/json": {"schema": error}},
    });
    let mut responses = Map::new();
    let success = json!({
        "description": route.summary,
        "content": {route.content_type: {"schema": answer}},
    });
    responses.insert(route.status.as_str().to_owned(), success);
    responses.insert("default".to_owned(), failure);
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "parameters": parameters(route, &mut described.read),
        "responses": responses,
        "security": security(route.need),
    });
    if let Some(schema) = route.body {
        let schema = schema(&mut described.read);
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    operation
}

/// A name for generated clients: `get_sessions_session_timeline`.
fn operation_id(route: &Route) -> String {
    let parts = route.path.split('/').filter(|part| !part.is_empty() && *part != "api");
    let words = parts.map(|part| part.trim_matches(['{', '}']).replace('-', "_"));
    let method = route.method.as_str().to_ascii_lowercase();
    std::iter::once(method).chain(words).collect::<Vec<_>>().join("_")
}

fn security(need: Need) -> Value {
    let scope = match need {
        Need::Nothing => return json!([]),
        Need::Login => return json!([{"token": []}, {"cookie": []}]),
        Need::Scope(scope) => scope.word(),
    };
    json!([{"token": [scope]}, {"cookie": [scope]}])
}

fn parameters(route: &Route, generator: &mut SchemaGenerator) -> Vec<Value> {
    let parts = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = parts.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let mut parameters: Vec<Value> = in_path.collect();
    let Some(query) = route.query else { return parameters };
    let schema = query(generator);
    let found = schema.get("$ref").and_then(Value::as_str).map(str::to_owned);
    let name = found.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let Some(object) = generator.definitions().get(name).cloned() else { return parameters };
    let required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (name, schema) in object.get("properties").and_then(Value::as_object).into_iter().flatten()
    {
        let is_required = required.iter().any(|required| required == name);
        parameters
            .push(json!({"name": name, "in": "query", "required": is_required, "schema": schema}));
    }
    parameters
}
