//! What the service says of itself: every answer of every test fits it.

use serde_json::{Value, json};

use super::service::HttpAnswer;

/// The description of the API.
pub(crate) struct Description(pub(crate) Value);

impl Description {
    /// Checks an answer against what is said about its route.
    #[track_caller]
    pub(crate) fn check(&self, target: &str, answer: &HttpAnswer) {
        if answer.status == 0 || !answer.head.contains("content-type: application/json") {
            return;
        }
        let (method, address) = target.split_once(' ').unwrap();
        let path = address.split('?').next().unwrap();
        let paths = self.0["paths"].as_object().unwrap();
        let Some((_, item)) = paths.iter().find(|(template, _)| fits(template, path)) else {
            // Probes and the description itself are no part of the API.
            let is_of_api = path.starts_with("/api/");
            return assert!(answer.status >= 400 || !is_of_api, "{target} is not described");
        };
        let Some(operation) = item.get(method.to_ascii_lowercase()) else {
            return assert!(answer.status >= 400, "{target} is not described");
        };
        let responses = &operation["responses"];
        let response = match responses.get(answer.status.to_string()) {
            Some(response) => response,
            None => &responses["default"],
        };
        let schema = &response["content"]["application/json"]["schema"];
        let whole = json!({"allOf": [schema], "components": self.0["components"]});
        let validator = jsonschema::validator_for(&whole).unwrap();
        let value = answer.json();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{target}: {errors:?} in {value}");
    }
}

/// Whether a path is one of a template such as `/api/sessions/{session}`.
fn fits(template: &str, path: &str) -> bool {
    let (parts, expected) = (path.split('/'), template.split('/'));
    let is_same = |(part, expected): (&str, &str)| expected.starts_with('{') || part == expected;
    parts.clone().count() == expected.clone().count() && parts.zip(expected).all(is_same)
}
