//! The description for people: a page without scripts, made from the same document.

use std::fmt::Write as _;

use serde_json::Value;

/// The description as HTML.
pub(crate) fn shown(document: &Value) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Toolkiln: API</title>\
         <link rel=\"stylesheet\" href=\"/page.css\"></head><body class=\"document\"><main>\
         <h1>The API of this service</h1>",
    );
    let text = |value: &Value| escaped(value.as_str().unwrap_or_default());
    let _ = write!(page, "<p>{}</p>", text(&document["info"]["description"]));
    page.push_str("<p>Programs that ask without <code>text/html</code> get it as OpenAPI.</p>");
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let _ = write!(
                page,
                "<section><h2><code>{} {}</code></h2><p>{} <small>{}</small></p>",
                method.to_ascii_uppercase(),
                escaped(path),
                text(&operation["summary"]),
                needed(operation),
            );
            let parameters: Vec<&Value> =
                operation["parameters"].as_array().into_iter().flatten().collect();
            if !parameters.is_empty() {
                page.push_str("<ul>");
                for parameter in parameters {
                    let about = text(&parameter["schema"]["description"]);
                    let name = text(&parameter["name"]);
                    let _ = write!(page, "<li><code>{name}</code> {about}</li>");
                }
                page.push_str("</ul>");
            }
            let parts = [
                ("Body", &operation["requestBody"]["content"]["application/json"]["schema"]),
                ("Answer", &operation["responses"]["200"]["content"]["application/json"]["schema"]),
            ];
            for (name, schema) in parts.into_iter().filter(|(_, schema)| !schema.is_null()) {
                let schema = followed(document, schema);
                let schema = serde_json::to_string_pretty(schema).unwrap_or_default();
                let _ = write!(
                    page,
                    "<details><summary>{name}</summary><pre>{}</pre></details>",
                    escaped(&schema)
                );
            }
            page.push_str("</section>");
        }
    }
    page.push_str("</main></body></html>\n");
    page
}

/// What a client needs, in words.
fn needed(operation: &Value) -> String {
    match operation["security"][0]["token"].as_array().map(Vec::as_slice) {
        None => "no login".to_owned(),
        Some([]) => "any login".to_owned(),
        Some([scope, ..]) => format!("scope {}", escaped(scope.as_str().unwrap_or_default())),
    }
}

/// The schema that is meant, if it stands elsewhere.
fn followed<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let path = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    path.and_then(|path| document.pointer(path)).unwrap_or(schema)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
