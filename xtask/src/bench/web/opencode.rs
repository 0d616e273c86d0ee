//! opencode's server and page.

use std::env::consts::{ARCH, OS};
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use testkit::{Fixture, ModelServer};

use super::super::peers::node_modules;
use super::program::{CONTEXT_TOKENS, PageFacts, WebProgram, homes};
use crate::fetch::output;
use crate::house::House;

const PACKAGE: &str = "opencode-ai";
const VERSION: &str = "1.18.33";
const NAME: &str = "opencode";

/// Tokens of one answer, which a provider that is configured by hand has to tell.
const ANSWER_TOKENS: u64 = 100_000;

pub(super) struct Opencode {
    name: String,
    binary: PathBuf,
}

impl Opencode {
    /// Installed once.
    pub(super) fn new(house: &House) -> Result<Self> {
        let arch = match ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let modules = node_modules(house, NAME, PACKAGE, VERSION)?;
        // The program itself, because the package's launcher would cost its own start.
        let binary = modules.join(format!("opencode-{OS}-{arch}/bin/opencode"));
        output(Command::new(&binary).arg("--version"))?;
        Ok(Self { name: format!("{NAME} {VERSION}"), binary })
    }
}

impl WebProgram for Opencode {
    fn name(&self) -> &str {
        &self.name
    }

    fn command(&self, project: &Fixture, model: &ModelServer) -> Command {
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": model.base_url(), "apiKey": "none"},
            "models": {"scripted": {
                "name": "Scripted",
                "limit": {"context": CONTEXT_TOKENS, "output": ANSWER_TOKENS},
            }},
        });
        let config = json!({
            "autoupdate": false,
            "share": "disabled",
            "permission": "allow",
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "provider": {"scripted": provider},
        });
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]);
        command.current_dir(project.root());
        homes(&mut command, project, NAME);
        command.env("HOME", project.root().with_file_name(NAME));
        command.env("OPENCODE_CONFIG_CONTENT", config.to_string());
        // Nothing of other machines is measured.
        command.env("OPENCODE_DISABLE_AUTOUPDATE", "1").env("OPENCODE_DISABLE_MODELS_FETCH", "1");
        command
    }

    fn token(&self, _: &Fixture) -> Result<String> {
        Ok(String::new())
    }

    fn beginning(&self) -> (String, Value) {
        // Without a title the model would be asked for one.
        ("/session".into(), json!({"title": "Measured"}))
    }

    fn saying(&self, session: &str, text: &str) -> (String, Value) {
        let parts = json!([{"type": "text", "text": text}]);
        (format!("/session/{session}/prompt_async"), json!({"parts": parts}))
    }

    fn stream(&self, _: &str) -> String {
        "/event".into()
    }

    fn greeting(&self) -> &str {
        r#""type":"server.connected""#
    }

    fn news(&self) -> &str {
        r#""type":"message.updated""#
    }

    fn turn_end(&self, session: &str) -> String {
        format!(r#""type":"session.idle","properties":{{"sessionID":"{session}""#)
    }

    fn reading(&self, project: &Fixture, file: &str) -> (&str, Value) {
        ("read", json!({"filePath": project.root().join(file)}))
    }

    fn calls(&self, session: &str) -> (String, fn(&Value) -> usize) {
        (format!("/session/{session}/message"), calls_in)
    }

    fn page(&self, project: &Fixture) -> PageFacts {
        let directory = URL_SAFE_NO_PAD.encode(project.root().display().to_string());
        PageFacts {
            start: format!("/{directory}/session"),
            session: format!("/{directory}/session/"),
            input: r#"[contenteditable="true"]"#,
            item: r#"[data-component="user-message"], [data-component="text-part"]"#,
        }
    }
}

fn calls_in(messages: &Value) -> usize {
    let messages = messages.as_array().into_iter().flatten();
    let parts = messages.flat_map(|message| message["parts"].as_array().into_iter().flatten());
    parts.filter(|part| part["type"] == "tool").count()
}
