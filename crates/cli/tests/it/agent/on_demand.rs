//! Tools that the first request does not list: the model asks for them, or calls them all the same.

use serde_json::json;
use testkit::model_server::{ModelCall, WireFormat};
use testkit::{Fixture, ModelServer, Reply};
use tool_system::{ToolRegistry, Vocabulary};

use super::bench::{Bench, Model};
use super::size::{EVERYTHING, longest_tools};
use super::validity;
use crate::run::{Ran, finish};

/// The first request with rarely needed tools left out.
const MOST_BYTES: usize = 10 * 1024;

fn ask(bench: &Bench, model: Model<'_>, more: &[&str]) -> Ran {
    let config = Fixture::new(
        "//- /toolkiln/config.toml\n[model]\ntool_list = \"on_demand\"\n[tools]\nnetwork = true\n",
    );
    let mut command = bench.asking(model, "Find all TODO comments in this project");
    finish(command.env("XDG_CONFIG_HOME", config.root()).args(more))
}

fn tools(on_demand: bool) -> Vec<&'static str> {
    let all = ToolRegistry::builtin().list(Vocabulary::Standard);
    let chosen = all.iter().filter(|tool| tool.definition().on_demand == on_demand);
    chosen.map(|tool| tool.name()).collect()
}

/// How the model asks for tools: by a kind of call of its own where the provider has one.
pub(super) fn finder(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Responses => "tool_search",
        WireFormat::Anthropic | WireFormat::Chat => "find_tools",
    }
}

#[test]
fn the_first_request_is_smaller_and_every_tool_is_named() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([Reply::text("Hello.")]);
        let bench = Bench::new(EVERYTHING);
        assert_eq!(ask(&bench, Model { format, server: &server }, &[]).code, 0);
        let call = &server.calls()[0];
        validity::check(call);
        let size = call.body.to_string().len();
        let (system, list) = (call.system().len(), call.body["tools"].to_string().len());
        assert!(
            size <= MOST_BYTES,
            "{format:?}: {size} bytes, {system} of them instructions, {list} tools; make a tool that few \
             conversations need `.on_demand()`, or shorten: {}",
            longest_tools(call)
        );
        let listed = call.body["tools"].as_array().unwrap().len();
        assert_eq!(listed, tools(false).len(), "{format:?}");
        for name in tools(true) {
            assert!(call.system().contains(name), "{format:?}: {name} is not named");
        }
    }
}

/// Whether the model has been told how to call `name`.
pub(super) fn knows(request: &ModelCall, name: &str) -> bool {
    let listed = |list: &serde_json::Value| {
        let tools = list.as_array().into_iter().flatten();
        tools.into_iter().any(|tool| tool["name"] == name || tool["function"]["name"] == name)
    };
    let items = request.body["input"].as_array().into_iter().flatten();
    listed(&request.body["tools"]) || items.into_iter().any(|item| listed(&item["tools"]))
}

#[test]
fn a_tool_that_was_asked_for_can_be_called_from_then_on() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([
            Reply::call(finder(format), json!({"query": "move_file"})),
            Reply::call("move_file", json!({"from": "Cargo.toml", "to": "Moved.toml"})),
            Reply::text("Moved."),
        ]);
        let bench = Bench::new(EVERYTHING);
        let ran = ask(&bench, Model { format, server: &server }, &["--yes"]);
        assert_eq!(ran.code, 0, "{format:?}: {}", ran.stderr);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        let known: Vec<bool> = calls.iter().map(|call| knows(call, "move_file")).collect();
        assert_eq!(known, [false, true, true], "{format:?}");
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
        // What was sent before is sent again as it was, so that it is found in the provider's cache.
        let list = |call: &ModelCall| call.body["tools"].as_array().unwrap().clone();
        let (before, after) = (list(&calls[0]), list(&calls[1]));
        assert_eq!(after[..before.len()], before[..], "{format:?}");
    }
}

#[test]
fn a_tool_that_was_not_asked_for_is_run_all_the_same() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([
            Reply::call("move_file", json!({"from": "Cargo.toml", "to": "Moved.toml"})),
            Reply::text("Moved."),
        ]);
        let bench = Bench::new(EVERYTHING);
        let ran = ask(&bench, Model { format, server: &server }, &["--yes"]);
        assert_eq!(ran.code, 0, "{format:?}: {}", ran.stderr);
        assert!(bench.project.path("Moved.toml").exists(), "{format:?}");
    }
}

#[test]
fn what_was_found_is_known_after_a_resume() {
    for format in WireFormat::ALL {
        let server = ModelServer::start([
            Reply::call(finder(format), json!({"query": "rename a file"})),
            Reply::text("Found."),
            Reply::text("Still there."),
        ]);
        let bench = Bench::new(EVERYTHING);
        assert_eq!(ask(&bench, Model { format, server: &server }, &[]).code, 0);
        assert_eq!(ask(&bench, Model { format, server: &server }, &["--resume"]).code, 0);
        let calls = server.calls();
        calls.iter().for_each(validity::check);
        assert!(knows(&calls[2], "move_file"), "{format:?}: {:#}", calls[2].body);
    }
}
