//! What the suite wants to see in results.

use rmcp::model::{
    ContentBlock, GetPromptResult, Prompt, PromptArgument, PromptMessage, Resource,
    ResourceContents, ResourceTemplate, Role,
};
use serde_json::{Value, json};

/// A red pixel, as PNG in Base64.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// Sound without a sample, as WAV in Base64.
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
/// What the suite subscribes to.
pub(crate) const WATCHED: &str = "test://watched-resource";
const TEMPLATE: (&str, &str) = ("test://template/", "/data");

/// The contents of a tool's result, for tools that only answer.
pub(crate) fn contents(tool: &str) -> Option<Vec<ContentBlock>> {
    let image = || json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let sound = || json!({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"});
    let text = || json!({"type": "text", "text": "Several contents:"});
    let embedded = |uri: &str| {
        let text = r#"{"test":"data","value":123}"#;
        json!({"type": "resource", "resource": {"uri": uri, "mimeType": "application/json", "text": text}})
    };
    let all = match tool {
        "test_audio_content" => json!([sound()]),
        "test_embedded_resource" => json!([embedded("test://embedded-resource")]),
        "test_multiple_content_types" => {
            json!([text(), image(), embedded("test://mixed-content-resource")])
        }
        _ => return None,
    };
    serde_json::from_value(all).ok()
}

/// A schema with words that a server must hand on as they are.
pub(crate) fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

pub(crate) fn resources() -> Vec<Resource> {
    let named = |uri: &str, kind: &str| Resource::new(uri, &uri[7..]).with_mime_type(kind);
    vec![named(TEXT, "text/plain"), named(BINARY, "image/png"), named(WATCHED, "text/plain")]
}

pub(crate) fn template() -> ResourceTemplate {
    let (before, after) = TEMPLATE;
    ResourceTemplate::new(format!("{before}{{id}}{after}"), "template")
        .with_mime_type("application/json")
}

/// What is read at an address of the suite.
pub(crate) fn read(uri: &str) -> Option<ResourceContents> {
    let text = |text: &str, kind: &str| ResourceContents::text(text, uri).with_mime_type(kind);
    match uri {
        TEXT => Some(text("This is the content of the static text resource.", "text/plain")),
        WATCHED => Some(text("Watched.", "text/plain")),
        BINARY => Some(ResourceContents::blob(PIXEL, uri).with_mime_type("image/png")),
        _ => {
            let id = uri.strip_prefix(TEMPLATE.0)?.strip_suffix(TEMPLATE.1)?;
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            Some(text(&data.to_string(), "application/json"))
        }
    }
}

/// A prompt that asks for input before it is given.
pub(crate) const ASKING_PROMPT: &str = "test_input_required_result_prompt";

pub(crate) fn prompts() -> Vec<Prompt> {
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments = arguments.iter().map(|name| PromptArgument::new(*name).with_required(true));
        Prompt::new(name, Some("A prompt of the suite"), Some(arguments.collect()))
    };
    vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt(ASKING_PROMPT, &[]),
    ]
}

/// A prompt of the suite with its arguments.
pub(crate) fn prompt(name: &str, arguments: &Value) -> Option<GetPromptResult> {
    let given = |argument: &str| arguments[argument].as_str().unwrap_or_default().to_owned();
    let text = |text: String| json!({"type": "text", "text": text});
    let contents = match name {
        "test_simple_prompt" => json!([text("This is a simple prompt for testing.".into())]),
        "test_prompt_with_arguments" => {
            json!([text(format!("arg1='{}', arg2='{}'", given("arg1"), given("arg2")))])
        }
        "test_prompt_with_embedded_resource" => {
            let resource =
                json!({"uri": given("resourceUri"), "mimeType": "text/plain", "text": "Embedded."});
            json!([{"type": "resource", "resource": resource}, text("Process this.".into())])
        }
        "test_prompt_with_image" => {
            json!([{"type": "image", "data": PIXEL, "mimeType": "image/png"}, text("Look at this.".into())])
        }
        ASKING_PROMPT => json!([text("With the context that was given.".into())]),
        _ => return None,
    };
    let contents: Vec<ContentBlock> = serde_json::from_value(contents).ok()?;
    let said = contents.into_iter().map(|content| PromptMessage::new(Role::User, content));
    Some(GetPromptResult::new(said.collect()))
}
