//! The search of the configured model's provider, through the binary and in its real wire format.

use std::process::Stdio;

use serde_json::{Value, json};
use testkit::Fixture;

use super::{PageServer, configured};
use crate::run::{Ran, command, finish};

fn search(config: &Fixture, variables: &[(&str, &str)]) -> Ran {
    let project = Fixture::new("//- /a.txt\nx\n");
    let mut command = command(Some(config));
    command.env("XDG_STATE_HOME", project.root().with_file_name("state"));
    command.envs(variables.iter().copied());
    let asked = json!({"query": "kiln & fire", "max_results": 1}).to_string();
    command.args(["call", "web_search", &asked, "--root"]).arg(project.root());
    finish(command.stdin(Stdio::null()))
}

fn with_model(model: &str) -> Fixture {
    configured(&format!(
        "[tools]\nnetwork = true\n[web.search]\nprovider = \"model\"\n[model]\n{model}"
    ))
}

#[test]
fn the_provider_of_the_model_searches_with_its_own_key_and_nothing_is_asked() {
    let server = PageServer::start();
    let expected =
        json!({"results": [{"title": "A kiln", "url": "https://kiln.example/", "snippet": "hot"}]});
    for (provider, line, key) in [
        ("anthropic", "POST /v1/messages ", "x-api-key: the-key"),
        ("openai", "POST /responses ", "authorization: Bearer the-key"),
    ] {
        let config = with_model(&format!(
            "provider = \"{provider}\"\nname = \"m-1\"\nbase_url = \"http://127.0.0.1:{}\"\nkey_env = \"MY_KEY\"\n",
            server.port
        ));
        let found = search(&config, &[("MY_KEY", "the-key")]);
        assert_eq!(found.json(), expected, "{provider}: {}", found.stderr);
        let asked = server.heads().pop().expect("a request");
        assert!(asked.starts_with(line) && asked.contains(key), "{asked}");
        let body = asked.split("\r\n\r\n").nth(1).expect("a body");
        let body: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["model"], "m-1");
        assert!(body.to_string().contains("kiln & fire"), "{body}");
        assert!(!format!("{}{}", found.stdout, found.stderr).contains("the-key"));
    }
    let gemini = configured(&format!(
        "[tools]\nnetwork = true\n[web.search]\nprovider = \"gemini\"\nmodel = \"g-1\"\nurl = \"http://127.0.0.1:{}\"\n",
        server.port
    ));
    let found = search(&gemini, &[("GEMINI_API_KEY", "the-key")]);
    assert_eq!(found.json(), expected, "{}", found.stderr);
    let asked = server.heads().pop().expect("a request");
    assert!(asked.starts_with("POST /models/g-1:generateContent "), "{asked}");
    assert!(asked.contains("x-goog-api-key: the-key"), "{asked}");
}

#[test]
fn a_provider_without_a_search_is_told_with_what_to_do() {
    let server = PageServer::start();
    let told = |config: &Fixture| {
        let refused = search(config, &[]).json();
        assert_eq!(refused["code"], "TOOL_DISABLED", "{refused}");
        refused["message"].as_str().expect("a message").to_owned()
    };
    let local = with_model(&format!(
        "provider = \"ollama\"\nname = \"m\"\nbase_url = \"http://127.0.0.1:{}\"\n",
        server.port
    ));
    assert!(told(&local).contains("the provider ollama"), "{}", told(&local));
    assert!(told(&with_model("")).contains("there is no model"));
    assert!(told(&with_model("provider = \"anthropic\"\n")).contains("ANTHROPIC_API_KEY"));
    let elsewhere = configured(
        "[tools]\nnetwork = true\n[web.search]\nprovider = \"model\"\nurl = \"https://evil.example\"\n\
         [model]\nprovider = \"ollama\"\nname = \"m\"\nbase_url = \"https://api.openai.com/v1\"\n",
    );
    assert!(told(&elsewhere).contains("`web.search.url`"), "{}", told(&elsewhere));
    assert!(server.heads().is_empty());
}
